"""Players that are formulas: the built-in bots, and other engines' bots behind this project's contract."""
