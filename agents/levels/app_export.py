"""Writes a level as an app's directory: its distilled network as arrays and as ONNX, its behaviour, golden positions and a card."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import importlib
import itertools
import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from agents.arena import MatchSettings, play_match
from agents.datasets.rows import decisions_of
from agents.datasets.source import PlayedGames
from agents.deal_streams import Domain
from agents.files import replacing, write_bytes, write_json, write_text, writing
from agents.levels.app import (
    APP,
    NETWORK,
    SHARED,
    SUITS,
    AppFile,
    AppPlayer,
    Behaviour,
    Layer,
    input_scale,
    load_app,
    names_of,
)
from agents.levels.distill import POSITIONS, WIDTHS, distill
from agents.levels.level import Level, LevelError
from agents.levels.player import LevelPlayer
from agents.network.inputs import NUM_RANKS, NUM_SUITS
from agents.network.nets import Actor
from ginenv.engine.actions import KNOCK, NUM_ACTIONS, PHASE_DISCARD, PHASE_LAYOFF, PHASE_NAMES, PHASE_SPREAD, PHASE_WALL
from ginenv.engine.cards import cards_of
from ginenv.engine.engine import NO_CARD, End
from ginenv.engine.melds import nth_arrangement
from ginenv.engine.outcome import outcome_of
from ginenv.engine.rules import PRESETS, get_rules
from ginenv.envs.selfplay import SelfPlayBatch
from ginenv.view.view import action_masks

GRAPH, GOLDEN, KNOCKS, CARD = "network.onnx", "golden.jsonl", "knocks.jsonl", "README.md"
_GOLDEN, _KNOCKS, _KNOCK_HANDS = 500, 200, 1000
_KNOCK_ENDS = (End.KNOCK, End.UNDERCUT, End.TIE)
# Between them they reach every phase and nearly every byte of the input.
_GOLDEN_PRESETS = ("dg-simple", "dg-standard", "gr-oklahoma", "ht2-simple", "gc", "openspiel")
# A golden position is left out if errors of this size in its logits would change what is played.
_ROUNDING = 5e-4
_TOLERANCE = 1e-4
# Shares of the level's gap that are tried in matches of so many mirrored pairs, until the export loses no more points per hand than that.
_GAPS, _PAIRS, _WEAKER = (1.0, 0.8, 0.6, 0.4, 0.2), 2000, 0.5


def export_app(
    level: Level, directory: Path, seconds: float, seed: int, progress: Callable[[int], None]
) -> dict[str, Any]:
    """Distils a level's network, and writes the directory.

    Args:
        level: the level.
        directory: to write, new or empty.
        seconds: the most that the distillation may take.
        seed: of the distillation and of the golden positions.
        progress: called with the number of positions, of ``distill.POSITIONS``.

    Returns:
        How it was made, as ``app.json`` says it.

    Raises:
        LevelError: if the graph does not compute what the arrays do; nothing is written then.
        FileError: if a file cannot be written.
    """
    searches, level = level.settings.worlds > 0, level.with_settings(worlds=0)
    original = LevelPlayer(level, seed, learn=False)
    found = distill(original, seconds, seed, progress)
    arrays = _arrays(found.actor)
    content = b"".join(array.astype("<f4").tobytes() for array in arrays)
    about: dict[str, Any] = {"level_sha256": level.digest, "searches": searches, "seed": seed}
    about |= {"positions": found.positions, "finished": found.finished}
    settings = level.settings
    file = AppFile(
        name=level.name,
        title=settings.title,
        behaviour=Behaviour(**{name: getattr(settings, name) for name in Behaviour.model_fields}),
        layers=_layers(),
        network_sha256=hashlib.sha256(content).hexdigest(),
        presets={name: dataclasses.asdict(PRESETS[name]) for name in _GOLDEN_PRESETS},
        about=about,
    )
    graph = _graph(arrays)
    with writing(directory), replacing(directory) as made:
        write_bytes(made / NETWORK, content)
        write_bytes(made / GRAPH, graph)
        write_json(made / APP, file.model_dump())
        if found.finished:
            file = _as_strong(made, file, original, seed)
        lines, about["agreement"] = _golden(load_app(str(made)), original, seed)
        _check_graph(graph, lines)
        write_json(made / APP, file.model_copy(update={"about": about}).model_dump())
        for name, written in ((GOLDEN, lines), (KNOCKS, _knocks(seed))):
            write_text(made / name, "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in written))
        write_text(made / CARD, _card(file, about, content, graph))
    return about


def _as_strong(made: Path, file: AppFile, original: LevelPlayer, seed: int) -> AppFile:
    """The description whose gap makes the export about as strong as the level; it is written too.

    A student's errors cost points. What it gives up of the level's variety, by a smaller gap, wins them back. The deals are for choosing.

    Raises:
        KeyboardInterrupt: after an interrupt.
    """
    settings = MatchSettings(rules=get_rules("dg-standard"), unit="hands", domain=Domain.SELECT, seed=seed)
    for share in _GAPS:
        gap = round(share * original.level.settings.max_logit_gap, 3)
        file = file.model_copy(update={"behaviour": file.behaviour.model_copy(update={"max_logit_gap": gap})})
        write_json(made / APP, file.model_dump())
        result = play_match(str(made), original, pairs=_PAIRS, settings=settings)
        if result.interrupted:
            raise KeyboardInterrupt
        if result.points.mean is not None and result.points.mean > -_WEAKER:
            break
    return file


def _layers() -> list[Layer]:
    sizes = [(SUITS.shape[1], len(SHARED)), *((n, n) for n in WIDTHS), (2 * NUM_RANKS, NUM_ACTIONS - 2 * 52)]
    return [
        Layer(suit_inputs=a[0], shared_inputs=a[1], suit_outputs=b[0], shared_outputs=b[1])
        for a, b in itertools.pairwise(sizes)
    ]


def _arrays(actor: Actor) -> list[np.ndarray]:
    """The arrays of ``network.bin``; every number is one of half precision too, so half the bytes lose nothing."""
    weights = {name: value.float().numpy() for name, value in actor.state_dict().items()}
    layers = _layers()
    arrays = [
        weights[f"{name}.{part}"]
        for name, layer in zip(names_of(len(layers)), layers, strict=True)
        for part in layer.shapes
    ]
    # Whether the seat is committed, the last number that the student reads, is never there.
    arrays[0], arrays[1] = arrays[0] * input_scale()[: SUITS.shape[1]], arrays[1][:, :-1] * input_scale()
    return [array.astype(np.float16).astype(np.float32) for array in arrays]


def _graph(arrays: list[np.ndarray]) -> bytes:
    """The same network in ONNX, for batches of any size."""
    # Imported this way since the module tells type checkers nothing of its contents.
    onnx: Any = importlib.import_module("onnx")
    constants: dict[str, np.ndarray] = {"suits": SUITS.reshape(-1), "shared": SHARED, "one": np.array([1])}
    # No -1 among the shapes: of a batch of none, it cannot be inferred.
    constants |= {"by_suit": np.array([0, *SUITS.shape]), "flat": np.array([0, NUM_SUITS * NUM_RANKS])}
    nodes: list[Any] = []

    def add(operator: str, inputs: str, output: str, **attributes: Any) -> str:
        nodes.append(onnx.helper.make_node(operator, inputs.split(), [output], **attributes))
        return output

    x = add("Reshape", add("Gather", "input suits", "picked", axis=1) + " by_suit", "x")
    z = add("Gather", "input shared", "z", axis=1)
    for k in range(0, len(arrays), 3):
        own, pooled, bias = arrays[k : k + 3]
        constants |= {f"own{k}": own.T, f"pooled{k}": pooled, f"bias{k}": bias}
        constants[f"split{k}"] = np.array([len(own), len(pooled) - len(own)])
        total = add("ReduceSum", f"{x} one", f"sum{k}", keepdims=0)
        both = add(
            "Gemm", add("Concat", f"{total} {z}", f"read{k}", axis=1) + f" pooled{k} bias{k}", f"both{k}", transB=1
        )
        nodes.append(onnx.helper.make_node("Split", [both, f"split{k}"], [f"common{k}", f"z{k}"], axis=1))
        common = add("Unsqueeze", f"common{k} one", f"wide{k}")
        x, z = add("Add", add("MatMul", f"{x} own{k}", f"each{k}") + f" {common}", f"x{k}"), f"z{k}"
        if k + 3 < len(arrays):
            x, z = add("Relu", x, f"relu_{x}"), add("Relu", z, f"relu_{z}")
    constants["decks"] = np.array([NUM_RANKS, NUM_RANKS])
    nodes.append(onnx.helper.make_node("Split", [x, "decks"], ["discards", "knocks"], axis=2))
    decks = [add("Reshape", f"{name} flat", f"flat_{name}") for name in ("discards", "knocks")]
    add("Concat", " ".join([*decks, z]), "logits", axis=1)
    number = onnx.TensorProto.FLOAT
    graph = onnx.helper.make_graph(
        nodes,
        "level",
        [onnx.helper.make_tensor_value_info("input", number, ["n", 520])],
        [onnx.helper.make_tensor_value_info("logits", number, ["n", NUM_ACTIONS])],
        [onnx.numpy_helper.from_array(np.ascontiguousarray(value), name) for name, value in constants.items()],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=8)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def _check_graph(graph: bytes, lines: list[dict[str, Any]]) -> None:
    """Compares the graph, as ONNX's own evaluator computes it, with the golden positions.

    Raises:
        LevelError: if they differ.
    """
    reference: Any = importlib.import_module("onnx.reference")
    inputs = np.stack([np.frombuffer(base64.b64decode(line["input"]), np.uint8) for line in lines])
    logits = reference.ReferenceEvaluator(graph).run(None, {"input": inputs.astype(np.float32)})[0]
    worst = float(np.abs(logits - [line["logits"] for line in lines]).max())
    if not worst < _TOLERANCE:
        raise LevelError(
            f"{GRAPH} does not compute what {NETWORK} does: logits differ by {worst:.2g}, allowed is {_TOLERANCE:g}"
        )


def _golden(player: AppPlayer, original: LevelPlayer, seed: int) -> tuple[list[dict[str, Any]], float]:
    """Golden positions of games that the exported level plays, and how much of its probabilities is where the level's are."""
    rng, lines, shared = np.random.default_rng(seed), [], []
    tables = [SelfPlayBatch(2, rules, "game") for rules in _GOLDEN_PRESETS]
    for table in tables:
        table.reset(seed=seed)
    while len(lines) < _GOLDEN:
        views = np.concatenate([table.views for table in tables])
        player.reset(int(rng.integers(1 << 32)))
        manner = player.manner(None, len(views))
        actions, policy, logits = player.choose(views, *manner)
        inputs = player._see(views, manner[0])[0]
        original.reset(player.seed)
        expected = original.act_with_policy(views)[1]
        decided = ~np.isin(views["phase"], (PHASE_SPREAD, PHASE_LAYOFF))
        shared += list(np.minimum(policy, expected).sum(1)[decided])
        taken = (views["phase"] == PHASE_WALL) | (rng.random(len(views)) < 0.15)
        for i in np.flatnonzero(decided & taken & _sure(player, views, logits, actions, policy, rng)):
            lines.append(
                {
                    "view": _view(views[i], _GOLDEN_PRESETS[i // 2]),
                    "seed": player.seed,
                    "luck": f"{int(views[i]['luck']):016x}",
                    "hand_luck": f"{int(views[i]['hand_luck']):016x}",
                    "input": base64.b64encode(inputs[i].tobytes()).decode(),
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
    player: AppPlayer,
    views: np.ndarray,
    logits: np.ndarray,
    actions: np.ndarray,
    policy: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """Where errors of rounding in the logits change neither the action nor, by much, the probabilities: ``bool[n]``."""
    sure, (behaviours, biases) = np.ones(len(views), bool), player.manner(None, len(views))
    seen = player._see(views, behaviours)
    for _ in range(4):
        noise = rng.uniform(-_ROUNDING, _ROUNDING, logits.shape).astype(np.float32)
        again, chances = player.draw(views, behaviours, biases, seen, logits + noise, False)
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


def _card(file: AppFile, about: dict[str, Any], content: bytes, graph: bytes) -> str:
    """The card."""
    early = "" if about["finished"] else f" of {POSITIONS:,}: it was ended early"
    share = f"{100 * about['agreement']:.1f} %"
    searches = ": the level does, and is much stronger for it." if about["searches"] else ", nor does the level."
    paragraphs = [
        f"# {file.name}, for apps",
        f"The gin rummy level {file.name} ({file.title}) as data that any language can read. docs/app.md of ginenv says byte by byte how "
        "the network's input is made, how it is computed, and how an action is chosen.",
        f"`{NETWORK}`: {len(content):,} bytes; `{GRAPH}`, the same network: {len(graph):,} bytes. "
        f"Level: sha256 `{about['level_sha256']}`.",
        "## How it was made",
        "Distilled from the level's own network, which reads numbers that only ginenv computes, under the level's bounds of memory "
        f"and attention, with its habits and what it had learned: seed {about['seed']}, {about['positions']:,} positions{early}. On "
        f"positions of its own play, {share} of its probabilities are where the level's are. Its `max_logit_gap` may be smaller than the "
        "level's: it varies less, which makes up for what it gets wrong. `gin evaluate DIRECTORY LEVEL:learn=false` says how many points "
        "per hand lie between them.",
        "## What it does not do",
        "- It learns nothing more: it plays as the level did when it was exported.\n"
        f"- It does not search{searches}\n"
        "- For a level that learns or searches there is `gin serve`.",
    ]
    return "\n\n".join(textwrap.fill(part, 140) if part[0] not in "#-" else part for part in paragraphs) + "\n"
