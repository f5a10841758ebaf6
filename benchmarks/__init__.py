"""Measurements of speed; run one with `python -m benchmarks.NAME`."""
