"""``gin serve``: players of ours over HTTP, with the messages of the line protocol."""
