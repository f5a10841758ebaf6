"""Search: tries the network's candidate actions in many sampled worlds and values each with its critic."""
