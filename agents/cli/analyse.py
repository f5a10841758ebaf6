"""``gin analyse``: what every decision of a hand cost, and a player's mistakes over all games."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Annotated

import tyro
from pydantic import Field
from rich import box
from rich.console import Console
from rich.table import Table

from agents.analysis import KINDS, MARKS, WORLDS, Analyst, HandAnalysis, Subject, read_hands
from agents.analysis.findings import GAME
from agents.config import Config
from agents.display_names import display_opponent, display_rules
from agents.play.moves import in_words
from agents.play.review import analyse_games, analysed, mistakes
from agents.play.store import Home, default_home
from agents.reports.terminal import counted, plain_console, progress_bar
from ginenv.engine.cards import SUITS
from ginenv.errors import GinError
from ginenv.hands.hand import Hand

_SIGNS = {"doubtful": "?!", "error": "?", "blunder": "??", "unclear": "~"}
_STYLES = {"doubtful": "yellow", "error": "red", "blunder": "bold red", "unclear": "dim"}


class AnalyseConfig(Config):
    """Analyses a record, a position, or a player's stored game; by default the player's last game.

    Attributes:
        subject: the file of a record, or a position (gin1 ...).
        game: number of one of the player's games, from 1, the oldest: the page Records of 'gin web' and --mistakes show it.
        hand: number of a hand in the game or the record, from 1; all that have ended when left out.
        mistakes: list the player's mistakes over all games, after analysing hands not analysed yet.
        player: whose games to use; those of the player who played last when left out.
        home: directory of the store; $GINENV_HOME if that is set.
        worlds: number of worlds in which each decision is judged.
        as_json: print JSON instead of tables, with everything that was found, including candidates and beliefs.
    """

    subject: Annotated[
        tuple[str, ...], tyro.conf.Positional, tyro.conf.arg(metavar="[SUBJECT ...]", help_behavior_hint="")
    ] = ()
    game: int | None = Field(None, ge=1)
    hand: int | None = Field(None, ge=1)
    mistakes: bool = False
    player: str | None = None
    home: Path = Field(default_factory=default_home)
    worlds: int = Field(WORLDS, ge=2, le=65536)
    as_json: Annotated[bool, tyro.conf.arg(name="json")] = False


def analyse(config: AnalyseConfig) -> None:
    """Says what every decision of a hand cost, what was luck, and where the mistakes are."""
    if bool(config.subject) + (config.game is not None) + config.mistakes > 1:
        raise GinError("a record or position, --game and --mistakes name different things; give one of them")
    # Progress goes to stderr, since the answer may be JSON for another program.
    answer, beside = plain_console(), plain_console(stderr=True)
    analyst = Analyst(config.worlds)
    if config.mistakes:
        _list_mistakes(config, analyst, answer, beside)
        return
    subject, hands = _hands(config, analyst, beside)
    names = subject.names
    if config.as_json:
        print(json.dumps({"names": names, "hands": [found.to_json() for found in hands]}, indent=2))
        return
    names = display_opponent(names[0]), display_opponent(names[1])
    for found in hands:
        answer.print(_hand_table(found, names))
        for line in _lines(subject.hands[found.number - 1], found, names):
            answer.print(line, highlight=False, markup=False)
    for line in _legend(hands[0].unit) if hands else ():
        answer.print(line, highlight=False, markup=False)


def _hands(config: AnalyseConfig, analyst: Analyst, beside: Console) -> tuple[Subject, list[HandAnalysis]]:
    """Whose hands there are, and the analyses asked for."""
    if config.subject:
        subject = read_hands(" ".join(config.subject))
        analyse_hand: Callable[[int], HandAnalysis] = lambda number: analyst.hand(subject.hands[number - 1], number)  # noqa: E731
    else:
        home = _home(config)
        games = home.games(_player(home, config.player))
        ended = [each for each in games if each.hands]
        if not ended:
            raise GinError(
                "no hand has been finished yet; 'gin play' plays on, and a record's file can be named instead"
            )
        if config.game is not None and config.game > len(games):
            raise GinError(f"there is no record {config.game}; the records are numbered 1 to {len(games)}")
        game = games[config.game - 1] if config.game else ended[-1]
        if not game.hands:
            raise GinError(f"no hand of game {config.game} has ended, so there is nothing to analyse")
        subject = Subject([hand for hand in home.record(game.id).hands if hand.is_over], game.names)
        analyse_hand = lambda number: analysed(home, game.id, number, analyst)  # noqa: E731
    count = len(subject.hands)
    if config.hand is not None and config.hand > count:
        raise GinError(f"there is no hand {config.hand}; the hands are 1 to {count}")
    numbers = range(1, count + 1) if config.hand is None else [config.hand]
    found = []
    with progress_bar(beside, len(numbers), "hands") as tick:
        for number in numbers:
            found.append(analyse_hand(number))
            tick(len(found))
    return subject, found


def _home(config: AnalyseConfig) -> Home:
    # Looking for games must not create the directory. If the user's home is unknown, the store says so.
    with suppress(RuntimeError):
        if not config.home.expanduser().exists():
            raise GinError(f"nobody has played yet in {config.home}; name a record's file or a position")
    return Home(config.home)


def _player(home: Home, name: str | None) -> str:
    if name is None and home.last_player is None:
        raise GinError(f"nobody has played yet in {home.path}; name a record's file or a position")
    return home.canonical_name((home.last_player or "") if name is None else name)


def _table(title: str, headings: Sequence[str], numeric: Sequence[str]) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE, pad_edge=False, padding=(0, 1, 0, 0))
    for heading in headings:
        table.add_column(heading, justify="right" if heading in numeric else "left", overflow="fold")
    return table


def _hand_table(found: HandAnalysis, names: tuple[str, str]) -> Table:
    """A table of the hand's decisions that offered a choice, one per row."""
    rules = display_rules(found.rules)
    title = f"hand {found.number}, {names[0]} {found.score[0]}, {names[1]} {found.score[1]}, {rules}"
    table = _table(title, ("", "", "hand", "played", "best", "cost", "", "risk"), ("", "cost", "risk"))
    factor = 100 if found.unit == GAME else 1
    for each in found.decisions:
        if len(each.candidates) < 2:
            continue
        cost = "" if each.loss is None else f"{factor * max(each.loss, 0.0):.1f}±{factor * each.error:.1f}"
        best = "" if each.best == each.played else each.best
        played = next((c for c in each.candidates if c.action == each.played), each.candidates[0])
        risk = "" if played.taken is None else f"{100 * played.taken:.0f}/{100 * (played.knock or 0.0):.0f}"
        row = (each.played or "", best, cost, _SIGNS.get(each.mark, ""), risk)
        table.add_row(str(each.move), names[each.seat], _by_suit(each.hand), *row, style=_STYLES.get(each.mark))
    return table


def _by_suit(cards: str) -> str:
    """Cards such as ``7C 8C AD`` in fewer characters, ``78C AD``: the table has to fit into 80 columns."""
    suits = {suit: "".join(card[0] for card in cards.split() if card[1] == suit) for suit in SUITS}
    return " ".join(ranks + suit for suit, ranks in suits.items() if ranks)


def _legend(unit: str) -> Iterator[str]:
    """What columns and signs mean."""
    yield f"cost: {'percent of the game' if unit == GAME else 'points'}, with its standard error"
    yield ", ".join(f"{sign} {mark}" for mark, sign in _SIGNS.items()) + " (within its error)"
    yield "risk: % of the opponent's possible hands that take the discard/may then knock"


def _lines(hand: Hand, found: HandAnalysis, names: tuple[str, str]) -> Iterator[str]:
    """For each mistake, the costliest first, what would have been better and why; for each side what decisions cost and luck brought."""
    factor, unit, of_all = (100, " %", " % of the game") if found.unit == GAME else (1, " points", " points")
    yield hand.outcome.describe(names) if hand.outcome else "in play"
    for each in found.mistakes():
        at, times = each.decision, f", {len(each.moves)} times" * (len(each.moves) > 1)
        view = hand.after(at.move - 1).view(at.seat)[0]
        words = {one.action: in_words(one.action, view) for one in at.candidates}
        compared = [one for one in at.candidates if one.risk and one.action in (at.played, at.best)]
        # Not ``capitalize``, which would write a card in small letters.
        risks = "".join(f" {words[one.action][0].upper()}{words[one.action][1:]}: {one.risk}." for one in compared)
        cost = f"{_SIGNS[at.mark]} {factor * (at.loss or 0.0):.1f}{unit}{times}"
        played, best = words[at.played or ""], words[at.best]
        yield f"move {at.move}, {names[at.seat]}: {played} ({cost}). Better: {best}. {at.reason}{risks}"
    for name, side in zip(names, found.sides, strict=True):
        luck = "" if side.luck is None else f"; luck of the draws {factor * side.luck:+.1f}{of_all}"
        yield f"{name}: {counted(side.decisions, 'decision')} cost {side.loss_text(found.unit, of_all)} ({side.marks_text}){luck}"


def _list_mistakes(config: AnalyseConfig, analyst: Analyst, answer: Console, beside: Console) -> None:
    home = _home(config)
    player = _player(home, config.player)
    games = home.games(player)
    with progress_bar(beside, sum(game.hands for game in games), "hands") as tick:
        analyse_games(home, player, analyst, lambda done, _: tick(done))
    found = mistakes(home, player)
    if config.as_json:
        print(json.dumps([mistake.to_json() for mistake in found], indent=2))
        return
    numbers = {game.id: str(number) for number, game in enumerate(games, 1)}
    headings = ("game", "hand", "move", "against", "played", "best", "cost", "", "why")
    for kind in KINDS:
        rows = [each for each in found if each.kind == kind]
        table = _table(f"{kind} ({len(rows)})", headings, ("game", "hand", "move", "cost"))
        for each in rows:
            cost = f"{100 * each.loss:.1f} %" if each.unit == GAME else f"{each.loss:.1f} points"
            sign = f"{_SIGNS[each.mark]} {each.mark}" + f", {each.times} times" * (each.times > 1)
            place = numbers[each.game], str(each.hand), str(each.move)
            row = (*place, display_opponent(each.opponent), each.played, each.best, cost, sign, each.reason)
            table.add_row(*row, style=_STYLES[each.mark])
        if rows:
            answer.print(table)
    counts = Counter(mistake.mark for mistake in found)
    marks = ", ".join(f"{counts[mark]} {mark}" for mark in MARKS[::-1] if counts[mark]) or "none"
    answer.print(f"{player}: {marks}", highlight=False, markup=False)
