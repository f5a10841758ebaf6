"""Whole games of the engine as JSON lines, for readers in other languages: what is legal, held, seen and scored at every step."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

from ginenv.engine.cards import cards_of
from ginenv.engine.rules import get_rules
from ginenv.hands.hand import Hand, Match, deadwood
from ginenv.tables.players import make_player
from ginenv.view.encoding import encode_views
from ginenv.view.view import make_views

_PLAYERS = ("formula", "simple", "camper", "knocker")
# Of the actions. Players alone would leave much of the rules untried.
_RANDOM = 0.1


def game_lines(preset: str, hands: int, seed: int) -> Iterator[str]:
    """Games of at least so many hands, one JSON object each."""
    rng = np.random.default_rng(seed)
    players = [make_player(name) for name in _PLAYERS]
    dealt = 0
    while dealt < hands:
        match = Match(preset, seed=int(rng.integers(1 << 31)))
        state = match.hand.state[0]
        record: dict[str, Any] = {"preset": preset, "rules": json.loads(get_rules(preset).to_json())}
        record |= {"key": str(state["key"]), "luck": [str(word) for word in state["luck"]], "hands": []}
        pair = [players[k] for k in rng.integers(len(players), size=2)]
        while not match.is_over:
            if match.hand.is_over:
                match.next_hand()
            record["hands"].append(_hand(match, pair, rng))
        record["end"] = {"isOver": True, "winner": match.winner, "total": match.totals}
        dealt += len(record["hands"])
        yield json.dumps(record)


def _hand(match: Match, pair: list[Any], rng: np.random.Generator) -> dict[str, Any]:
    hand = match.hand
    state = hand.state[0]
    found: dict[str, Any] = {"starter": hand.turn, "deck": state["deck"].tolist(), "steps": []}
    while not hand.is_over:
        found["steps"].append(_step(hand, pair, rng))
        match.push(found["steps"][-1]["action"])
    outcome = hand.outcome
    assert outcome is not None
    found["result"] = {
        "end": outcome.end.name.lower().replace("_", "-"),
        **{name: getattr(outcome, name) for name in ("winner", "knocker", "points", "deadwood", "doubled", "spread")},
        "laid": outcome.laid_off,
        "score": match.score,
        "boxes": match.boxes,
    }
    return found


def _step(hand: Hand, pair: list[Any], rng: np.random.Generator) -> dict[str, Any]:
    views = make_views(np.repeat(hand.state, 2), np.array([0, 1]))
    legal = hand.legal_actions()
    seat = hand.turn
    action = int(pair[seat].act(views[seat : seat + 1])[0])
    return {
        "seat": seat,
        "legal": legal,
        "action": int(rng.choice(legal)) if rng.random() < _RANDOM else action,
        "deadwood": [deadwood(cards_of(int(cards))) for cards in hand.state["hands"][0]],
        "inputs": [base64.b64encode(row.tobytes()).decode() for row in encode_views(views)],
        "luck": [[str(view["luck"]), str(view["hand_luck"])] for view in views],
    }
