"""The game: rules, cards, melds, one hand as a state machine, hands into a game. The one place that knows the rules."""
