"""Every code block of the documentation runs, and its figures are those of the results files.

The blocks of a page run in their order, those in Python in one namespace, in a directory that is empty at first. A comment on the line
before a block says what else is to know: ``slow`` (for the slow tests alone), ``file NAME`` (kept under that name), ``elsewhere: WHERE``.
The examples of the sources lie in that directory too.
"""

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

import ginenv
from agents.cli import COMMANDS
from benchmarks import descriptions, markdown, tables
from tests.support.compilers import STAND_INS, need
from tests.support.pages import PAGES, ROOT, Block, blocks_of, run_gin

# What is shown and not run.
SHOWN = ("", "text", "bibtex", "diff")
SLOW_PAGES = [page for page in PAGES if any(block.note == "slow" for block in blocks_of(page))]


def _run_shell(block: Block, place: Path) -> None:
    lines = block.text.splitlines()
    while lines and run_gin(lines[0]):
        del lines[0]
    programs = Path(sys.executable).parent
    environment = os.environ | {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join([str(place), str(ROOT)]),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", "\n".join(lines)],
        cwd=place, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1200,
    )  # fmt: skip
    assert done.returncode == 0, f"line {block.line}:\n{block.text}\n{done.stdout}\n{done.stderr}"


def _run_block(page: Path, block: Block, place: Path, names: dict[str, Any]) -> None:
    language = block.language
    if block.note.startswith("file "):
        (place / block.note.removeprefix("file ")).write_text(block.text, encoding="utf-8")
    if language == "sh":
        _run_shell(block, place)
    elif language == "python" and "sys.stdin" not in block.text:
        lines = "\n" * (block.line - 1) + block.text
        exec(compile(lines, str(page), "exec"), names)
    elif language == "python":
        compile(block.text, str(page), "exec")
    elif language == "json":
        for line in block.text.splitlines():
            json.loads(line)
    elif language == "yaml":
        yaml.safe_load(block.text)
    elif language == "toml":
        tomllib.loads(block.text)
    else:
        assert language in SHOWN, f"nothing runs a block in {language!r} (line {block.line})"


def _run_page(page: Path, place: Path, monkeypatch: pytest.MonkeyPatch, with_slow: bool) -> None:
    monkeypatch.chdir(place)
    monkeypatch.setenv("GINENV_HOME", str(place / "home"))
    monkeypatch.syspath_prepend(place)
    if not (place / "examples").exists():
        (place / "examples").symlink_to(ROOT / "examples")
    names: dict[str, Any] = {"__name__": page.stem}
    with open(os.devnull) as nothing:
        # Whatever asks on the terminal gets the end of input, at which a person leaves.
        monkeypatch.setattr(sys, "stdin", nothing)
        for block in blocks_of(page):
            if not block.note.startswith("elsewhere") and (with_slow or block.note != "slow"):
                _run_block(page, block, place, names)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_pages_blocks_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _run_page(page, tmp_path, monkeypatch, with_slow=False)


@pytest.mark.slow
@pytest.mark.parametrize("page", SLOW_PAGES, ids=lambda page: page.stem)
def test_a_pages_slow_blocks_run_after_the_others(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _run_page(page, tmp_path, monkeypatch, with_slow=True)


def test_every_command_of_the_page_on_other_languages_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """With stand-ins for a challenge's repository and fewer games."""
    need("java", "javac", "jar", "rustc", "g++")
    shutil.copytree(STAND_INS, tmp_path / "THEIRS")
    for folder in ("examples", "bridges"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    page = ROOT / "docs" / "bots.md"
    commands = [
        line for block in blocks_of(page) for line in block.text.splitlines() if line and block.language == "sh"
    ]
    assert sum("gin " in line for line in commands) >= 4
    for line in commands:
        smaller = line.replace("--games 200", "--games 4").replace("gin conform", "gin conform --hands 2")
        smaller = smaller.replace("their.Player", "players.Simple")
        if not run_gin(smaller):
            subprocess.run(smaller, shell=True, check=True, timeout=300)
        printed = capfd.readouterr().out
        assert "illegal" not in printed and "crash" not in printed, printed
    host, text = (ROOT / "bridges" / "eaai" / "Host.java").read_text(), page.read_text()
    for option in ("card", "interface", "one-object", "own-classes", "shared-classes", "max-batch"):
        assert f"`--{option}" in text and f'equals("--{option}")' in host


def test_a_block_that_runs_elsewhere_names_a_place_that_exists() -> None:
    named = [block.note for page in PAGES for block in blocks_of(page) if block.note.startswith("elsewhere")]
    assert named
    for note in named:
        assert (ROOT / note.removeprefix("elsewhere: ")).is_file(), note


def test_a_block_that_fails_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("One\n\n```python\nx = 1\n```\n\n<!-- slow -->\n```python\nassert x == 2\n```\n")
    _run_page(page, tmp_path, monkeypatch, with_slow=False)
    with pytest.raises(AssertionError):
        _run_page(page, tmp_path, monkeypatch, with_slow=True)


def test_a_block_that_asks_on_the_terminal_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\ngin play  # a game\ngin --help\n```\n")
    _run_page(page, tmp_path, monkeypatch, with_slow=False)


def test_tables_of_pages_equal_results_files_and_code() -> None:
    tables.main(check=True)


def test_every_table_of_results_names_a_command_that_there_is() -> None:
    """A target of the Makefile, a module of the benchmarks, or a command of ``gin``."""
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for name, table in descriptions.FIGURES.items():
        program, *words = table.command.split()
        match program:
            case "make":
                assert words[0] in targets, name
            case "python":
                assert importlib.util.find_spec(words[1]), name
            case _:
                assert program == "gin" and words[0] in COMMANDS, name


def test_a_table_has_a_row_for_every_place_and_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(markdown, "RESULTS", tmp_path)
    share = {"mean": 0.5, "low": 0.25, "high": 0.75}
    for name, games in (("new-b", 2000), ("new-a", 10)):
        hands = {"100": {"share": share}, "7": {"share": share}}
        (tmp_path / f"{name}.json").write_text(json.dumps({"games": games, "players": [{"hands": hands}]}))
    cells = "{name} {key} | {games:,} | {share:percent} | {share[mean]:.1%} | {share:points}"
    rows = markdown.Rows("new-*", cells, "players/*/hands/*")
    figures = "50.0 % (25.0 to 75.0) | 50.0 % | +0.50 (+0.25 to +0.75) |"
    assert list(rows.lines()) == [
        f"| {name} {hands} | {games} | {figures}"
        for name, games in (("a", "10"), ("b", "2,000"))
        for hands in ("100", "7")
    ]


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("sphinx") is None, reason="Sphinx is not installed (ginenv[dev])")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", "docs", str(tmp_path)],
        cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    for page in PAGES:
        assert page.name == "README.md" or (tmp_path / f"{page.stem}.html").is_file()


def _anchor(heading: str) -> str:
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def test_the_index_of_the_log_has_the_question_and_verdict_of_every_entry() -> None:
    log = ROOT / "docs" / "log"
    listed = re.findall(r"^- ([\d-]+) \[(.+)\]\((.+?)\) (.+)$", (log / "README.md").read_text(encoding="utf-8"), re.M)
    entries = []
    for page in log.glob("[a-z]*.md"):
        for entry in re.split(r"^## ", page.read_text(encoding="utf-8"), flags=re.M)[1:]:
            heading, *lines = entry.strip().splitlines()
            date, question = heading.split(" ", maxsplit=1)
            assert [line.split(":")[0] for line in lines if line] == ["- Command", "- Result", "- Verdict"], heading
            entries.append((date, question, f"{page.name}#{_anchor(heading)}", lines[-1].removeprefix("- Verdict: ")))
    assert entries and sorted(listed) == sorted(entries)


def test_every_public_name_is_on_the_page_of_public_names() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `(\w+)` \|", page, re.M)
    assert sorted(listed) == sorted(ginenv.__all__)
    assert all(hasattr(ginenv, name) for name in listed)


def test_pages_and_examples_import_public_names_alone() -> None:
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    public = {("ginenv", name) for name in ginenv.__all__}
    public |= set(re.findall(r"`(ginenv\.adapters\.\w+)\.(\w+)`", page))
    public |= {("ginenv.adapters", module.rpartition(".")[2]) for module, _ in public if "adapters" in module}
    public |= set(re.findall(r"^\| `(agents[\w.]*)` \| `(\w+)` \|", page, re.M))
    sources = [block.text for page in PAGES for block in blocks_of(page) if block.language == "python"]
    sources += [path.read_text(encoding="utf-8") for path in (ROOT / "examples").rglob("*.py")]
    cells = [cell for path in (ROOT / "examples").glob("*.ipynb") for cell in json.loads(path.read_text())["cells"]]
    sources += ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    imports = re.findall(r"^ *from ((?:ginenv|agents)[\w.]*) import (\([^)]*\)|.*)$", "\n".join(sources), re.M)
    assert imports
    used = {(module, name) for module, names in imports for name in re.findall(r"\w+", names.split("#")[0])}
    assert used <= public, used - public


READABLE = [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md", *(ROOT / "docs" / "log").glob("*.md")]


@pytest.mark.parametrize("page", READABLE, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_is_readable_without_building_the_site(page: Path) -> None:
    text = re.sub(r"^```\w.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    assert re.findall(r"\{\{|```\{|:::|\{\w+(?::\w+)?\}`", text) == []
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text):
        assert (page.parent / target).exists(), target


def test_every_benchmark_is_in_the_index() -> None:
    folder = ROOT / "benchmarks"
    index = (folder / "README.md").read_text(encoding="utf-8")
    programs = {path for path in folder.rglob("*.py") if "__main__" in path.read_text(encoding="utf-8")}
    commands = set(re.findall(r"`python -m benchmarks\.([\w.]+)", index.partition("## Answered")[0]))
    assert commands == {path.relative_to(folder).with_suffix("").as_posix().replace("/", ".") for path in programs}


def test_the_first_page_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 800 and len(text.splitlines()) <= 120


def test_the_pages_stay_few_words() -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES if page.name != "README.md"]
    assert sum(len(text.split()) for text in texts) <= 24_000
    assert len((ROOT / "docs" / "words.md").read_text(encoding="utf-8").splitlines()) <= 40
