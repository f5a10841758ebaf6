"""Search: tries the network's candidate actions in many sampled worlds and values each with its critic."""

from agents.search.config import SearchConfig
from agents.search.player import SearchPlayer, make_search

__all__ = ["SearchConfig", "SearchPlayer", "make_search"]
