"""Every example learns at small size, and the notebooks run from their first cells to their last."""

import importlib
import json
import os
import re
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
NOTEBOOK, TRAINING = EXAMPLES / "look_inside.ipynb", EXAMPLES / "train_and_play.ipynb"
LEARNERS: dict[str, tuple[list[str], dict[str, int]]] = {
    "linear": ([], {"decisions": 80_000}),
    "ppo": ([], {"imitate": 16_384, "decisions": 16_384}),
    "maskable_ppo": (["sb3_contrib"], {"imitate": 16_384, "decisions": 20_000}),
    "torchrl_ppo": (["torchrl", "pyarrow"], {"hands": 1000, "decisions": 16_384}),
    "adaptive_opponent": ([], {"imitate": 16_384, "decisions": 16_384, "series": 2, "hands": 52}),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_an_example_learns(name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    needed, sizes = LEARNERS[name]
    for package in needed:
        pytest.importorskip(package)
    # As where the example is run as a program.
    monkeypatch.syspath_prepend(str(EXAMPLES))
    won = importlib.import_module(name).main(**sizes, games=20)
    bots = importlib.import_module("strength").BOTS
    assert list(won) == list(bots)
    # A player that chooses among legal actions at random wins half.
    assert won["random"] > 0.75
    message = capsys.readouterr().out
    assert "a second" in message
    assert all(f"against {bot}: games won" in message for bot in bots)


@pytest.mark.parametrize("name", LEARNERS)
def test_an_example_says_which_extras_it_needs(name: str) -> None:
    """They all measure strength, for which ``match`` is enough where no network is trained."""
    found = re.search(r'^    pip install "\.\[([\w,]+)\]"', (EXAMPLES / f"{name}.py").read_text(), re.M)
    assert found is not None
    extras = set(found[1].split(","))
    assert extras & ({"match"} if name == "linear" else {"agents", "train"})
    assert ("sb3" in extras) == (name == "maskable_ppo")
    assert ({"data", "torchrl"} <= extras) == (name == "torchrl_ppo")


def test_the_ppo_example_stays_short() -> None:
    assert len((EXAMPLES / "ppo.py").read_text().splitlines()) <= 200


def test_the_notebook_runs(capsys: pytest.CaptureFixture[str]) -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert not any(cell.get("outputs") for cell in cells), "the notebook is kept without its output"
    scope: dict[str, object] = {}
    for cell in cells:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), str(NOTEBOOK), "exec"), scope)
    message = capsys.readouterr().out
    assert "the other seat holds" in message and "searched:" in message


def test_the_training_notebook_holds_its_pictures() -> None:
    cells = [cell for cell in json.loads(TRAINING.read_text())["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    assert sum("image/png" in output.get("data", {}) for cell in cells for output in cell["outputs"]) == 3
    assert not any(output["output_type"] == "error" for cell in cells for output in cell["outputs"])
    assert TRAINING.stat().st_size < 200_000


@pytest.mark.slow
def test_the_training_notebook_trains_and_plays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient, nbformat = pytest.importorskip("nbclient"), pytest.importorskip("nbformat")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    # As it stands it trains for minutes.
    text = TRAINING.read_text().replace("3_000_000", "120_000").replace("pairs=250", "pairs=10")
    notebook = nbformat.reads(text, 4)
    nbclient.NotebookClient(notebook, timeout=1200, resources={"metadata": {"path": str(tmp_path)}}).execute()
    printed = "".join(output.get("text", "") for cell in notebook.cells for output in cell.get("outputs", ()))
    assert "against formula: games won" in printed and "actions of both; points:" in printed
    assert (tmp_path / "runs" / "notebook" / "best").is_dir()
