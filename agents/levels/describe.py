"""What a level has learned: what it believes of an opponent's habits, the evidence, and what it now does differently."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena.series import play_series
from agents.levels.level import Level
from agents.levels.opponent_memory import OpponentMemory
from agents.levels.player import LevelPlayer
from agents.levels.profile import read_learned
from agents.levels.ratings import person_rating
from agents.opponent_model.features import DRAWS, FEATURES, NUM_WEIGHTS
from agents.opponent_model.habits import HABITS
from agents.opponent_model.posterior import CONTEXT_WIDTH
from ginenv.bots.heuristics import StylePlayer, style
from ginenv.engine.actions import KNOCK, PHASE_DISCARD, STOCK, UPCARD
from ginenv.engine.melds import card_points

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
# A belief is reported above this certainty and distance (in other people's standard deviations), and at most this many are.
_CERTAIN, _FAR, _MAX_FINDINGS = 0.25, 0.5, 5
# Beliefs that counts can check: the habit that is counted, and whether a high weight means more of it (1) or less (-1).
_COUNTED: dict[str, tuple[str, int]] = {
    **dict.fromkeys(DRAWS, ("takes the upcard", 1)),
    "the first upcard": ("takes the first upcard", 1),
    "any knock": ("knocks by the third turn", 1),
    "deadwood / 10": ("has five points or less when it knocks", -1),
    "points / 10": ("throws a card of ten points in the first three turns", 1),
    "king or queen": ("throws a card of ten points in the first three turns", 1),
}
assert set(_COUNTED) <= set(FEATURES) and {habit for habit, _ in _COUNTED.values()} <= set(HABITS)
# A count is evidence against a belief from this many chances on; a share this high refutes "seldom", one this low "often".
_CHANCES, _OFTEN, _SELDOM = 10, 0.9, 0.1
# Number of hands whose decisions show what the level does differently, how often each is played, and their seed.
_PROBES, _TURNS, _SEED = 60, 4, 17


@lru_cache(maxsize=1)
def _probes() -> np.ndarray:
    """Views of decisions in some hands between bots, each repeated with different luck: ``VIEW[n]``."""
    seen: list[np.ndarray] = []

    class Watcher(StylePlayer):
        def act(self, views: np.ndarray, slots: np.ndarray | None = None) -> np.ndarray:
            seen.append(views[views["phase"] <= PHASE_DISCARD].copy())
            return super().act(views, slots)

    play_series(Watcher(style("knocker")), StylePlayer(style("formula")), series=_PROBES, hands=1, seed=_SEED)
    views = np.tile(np.concatenate(seen), _TURNS)
    luck = np.random.default_rng(_SEED).integers(0, 2**64, (2, len(views)), np.uint64)
    views["luck"], views["hand_luck"] = luck
    return views


def conduct(player: LevelPlayer, context: np.ndarray, hands: int) -> dict[str, float]:
    """How a level's network plays some decisions against one opponent, as rates that people understand.

    Args:
        player: of the level.
        context: what is known of the opponent, ``float32[CONTEXT_WIDTH]``.
        hands: number of hands that the level has learned from in all.
    """
    views = _probes()
    logit_bias = player.level.logit_bias(context[None], np.array([hands]))
    actions = player.choose(views, None if logit_bias is None else np.repeat(logit_bias, len(views), 0))
    could_knock, could_draw = views["legal"][:, 1] != 0, views["legal"][:, 2] == 3
    knocked = (actions >= KNOCK) & (actions < STOCK)
    thrown = actions[(views["legal"][:, 0] != 0) & ~knocked] % KNOCK
    return {
        "knocks when it could, %": 100 * float(knocked[could_knock].mean()),
        "takes the upcard when it could, %": 100 * float((actions[could_draw] == UPCARD).mean()),
        "points of its discards": float(np.mean([card_points(card) for card in thrown.tolist()])),
    }


def findings(home: Path, level: Level, opponent: str | None = None) -> list[dict[str, Any]]:
    """What a level has learned of its opponents, for JSON: beliefs, the habits counted, and what it does differently.

    Args:
        home: directory under which levels keep what they learn.
        level: the level.
        opponent: the name of one opponent; all when left out.

    Raises:
        LevelError: if the file that holds it is damaged.
    """
    player = LevelPlayer(level.with_settings(worlds=0))
    learned = read_learned(home, level, opponent)
    # Somebody unknown, by an installed level and by this one: what is the same for all of what changed.
    before, stranger = (
        conduct(player, np.zeros(CONTEXT_WIDTH, np.float32), hands)
        for hands in (0, max((_hands_learned(memory) for memory in learned.values()), default=0))
    )
    return [_findings(player, name, memory, before, stranger) for name, memory in learned.items()]


def _hands_learned(memory: OpponentMemory) -> int:
    """Hands that count for the level's growth: the same for all opponents on record."""
    return int(memory.hands_learned(np.zeros(1, np.int64))[0])


def _findings(
    player: LevelPlayer, opponent: str, memory: OpponentMemory, before: dict[str, float], stranger: dict[str, float]
) -> dict[str, Any]:
    context = memory.contexts[0]
    far, certain = context[1 : 1 + NUM_WEIGHTS], context[1 + NUM_WEIGHTS :]
    order = np.argsort(-np.abs(far) * certain)
    did, could = (memory.counts[name].astype(np.float64) for name in ("did", "could"))
    beliefs = [
        {
            "words": _MEANING[FEATURES[k]][0 if far[k] > 0 else 1],
            "feature": FEATURES[k],
            "distance": round(float(far[k]), 2),
            "certainty": round(float(certain[k]), 2),
        }
        for k in order
        if certain[k] > _CERTAIN
        and abs(far[k]) > _FAR
        and not _is_refuted(FEATURES[k], float(far[k]), did[0], could[0])
    ][:_MAX_FINDINGS]
    habits = []
    for k, name in enumerate(HABITS):
        if could[0, k]:
            elsewhere = float(could[1:, k].sum())
            others = float(did[1:, k].sum()) / elsewhere if elsewhere else None
            habits.append({"habit": name, "did": int(did[0, k]), "could": int(could[0, k]), "others": others})
    hands = int(memory.records["hands"][0])
    learned_hands = _hands_learned(memory)
    now = conduct(player, context, learned_hands)
    return {
        "level": player.level.name,
        "opponent": opponent,
        "hands_shown": hands,
        "hands_of_all": learned_hands,
        "gained": round(player.level.gained(learned_hands), 2),
        "beliefs": beliefs,
        "habits": habits,
        "depends_on_opponent": player.level.responses is not None and player.level.responses.depends_on_opponent,
        "plays": {
            name: {
                "installed": round(before[name], 2),
                "stranger": round(stranger[name], 2),
                "now": round(now[name], 2),
            }
            for name in before
        },
    }


def _is_refuted(feature: str, far: float, did: np.ndarray, could: np.ndarray) -> bool:
    """Whether counts contradict the words for a weight: weights that depend on each other are right only together."""
    habit, sense = _COUNTED.get(feature, ("", 0))
    if not sense or could[HABITS.index(habit)] < _CHANCES:
        return False
    share = did[HABITS.index(habit)] / could[HABITS.index(habit)]
    return bool(share <= _SELDOM if far * sense > 0 else share >= _OFTEN)


def _of_opponent(found: dict[str, Any]) -> list[str]:
    hands, name = found["hands_shown"], found["opponent"]
    lines = [f"{name}: {hands or 'no'} hand{'s' if hands > 1 else ''} shown{'' if hands else ' yet'}."]
    if found["beliefs"]:
        beliefs = [f"{belief['words']} (certainty {100 * belief['certainty']:.0f} %)" for belief in found["beliefs"]]
        lines.append("  It " + "; it ".join(beliefs) + ".")
    for habit in found["habits"]:
        of_others = "" if habit["others"] is None else f", others on record {100 * habit['others']:.0f} %"
        share = 100 * habit["did"] / habit["could"]
        lines.append(f"  {habit['habit']}: {share:.0f} % ({habit['did']} of {habit['could']}){of_others}")
    changes = [
        _change(name, play, found["depends_on_opponent"])
        for name, play in found["plays"].items()
        if _is_different(play)
    ]
    if changes:
        lines.append(f"  Against it the level now: {'; '.join(changes)}.")
    return lines


def _is_different(play: dict[str, float]) -> bool:
    return abs(play["now"] - play["installed"]) >= 0.05


def _change(name: str, play: dict[str, float], depends_on_opponent: bool) -> str:
    """What the level does differently in one respect, and how much of that is the same against somebody unknown."""
    what, _, percent = name.partition(", ")
    unit, stranger = (
        f" {percent}" if percent else "",
        f", against a stranger {play['stranger']:.1f}" if depends_on_opponent else "",
    )
    return f"{what} {play['now']:.1f}{unit} (as installed {play['installed']:.1f}{stranger})"


def describe_learning(home: Path, level: Level, opponent: str | None = None) -> str:
    """What a level has learned of an opponent (of all when left out), and how much it plays of what applies to every opponent.

    Raises:
        LevelError: if the file that holds it is damaged.
    """
    if not level.learns:
        return f"{level.name} learns nothing: it plays everybody as installed."
    found_by_opponent = findings(home, level, opponent)
    names = [] if level.dial is None else [found["opponent"] for found in found_by_opponent]
    lines = [rating.sentence(f"{name}:") for name in names if (rating := person_rating(home, name))]
    lines += [line for found in found_by_opponent for line in _of_opponent(found)]
    if any(found["beliefs"] for found in found_by_opponent):
        lines.append("Certainty: 0 % knows no more than of a stranger, 100 % is sure.")
    if level.dial is None and found_by_opponent and not found_by_opponent[0]["depends_on_opponent"]:
        lines.append("It plays everybody alike: no gain was found in playing one opponent differently from another.")
    if any(_is_different(play) for found in found_by_opponent for play in found["plays"].values()):
        lines.append(f"How it plays was found in {_PROBES} hands that serve as a test.")
    if not lines:
        lines.append(f"{level.name} has learned nothing yet; it plays as installed.")
    hands = _hands_learned(read_learned(home, level, "")[""])
    if hands and (gained := level.gained(hands)):
        hands_text = f"{hands} hand{'s' if hands > 1 else ''}"
        lines.append(
            f"After {hands_text} of everybody it plays about {gained:.1f} points per hand better than as installed, "
            f"also against strangers; after ten times as many it will be {level.gained(10 * hands):.1f}."
        )
    return "\n".join(lines)
