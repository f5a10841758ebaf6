"""Text forms at length: round trips of positions, views and records of every preset, and mutated texts.

`python -m tests.support.damaged_texts --count 10000` reads back 10,000 of each and 10,000 mutations of each; a mutation has to be
refused with one sentence, or mean the same as before (a changed blank line, a lost check). `make test` does a tenth.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ginenv.errors import TextError
from ginenv.hands.hand import Hand
from ginenv.hands.records import format_record, parse_record
from ginenv.hands.text import format_position, format_view, parse_position, parse_view
from tests.support.positions import ALL_RULES, mutate, positions


@dataclass
class Report:
    """What was checked.

    Attributes:
        round_trips: texts read back.
        mutations: mutated texts.
        harmless: mutated texts that were accepted, and meant the same.
        failures: what went wrong, with the text.
    """

    round_trips: int = 0
    mutations: int = 0
    harmless: int = 0
    failures: list[str] = field(default_factory=list)


def _read_record(text: str) -> Hand:
    return parse_record(text).hand


# What is written of a hand, how it is read, and how what was read is written again.
KINDS: dict[str, tuple[Callable[[Hand], str], Callable[[str], Any], Callable[[Any], str]]] = {
    "position": (format_position, parse_position, format_position),
    "view": (lambda hand: format_view(hand.view()), parse_view, format_view),
    "record": (format_record, _read_record, format_record),
}


def check_texts(count: int, seed: int = 0, kinds: list[str] | None = None) -> Report:
    """Reads texts back, and mutations of them.

    Args:
        count: round trips of each kind, and mutations of each kind.
        seed: seed of positions and mutations.
        kinds: which of ``KINDS``; all when left out.

    Returns:
        What was checked, and what failed.
    """
    report = Report()
    rng = np.random.default_rng(seed)
    share = -(-count // len(ALL_RULES))
    hands = [hand for name in ALL_RULES for hand in positions(name, share, seed)][:count]
    for kind in kinds or list(KINDS):
        write, read, write_again = KINDS[kind]
        for hand in hands:
            text = write(hand)
            report.round_trips += 1
            if write_again(read(text)) != text:
                report.failures.append(f"{kind} not read back: {text}")
            changed = mutate(text, rng)
            report.mutations += 1
            try:
                again = write_again(read(changed))
            except TextError as error:
                if "\n" in str(error):
                    report.failures.append(f"{kind} refused in more than a sentence: {error}")
                continue
            except Exception as error:
                report.failures.append(f"{kind} crashed with {error!r}: {changed}")
                continue
            report.harmless += 1
            if again != text:
                report.failures.append(f"{kind} accepted with another meaning: {changed}")
    return report


def main() -> None:
    """Parses the command line, checks and prints."""
    parser = argparse.ArgumentParser(description="Round trips and mutations of every text form.")
    parser.add_argument("--count", type=int, default=10_000, help="round trips and mutations of each kind")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for kind in KINDS:
        report = check_texts(options.count, options.seed, [kind])
        print(
            f"{kind:<9} {report.round_trips:,} read back, {report.mutations:,} mutations, of which {report.harmless:,} meant the "
            f"same; {len(report.failures)} failures"
        )
        for failure in report.failures[:10]:
            print(f"  {failure}")
        if report.failures:
            sys.exit(1)


if __name__ == "__main__":
    main()
