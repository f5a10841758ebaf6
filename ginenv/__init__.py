"""Gin rummy for learning and benchmarking: an exact, fast engine behind Gymnasium environments."""
