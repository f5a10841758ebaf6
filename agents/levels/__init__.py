"""Levels: players of four strengths; levels 1 to 3 learn while they play, and can be reset to how they were installed."""
