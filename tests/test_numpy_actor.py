"""Levels that compute in NumPy: the logits of torch in float32, damaged files refused, and no torch loaded."""

import subprocess
import sys

import numpy as np
import pytest

from agents.levels.level import load_level
from agents.levels.player import LevelPlayer
from agents.network.metadata import WEIGHTS, CheckpointError
from agents.network.nets import FrozenActor
from ginenv.errors import GinError
from ginenv.hands.hand import Match
from ginenv.tables.players import make_player
from tests.support.programs import ROOT
from tests.support.refusals import refuses


def some_views(rules: str = "eaai") -> np.ndarray:
    views, player = [], make_player("simple")
    for seed in range(8):
        match = Match(rules, seed=seed)
        while not match.hand.is_over:
            views.append(match.hand.view())
            match.push(int(player.act(views[-1])[0]))
    return np.concatenate(views)


@pytest.mark.parametrize("name", ["level-2", "small"])
def test_the_logits_are_those_of_torch(name, directory):
    chosen = directory if name == "small" else name
    torch_player, numpy_player = (LevelPlayer(load_level(chosen, numpy=numpy)) for numpy in (False, True))
    actor = load_level(chosen).actor
    torch_player.actor = FrozenActor(actor, bfloat16=False)  # type: ignore
    views = some_views()
    one, other = (player.policy(views, None) for player in (torch_player, numpy_player))
    assert np.abs(one).max() > 0.01
    np.testing.assert_allclose(one, other, atol=2e-3)


def test_damaged_weights_are_refused(directory, tmp_path):
    for change in (lambda data: data[:-7], lambda data: data[:-4] + b"\x00\x00\xc0\x7f"):
        copy = tmp_path / "copy"
        copy.mkdir(exist_ok=True)
        for file in directory.iterdir():
            (copy / file.name).write_bytes(file.read_bytes())
        (copy / WEIGHTS).write_bytes(change((copy / WEIGHTS).read_bytes()))
        with refuses(CheckpointError, WEIGHTS):
            load_level(copy, numpy=True)
    with refuses(GinError, "level-9"):
        load_level("level-9", numpy=True)


def test_it_plays_and_is_shown_without_torch(tmp_path):
    code = (
        "import sys; from ginenv.tables.players import make_player; from ginenv.hands.hand import Match;"
        "make_player('level-1:numpy=true').act(Match('eaai', seed=1).hand.view());"
        "from agents.cli.levels import levels; levels(['show', 'level-2']);"
        f"levels(['learned', 'level-2', '--home', {str(tmp_path)!r}]);"
        "import agents.serve.app; print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1:] == ["False"], done.stderr
