"""A table to play at: a session that any table can use, and the terminal."""
