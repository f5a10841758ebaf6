"""Why the search plays what it plays: candidates and belief for one position.

python -m agents.search.explain "ginview1 rules=eaai ..."                     tables in the terminal
python -m agents.search.explain "ginview1 ..." --json                         the same as JSON
python -m agents.search.explain "ginview1 ..." --png why.png                  and as a picture
python -m agents.search.explain "ginview1 ..." --set worlds=1024 prior=style  with other settings
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from PIL import Image, ImageDraw, ImageFont
from rich.console import Console
from rich.table import Table
from rich.text import Text

from agents.bots.hand_kernels import danger_of, fillers, live_ways
from agents.config import load_config, parse_config
from agents.files import write_atomic
from agents.search.config import SearchConfig
from agents.search.player import SearchPlayer
from agents.search.worlds import card_chances
from ginenv.actions import KNOCK, PHASE_DISCARD, STOCK, action_name
from ginenv.cards import RANKS, SUITS, format_cards
from ginenv.errors import GinError
from ginenv.melds import deadwood
from ginenv.rules import R_HAND_SIZE
from ginenv.text import parse_view

CONFIG = Path("configs/search.yaml")
_SYMBOLS = {"S": "♠", "C": "♣", "D": "♦", "H": "♥"}


def explain(view: np.ndarray, player: SearchPlayer) -> dict[str, Any]:
    """What the search finds about a position, as plain values.

    Args:
        view: ``VIEW[1]`` of a seat that is to move.
        player: the search that is asked.

    Returns:
        ``hand`` and ``deadwood``; ``action`` and ``prior`` in words; ``candidates``, best first, each with ``action``, ``value`` (chance
        to win the game, or points / 100), ``error`` (its standard error), ``difference`` to the choice with ``difference_error``,
        ``worlds``, and for discards ``deadwood`` after it, ``ways`` to fill what is left, ``live_ways`` of the card thrown,
        and ``danger``; ``belief``: the chance that the opponent holds each card, suits by ranks.

    Raises:
        GinError: if the seat is not to move.
    """
    v: Any = view[0]
    if not v["to_move"]:
        raise GinError("a search can be explained for the seat to move, and this seat is not")
    found = player.examine(view)
    chances = np.zeros(52)
    card_chances(found.hands, found.weights, chances)
    chosen = found.candidates[found.best]
    candidates = []
    for candidate, error in zip(found.candidates, found.errors, strict=True):
        line: dict[str, Any] = {
            "action": action_name(int(candidate["action"]), int(v["phase"])),
            "value": round(float(candidate["value"]), 4),
            "error": round(float(error), 4),
            "difference": round(float(candidate["value"] - chosen["value"]), 4),
            "difference_error": round(float(candidate["error"]), 4),
            "worlds": int(candidate["worlds"]),
        }
        if v["phase"] == PHASE_DISCARD:
            line |= _about_discard(v, int(candidate["action"]))
        candidates.append(line)
    order = sorted(range(len(candidates)), key=lambda i: (i != found.best, -candidates[i]["value"]))
    return {
        "hand": format_cards(int(v["hand"])),
        "deadwood": int(deadwood(int(v["hand"]))),
        "value_is": "chance to win the game" if player.prices_games(view) else "points / 100",
        "belief_from": player.config.belief,
        "action": action_name(int(chosen["action"]), int(v["phase"])),
        "prior": action_name(int(found.candidates[found.prior]["action"]), int(v["phase"])),
        "candidates": [candidates[i] for i in order],
        "belief": [[round(float(chances[13 * suit + rank]), 4) for rank in range(13)] for suit in range(4)],
    }


def _about_discard(v: Any, action: int) -> dict[str, Any]:
    card = action - KNOCK if KNOCK <= action < STOCK else action
    rest = int(v["hand"]) & ~(1 << card)
    unseen, known = int(v["unseen"]), int(v["known"][1])
    chance = (int(v["rules"][R_HAND_SIZE]) - known.bit_count()) / max(1, unseen.bit_count())
    cold = int(v["thrown"][1]) | int(v["refused"][1])
    return {
        "deadwood": int(deadwood(rest)),
        "ways": (int(fillers(rest)) & unseen).bit_count(),
        "live_ways": int(live_ways(card, int(v["hand"]), unseen)),
        "danger": round(float(danger_of(card, unseen, known, cold, chance)), 3),
    }


def tables(about: dict[str, Any]) -> list[Table]:
    """The findings as tables: candidates, and the belief as suits by ranks in percent."""
    candidates = Table(title=f"{about['hand']} · {about['deadwood']} deadwood · plays {about['action']}")
    for heading in ("", "value", "± s.e.", "to the choice", "worlds", "deadwood", "ways", "its ways", "danger"):
        candidates.add_column(heading, justify="left" if not heading else "right")
    for line in about["candidates"]:
        marks = " ←" if line["action"] == about["action"] else ""
        marks += " (prior)" if line["action"] == about["prior"] else ""
        candidates.add_row(
            line["action"] + marks,
            f"{100 * line['value']:.2f}",
            f"{100 * line['error']:.2f}",
            f"{100 * line['difference']:+.2f} ± {100 * line['difference_error']:.2f}",
            str(line["worlds"]),
            *(str(line.get(key, "")) for key in ("deadwood", "ways", "live_ways", "danger")),
        )
    candidates.caption = f"values in hundredths: {about['value_is']}"
    belief = Table(title=f"the opponent holds, % ({about['belief_from']})")
    belief.add_column("")
    for rank in RANKS:
        belief.add_column(rank, justify="right")
    for suit, row in zip(SUITS, about["belief"], strict=True):
        belief.add_row(_SYMBOLS.get(suit, suit), *(_shaded(chance) for chance in row))
    return [candidates, belief]


def _shaded(chance: float) -> Text:
    if chance == 0:
        return Text("·", style="dim")
    level = int(35 + 150 * chance)
    return Text(f"{100 * chance:.0f}", style=f"white on rgb({level},60,{max(40, 150 - level)})")


_CELL, _MARGIN, _LINE = 52, 24, 26


def picture(about: dict[str, Any]) -> Image.Image:
    """The findings as a picture: bars for the candidates, and the belief as a map of suits by ranks."""
    rows = about["candidates"]
    width = 2 * _MARGIN + 14 * _CELL
    image = Image.new("RGB", (width, 3 * _MARGIN + _LINE * (len(rows) + 3) + 5 * _CELL), "white")
    draw = ImageDraw.Draw(image)
    font = ImageFont.load_default(15)
    y = _MARGIN
    draw.text((_MARGIN, y), f"{about['hand']}   deadwood {about['deadwood']}", "black", font)
    y += _LINE
    values = [line["value"] for line in rows]
    low, high = min(values), max(values)
    start, most = _MARGIN + 150, 260
    for line in rows:
        chosen = line["action"] == about["action"]
        length = most if high == low else 30 + int((most - 30) * (line["value"] - low) / (high - low))
        draw.rectangle((start, y + 3, start + length, y + _LINE - 6), "#2b6cb0" if chosen else "#a0b4c8")
        draw.text((_MARGIN, y), line["action"], "black", font)
        words = f"{100 * line['value']:.1f} ± {100 * line['error']:.1f}"
        if "danger" in line:
            words += f"   deadwood {line['deadwood']}, ways {line['ways']}, danger {line['danger']:.2f}"
        draw.text((start + most + 12, y), words, "black", font)
        y += _LINE
    draw.text((_MARGIN, y), f"value: {about['value_is']}, in hundredths", "#606060", font)
    y += 2 * _LINE
    for rank, name in enumerate(RANKS):
        draw.text((_MARGIN + (rank + 1) * _CELL + 20, y), name, "black", font)
    y += _LINE
    for suit, name in enumerate(SUITS):
        draw.text((_MARGIN + 20, y + 16), name, "black", font)
        for rank in range(13):
            chance = about["belief"][suit][rank]
            x = _MARGIN + (rank + 1) * _CELL
            shade = int(255 - 200 * chance)
            draw.rectangle((x, y, x + _CELL - 3, y + _CELL - 3), (255, shade, shade) if chance else "#eeeeee")
            if chance:
                draw.text((x + 12, y + 16), f"{100 * chance:.0f}", "black", font)
        y += _CELL
    return image


def main(arguments: list[str] | None = None) -> None:
    """Explains the position of the command line; an error is one sentence and a non-zero exit."""
    parser = argparse.ArgumentParser(prog="python -m agents.search.explain", description=__doc__.splitlines()[0])  # pyright: ignore[reportOptionalMemberAccess]
    parser.add_argument("view", help="a position as one seat sees it: a line that begins with ginview1")
    parser.add_argument("--config", type=Path, help=f"settings of the search (default: {CONFIG} where it exists)")
    parser.add_argument("--set", nargs="+", default=[], metavar="KEY=VALUE", help="change single settings")
    parser.add_argument("--seed", type=int, default=0, help="of the sampled worlds")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.add_argument("--png", type=Path, help="also draw a picture into this file")
    asked = parser.parse_args(arguments)
    try:
        about = explain(parse_view(asked.view), SearchPlayer(_settings(asked.config, asked.set), asked.seed))
    except GinError as error:
        sys.exit(f"explain: {error}")
    if asked.json:
        print(json.dumps(about, indent=2))
    else:
        for table in tables(about):
            Console().print(table)
    if asked.png:
        write_atomic(asked.png, lambda temporary: picture(about).save(temporary, "PNG"))


def _settings(path: Path | None, changes: list[str]) -> SearchConfig:
    if path is not None or CONFIG.exists():
        return load_config(path or CONFIG, changes, SearchConfig)
    # Outside a checkout the built-in numbers are the same.
    pairs = (change.partition("=") for change in changes)
    return parse_config({key: yaml.safe_load(value) for key, _, value in pairs}, SearchConfig, "search")


if __name__ == "__main__":
    main()
