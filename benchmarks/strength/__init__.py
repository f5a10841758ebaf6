"""How strong: what players win, know and miss."""
