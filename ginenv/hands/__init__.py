"""One hand or game for people: as a Python object, as a line of text, as a file."""
