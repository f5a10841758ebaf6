"""Players that follow fixed formulas: the built-in bots, and adapters to other engines' bots."""
