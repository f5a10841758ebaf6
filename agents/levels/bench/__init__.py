"""Benchmarks of levels: what they gain by learning, how they grow, how they vary, how strong they are."""
