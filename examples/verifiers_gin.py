"""Hands of gin rummy as tasks for verifiers (0.4 and newer): to train a language model, or to evaluate one.

    pip install verifiers ".[match]"
    cd examples && vf-eval verifiers_gin -m MODEL -n 20 --no-push

Task 2 k and task 2 k + 1 are the same deal, played from either seat. The reward is the hand's points divided by 100; after three answers
that are not legal the hand is lost for 50 points.
"""

import itertools
import json

import verifiers.v1 as vf
from chat_player import FORM, TRIES, action_in

from agents.programs.protocol import EventEncoder, question
from agents.programs.views import read_views
from agents.programs.words import entry_words, rules_words
from ginenv import GinError, Hand, get_rules, make_player

# Of a hand that is lost by answers that are not legal.
FORFEIT = 50


class Table:
    """A hand between the model and a player of ours."""

    def __init__(self, info):
        self.hand = Hand.deal(info["rules"], seed=info["deal"])
        self.seat, self.opponent, self.encoder = info["seat"], make_player(info["opponent"]), None
        self._go_on()

    def _go_on(self):
        while not self.hand.is_over and self.hand.turn != self.seat:
            self.hand.push(int(self.opponent.act(self.hand.view())[0]))

    def play(self, action):
        """Plays the model's action and the opponent's; raises a GinError if it is not legal."""
        self.hand.push(action)
        self._go_on()

    def question(self):
        """What has happened, and the next question, in words."""
        [view] = read_views(self.hand.view(self.seat))
        self.encoder = self.encoder or EventEncoder(view)
        self.encoder.update(view)
        return entry_words(json.loads(question(0, self.encoder.events_message(), view)))

    @property
    def points(self):
        """The model's points less the opponent's."""
        outcome = self.hand.outcome
        return 0 if outcome.winner is None else outcome.points * (1 if outcome.winner == self.seat else -1)


class GinConfig(vf.TasksetConfig):
    """The opponent and the rules of all hands."""

    opponent: str = "simple"
    rules: str = "eaai"


class GinData(vf.TaskData):
    """One hand: ``info`` holds its deal, seat, opponent and rules."""

    info: dict


class GinTask(vf.Task[GinData, vf.State, vf.TaskConfig]):
    """One hand."""


class GinEnvConfig(vf.EnvConfig):
    """The model."""

    player: vf.AgentConfig = vf.AgentConfig()


class GinEnv(vf.Env[GinEnvConfig]):
    """Plays a hand with the model, one question in each turn."""

    async def run(self, task, agents):
        """Plays a task's hand and records the reward."""
        table, illegal = Table(task.data.info), 0
        async with agents.player.interaction(task) as interaction:
            segment = await interaction.turn()
            while not segment.terminated:
                try:
                    table.play(action_in(segment.last_reply))
                    illegal = 0
                    if table.hand.is_over:
                        break
                    words = table.question()
                except GinError as error:
                    illegal += 1
                    interaction.trace.record_metric("illegal", interaction.trace.metrics.get("illegal", 0) + 1)
                    if illegal == TRIES:
                        break
                    words = f"{error}. {FORM}"
                segment = await interaction.turn(words)
        points = table.points if table.hand.is_over else -FORFEIT
        interaction.trace.record_reward("points", points / 100)


class GinTaskset(vf.Taskset[GinTask, GinConfig]):
    """Hands without end."""

    INFINITE = True

    def load(self):
        """Yields the tasks."""
        system_prompt = f"{rules_words(get_rules(self.config.rules))}\n\n{FORM}"
        for number in itertools.count():
            about = {"opponent": self.config.opponent, "rules": self.config.rules}
            info = {"deal": number // 2, "seat": number % 2, **about}
            data = GinData(name=f"hand-{number}", prompt=Table(info).question(), system_prompt=system_prompt, info=info)
            yield GinTask(data, self.config.task)


__all__ = ["GinEnv", "GinTaskset"]
