"""``gin rate``: a rating on the ladder by few hands, for players that are slow or expensive."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import tyro
from pydantic import Field
from rich.console import Console
from rich.markup import escape

from agents.arena.matches import MatchSettings, check_names, learns, read_side
from agents.arena.results import RESULTS_VERSION, versions
from agents.arena.short_rating import Block, ShortRating, play_block
from agents.arena.tournament import version_of
from agents.cli import INTERRUPTED
from agents.config import Config
from agents.files import check_writable, write_json, writing
from agents.interrupts import defer_interrupts
from agents.parts import Parts
from agents.programs.player import BotLimits
from agents.rating import shipped_ladder
from agents.reports.terminal import counted, fault_text, new_table, plain_console, progress_bar, this_command
from ginenv.errors import GinError, must_be, quoted
from ginenv.tables.player_names import short_name

# What a rating depends on besides the version of its player.
_DECISIVE = ("player", "seed", "worlds")


class RateConfig(Config):
    """A rating by few hands.

    Attributes:
        player: a name, a directory, or cmd:"PROGRAM ARGUMENTS" for a program that speaks the line protocol.
        budget: number of hands, such as 60-hands; a larger one continues an earlier rating.
        block: hands (rounded up to pairs) against one opponent before the next is chosen.
        seed: seed of deals and players.
        seconds: time limit of a program for each line of questions.
        worlds: worlds in which each decision is judged for what it costs; 0 leaves that out.
        out: JSON file for the results, beside which parts/ holds what has been played; by default runs/rate/PLAYER.json.
    """

    player: Annotated[str, tyro.conf.Positional, tyro.conf.arg(metavar="PLAYER")]
    budget: str = "60-hands"
    block: int = Field(10, ge=2)
    seed: int = Field(0, ge=0)
    seconds: float = Field(120.0, gt=0)
    worlds: int = Field(128, ge=0, le=4096)
    out: Path | None = None

    @property
    def pairs(self) -> int:
        """The budget in pairs of mirrored hands."""
        found = re.fullmatch(r"(\d{1,6})(?:-hands?)?", self.budget)
        if found is None or not int(found[1]):
            raise GinError(must_be("--budget", "a number of hands such as 60-hands", self.budget))
        return (int(found[1]) + 1) // 2

    @property
    def path(self) -> Path:
        """The results file."""
        return (
            self.out or Path("runs/rate") / f"{re.sub(r'[^A-Za-z0-9._=-]+', '-', short_name(self.player))[-80:]}.json"
        )


def rate(config: RateConfig) -> int | None:
    """Rates a player by few hands: mirrored deals, luck subtracted, opponents chosen as it goes on.

    Each block is kept when it is over, and the same command continues; after Ctrl-C what was finished is written and shown.
    """
    pairs, path = config.pairs, config.path
    check_writable(path)
    made = check_names(config.player)
    if any(map(learns, made)):
        raise GinError(
            f"{quoted(config.player)} learns, so its hands are not alike; rate a level without learn=true, matched with rating=R"
        )
    decisive = {name: getattr(config, name) for name in _DECISIVE}
    parts = Parts(path.parent / "parts", version=version_of(read_side(config.player), *made), **decisive)
    found = ShortRating(config.player, shipped_ladder(), _earlier_blocks(parts))
    console = plain_console()
    fault = ""
    with defer_interrupts() as interrupts:
        with progress_bar(console, 2 * pairs, f"rating {short_name(config.player)}, hands") as tick:
            for opponent, count in found.steps(pairs, (config.block + 1) // 2):
                first = found.pairs
                fault = _play(config, found, opponent, count, lambda hands, first=first: tick(2 * first + hands))
                if found.pairs > first:
                    parts.save(asdict(found.blocks[-1]), first=first)
                    tick(2 * found.pairs)
                if fault or interrupts.requested or not found.blocks:
                    break
        if not found.blocks:
            raise GinError(fault) if fault else KeyboardInterrupt
        document = _document(config, found)
        with writing(path):
            write_json(path, document)
        console.print(f"results: {path}", markup=False, soft_wrap=True)
        _show(console, short_name(config.player), document)
    if fault:
        raise GinError(f"{fault}; what was played before is kept, and the same command continues")
    return INTERRUPTED if interrupts.requested and found.pairs < pairs else None


def _earlier_blocks(parts: Parts) -> list[Block]:
    """The blocks that earlier calls have played."""
    blocks: list[Block] = []
    pairs = 0
    while stored := parts.load(first=pairs):
        blocks.append(Block(**stored))
        pairs += len(blocks[-1].margins)
    return blocks


def _play(config: RateConfig, found: ShortRating, opponent: str, pairs: int, tick: Any) -> str:
    """Plays and appends a block; returns why it does not count, if a program failed otherwise than by an illegal action."""
    limits = BotLimits.for_lines(config.seconds)
    settings = MatchSettings(unit="hands", seed=config.seed, forfeit="hand", limits=limits)
    block, hands = play_block(config.player, opponent, settings, found.pairs, pairs, tick)
    broken = [fault for fault in block.faults if fault["forfeits"] and fault["kind"] != "illegal move"]
    if broken:
        return fault_text(broken[0])
    if block.margins:
        if config.worlds:
            # Only now: a network is loaded for it.
            from agents.analysis.losses import Losses

            block.losses = Losses(config.worlds, config.seed).sums(hands)
        found.blocks.append(block)
    return ""


def _document(config: RateConfig, found: ShortRating) -> dict[str, Any]:
    return {
        "format": RESULTS_VERSION,
        "command": this_command(),
        **{name: getattr(config, name) for name in _DECISIVE},
        "rules": "eaai",
        "versions": versions(),
        **found.to_dict(),
    }


def _show(console: Console, player: str, document: dict[str, Any]) -> None:
    rating, hands = document["rating"], document["hands"]
    table = new_table(f"{escape(player)}, {counted(hands, 'hand')}", "", "")
    low, high = document["between"]
    where = f"above {low}" if high is None else f"below {high}" if low is None else f"between {low} and {high}"
    where = where if low or high else "anywhere"
    table.add_row("rating (95 %)", f"{rating['rating']:+.0f} ({rating['low']:+.0f} to {rating['high']:+.0f})")
    table.add_row("on the ladder", where)
    for name, row in document["points"].items():
        table.add_row(f"against {name}", f"{row['per_hand']:+.1f} points per hand ({counted(row['hands'], 'hand')})")
    if document["decisions"]:
        illegal = f"{document['illegal']} in {document['decisions']:,} decisions"
        table.add_row("illegal actions", f"{100 * document['illegal_rate']:.2f} % ({illegal}); each lost its hand")
        table.add_row("seconds per decision", f"{document['seconds_per_decision']:.3f}")
    if document["loss_per_decision"]:
        table.add_row("points lost per decision", f"{sum(document['loss_per_decision'].values()):.2f}")
        for kind, lost in document["loss_per_decision"].items():
            count = document["decisions_by_kind"][kind]
            if count:
                mistakes = counted(document["mistakes"][kind], "mistake")
                subject = kind.replace("knock", "knocks") if "knock" in kind else f"{kind}s"
                table.add_row(f"  of these, by {subject}", f"{lost:.2f} ({mistakes} in {counted(count, 'decision')})")
    console.print(table)
