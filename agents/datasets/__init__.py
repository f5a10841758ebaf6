"""Hands as tables: one row a decision, written as Parquet, read back for learning, checked against the engine."""
