"""Many games in lock-step, and the players who sit at them."""
