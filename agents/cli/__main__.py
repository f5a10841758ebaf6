"""``python -m agents.cli``: the program ``gin``, where its script is not on the path."""

from agents.cli import main

main()
