"""Knowing an opponent: what it chooses, told from the hands that were shown, and how likely that makes what it does next."""
