"""The command line: one sentence for what goes wrong, and nothing loaded that a command does not need."""

import contextlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ginenv
from agents.cli import COMMANDS, GROUPS, UNREAD, main, run
from agents.cli.train import HEADINGS
from agents.config import NetworkConfig, TrainConfig
from agents.levels.level import NAMES, load_level
from tests.support.refusals import refuses

ROOT = Path(__file__).parent.parent


def code_of_gin(arguments: tuple[object, ...], before: str = "", after: str = "") -> str:
    """Python that runs the program ``gin``, with more before and after it."""
    words = ["gin", *map(str, arguments)]
    return f"import sys\n{before}\nsys.argv = {words!r}\nfrom agents.cli import main\nmain()\n{after}"


def gin(*arguments: object, before: str = "", after: str = "") -> subprocess.CompletedProcess[str]:
    """The program ``gin`` in a process of its own, with Python before and after it."""
    code = code_of_gin(arguments, before, after)
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)


def gin_unread(*arguments: object, before: str, buffered: bool) -> subprocess.CompletedProcess[str]:
    """The same with nobody at the other end of its output."""
    code, (reader, output) = code_of_gin(arguments, before), os.pipe()
    os.close(reader)
    try:
        return subprocess.run(
            [sys.executable, "-c", code], cwd=ROOT, env=os.environ | {"PYTHONUNBUFFERED": "" if buffered else "1"},
            stdout=output, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    finally:
        os.close(output)


def test_help_names_every_command(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["gin", "--help"])
    main()
    printed = capsys.readouterr().out
    assert all(f"  {name} " in printed for name in COMMANDS) and GROUPS.keys() <= COMMANDS.keys()
    lines = printed.splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80


def printed_by(monkeypatch, capsys, *words: str) -> str:
    """What a command prints, in this process."""
    monkeypatch.setattr("sys.argv", ["gin", *words])
    with contextlib.suppress(SystemExit):
        main()
    return capsys.readouterr().out


def test_version_and_help_are_found_where_people_look(monkeypatch, capsys) -> None:
    assert ginenv.__version__ in printed_by(monkeypatch, capsys, "--version")
    assert printed_by(monkeypatch, capsys, "help") == printed_by(monkeypatch, capsys, "--help")
    assert printed_by(monkeypatch, capsys, "help", "conform") == printed_by(monkeypatch, capsys, "conform", "--help")
    monkeypatch.setattr("sys.argv", ["gin", "evalute"])
    with refuses(SystemExit, "'evalute'", "'evaluate'"):
        main()


def test_levels_are_shown_side_by_side(monkeypatch, capsys) -> None:
    lines = printed_by(monkeypatch, capsys, "levels", "show").splitlines()
    assert len(lines) <= 24 and max(map(len, lines)) <= 80
    rows = {line.rsplit(maxsplit=4)[0].strip(): line.split()[-4:] for line in lines[1:]}
    for place, level in enumerate(map(load_level, NAMES)):
        for name, value in level.settings.model_dump(exclude={"habits"}).items():
            # A long one is broken into lines.
            assert str(value).startswith(rows[name][place])
        assert level.digest.startswith(rows["sha256"][place])


def test_help_of_training_explains_every_setting(monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["gin", "train", "--help"])
    with pytest.raises(SystemExit):
        main()
    printed = capsys.readouterr().out
    assert HEADINGS.keys() <= TrainConfig.model_fields.keys()
    assert not [key for key in (*TrainConfig.model_fields, *NetworkConfig.model_fields) if f"{key}: " not in printed]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_a_help(command: str, monkeypatch, capsys) -> None:
    monkeypatch.setattr("sys.argv", ["gin", command, "--help"])
    with pytest.raises(SystemExit) as caught:
        main()
    assert not caught.value.code
    assert "usage" in _clean(capsys.readouterr().out).lower()


@pytest.mark.parametrize("words", ["levels show", "levels learned", "levels build", "games play", "games read"])
def test_help_of_commands_within_commands_is_clean(words: str, monkeypatch, capsys) -> None:
    assert "usage" in _clean(printed_by(monkeypatch, capsys, *words.split(), "--help"))


def _clean(shown: str) -> str:
    """A help without marks of its source, and without defaults that say nothing."""
    assert "``" not in shown and not re.search(r"\(default:[\s│]*\)", shown), shown
    return shown


@pytest.mark.parametrize("words", ["levels show EMPTY", "export EMPTY out"])
def test_a_name_that_is_empty_is_not_the_current_directory(words, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["gin", *(word.replace("EMPTY", "") for word in words.split())])
    with refuses(SystemExit, "level" if "levels" in words else "checkpoint", "empty"):
        main()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("missing", "extra", "program"),
    [("torch", "train", ["train.py"]), ("tyro", "match", ["evaluate.py", "conform"])],
)  # fmt: skip
def test_a_missing_extra_is_named_with_what_installs_it(missing, extra, program, tmp_path):
    """Of the programs at the top too, which must not import it before they can say so."""
    (tmp_path / "sitecustomize.py").write_text(f"import sys\nsys.modules[{missing!r}] = None\n")
    variables = {"PATH": "", "PYTHONPATH": f"{tmp_path}:{ROOT}"}
    done = subprocess.run([sys.executable, *program], cwd=ROOT, env=variables, capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert all(fact in done.stderr for fact in (program[0], missing, f"'ginenv[{extra}]'"))


def test_what_is_installed_and_broken_is_no_missing_extra() -> None:
    done = gin("conform", before="sys.modules['agents.arena.conformance'] = None")
    assert done.returncode == 1 and "ModuleNotFoundError" in done.stderr and "pip install" not in done.stderr


def test_names_that_are_not_utf8_and_names_with_brackets_are_played_printed_and_written(tmp_path: Path) -> None:
    """Square brackets are markup to the library that prints tables; a file's name may hold any byte."""
    bot = tmp_path / "bot [red] [" / "b]"
    bot.parent.mkdir()
    bot.write_text(f"#!{sys.executable}\n" + (ROOT / "examples" / "template_bot.py").read_text())
    bot.chmod(0o755)
    os.symlink(bot, os.fsencode(tmp_path) + b"/bot\xff")
    players = [b"cmd:'" + os.fsencode(name) + b"'" for name in (os.fsencode(bot), os.fsencode(tmp_path) + b"/bot\xff")]
    words = [os.fsencode(sys.executable), "evaluate.py", *players, "--hands", "2", "--out", tmp_path / "x.json"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True)
    assert done.returncode == 0 and not done.stderr.count(b"Traceback"), done.stderr
    written = json.loads((tmp_path / "x.json").read_text())
    [match] = written["matches"]
    assert [os.fsencode(name) for name in match["players"]] == [b"cmd:b]", b"cmd:bot\xff"] and not match["faults"]
    # And the command that repeats it.
    assert written["command"].startswith("python evaluate.py '")
    # A long name is broken at the end of a line.
    assert b"bot" in done.stdout.replace(b"\n", b"")


def test_what_levels_learned_is_looked_for_where_the_table_keeps_it(tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("GINENV_HOME", str(tmp_path))
    (tmp_path / "levels").mkdir()
    (tmp_path / "levels" / "level-1.json").write_text("damaged")
    with refuses(SystemExit, "level-1.json"):
        run("gin", "levels", ["learned", "level-1"])
    run("gin", "levels", ["learned", "level-1", "--reset"])
    run("gin", "levels", ["learned", "level-1"])
    assert "has learned nothing yet" in capsys.readouterr().out


# A command of its own, so that nothing has to be loaded.
PRINTS = """
import agents.cli
from ginenv.errors import GinError
def prints(arguments):
    print("something")
    {end}
agents.cli.COMMANDS["levels"] = agents.cli.COMMANDS["levels"]._replace(function="__main__:prints")
"""
FAILS = PRINTS.format(end="raise GinError('it failed')")


@pytest.mark.parametrize(
    ("words", "before", "buffered", "status", "message"),
    [
        (["levels"], PRINTS.format(end=""), True, UNREAD, ""),
        (["levels"], PRINTS.format(end=""), False, UNREAD, ""),
        (["--help"], "", True, UNREAD, ""),
        (["conform", "--help"], "", True, UNREAD, ""),
        (["levels"], FAILS, True, 1, "gin levels: it failed"),
    ],
)
def test_output_that_nobody_reads_ends_a_command_without_a_word(words, before, buffered, status, message):
    """As ``| head`` does; whether what is printed waits in a buffer makes no difference, but for an error after it."""
    done = gin_unread(*words, before=before, buffered=buffered)
    assert (done.returncode, done.stderr.strip()) == (status, message)


@pytest.mark.parametrize(
    ("words", "facts"),
    [
        ("levels show network", "level-1"),
        ("analyse --home nowhere", "nowhere"),
        ("levels learned level-1 --reset --as-json", "--reset --as-json"),
        ("levels learned level-1 --strength --as-json", "--strength --as-json"),
        ("levels learned level-1 --reset --home nowhere", "--home nowhere"),
        ("levels build nowhere --out here", "nowhere"), ("evaluate simple easy --games 0", "games 1 0"),
        ("evaluate simple random --games 100 --hands 2 --out x.json", "--games 100 --hands 2"),
        ("train --set num_envs=1000000000000", "memory"),
    ],
)  # fmt: skip
def test_unplayable_players_are_refused_before_anything_is_made(words, facts, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["gin", *words.split()])
    with refuses(SystemExit, *facts.split()):
        main()
    assert not [path for path in tmp_path.rglob("*") if path.is_file()] and not capsys.readouterr().err


def test_values_that_are_no_numbers_are_refused(monkeypatch, capsys):
    for option, value, kind in (("--games", "1.5", "a whole number"), ("--seconds", "half", "a number")):
        monkeypatch.setattr(sys, "argv", ["gin", "evaluate", "simple", "easy", option, value])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == 2
        shown = " ".join(capsys.readouterr().err.replace("│", " ").split())
        assert f"Error parsing {option}: {value!r} is not {kind}" in shown and "got errors" not in shown.lower()
