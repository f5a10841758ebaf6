"""What the levels gain by learning, how strong and how varied they are."""
