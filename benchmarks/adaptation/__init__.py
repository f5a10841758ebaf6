"""What the levels gain by learning."""
