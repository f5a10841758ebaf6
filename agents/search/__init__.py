"""Search: the network's candidates in many sampled worlds, each judged by its critic."""

from agents.search.config import SearchConfig
from agents.search.player import SearchPlayer, make_search

__all__ = ["SearchConfig", "SearchPlayer", "make_search"]
