"""Scenes, players and small checkpoints that several files of tests use."""
