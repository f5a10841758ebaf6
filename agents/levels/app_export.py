"""Writes a level as an app's directory: its network as arrays, its behaviour, golden positions and a card.

The networks of levels 1 to 3 as installed ship with the package (``make app`` makes them); those of other levels are distilled into one
that reads the observation alone, as other languages can make it. The level plays itself and bots under all presets. In every position the
student's logits approach the level's, in relation to each other, and most exactly where the level's behaviour (temperature, gap, biases)
lets them decide.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from agents.arena import MatchSettings, play_match
from agents.datasets.rows import decisions_of
from agents.datasets.source import PlayedGames
from agents.deal_streams import Domain
from agents.files import copy_files, replacing, write_bytes, write_json, write_text, writing
from agents.levels.app import (
    APP,
    ARRAYS,
    NETWORK,
    SUITS,
    WIDTHS,
    AppFile,
    AppPlayer,
    input_scale,
    load_app,
    read_app,
)
from agents.levels.choice import BEHAVIOUR, choose
from agents.levels.level import Level
from agents.levels.player import LevelPlayer
from agents.network.nets import Actor
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PHASE_DISCARD, PHASE_LAYOFF, PHASE_NAMES, PHASE_SPREAD, PHASE_WALL
from ginenv.engine.cards import cards_of
from ginenv.engine.engine import NO_CARD, End
from ginenv.engine.melds import nth_arrangement
from ginenv.engine.outcome import outcome_of
from ginenv.engine.rules import PRESETS, get_rules
from ginenv.envs.selfplay import SelfPlayBatch
from ginenv.tables.players import make_player
from ginenv.view.encoding import OBSERVATION_SIZE
from ginenv.view.view import action_masks

GOLDEN, KNOCKS, CARD = "golden.jsonl", "knocks.jsonl", "README.md"
# Exports of installed levels.
APPS = Path(__file__).resolve().parents[1] / "data" / "apps"
_GOLDEN, _KNOCKS, _KNOCK_HANDS = 500, 200, 1000
_KNOCK_ENDS = (End.KNOCK, End.UNDERCUT, End.TIE)
# Between them they reach every phase and nearly every byte of the input.
_GOLDEN_PRESETS = ("dg-simple", "dg-standard", "gr-oklahoma", "ht2-simple", "gc", "openspiel")
# A golden position is left out if errors of this size in its logits would change what is played.
_ROUNDING = 5e-4
# Shares of the level's gap that are tried in matches of so many mirrored pairs, until the export loses no more points per hand than that.
_GAPS, _PAIRS, _WEAKER = (1.0, 0.8, 0.6, 0.4, 0.2), 2000, 0.5

# Positions that the level plays through, tables of each preset, and positions collected between two phases of learning.
POSITIONS, _TABLES, _CHUNK = 2_400_000, 32, 12_000
# How often each position is learned from, on average; positions that are remembered; positions of a step.
_TIMES, _REMEMBERED, _BATCH = 2, 240_000, 1024
# Of learning, highest; it ends at a fiftieth of that.
_RATE = 5e-3
_BOTS = ("formula", "simple", "camper", "knocker")
# Least weight of a legal action, however far it is from being played.
_MIN_WEIGHT = 0.05
# Keeps the logits from drifting all together, which no choice depends on and which would cost digits.
_ANCHOR = 1e-3

# Inputs ``uint8[n, 520]``, logits ``float32[n, 107]``, weights of their errors ``float32[n, 107]``.
_Examples = tuple[np.ndarray, ...]
_EXAMPLES = ((OBSERVATION_SIZE, np.uint8), (NUM_ACTIONS, np.float32), (NUM_ACTIONS, np.float32))


def export_app(
    level: Level, directory: Path, seconds: float, seed: int, progress: Callable[[float], None]
) -> dict[str, Any]:
    """Writes the directory: the export that ships with an installed level, or a distilled one.

    Args:
        level: the level.
        directory: to write, new or empty.
        seconds: the most that a distillation may take.
        seed: of the distillation and of the golden positions.
        progress: called with the share of the distillation that is done.

    Returns:
        How it was made, as ``app.json`` says it.

    Raises:
        FileError: if a file cannot be written.
    """
    plain = level.with_settings(worlds=0)
    original = LevelPlayer(plain, seed, learn=False)
    shipped = APPS / level.name
    with writing(directory), replacing(directory) as made:
        if level.ships and (shipped / APP).is_file() and read_app(shipped).about["level_sha256"] == plain.digest:
            copy_files(shipped, made)
        else:
            _write_distilled(original, made, seconds, seed, progress)
        file = read_app(made)
        lines, agreement = _golden(load_app(str(made)), original, seed)
        about = file.about | {"agreement": agreement, "searches": level.settings.worlds > 0}
        file = file.model_copy(update={"about": about})
        write_json(made / APP, file.model_dump())
        for name, written in ((GOLDEN, lines), (KNOCKS, _knocks(seed))):
            write_text(made / name, "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in written))
        write_text(made / CARD, _card(file))
    return about


def _write_distilled(
    original: LevelPlayer, made: Path, seconds: float, seed: int, progress: Callable[[float], None]
) -> None:
    """Distils a level, and writes the network and its description."""
    level = original.level
    actor, about = distill(original, seconds, seed, progress)
    content = _weights(actor)
    file = AppFile(
        name=level.name,
        title=level.settings.title,
        behaviour=level.settings.model_dump(include=set(BEHAVIOUR.names or ())),
        network_sha256=hashlib.sha256(content).hexdigest(),
        presets={name: dataclasses.asdict(PRESETS[name]) for name in _GOLDEN_PRESETS},
        about=about | {"level_sha256": level.digest, "seed": seed},
    )
    write_bytes(made / NETWORK, content)
    write_json(made / APP, file.model_dump())
    if about["finished"]:
        _make_as_strong(made, file, original, seed)


def _make_as_strong(made: Path, file: AppFile, original: LevelPlayer, seed: int) -> None:
    """Narrows the export's gap, until it is about as strong as the level.

    A student's errors cost points. What it gives up of the level's variety, by a smaller gap, wins them back. The deals are for choosing.

    Raises:
        KeyboardInterrupt: after an interrupt.
    """
    settings = MatchSettings(rules=get_rules("dg-standard"), unit="hands", domain=Domain.SELECT, seed=seed)
    for share in _GAPS:
        gap = {"max_logit_gap": round(share * original.level.settings.max_logit_gap, 3)}
        write_json(made / APP, file.model_copy(update={"behaviour": file.behaviour | gap}).model_dump())
        result = play_match(str(made), original, pairs=_PAIRS, settings=settings)
        if result.interrupted:
            raise KeyboardInterrupt
        if result.points.mean > -_WEAKER:
            break


def _weights(actor: Actor) -> bytes:
    """The content of ``network.bin``; every number is one of half precision too, so half the bytes lose nothing."""
    weights = {name: value.float().numpy() for name, value in actor.state_dict().items()}
    own, pooled = list(ARRAYS)[:2]
    weights[own] = weights[own] * input_scale()[: SUITS.shape[1]]
    # Whether the seat is committed, the last number that the student reads, is never there.
    weights[pooled] = weights[pooled][:, :-1] * input_scale()
    return b"".join(weights[name].astype(np.float16).astype("<f4").tobytes() for name in ARRAYS)


def _golden(player: AppPlayer, original: LevelPlayer, seed: int) -> tuple[list[dict[str, Any]], float]:
    """Golden positions of games that the exported level plays, and how much of its probabilities is where the level's are."""
    rng, lines, shared = np.random.default_rng(seed), [], []
    tables = [SelfPlayBatch(2, rules, "game") for rules in _GOLDEN_PRESETS]
    for table in tables:
        table.reset(seed=seed)
    while len(lines) < _GOLDEN:
        views = np.concatenate([table.views for table in tables])
        player.reset(int(rng.integers(1 << 32)))
        choices = player.describe(views)
        logits = player.logits(views, choices)
        actions, policy = choose(choices, logits.copy(), player.softens)
        original.reset(player.seed)
        expected = original.act_with_policy(views)[1]
        decided = ~np.isin(views["phase"], (PHASE_SPREAD, PHASE_LAYOFF))
        shared += list(np.minimum(policy, expected).sum(1)[decided])
        taken = (views["phase"] == PHASE_WALL) | (rng.random(len(views)) < 0.15)
        for i in np.flatnonzero(decided & taken & _sure(choices, logits, actions, policy, rng)):
            lines.append(
                {
                    "view": _view(views[i], _GOLDEN_PRESETS[i // 2]),
                    "seed": player.seed,
                    "luck": f"{int(views[i]['luck']):016x}",
                    "hand_luck": f"{int(views[i]['hand_luck']):016x}",
                    "input": base64.b64encode(choices["inputs"]["observation"][i].tobytes()).decode(),
                    "logits": [round(float(value), 6) for value in logits[i]],
                    "probabilities": [
                        round(float(policy[i][action]), 7)
                        for action in np.flatnonzero(action_masks(views[i : i + 1])[0])
                    ],
                    "action": int(actions[i]),
                }
            )
        for k, table in enumerate(tables):
            table.step(actions[2 * k : 2 * k + 2])
    return lines[:_GOLDEN], float(np.mean(shared))


def _knocks(seed: int) -> list[dict[str, Any]]:
    """Knocks, those first that can be spread in several ways or after which cards are laid off; all players of ours do both alike."""
    found: list[tuple[int, int, dict[str, Any]]] = []
    for preset in _GOLDEN_PRESETS:
        settings = MatchSettings(rules=get_rules(preset), unit="hands", seed=seed)
        for hands in PlayedGames(("formula", "formula"), _KNOCK_HANDS, settings):
            decisions = decisions_of(hands.states)
            rows = zip(decisions.views, decisions.hand, decisions.action, decisions.other_cards, strict=True)
            for view, hand, action, other_cards in rows:
                if view["phase"] != PHASE_DISCARD or action < KNOCK:
                    continue
                outcome = outcome_of(hands.states[hand])
                if outcome is None or outcome.end not in _KNOCK_ENDS:
                    continue
                cards = np.int64(int(view["hand"]) & ~(1 << (int(action) - KNOCK)))
                masks = {
                    "knocker": cards,
                    "defender": other_cards,
                    "known": view["known_cards"][1],
                    "unseen": view["unseen"],
                }
                deadwood = [outcome.deadwood[seat] for seat in (view["seat"], 1 - view["seat"])]
                line = {"rules": preset} | {name: cards_of(int(mask)) for name, mask in masks.items()}
                line |= {"spread": outcome.spread, "laid_off": outcome.laid_off, "deadwood": deadwood}
                ways = int(nth_arrangement(cards, np.int64(deadwood[0]), 0)[0])
                found.append((ways, len(outcome.laid_off), line))
    found.sort(key=lambda one: one[:2], reverse=True)
    return [line for *_, line in found[:_KNOCKS]]


def _sure(
    choices: np.ndarray, logits: np.ndarray, actions: np.ndarray, policy: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Where errors of rounding in an export's logits change neither the action nor, by much, the probabilities: ``bool[n]``."""
    sure = np.ones(len(choices), bool)
    for _ in range(4):
        noise = rng.uniform(-_ROUNDING, _ROUNDING, logits.shape).astype(np.float32)
        again, chances = choose(choices, logits + noise, softens=False)
        sure &= (again == actions) & (np.abs(chances - policy).max(1) < 0.01)
    return sure


def _view(view: np.ndarray, preset: str) -> dict[str, Any]:
    """A view in JSON, as ``docs/app.md`` describes it."""

    def cards(mask: Any) -> list[int]:
        return cards_of(int(mask))

    def card(number: Any) -> int | None:
        return None if number == NO_CARD else int(number)

    return {
        "rules": preset,
        "phase": PHASE_NAMES[view["phase"]],
        "legal": np.flatnonzero(action_masks(view.reshape(1))[0]).tolist(),
        "hand": cards(view["hand"]),
        "pile": view["pile"][: view["num_pile"]].tolist(),
        "upcard": card(view["upcard"]),
        "taken": card(view["taken"]),
        "drawn": card(view["drawn"]),
        **{
            name: [cards(mask) for mask in view[key]]
            for name, key in (("known", "known_cards"), ("thrown", "thrown"), ("refused", "refused"))
        },
        "started": bool(view["started"]),
        "doubled": bool(view["doubled"]),
        **{name: int(view[name]) for name in ("limit", "stock", "upcards", "drawn_hands", "declined")},
        "actions": int(view["num_history"]),
        "score": view["score"].tolist(),
        "boxes": view["boxes"].tolist(),
    }


def _card(file: AppFile) -> str:
    about = file.about
    early = "" if about["finished"] else f" of {POSITIONS:,}, since its time ran out"
    searches = "the level does, and is much stronger for it" if about["searches"] else "nor does the level"
    return f"""---
library_name: ginenv
license: mit
tags: [gin-rummy, imperfect-information]
---

# {file.name}, for apps

The gin rummy level {file.name} ({file.title}) as data that any language can read; docs/app.md of ginenv is the format.
Level: sha256 `{about["level_sha256"]}`.

Its network was distilled from the level's own, with its habits and what it had learned: seed {about["seed"]},
{about["positions"]:,} positions{early}. On positions of its own play, {about["agreement"]:.1%} of its probabilities are where the
level's are. Its `max_logit_gap` may be smaller than the level's: it varies less, which makes up for what it gets wrong.
`gin evaluate DIRECTORY LEVEL:learn=false` says how many points per hand lie between them.

It learns nothing more, and it does not search: {searches}. For a level that learns or searches there is `gin serve`.
"""


# --- distillation ---------------------------------------------------------------------------------------------------------


def distill(
    level: LevelPlayer, seconds: float, seed: int, progress: Callable[[float], None]
) -> tuple[Actor, dict[str, Any]]:
    """Distils a level.

    Args:
        level: the level's player; it does not learn.
        seconds: the most that it may take. The result depends on the seed alone unless they run out.
        seed: of deals, choices and the student.
        progress: called with the share that is done, of the positions or of the time, whichever ends it first.

    Returns:
        The student, the number of ``positions`` that it learned from, and whether it ``finished`` before its time ran out.
    """
    torch.manual_seed(seed)
    actor = Actor(WIDTHS, heuristic_features=0)
    optimiser = torch.optim.AdamW(actor.parameters(), _RATE, weight_decay=1e-4)
    remembered = tuple(np.empty((_REMEMBERED, n), kind) for n, kind in _EXAMPLES)
    rng, began, count = np.random.default_rng(seed), time.monotonic(), 0
    for examples in _play(level, seed):
        rows = np.arange(count, count + len(examples[0])) % _REMEMBERED
        for old, new in zip(remembered, examples, strict=True):
            old[rows] = new
        count += len(rows)
        done = min(1.0, max(count / POSITIONS, (time.monotonic() - began) / seconds))
        # Not after the first positions, whose time may have gone into compiling.
        slower = 0.02 + 0.98 * math.cos(math.pi / 2 * done) ** 2 if count > _CHUNK else 1
        for group in optimiser.param_groups:
            group["lr"] = _RATE * slower
        for _ in range(_TIMES * len(rows) // _BATCH):
            _step(actor, optimiser, remembered, rng.integers(min(count, _REMEMBERED), size=_BATCH))
        progress(done)
        if done >= 1:
            break
    return actor.eval(), {"positions": count, "finished": count >= POSITIONS}


def _play(level: LevelPlayer, seed: int) -> Iterator[_Examples]:
    """Positions of games under all presets; at half of the tables a bot has one of the seats."""
    tables = [SelfPlayBatch(_TABLES, rules, "game") for rules in PRESETS]
    for k, table in enumerate(tables):
        table.reset(seed=seed * 100_003 + k * _TABLES)
    bots = [make_player(name, seed) for name in _BOTS]
    numbers = np.tile(np.arange(_TABLES), len(tables))
    found: list[_Examples] = []
    while True:
        views = np.concatenate([table.views for table in tables])
        seats = np.concatenate([table.seats for table in tables])
        actions, examples = _label(level, views)
        for k, bot in enumerate(bots):
            rows = np.flatnonzero((numbers % (2 * len(bots)) == k) & (seats == 1))
            if len(rows):
                actions[rows] = bot.act(views[rows])
        found.append(examples)
        for k, table in enumerate(tables):
            table.step(actions[k * _TABLES : (k + 1) * _TABLES])
        if sum(len(inputs) for inputs, *_ in found) >= _CHUNK:
            yield tuple(np.concatenate(parts) for parts in zip(*found, strict=True))
            found = []


def _label(level: LevelPlayer, views: np.ndarray) -> tuple[np.ndarray, _Examples]:
    """The level's actions, and what it wants the student to learn, of positions that its network decides."""
    choices = level.describe(views)
    biased, wanted = choices.copy(), level.logits(views, choices)
    # On the scale on which it chooses, its biases included, but neither the hand's taste nor the bound on deadwood.
    biased["behaviour"]["hand_taste"], biased["behaviour"]["max_extra_deadwood"] = 0, 1000
    choose(biased, wanted)
    preferred = wanted.copy()
    choices["biases"] = 0
    actions, _ = choose(choices, preferred, softens=False)
    decided = np.flatnonzero(~np.isin(views["phase"], (PHASE_SPREAD, PHASE_LAYOFF)))
    preferred = np.where(action_masks(views[decided]) > 0, preferred[decided], -np.inf)
    behind = preferred.max(1, keepdims=True) - preferred
    weights = np.maximum(np.exp(-np.maximum(behind - level.behaviour["max_logit_gap"][0] - 0.5, 0)), _MIN_WEIGHT)
    weights = np.where(behind < 1e6, weights, 0).astype(np.float32)
    return actions, (choices["inputs"]["observation"]["cells"][decided], wanted[decided], weights)


def _step(actor: Actor, optimiser: torch.optim.Optimizer, examples: _Examples, rows: np.ndarray) -> None:
    inputs, logits, weights = (torch.from_numpy(part[rows]) for part in examples)
    # What the student might read besides the observation is 0.
    student = actor.logits(functional.pad(inputs.float(), (0, 1)))
    loss = _loss(student, logits, weights)
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()


def _loss(student: Tensor, level: Tensor, weights: Tensor) -> Tensor:
    """Weighted error of the logits. A number that is added to all of a row changes no choice, so it hardly counts."""
    total = weights.sum(1, keepdim=True)
    error = student - level
    offset = (weights * error).sum(1, keepdim=True) / total
    error = error - offset
    near = functional.smooth_l1_loss(error, torch.zeros_like(error), reduction="none")
    return ((weights * near).sum(1) / total[:, 0]).mean() + _ANCHOR * offset.square().mean()
