"""Matches and tournaments over a Ray cluster: the same results, also when a node is lost; what travels there and what does not."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

import pytest
import torch

from agents.arena import MatchSettings, play_match
from agents.arena.configs import TournamentConfig
from agents.arena.executors import open_executor
from agents.arena.ray_executor import player_files, received_player
from agents.arena.tournament import Tournament
from agents.network.checkpoint import load_checkpoint, save_checkpoint
from agents.network.nets import Actor
from ginenv.errors import GinError
from ginenv.tables.player_names import parse_player
from ginenv.tables.players import make_player
from tests.support.programs import ROOT, SALT, command, first_views
from tests.support.refusals import refuses

PYTHON_BOT = command(ROOT / "examples" / "template_bot.py")
_STORE_BYTES = 80_000_000


@pytest.fixture
def checkpoint(tmp_path: Path) -> Path:
    torch.manual_seed(1)
    save_checkpoint(tmp_path / "a:b" / "small", Actor((8,)), (8,), {})
    (tmp_path / "a:b" / "small" / "resume.pt").write_bytes(b"stays")
    return tmp_path / "a:b" / "small"


@pytest.mark.parametrize("is_level", [False, True])
def test_a_player_that_was_sent_plays_without_its_directory(
    is_level: bool, checkpoint: Path, directory: Path, tmp_path: Path
) -> None:
    here = tmp_path / "level" if is_level else checkpoint
    if is_level:
        shutil.copytree(directory, here)
    spec = parse_player(f'"{here}":{"learn=false" if is_level else "temperature=0"}')
    views = first_views()
    chosen, files = make_player(spec).act(views), player_files(spec)
    shutil.rmtree(here)
    there = received_player(spec, files, tmp_path / "there")
    assert str(here) not in there.text and (make_player(there).act(views) == chosen).all()
    stored = [path.name for path in (tmp_path / "there").rglob("*")]
    assert "weights.safetensors" in stored and "resume.pt" not in stored


def test_a_directory_in_an_option_is_sent_and_other_names_as_they_are(checkpoint: Path, tmp_path: Path) -> None:
    spec = parse_player(f'search:network="{checkpoint}",worlds=2')
    there = received_player(spec, player_files(spec), tmp_path / "there")
    assert there.kind == "search" and there.options["worlds"] == "2"
    assert load_checkpoint(there.options["network"])[1] == load_checkpoint(checkpoint)[1]
    for name in ("simple", "level-1:learn=true", "style:base=simple,knock=3", "cmd:./bot --x", "py:bots:Plain"):
        assert not player_files(parse_player(name))


def add_node(cluster: Any, **options: Any) -> None:
    """A node with one processor."""
    cluster.add_node(num_cpus=1, object_store_memory=_STORE_BYTES, **options)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    head = {"num_cpus": 0, "object_store_memory": _STORE_BYTES, "include_dashboard": False}
    made = Cluster(initialize_head=True, head_node_args=head)
    try:
        add_node(made)
        add_node(made)
        yield made
    finally:
        made.shutdown()


@pytest.fixture
def executor(cluster: Any) -> Iterator[Executor]:
    with open_executor(ray=cluster.address) as made:
        assert made is not None
        yield made


@pytest.mark.extra
@pytest.mark.slow
def test_a_tournament_survives_the_loss_of_a_node(
    cluster: Any, executor: Executor, checkpoint: Path, tmp_path: Path
) -> None:
    players = {"easy": "easy", "simple": "simple", "network": f'"{checkpoint}"'}
    killed: list[Any] = []

    def kill_a_node(done: int) -> None:
        if done == 3:
            killed.append(min(cluster.worker_nodes, key=str))
            cluster.remove_node(killed[0], allow_graceful=False)

    def games(name: str, executor: Executor | None) -> list[bytes]:
        config = TournamentConfig(players=players, pairs=100, block=20, resamples=20, out=tmp_path / name)
        tournament = Tournament(config)
        assert tournament.play(kill_a_node if executor else lambda done: None, executor)
        return [match.games.tobytes() for match in tournament.standings().matches.values()]

    assert games("there", executor) == games("here", None)
    assert len(killed) == 1
    add_node(cluster)


@pytest.mark.extra
@pytest.mark.slow
def test_a_program_plays_only_on_nodes_that_say_they_have_it(cluster: Any, executor: Executor) -> None:
    for name in (PYTHON_BOT, "py:my_bots:Plain"):
        with refuses(GinError, name, "ginenv_programs"):
            executor.submit(len, [parse_player(name)])
    add_node(cluster, resources={"ginenv_programs": 1})
    there, here = (
        play_match(PYTHON_BOT, "easy", pairs=2, unit="hands", settings=MatchSettings(salt=SALT), executor=where)
        for where in (executor, None)
    )
    assert not there.faults and (there.games == here.games).all()


@pytest.mark.extra
@pytest.mark.slow
def test_errors_of_tasks_and_other_builds_are_one_sentence(
    cluster: Any, executor: Executor, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert isinstance(executor.submit(int, ["simple"]).exception(), TypeError)
    monkeypatch.setattr("agents.arena.ray_executor.build", lambda: {"ginenv": "0.0.1"})
    with refuses(GinError, "0.0.1", "node"):
        play_match("simple", "easy", pairs=2, executor=executor)


@pytest.mark.extra
def test_an_address_without_a_cluster_is_refused() -> None:
    pytest.importorskip("ray")
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{nobody.getsockname()[1]}"
        with refuses(GinError, address), open_executor(ray=address):
            pass
    with refuses(GinError, "workers", 2, "auto"), open_executor(2, "auto"):
        pass
