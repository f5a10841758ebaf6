"""Our players at other programs' tables, and players of other programs at ours (docs/bridges.md)."""
