"""Hands as tables: one row per decision, written as Parquet, read back for learning, and checked against the engine."""
