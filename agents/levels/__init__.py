"""Levels: players of four strengths; they learn while they play, and can be reset to how they were installed."""
