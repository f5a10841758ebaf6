"""Checks that a program keeps to the line protocol: plays it through every phase, and says in words what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.arena.matches import MatchSettings, play_match
from agents.arena.results import MatchResult
from agents.deal_streams import Domain
from agents.programs.player import BotLimits, OutsidePlayer
from ginenv.engine.rules import Rules, get_rules

# Rules that together have every phase, with opponents that lead into them: hands against random go to the end of the
# stock, hands against simple end by knocks.
STAGES = (
    ("eaai", "simple", "the offer of the first upcard, draws, discards, knocks"),
    ("eaai", "random", "long hands, the end of the stock"),
    ("ht1", "simple", "choosing a spread, laying off card by card"),
    ("gc", "simple", "laying off card by card"),
    ("ht2-simple", "simple", "eleven cards for the starter"),
    ("gr-oklahoma", "simple", "a limit set by the upcard, gin by itself"),
    ({"preset": "openspiel", "knock_limit": 0}, "random", "the wall: the last upcard may be taken to knock"),
    ("dg-standard", "formula", "bonuses and a long game"),
)
# A check does not measure strength. It is the same every time, so that its findings are reproducible.
_SALT = "0" * 32
_PHASES = ("upcard", "draw", "discard", "spread", "layoff", "wall")

_ADVICE = {
    "cannot start": "Check the command; it is split as a shell would, but no shell runs it.",
    "handshake": 'Answer the first line with {"type": "ready", "protocol": 2}, and flush your output.',
    "crash": "The program has to read lines until its input ends or a bye comes.",
    "timeout": "Answer every act line with one line, and flush your output after each.",
    "rubbish": 'Answer with {"type": "answers", "id": ID OF THE QUESTION, "answers": [{"slot": N, "action": TEXT}, ...]}.',
    "flood": "One line of answer for one line of question; debugging output belongs on standard error.",
    "unasked": "Say nothing that was not asked; debugging output belongs on standard error.",
    "illegal move": 'Choose from the "legal" list of the question.',
    "ending": "Leave the loop when the input ends or a bye comes, with status 0.",
}


@dataclass
class Conformance:
    """The findings of a check.

    Attributes:
        wrong: sentences about what is wrong; none for a program that conforms.
        notes: sentences about what is not wrong but worth knowing.
        decisions: number of decisions by phase.
        ms_per_decision: wall-clock time of both processes.
    """

    wrong: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    decisions: dict[str, int] = field(default_factory=dict)
    ms_per_decision: float = 0.0


def check(
    command: str,
    hands: int = 40,
    limits: BotLimits | None = None,
    tick: Callable[[int], None] = lambda done: None,
    rules: Rules | None = None,
) -> Conformance:
    """Plays a program through every phase.

    Args:
        command: the program and its arguments, without ``cmd:``.
        hands: number of hands in each stage.
        limits: time limits.
        tick: called with the number of stages that are done.
        rules: the only rules to play; those of ``STAGES`` when left out.
    """
    found = Conformance(decisions=dict.fromkeys(_PHASES, 0))
    seconds = decisions = 0.0
    faults: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    planned = stages(rules)
    for number, (chosen, opponent, what) in enumerate(planned, 1):
        player = OutsidePlayer(command, limits=limits, salt=_SALT)
        settings = MatchSettings(
            get_rules(chosen), unit="hands", domain=Domain.TEST, forfeit="hand", salt=_SALT, luck=False
        )
        result = _play(player, opponent, max(1, hands // 2), settings)
        for phase, count in player.decisions.items():
            found.decisions[phase] = found.decisions.get(phase, 0) + count
        seconds += result.seconds[0]
        decisions += int(result.stats["decisions"][0])
        for fault in [*result.faults, *player.take_faults()]:
            faults.setdefault(fault["kind"], []).append((what, fault))
        tick(number)
        if "cannot start" in faults or "handshake" in faults:
            break
    for what, fault in faults.pop("rules", []):
        found.notes.append(f"not played: {what}; {fault['first']}")
    for kind, cases in faults.items():
        times = sum(fault["count"] for _, fault in cases)
        places = dict.fromkeys(what for what, _ in cases)
        where = "in every test" if len(places) == len(planned) else f"in: {'; '.join(places)}"
        found.wrong.append(
            f"{kind}: {cases[0][1]['first']}. {_ADVICE[kind]} {'Once' if times == 1 else f'{times} times'}, {where}."
        )
    found.ms_per_decision = 1000 * seconds / max(1.0, decisions)
    for phase in _PHASES:
        # Rules that somebody chose may not have this phase.
        if rules is None and any(found.decisions.values()) and not found.decisions[phase]:
            found.notes.append(f"was not asked in the phase {phase!r}: its own play did not lead there")
    if not any(found.decisions.values()) and not found.wrong:
        found.wrong.append(
            "played nothing: the rules that it says it plays are not among these; name them with --rules"
        )
    if not found.wrong and not _matches_unbatched(command, limits, rules or get_rules("eaai")):
        found.notes.append("plays differently when games come one at a time: it uses its own luck, or mixes up games")
    return found


def stages(rules: Rules | None) -> Sequence[tuple[str | dict[str, Any] | Rules, str, str]]:
    """The stages to play: rules, opponent, and what the stage covers."""
    if rules is None:
        return STAGES
    return [(rules, "simple", "hands that end by knocks"), (rules, "random", "long hands")]


def _play(player: OutsidePlayer, opponent: str, pairs: int, settings: MatchSettings) -> MatchResult:
    """Plays a match and closes the program. A match cut short by an interrupt proves nothing, so the interrupt is raised again."""
    try:
        result = play_match(player, opponent, pairs=pairs, settings=settings)
    finally:
        player.close()
    if result.interrupted:
        raise KeyboardInterrupt
    return result


def _matches_unbatched(command: str, limits: BotLimits | None, rules: Rules) -> bool:
    """Whether the same deals give the same results with one game in play as with several."""
    results = []
    for batch in (1, 16):
        settings = MatchSettings(rules, unit="hands", batch=batch, domain=Domain.TEST, salt=_SALT, luck=False)
        player = OutsidePlayer(command, limits=limits, salt=_SALT)
        results.append(_play(player, "simple", 8, settings))
    return bool((results[0].games == results[1].games).all())
