"""The environment for verifiers plays hands with whatever answers, and rewards points."""

import asyncio
import importlib
import itertools
from contextlib import asynccontextmanager
from types import SimpleNamespace

import pytest

from tests.support.programs import ROOT

pytest.importorskip("verifiers", minversion="0.4")


class Model:
    """Stands for the agent: answers each question by a function of it, and keeps the trace."""

    def __init__(self, answer):
        self.answer, self.turns, self.rewards, self.metrics = answer, [], {}, {}

    @asynccontextmanager
    async def interaction(self, task):
        self.words = task.data.prompt
        yield SimpleNamespace(turn=self.turn, trace=self)

    async def turn(self, words=None):
        self.words = words or self.words
        self.turns.append(self.words)
        return SimpleNamespace(terminated=False, last_reply=self.answer(self.words))

    def record_reward(self, name, value):
        self.rewards[name] = value

    def record_metric(self, name, value):
        self.metrics[name] = value


@pytest.fixture
def example(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    return importlib.import_module("verifiers_gin")


def play(example, task, answer) -> Model:
    model = Model(answer)
    asyncio.run(example.GinEnv.run(None, task, SimpleNamespace(player=model)))
    return model


def first_legal(words: str) -> str:
    legal = words.rpartition("Legal: ")[2].split(", ")
    return f"Well.\n{next((action for action in legal if action.startswith('knock')), legal[0])}"


def test_hands_are_played_and_rewarded(example):
    tasks = list(itertools.islice(example.GinTaskset(example.GinConfig(id="verifiers_gin")).load(), 6))
    rewards = [play(example, task, first_legal).rewards["points"] for task in tasks]
    assert any(reward < 0 for reward in rewards) and all(-1.5 < reward < 1.5 for reward in rewards)
    assert rewards == [play(example, task, first_legal).rewards["points"] for task in tasks]
    assert [task.data.info["deal"] for task in tasks] == [0, 0, 1, 1, 2, 2]
    assert [task.data.info["seat"] for task in tasks] == [0, 1] * 3


def test_answers_that_are_not_legal_are_explained_and_then_lose(example):
    task = next(iter(example.GinTaskset(example.GinConfig(id="verifiers_gin")).load()))
    model = play(example, task, lambda words: "sing")
    assert model.rewards == {"points": -0.5} and model.metrics == {"illegal": 3} and len(model.turns) == 3
    assert "sing" in model.turns[1]
