"""Measurements of speed, strength and learning; run one with `python -m benchmarks.FOLDER.NAME`."""
