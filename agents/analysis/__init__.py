"""Analysis: what every decision of a hand was worth, where the mistakes were, and how much was luck.

    from agents.analysis import Analyst, read_hands
    analyst = Analyst()                                 # loads the network; keep it
    for number, hand in enumerate(read_hands("game.gin").hands, 1):
        found = analyst.hand(hand, number)              # a HandAnalysis; analyst.decision(view) is a single Decision
        found.to_json()                                 # plain values for a page; HandAnalysis.from_json reads them

``agents.play.review`` does the same for stored games, keeps the analyses, and lists a player's mistakes. The analyst sees the view of
the seat that decides, never a hidden card. Only once the hand is over is the opponent's true hand shown beside the belief.
"""

from agents.analysis.analyst import WORLDS, Analyst
from agents.analysis.findings import Candidate, Decision, Draw, HandAnalysis, Mistake, Side
from agents.analysis.marks import KINDS, MARKS
from agents.analysis.sources import Subject, deal_and_play, read_hands

__all__ = [
    "KINDS",
    "MARKS",
    "WORLDS",
    "Analyst",
    "Candidate",
    "Decision",
    "Draw",
    "HandAnalysis",
    "Mistake",
    "Side",
    "Subject",
    "deal_and_play",
    "read_hands",
]
