"""Search: sampled worlds, compiled playouts, and the candidate that wins the game most often."""

from agents.search.config import SearchConfig
from agents.search.player import SearchPlayer, make_search

__all__ = ["SearchConfig", "SearchPlayer", "make_search"]
