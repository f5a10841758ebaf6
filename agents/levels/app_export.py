"""Writes a level as an app's directory: its network as arrays, its behaviour, golden positions and a card.

The networks of levels 1 to 3 as installed ship with the package (``make app`` makes them); those of other levels are distilled.
"""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

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
    AppFile,
    AppPlayer,
    input_scale,
    load_app,
    read_app,
)
from agents.levels.choice import BEHAVIOUR, choose
from agents.levels.distill import POSITIONS, distill
from agents.levels.level import Level
from agents.levels.player import LevelPlayer
from agents.network.nets import Actor
from ginenv.engine.actions import KNOCK, PHASE_DISCARD, PHASE_LAYOFF, PHASE_NAMES, PHASE_SPREAD, PHASE_WALL
from ginenv.engine.cards import cards_of
from ginenv.engine.engine import NO_CARD, End
from ginenv.engine.melds import nth_arrangement
from ginenv.engine.outcome import outcome_of
from ginenv.engine.rules import PRESETS, get_rules
from ginenv.envs.selfplay import SelfPlayBatch
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
