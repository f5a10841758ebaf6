"""Models of an opponent: how it chooses, learned from the hands that were shown, and how likely that makes its next choices."""
