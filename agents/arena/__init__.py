"""The arena: matches on mirrored deals, luck adjustment, tournaments, ratings and reports."""

from agents.arena.matches import play_match
from agents.arena.results import MatchResult

__all__ = ["MatchResult", "play_match"]
