"""Makes the figures and positions in ``agents/data``, each from scratch."""
