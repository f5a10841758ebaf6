"""Hands and score sheets as text and images."""
