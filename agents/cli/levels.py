"""``gin levels``: shows and builds levels; what they learned."""

from __future__ import annotations

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

from tyro.conf import Positional, arg
from tyro.extras import SubcommandApp

from agents.levels.level import NAMES, LevelSettings, build_level, load_level, read_settings
from agents.levels.memory import read_opponents, reset_level
from agents.levels.sentences import describe_learning, measure_strength, strength_in_words, what_is_learned
from agents.network.model_card import write_card
from agents.play.store import FILE, Home, default_home
from agents.player_names import canonical_name
from agents.reports.terminal import new_table, plain_console
from ginenv.errors import GinError, UnknownNameError, must_be, unknown_name

app = SubcommandApp()

# Arguments, with the names that the usage line gives them.
LevelName = Annotated[str, Positional, arg(metavar="LEVEL")]
Network = Annotated[str, Positional, arg(metavar="SOURCE")]


@app.command
def show(level: Annotated[str | None, Positional, arg(metavar="[LEVEL]")] = None) -> str:
    """What a level is: its settings, what it had learned as installed, and the SHA-256 of all that decides how it plays.

    'gin levels learned' says what it has learned since; 'gin rate' measures how strong it is.

    Args:
        level: name or directory; all installed levels when left out.
    """
    found = [load_level(name, numpy=True) for name in (NAMES if level is None else [level])]
    table = new_table("", "", *(one.name for one in found))
    table.columns[0].no_wrap = True
    for name in (name for name in LevelSettings.model_fields if name != "habits"):
        table.add_row(name, *(str(getattr(one.settings, name)) for one in found))
    for habit in dict.fromkeys(name for one in found for name in one.settings.habits):
        table.add_row(f"habit: {habit}", *(str(one.settings.habits.get(habit, 0.0)) for one in found))
    table.add_row("hands learned from, as installed", *(str(one.learned.hands if one.learned else 0) for one in found))
    table.add_row("sha256", *(one.digest[:10] for one in found))
    console = plain_console()
    with console.capture() as shown:
        console.print(table)
    return "\n".join(line.rstrip() for line in shown.get().splitlines() if line.strip())


@app.command
def learned(
    level: LevelName,
    home: Path | None = None,
    opponent: str | None = None,
    as_json: bool = False,
    strength: bool = False,
    reset: bool = False,
) -> str:
    """What a level has learned: of the game, of its opponents, and a position where it now plays otherwise.

    What a level of your own has learned is filed under its content: a copy with the same bytes has learned the same, and is reset with it.

    Args:
        level: name or directory.
        home: directory with what levels have learned; $GINENV_HOME, or the directory of gin play, when left out.
        opponent: name of one opponent that it has met; all when left out.
        as_json: print JSON, one object for each opponent.
        strength: how strong it has become with more and more hands instead; takes a minute.
        reset: reset the level to how it was installed instead.
    """
    if home is not None and not home.is_dir():
        raise GinError(must_be("--home", "a directory that exists", str(home)))
    home, found = home or default_home(), load_level(level, numpy=not strength)
    if reset:
        if opponent is not None or as_json or strength:
            raise GinError("--reset resets the whole level and takes no --opponent, --as-json or --strength")
        return reset_level(home, found)
    if strength:
        if opponent is not None or as_json:
            raise GinError("--strength is of the whole level, in words; it takes neither --opponent nor --as-json")
        return strength_in_words(measure_strength(home, found))
    if opponent is not None:
        opponents = read_opponents(home, found)
        if canonical_name(opponent, opponents) not in opponents:
            raise UnknownNameError(unknown_name("opponent", opponent, opponents))
    with ExitStack() as stack:
        # A directory in which nobody has sat at a table has no hands on record.
        hands = stack.enter_context(Home(home)).last_hands if (home / FILE).is_file() else lambda name: ()
        if not as_json:
            return describe_learning(home, found, opponent, hands)
        return json.dumps([each.to_json() for each in what_is_learned(home, found, opponent, hands)], indent=2)


@app.command
def build(
    source: Network, out: Path, like: str = "", set: Annotated[tuple[str, ...], arg(help_behavior_hint="")] = ()
) -> str:
    """Makes a level from a training run or from any checkpoint.

    Args:
        source: directory of the run, whose best checkpoint is taken, or of the checkpoint; 'network' for the network that ships,
            'level-3' for that of an installed level.
        out: directory of the level, new or empty, which also names it.
        like: name or directory of a level whose settings it gets; the defaults when left out.
        set: settings that differ from these, as key=value (max_logit_gap=3 "habits.any knock=5").
    """
    # Not before: it imports torch, which takes seconds and which the other commands do without.
    from agents.network.player import network_directory

    settings = read_settings(out.name, like, set)
    checkpoint = load_level(source).directory if source in NAMES else Path(network_directory(source))
    level = build_level(out, settings, checkpoint)
    write_card(out)
    return f"{level.name} is in {out} (sha256 {level.digest})."


def levels(arguments: Sequence[str]) -> None:
    """Runs a command line and prints its answer."""
    print(app.cli(args=arguments, prog="gin levels", description="Levels: what they are and have learned."))
