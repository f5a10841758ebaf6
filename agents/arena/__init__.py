"""The arena: matches on mirrored deals, luck adjustment, tournaments, ratings and reports."""

from agents.arena.matches import MatchSettings, play_match
from agents.arena.results import MatchResult

__all__ = ["MatchResult", "MatchSettings", "play_match"]
