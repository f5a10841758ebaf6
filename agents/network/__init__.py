"""Networks that play: what they are, what they read, how their checkpoints are stored, and the players that use them."""
