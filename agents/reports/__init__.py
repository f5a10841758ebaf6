"""Turns results into something to read: tables in the terminal, HTML, pictures."""
