"""How fast: beside named peers, measured in one run."""
