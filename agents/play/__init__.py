"""A table to play at in the terminal: ``python -m agents.play``."""
