"""Levels: players of four strengths that adapt to their opponents, and can be reset to how they were installed."""
