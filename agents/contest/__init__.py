"""A class's contest: a folder of bots, checked, limited, played against one another, with standings and feedback for each."""
