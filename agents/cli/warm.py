"""``gin warm``: compiles what environments and commands need, by using each of them a little."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, wait
from pathlib import Path
from typing import Any

import gymnasium as gym
import numpy as np
from numba.core import event

from agents.analysis.sources import deal_and_play
from agents.arena.executors import process_pool
from agents.arena.matches import play_match
from agents.play.rehearsal import RULES, rehearse
from agents.reports.terminal import counted, plain_console
from ginenv.engine.kernel_cache import cache_root
from ginenv.engine.melds import best_of_eleven, fits
from ginenv.envs.selfplay import SelfPlayBatch
from ginenv.errors import GinError
from ginenv.hands.hand import Hand
from ginenv.hands.text import format_view, parse_rules, parse_view
from ginenv.pictures.sheet import score_sheet
from ginenv.tables.players import make_player

# More processes than this find nothing to do while the longest part is compiled.
_MAX_WORKERS = 4
# A search plays so many actions, in a game whose chances are solved quickly.
_SEARCHED = 6
_RULES = "eaai,target=20"
# Seconds between two reports: in a terminal, and elsewhere.
_SHOWN, _PRINTED = 1.0, 20.0
# As small as training can be, with everything that it does.
_TRAINING = (
    *("decisions=2000", "num_envs=24", "num_steps=12", "minibatch=64", "threads=1"),
    *("eval_games=2", "network.actor=[32]", "network.critic=[32]", "pool_share=0.3"),
    "pool=[{player: simple}, {player: camper}]",
)


def _environments() -> None:
    for kind, opponent in (("Hand", "simple"), ("Game", "population")):
        env = gym.make(f"Gin/{kind}-v0", opponent=opponent)
        _, info = env.reset(seed=1)
        is_over = False
        while not is_over:
            _, _, is_over, _, info = env.step(env.action_space.sample(info["action_mask"]))
        batch: Any = gym.make_vec(f"Gin/{kind}-v0", num_envs=4, opponent=opponent)
        batch.reset(seed=1)
        for _ in range(200):
            batch.step(batch.unwrapped.action_masks().argmax(1))
        batch.close()


def _self_play() -> None:
    for episode in ("hand", "game"):
        batch = SelfPlayBatch(4, episode=episode)
        batch.reset(seed=1)
        for _ in range(100):
            batch.step(batch.masks.argmax(1))


def _matches() -> None:
    for unit in ("hands", "games"):
        play_match("simple", "population", pairs=1, unit=unit)


def _table() -> None:
    show: Callable[..., object] = lambda session: None  # noqa: E731
    with contextlib.suppress(ModuleNotFoundError):
        from agents.web.warmup import draw as show
    for rules in RULES:
        rehearse("formula", show, rules)


def _searches() -> None:
    # The first turns need all of it; a whole hand would take seconds.
    for name in ("network", "search:worlds=8"):
        hand, player = Hand.deal(parse_rules(_RULES), seed=1), make_player(name)
        for _ in range(_SEARCHED):
            hand.push(int(player.act(hand.view())[0]))


def _analysis() -> None:
    from agents.analysis.analyst import Analyst

    hand = deal_and_play("eaai,target=1", 1, ("simple", "easy")).hands[0]
    Analyst(2).hand(hand)
    assert hand.outcome is not None
    # Of a game that is over: only then is it settled.
    score_sheet(hand.rules, [hand.outcome])
    # What only some reasons need: cards for gin, and the meld of a lay-off.
    cards = np.int64(hand.after(0).view(0)["hand"][0])
    best_of_eleven(cards)
    fits(cards, 0)
    # Positions of practice are read so, and what may be played in them is asked.
    parse_view(format_view(hand.after(len(hand.history) // 2).view()))
    hand.after(0).legal_actions()


def _levels() -> None:
    for level in ("level-1", "level-4", "matched"):
        rehearse(level, lambda session: None, _RULES)
    # Luck of actions is only subtracted for a player whose probabilities are known.
    play_match("level-1", "simple", rules=_RULES, pairs=1, unit="games")


def _training() -> None:
    from agents.cli.train import train

    with tempfile.TemporaryDirectory(prefix="gin-") as folder:
        train(Path("configs/smoke.yaml"), Path(folder, "run"), _TRAINING)


STEPS: dict[str, Callable[[], None]] = {
    "training": _training,
    "environments": _environments,
    "searches": _searches,
    "the table": _table,
    "matches": _matches,
    "levels": _levels,
    "analysis": _analysis,
    "self-play": _self_play,
}


def take(step: str) -> tuple[int, str]:
    """Takes a step; returns how many functions it compiled, and the name of the module that is missing for it, or nothing."""
    compiled, missing = event.RecordingListener(), ""
    # What is shown on the way is meant for nobody: the step is taken for what it compiles.
    silent = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
    with silent[0], silent[1], event.install_listener("numba:compile", compiled):
        try:
            STEPS[step]()
        except (ModuleNotFoundError, GinError) as error:
            cause = error if isinstance(error, ModuleNotFoundError) else error.__cause__
            if not isinstance(cause, ModuleNotFoundError):
                raise
            missing = str(cause.name)
    return sum(each.is_start for _, each in compiled.buffer), missing


def _kept(cache: Path) -> int:
    """How many compiled functions a directory keeps."""
    return sum(1 for _ in cache.glob("*/**/*.nbc"))


def warm() -> None:
    """Compiles what environments, the tables, matches, levels and training need, and keeps it, so that nobody has to wait for it later.

    It shows how many functions are compiled, and which parts are ready; how many there are in all depends on what was kept before.
    Useful where many start fresh: in an image, before a class, in continuous integration. Where everything is compiled already, it
    takes seconds.
    """
    cache = cache_root()
    if cache is None:
        raise GinError("no directory was found where compiled code can be kept; GINENV_CACHE_DIR names one")
    console, began, made, without = plain_console(), time.monotonic(), 0, {}
    workers = min(_MAX_WORKERS, len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 2)
    before, shown_at = _kept(cache), began
    with console.status("compiling") as status, process_pool(workers) as pool:
        waiting = {pool.submit(take, step): step for step in STEPS}
        while waiting:
            done, _ = wait(waiting, _SHOWN, FIRST_COMPLETED)
            ready = [waiting.pop(future) for future in done]
            for step, future in zip(ready, done, strict=True):
                compiled, without[step] = future.result()
                made += compiled
            parts = f"{len(STEPS) - len(waiting)} of {len(STEPS)} parts are ready"
            line = f"compiling: {counted(_kept(cache) - before, 'function')} so far, {parts}"
            status.update(line)
            if not console.is_terminal and (ready or time.monotonic() - shown_at > _PRINTED):
                shown_at = time.monotonic()
                console.print(line + f" (now: {', '.join(ready)})" * bool(ready), highlight=False, soft_wrap=True)
    for step, name in without.items():
        if name:
            console.print(f"left out: {step}, for which {name} is not installed", highlight=False, markup=False)
    what = f"{counted(_kept(cache) - before, 'function')} compiled" if made else "everything was compiled already"
    line = f"{what}, in {time.monotonic() - began:.0f} s; kept in {cache}"
    console.print(line, highlight=False, markup=False, soft_wrap=True)
