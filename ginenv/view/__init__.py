"""What one seat may see: as a record, as numbers, in words, and played again."""
