"""The opponents that can be chosen, each with a line about it."""

from __future__ import annotations

from agents.levels.level import MATCHED
from agents.play.allowed import names_for_all
from agents.web.request import Request

# Others are shown by name only.
OPPONENT_TEXTS = {
    MATCHED: "your equal, whoever you are",
    "level-1": "beginner",
    "level-2": "intermediate",
    "level-3": "advanced",
    "level-4": "expert, with search",
    "formula": "plays by fixed formulas",
    "network": "the trained network",
    "search": "the network with search",
    "simple": "keeps the least deadwood, knocks as soon as it can, ignores what you do",
    "easy": "discards its highest card outside its melds",
    "camper": "never knocks below gin",
    "knocker": "knocks in its first turns if it can, then plays for gin",
    "random": "plays legal actions at random",
    "population": "one of 512 random styles; population:draw=2 draws others",
    "openspiel-simple": "OpenSpiel's simple bot, which needs OpenSpiel",
}


def opponents(request: Request) -> dict[str, str]:
    """Names that can be chosen without options, with their descriptions: those that have one first, what the command line named last."""
    names = [name for name in names_for_all() if name != "style"]
    described = [name for name in OPPONENT_TEXTS if name in names]
    return {name: OPPONENT_TEXTS.get(name, "") for name in dict.fromkeys((*described, *names, *request.people.allowed))}
