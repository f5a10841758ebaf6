"""Levels: players of four strengths that adapt to whoever sits across, and can be put back to how they were installed."""
