"""Networks that play: what they are, what they read, how their checkpoints lie on disk, and the player that asks them."""
