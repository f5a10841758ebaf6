"""Does a player keep its strength at other programs' tables (``bridges/``)? The same player against the same bot, there and here.

python -m benchmarks.strength.bridges formula
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import rlcard
import tyro
from rich.console import Console
from rlcard.models.gin_rummy_rule_models import GinRummyNoviceRuleAgent

from agents.arena.results import Estimate, ratio, versions
from agents.files import write_json
from bridges.openspiel_bot import OpenSpielBot
from bridges.rlcard_agent import RULES, RLCardAgent
from ginenv.engine.rules import Rules
from ginenv.hands.hand import Hand
from ginenv.tables.players import Player, make_player


@dataclass
class Arguments:
    """Command line.

    Attributes:
        player: name of the player.
        hands: hands at each table.
        seed: seed of the deals.
        out: JSON file to write.
    """

    player: tyro.conf.Positional[str]
    hands: int = 400
    seed: int = 1
    out: Path = Path("benchmarks/results/bridges.json")


def play_here(rules: str | Rules, players: list[Player], seed: int, deck: list[int] | None = None) -> np.void:
    """The final view of seat 0."""
    hand = Hand.deal(rules, seed=seed, deck=deck, starter=seed % 2 if deck is None else 0)
    while not hand.is_over:
        hand.push(int(players[hand.turn].act(hand.view(hand.turn))[0]))
    return hand.view(0)[0]


def in_openspiel(arguments: Arguments) -> dict[str, Any]:
    """Points per hand against OpenSpiel's simple bot; every deal is played in both engines."""
    game, rng = pyspiel.load_game("gin_rummy"), np.random.default_rng(arguments.seed)
    simple = pyspiel.make_simple_gin_rummy_bot(game.get_parameters(), 1)
    bots = [OpenSpielBot(game, 0, arguments.player), simple]
    players = [make_player(arguments.player), make_player("openspiel-simple")]
    points = np.zeros((2, arguments.hands))
    for number in range(arguments.hands):
        deck = rng.permutation(52).tolist()
        state, rest = game.new_initial_state(), iter(deck)
        simple.restart()
        while not state.is_terminal():
            state.apply_action(next(rest) if state.is_chance_node() else bots[state.current_player()].step(state))
        # The simple bot never lays off, so nobody may do it for the bot here.
        points[:, number] = state.returns()[0], play_here("openspiel,layoff=by-hand", players, number, deck)["points"]
    return figures("points per hand", points) | {"difference": mean(points[0] - points[1]).to_dict()}


def in_rlcard(arguments: Arguments) -> dict[str, Any]:
    """Share of hands that end by the player's knock or gin, against RLCard's novice; the deals differ."""
    env = rlcard.make("gin-rummy", {"seed": arguments.seed})
    np.random.seed(arguments.seed)  # noqa: NPY002 (the novice draws from it)
    env.set_agents([RLCardAgent(arguments.player), GinRummyNoviceRuleAgent()])
    players = [make_player(arguments.player), make_player("rlcard-novice")]
    ended = np.zeros((2, arguments.hands))
    for number in range(arguments.hands):
        env.run(is_training=False)
        table = env.game.round
        ended[0, number] = table.going_out_player_id == 0 and "Dead" not in type(table.going_out_action).__name__
        ended[1, number] = play_here(RULES, players, arguments.seed * 100_000 + number)["knocker"] == 0
    return figures("share of hands that it ends", ended)


def mean(values: np.ndarray) -> Estimate:
    """Mean and interval of one value per hand."""
    return ratio(values, np.ones(len(values)))


def figures(unit: str, values: np.ndarray) -> dict[str, Any]:
    """The means there and here."""
    return {"unit": unit, "there": mean(values[0]).to_dict(), "here": mean(values[1]).to_dict()}


def main() -> None:
    """Plays, writes the JSON, prints the figures."""
    arguments = tyro.cli(Arguments)
    tables = {"openspiel": in_openspiel(arguments), "rlcard": in_rlcard(arguments)}
    document = {
        "command": f"python -m benchmarks.strength.bridges {' '.join(sys.argv[1:])}",
        "player": arguments.player,
        "hands": arguments.hands,
        "tables": tables,
        "versions": versions(),
    }
    write_json(arguments.out, document)
    Console().print_json(data=tables)


if __name__ == "__main__":
    main()
