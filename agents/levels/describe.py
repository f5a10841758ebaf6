"""What a level has learned of a person: the person beside typical people and beside the levels, and where it now plays otherwise."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from agents.levels.level import Level
from agents.levels.player import LevelPlayer
from agents.levels.profile import read_learned
from agents.levels.ratings import PersonRating, person_rating
from agents.levels.responses import SPACE, add_logit_bias, bounded
from agents.levels.traits import Trait, times, traits_of
from agents.opponent_model.features import FEATURES, NUM_WEIGHTS
from ginenv.engine.actions import NUM_ACTIONS, PHASE_DISCARD, action_name
from ginenv.engine.cards import card_name, cards_of
from ginenv.engine.state import NO_CARD
from ginenv.hands.hand import Hand

# A person's finished hands, the last first: the id of the game, the number of the hand in it, the person's seat, and the hand.
HandsOnRecord = Callable[[str], Sequence[tuple[int, int, int, Hand]]]

# By feature: what a weight above other people's means, and what one below means.
_MEANING: dict[str, tuple[str, str]] = {
    "points of deadwood more than the best discard leaves / 10": (
        "keeps cards at the cost of deadwood",
        "gets rid of deadwood at once",
    ),
    "leaves the least deadwood": ("discards for the least deadwood", "does not always discard for the least deadwood"),
    "ways to make a meld of the card / 4": (
        "throws cards that could still make melds",
        "keeps cards that could still make melds",
    ),
    "has another of its rank": ("breaks up pairs", "keeps pairs"),
    "has a neighbour in its suit": ("breaks up runs in the making", "keeps neighbours in suit"),
    "has a card two ranks away in its suit": (
        "throws cards with a gap to another",
        "keeps cards with a gap to another",
    ),
    "points / 10": ("throws high cards", "keeps high cards"),
    "points / 10, times the turn / 10": ("throws high cards late", "keeps high cards late"),
    "king or queen": ("throws queens and kings", "keeps queens and kings"),
    "danger of a set": ("throws what may complete a set of the level", "is careful about sets of the level"),
    "danger of a run": ("throws what may complete a run of the level", "is careful about runs of the level"),
    "near what the other discarded or refused": (
        "throws cards near the level's discards",
        "does not throw cards near the level's discards",
    ),
    "taken from the pile before": ("throws again what it took", "never throws again what it took"),
    "any upcard": ("takes many upcards", "takes few upcards"),
    "makes a meld": ("takes what makes a meld", "leaves even cards that make a meld"),
    "points of deadwood saved / 10": ("takes upcards that save points", "does not take upcards for their points"),
    "makes a pair": ("takes cards to make pairs", "does not take cards for pairs"),
    "near a card of its suit": ("takes cards near others in suit", "does not take cards near others in suit"),
    "three points or less": ("takes low cards", "leaves low cards"),
    "would let it knock": ("takes what lets it knock", "does not take cards to knock"),
    "the first upcard": ("takes the first upcard readily", "leaves the first upcard"),
    "any knock": ("knocks readily", "is slow to knock"),
    "deadwood / 10": ("knocks with many points too", "knocks only with few points"),
    "turn / 10": ("knocks more readily late in the hand", "knocks less readily late in the hand"),
    "deadwood / 10, times the turn / 10": ("knocks high late", "does not knock high late"),
    "the other has taken upcards": (
        "knocks once the level has taken upcards",
        "does not knock once the level has taken upcards",
    ),
}
assert set(_MEANING) == set(FEATURES)


@dataclass(frozen=True)
class Position:
    """A decision in one of a person's hands, from the other seat, in which the level now plays otherwise because of the person.

    Attributes:
        game: id of the game.
        hand: number of the hand in it, from 1.
        move: number of the action in the hand, from 1.
        cards: those that the level holds.
        upcard: the pile's top card; empty where there is none.
        installed: what it does most often as installed.
        now: what it does most often against this person.
        reason: what it believes of the person that weighs most in favour of that.
    """

    game: int
    hand: int
    move: int
    cards: str
    upcard: str
    installed: str
    now: str
    reason: str


@dataclass(frozen=True)
class Learned:
    """What a level has learned of one person.

    Attributes:
        level: its name.
        opponent: the person.
        hands_shown: hands of the person that it has learned from.
        hands_of_all: the same of everybody on record: they count for its growth.
        gained: points per hand that it has gained on everybody.
        depends_on_opponent: whether it plays one opponent differently from another.
        rating: the person's rating, if the level is ``matched``.
        traits: what the person does, the best known first; empty before the first hand.
        position: one where the level now plays otherwise, of the hands on record; ``None`` if there is none.
    """

    level: str
    opponent: str
    hands_shown: int
    hands_of_all: int
    gained: float
    depends_on_opponent: bool
    rating: PersonRating | None
    traits: list[Trait]
    position: Position | None

    @property
    def certainty(self) -> str:
        """How much is known of the person, in words."""
        left = sum(trait.left for trait in self.traits) / max(1, len(self.traits))
        return (
            "little is certain yet"
            if left > 0.7
            else "some of it is certain"
            if left > 0.35
            else "much of it is certain"
        )

    @property
    def clear_traits(self) -> list[Trait]:
        """The traits of which anything can be said."""
        return [trait for trait in self.traits if trait.is_known]

    @property
    def unclear(self) -> str:
        """The names of the others."""
        return "; ".join(trait.name for trait in self.traits if not trait.is_known)

    @property
    def difference(self) -> str:
        """Where it plays otherwise because of the person, or why nowhere, in words."""
        if not self.depends_on_opponent:
            equal = "at everybody's strength, and" if self.rating is not None else "everybody alike:"
            return f"{self.level} plays {equal} no gain was found in playing one opponent differently from another."
        if self.position is None:
            return f"No hand of {self.opponent} is on record in which {self.level} would now play otherwise because of {self.opponent}."
        at = self.position
        upcard = f" and the upcard {at.upcard}" if at.upcard else ""
        return (
            f"In hand {at.hand} of game {at.game}, move {at.move}, with {at.cards}{upcard}, {self.level} as installed would most often "
            f"{at.installed}; against {self.opponent} now {at.now}, because it believes that {self.opponent} {at.reason}."
        )

    def to_json(self) -> dict[str, Any]:
        """All of it as values that ``json`` writes."""
        return asdict(self) | {
            "traits": [trait.to_json() for trait in self.traits],
            "certainty": self.certainty,
            "difference": self.difference,
        }


def what_is_learned(
    home: Path, level: Level, opponent: str | None = None, hands: HandsOnRecord = lambda name: ()
) -> list[Learned]:
    """What a level has learned of its opponents.

    Args:
        home: directory under which levels keep what they learn.
        level: the level.
        opponent: the name of one opponent; all when left out.
        hands: finds a person's hands on record.

    Raises:
        LevelError: if the file that holds it is damaged.
    """
    # Its most frequent choices: without chance and the hand's taste, and before the search.
    player = LevelPlayer(level.with_settings(worlds=0, temperature=0, draw_temperature=0, hand_taste=0))
    found = []
    for name, memory in read_learned(home, level, opponent).items():
        shown, grown = int(memory.records["hands"][0]), int(memory.hands_learned(np.zeros(1, np.int64))[0])
        depends = level.responses is not None and level.responses.depends_on_opponent
        learned = Learned(
            level.name,
            name,
            shown,
            grown,
            round(level.gained(grown), 2),
            depends,
            person_rating(home, name) if level.dial is not None else None,
            traits_of(memory.records[0], memory.counts[0]) if shown else [],
            _position(player, memory.posteriors.distances(np.zeros(1, np.int64))[0], grown, hands(name))
            if shown and depends
            else None,
        )
        found.append(learned)
    return found


def _position(
    player: LevelPlayer, distances: np.ndarray, grown: int, hands: Sequence[tuple[int, int, int, Hand]]
) -> Position | None:
    """The position in which what is known of the opponent moves the level's choice most, of those where it changes the choice."""
    views, places = [], []
    for game, number, seat, hand in hands:
        again = hand.after(0)
        for move, action in enumerate(hand.history, 1):
            view = again.view()
            if again.turn != seat and view["phase"][0] <= PHASE_DISCARD:
                views.append(view)
                places.append((game, number, move))
            again.push(action)
    if not views:
        return None
    seen = np.concatenate(views)
    biases = player.level.logit_bias(np.stack([np.zeros_like(distances), distances]), np.full(2, grown))
    assert biases is not None
    installed = player.choose(seen, None)
    stranger, now = (player.choose(seen, np.repeat(bias[None], len(seen), 0)) for bias in biases)
    pushes = [
        _pushes(player, distances, seen[k], installed[k], now[k])
        if installed[k] != now[k] != stranger[k]
        else np.zeros(NUM_WEIGHTS)
        for k in range(len(seen))
    ]
    best = int(np.argmax([push.sum() for push in pushes]))
    if pushes[best].sum() <= 0:
        return None
    view, belief = seen[best], int(pushes[best].argmax())
    game, number, move = places[best]
    return Position(
        game,
        number,
        move,
        " ".join(map(card_name, cards_of(int(view["hand"])))),
        "" if view["upcard"] == NO_CARD or view["phase"] == PHASE_DISCARD else card_name(int(view["upcard"])),
        *(action_name(int(actions[best]), int(view["phase"])) for actions in (installed, now)),
        reason=_MEANING[FEATURES[belief]][0 if distances[belief] > 0 else 1],
    )


def _pushes(player: LevelPlayer, distances: np.ndarray, view: np.void, before: int, after: int) -> np.ndarray:
    """How far each thing known of an opponent moves a level from one action towards another, in logits: ``float32[NUM_WEIGHTS]``."""
    responses = player.level.responses
    assert responses is not None
    views = np.repeat(np.array([view]), NUM_WEIGHTS)
    logits = np.zeros((NUM_WEIGHTS, NUM_ACTIONS), np.float32)
    biases = bounded(distances)[:, None] * responses.specific
    add_logit_bias(views, player.behaviour[0], views["legal"].astype(np.int64), biases, np.zeros(1, SPACE), logits)
    return logits[:, after] - logits[:, before]


def _trait_lines(trait: Trait) -> list[str]:
    own, people = (
        f"{times(middle)} ({times(low)} to {times(high)})" for middle, low, high in (trait.own, trait.people)
    )
    levels = "".join(f"; {level} {times(share)}" for level, share in trait.levels.items())
    evidence = f" ({trait.evidence})" if trait.evidence else ""
    return [f"  {trait.name}: {trait.words}{evidence}", f"    {trait.case}: {own}; typical people {people}{levels}"]


def _of_opponent(found: Learned) -> list[str]:
    hands, name = found.hands_shown, found.opponent
    lines = [found.rating.sentence(name)] if found.rating else []
    if not hands:
        return [*lines, f"{name}: no hand shown yet."]
    lines.append(f"{name}: {hands} hand{'s' if hands > 1 else ''} shown; {found.certainty}.")
    if found.clear_traits:
        lines.append("  Numbers are times of 10; in brackets, what holds 8 times of 10, of one person or of people.")
    lines += [line for trait in found.clear_traits for line in _trait_lines(trait)]
    if found.unclear:
        lines.append(f"  Not known yet: {found.unclear}.")
    return [*lines, f"  {found.difference}"]


def describe_learning(
    home: Path, level: Level, opponent: str | None = None, hands: HandsOnRecord = lambda name: ()
) -> str:
    """The same as ``what_is_learned``, which has the arguments, in words.

    Raises:
        LevelError: if the file that holds it is damaged.
    """
    if not level.learns:
        return f"{level.name} learns nothing: it plays everybody as installed."
    everything = what_is_learned(home, level, opponent, hands)
    lines = [line for found in everything for line in _of_opponent(found)]
    if not lines:
        lines.append(f"{level.name} has learned nothing yet; it plays as installed.")
    grown = everything[0].hands_of_all if everything else 0
    if grown and (gained := level.gained(grown)):
        hands_text = f"{grown} hand{'s' if grown > 1 else ''}"
        lines.append(
            f"After {hands_text} of everybody it plays about {gained:.1f} points per hand better than as installed, "
            f"also against strangers; after ten times as many it will be {level.gained(10 * grown):.1f}."
        )
    return "\n".join(lines)
