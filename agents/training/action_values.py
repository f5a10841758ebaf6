"""Values of the actions that a learner could have taken instead (``agents.training.ppo`` learns from all of them).

The deck of a training game is known, so each action's true successor can be made by the engine and valued by the critic, as the half-moves
that are played are. What the later play of a sampled action happened to bring does not enter, which is most of the noise in an advantage.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from torch import Tensor

from agents.network.nets import Inputs
from agents.training.batch import OTHER, VALUED, Batch
from agents.training.selfplay import Rollout, copy_state, declines, hand_reward, observe_table
from ginenv.engine.actions import NUM_ACTIONS, PHASE_OVER
from ginenv.engine.engine import apply
from ginenv.engine.jit import kernel
from ginenv.view.sampling import list_actions
from ginenv.view.view import VIEW

# A row has a choice if its second most probable action is at least so probable.
MIN_PROBABLE = 0.003


@kernel
def _most_probable(step, logits, row, found):
    """Writes the most probable actions of a row and their log-probabilities into ``OTHER[VALUED]``; whether there is a choice."""
    legal = np.empty(NUM_ACTIONS, np.int64)
    count = list_actions(step.legal, legal)
    for j in range(found.shape[0]):
        found[j].action, found[j].logp = -1, -np.inf
    best = -np.inf
    for k in range(count):
        best = max(best, np.float64(logits[row, legal[k]]))
    total = 0.0
    for k in range(count):
        total += np.exp(logits[row, legal[k]] - best)
    shift = best + np.log(total)
    for k in range(count):
        logp = logits[row, legal[k]] - shift
        j = found.shape[0]
        while j > 0 and logp > found[j - 1].logp:
            j -= 1
            if j + 1 < found.shape[0]:
                found[j + 1].action, found[j + 1].logp = found[j].action, found[j].logp
        if j < found.shape[0]:
            found[j].action, found[j].logp = legal[k], logp
    return found[1].logp > np.log(MIN_PROBABLE)


@kernel
def _succeed(states, tables, games, steps, rows, logits, deals, equity, knocks, others, scratch, views, inputs, where):
    """Writes the successors of the probable actions that were not taken, and the values of those that end the hand.

    Args:
        states: ``STATE[N]``, before the actions are played.
        tables: ``TABLE[N]``.
        games: ``GAME_RECORD[N]``.
        steps: ``STEP[N]``, with the actions that were drawn.
        rows: ``int64[B]``, the games in which the learner chooses.
        logits: ``float32[B, 107]``.
        deals: what determines who commits to gin.
        equity: prices hands of games.
        knocks: whether decisions to knock are valued.
        others: ``OTHER[N, VALUED]``, written.
        scratch: ``STATE[1]``.
        views: ``VIEW[M]``, written.
        inputs: ``INPUTS[M]``, written.
        where: ``int64[M, 2]``, written: game and column of each successor.

    Returns:
        The number of successors to be valued by the critic.
    """
    count = 0
    gin_only, found = np.zeros(2, np.uint8), np.zeros(VALUED, OTHER)
    for i in range(others.shape[0]):
        for j in range(VALUED):
            others[i, j].action, others[i, j].logp, others[i, j].advantage = -1, 0.0, 0.0
    for k in range(rows.shape[0]):
        i = rows[k]
        s, t, game, step = states[i], tables[i], games[i], steps[i]
        if not knocks and not np.isnan(step.knock_worth):
            continue
        if not _most_probable(step, logits, k, found):
            continue
        seat = np.int64(step.turn)
        sign = 1.0 if seat == 0 else -1.0
        column = 0
        for j in range(VALUED):
            action, logp = found[j].action, found[j].logp
            if action < 0 or action == step.action or logp < np.log(MIN_PROBABLE) - 2:
                continue
            after = scratch[0]
            copy_state(after, s)
            apply(after, action)
            value = 0.0
            if after.phase != PHASE_OVER:
                gin_only[0], gin_only[1] = game.gin_only[0], game.gin_only[1]
                if declines(after, t, game, seat, deals):
                    gin_only[seat] = 1
                observe_table(after, gin_only, t, deals.pool, views[count], inputs[count])
                where[count, 0], where[count, 1] = i, column
                count += 1
            else:
                value = hand_reward(after, game.rules, equity) * sign
            others[i, column].action, others[i, column].logp = action, logp
            others[i, column].advantage = value
            column += 1
    return count


@kernel
def _add_values(steps, views, where, values, others):
    """Adds the critic's values of the successors to the rewards of the actions that lead to them."""
    for m in range(where.shape[0]):
        i = where[m, 0]
        same = views[m].seat == steps[i].turn
        others[i, where[m, 1]].advantage += values[m] if same else -values[m]


class ActionValues:
    """Values, in one thread's games, of probable actions that were not taken; written into ``others`` of the rollout's batch.

    Args:
        rollout: the games.
    """

    def __init__(self, rollout: Rollout) -> None:
        size, batch = rollout.num_tables * VALUED, rollout.batch
        self.rollout, self.others = rollout, batch.others
        self.views, self.where = np.zeros(size, VIEW), np.zeros((size, 2), np.int64)
        self.batch = Batch.empty((0, size), batch.device, batch.dtype)

    def gather(
        self, step: int, rows: np.ndarray, logits: np.ndarray, knocks: bool, critic: Callable[[Inputs], Tensor]
    ) -> None:
        """Values actions that were not drawn, before those that were are played.

        Args:
            step: of the batch.
            rows: ``int64[B]``, the games in which the learner chooses.
            logits: ``float32[B, 107]``, the policy's.
            knocks: whether decisions to knock are valued.
            critic: values inputs.
        """
        rollout, inputs = self.rollout, self.batch.inputs[0]
        steps, others = rollout.steps[step], self.others[step]
        tables, written = (rollout.states, rollout.tables, rollout.games), (self.views, inputs, self.where)
        deals, equity = rollout.deals, rollout.equity
        count = _succeed(*tables, steps, rows, logits, deals, equity, knocks, others, rollout.scratch, *written)
        if not count:
            return
        rollout.features.write(self.views[:count], inputs[:count])
        values = critic(self.batch.read(np.arange(count))[1]).cpu().numpy()
        _add_values(steps, self.views[:count], self.where[:count], values, others)
