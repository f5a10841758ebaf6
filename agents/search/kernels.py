"""One decision: candidates, worlds, playouts, prices, and which candidate is worth its place.

Kernels called one after the other for each view (as one they would take a minute to compile): ``propose``, ``draw_hands`` and
``fill_worlds``; then ``play_round`` and ``conclude``, or ``branch``, a judge and ``settle``. None of them holds Python's lock, and all
scratch memory is their caller's.
"""

from __future__ import annotations

import numpy as np

from agents.bots.hand_kernels import (
    choose_lay_off,
    choose_spread,
    danger_of,
    deadwood_ahead,
    least_deadwood,
    unit,
)
from agents.equity import bank_chance
from agents.network.commitment import bind_to_gin
from agents.search.playout import choose, copy_state
from agents.search.worlds import believe, believe_logits, believe_uniform, describe, draw_worlds
from ginenv.actions import KNOCK, PHASE_DISCARD, PHASE_LAYOFF, PHASE_OVER, PHASE_SPREAD, STOCK
from ginenv.engine import NOBODY, apply
from ginenv.game import score_hand
from ginenv.jit import ctz, kernel, mix, popcount
from ginenv.melds import deadwood
from ginenv.rules import R_HAND_SIZE, R_TARGET

MAX_CANDIDATES = 24
BELIEFS = ("uniform", "bayes", "network")
BELIEF_UNIFORM, BELIEF_BAYES, BELIEF_NETWORK = range(3)

# The numbers of a configuration that compiled code needs.
SETTINGS = np.dtype(
    [
        ("candidates", np.int64),
        ("belief", np.int64),
        ("game_pricing", np.int64),
        ("stop", np.float64),  # standard errors behind the best at which a candidate is dropped
        ("gate", np.float64),  # standard errors by which a candidate must beat the prior's choice
        (
            "trust",
            np.float64,
        ),  # spread of true differences between discards that the prior calls equal (0: no shrinking)
        ("slope", np.float64),  # value that a point of the prior's cost stands for
        ("knock_edge", np.float64),  # value added to knocking, for what playouts leave out
        ("ahead", np.float64),  # prior: weight of the deadwood expected one draw later
        ("gin", np.float64),  # prior: points that a draw to gin counts for in it
        ("danger", np.float64),  # prior: points for a discard that the opponent surely wants
        ("policy", np.int64),  # 1 when the logits of a network's policy are the prior
        ("least", np.float64),  # of a policy: candidates that it plays more rarely are left out
    ],
    align=True,
)

# What the search found about one candidate.
CANDIDATE = np.dtype(
    [
        ("action", np.int64),
        ("prior", np.float64),  # rank by the prior: its cost, lower is better
        ("value", np.float64),  # mean over the worlds seen: chance to win the game, or points / 100
        ("error", np.float64),  # standard error of the difference to the chosen candidate (0 for that one)
        ("worlds", np.int64),  # how many worlds it saw
    ],
    align=True,
)


@kernel
def discard_cost(v, p, card):
    """What the prior thinks of a discard: deadwood left, deadwood expected one draw later, and danger (lower is better)."""
    bit = np.int64(1) << card
    rest = v.hand & ~bit
    left = deadwood(rest)
    chance = (v.rules[R_HAND_SIZE] - popcount(v.known[1])) / max(1, popcount(v.unseen))
    cold = v.thrown[1] | v.refused[1]
    cost = left + p.ahead * deadwood_ahead(rest, v.unseen, left, p.gin)
    return cost + p.danger * danger_of(card, v.unseen, v.known[1], cold, chance)


@kernel
def _add(found, count, action, prior):
    c = found[count]
    c.action = action
    c.prior = prior
    c.value = 0.0
    c.error = 0.0
    c.worlds = 0
    return count + 1


@kernel
def list_candidates(v, p, logits, row, found):
    """The actions worth searching, best first by the prior.

    Args:
        v: the view.
        p: a ``SETTINGS`` record.
        logits: ``float32[n, 107]`` of a network's policy, used where ``p.policy`` is 1.
        row: of this view in them.
        found: ``CANDIDATE[MAX_CANDIDATES]``, written.

    Returns:
        How many there are; a single one needs no search.
    """
    count = 0
    if v.phase == PHASE_LAYOFF:
        return _add(found, 0, np.int64(choose_lay_off(v)), 0.0)
    if p.policy and v.phase == PHASE_SPREAD:
        # No network learns what is exact arithmetic.
        return _add(found, 0, np.int64(choose_spread(v)), 0.0)
    if v.legal[1]:
        cards, left = least_deadwood(v.hand, v.legal[1])
        if left == 0:
            # Gin: nothing can be better.
            return _add(found, 0, KNOCK + ctz(cards), 0.0)
    others = v.legal[2]
    while others:
        action = STOCK + ctz(others)
        count = _add(found, count, action, -np.float64(logits[row, action]) if p.policy else 0.0)
        others &= others - 1
    rest = v.legal[0]
    while rest:
        card = ctz(rest)
        rest &= rest - 1
        if p.policy:
            prior = -np.float64(logits[row, card])
        elif v.phase == PHASE_DISCARD:
            prior = discard_cost(v, p, card)
        else:
            prior = 0.0
        count = _add(found, min(count, MAX_CANDIDATES - 3), card, prior)
    _sort(found, count)
    count = min(count, p.candidates)
    if v.legal[1]:
        # To knock with more deadwood than need be only matters for what can be laid off; two such cards are plenty.
        knocks = v.legal[1]
        if p.policy and v.declined > 0:
            # Networks play for gin once they declined to knock, as in training.
            knocks = bind_to_gin(v.hand, v.legal[0], knocks)
        for _ in range(2):
            if knocks:
                cards = least_deadwood(v.hand, knocks)[0]
                card = ctz(cards)
                knocks &= ~(np.int64(1) << card)
                count = _add(found, count, KNOCK + card, -np.float64(logits[row, KNOCK + card]) if p.policy else 1e6)
        if p.policy:
            _sort(found, count)
    if p.least > 0:
        while count > 1 and found[count - 1].prior - found[0].prior > -np.log(p.least):
            count -= 1
    return count


@kernel
def _sort(found, count):
    for i in range(1, count):
        action = found[i].action
        prior = found[i].prior
        j = i
        while j > 0 and found[j - 1].prior > prior:
            found[j].action = found[j - 1].action
            found[j].prior = found[j - 1].prior
            j -= 1
        found[j].action = action
        found[j].prior = prior


@kernel
def price(s, seat, game_pricing, values, layout, index):
    """What the end of a hand is worth to a seat: its chance to win the game, or points / 100 (also where a hand is the game)."""
    if not game_pricing or s.rules[R_TARGET] == 0:
        if s.winner == NOBODY:
            return 0.0
        return s.points / 100.0 if s.winner == seat else -s.points / 100.0
    score_hand(s)
    if s.game_over:
        return 0.5 if s.game_winner == NOBODY else (1.0 if s.game_winner == seat else 0.0)
    other = 1 - seat
    return bank_chance(
        values, layout, index, np.int64(s.score[seat]), np.int64(s.score[other]), s.boxes[seat], s.boxes[other]
    )


@kernel
def _difference(values, a, b, count):
    """Mean of a - b over the first worlds, and its standard error."""
    total = 0.0
    squares = 0.0
    for w in range(count):
        d = values[a, w] - values[b, w]
        total += d
        squares += d * d
    mean = total / count
    variance = max(0.0, squares / count - mean * mean)
    return mean, np.sqrt(variance / max(1, count - 1))


@kernel
def _shrunk(mean, error, cost, trust, slope):
    """A measured gain of a discard and what the prior expects of it, weighed by how exact each is.

    The best of several noisy means is mostly the luckiest. True differences spread the more, the more the prior's costs
    differ; measured with 1,024 worlds on 700 discards of the benchmark's positions (0.013 near cost 0, 0.04 at 10, then 0.06).
    """
    spread = min(trust * (1 + 0.25 * cost), 5 * trust)
    weight = spread * spread / (spread * spread + error * error)
    return weight * mean - (1 - weight) * slope * cost


@kernel
def play_round(
    found, count, first, seat, p, policies, caution, worlds, work, values, bank, layout, index, alive, low, high
):  # fmt: skip
    """Plays the candidates that are left out on some more worlds, and drops those that cannot win any more.

    Args:
        found: ``CANDIDATE``; value and worlds are written.
        count: how many candidates.
        first: index of the prior's choice.
        seat: the seat that decides.
        p: ``SETTINGS[1]``.
        policies: ``POLICY[3]``: its own, an opponent that knocks, one that camps on gin.
        caution: ``uint8[W]``, 1 where the world's opponent camps on gin.
        worlds: ``STATE[W]``.
        work: ``STATE[1]`` scratch.
        values: ``float64[MAX_CANDIDATES, W]``, written.
        bank: the equity tables, one after the other.
        layout: where each lies.
        index: which one prices this game.
        alive: bits of the candidates that are left.
        low: first world of the round; those before have been played.
        high: the world after its last.

    Returns:
        Bits of the candidates that are left now.
    """
    s = work[0]
    best = -1
    for i in range(count):
        if not (alive >> i) & 1:
            continue
        edge = p[0].knock_edge if KNOCK <= found[i].action < STOCK else 0.0
        sum_before = found[i].value * low
        for w in range(low, high):
            copy_state(s, worlds[w])
            other = 2 if caution[w] else 1
            action = found[i].action
            # One call of the engine for the candidate and for all that follows keeps this quick to compile.
            while True:
                apply(s, action)
                if s.phase == PHASE_OVER:
                    break
                action = choose(s, policies[0 if s.turn == seat else other])
            values[i, w] = price(s, seat, p[0].game_pricing, bank, layout, index) + edge
            sum_before += values[i, w]
        found[i].value = sum_before / high
        found[i].worlds = high
        if best < 0 or found[i].value > found[best].value:
            best = i
    for i in range(count):
        if i != best and (alive >> i) & 1:
            mean, error = _difference(values, i, best, high)
            if mean + p[0].stop * error < 0 or (mean == 0 and error == 0 and i != first):
                alive &= ~(np.int64(1) << i)
    return alive


@kernel
def conclude(found, count, first, p, values):
    """Which candidate the playouts call best.

    Args:
        found: ``CANDIDATE`` with values; their errors are written.
        count: how many candidates.
        first: index of the prior's choice, which stays unless another is better by the gate.
        p: ``SETTINGS[1]``.
        values: ``float64[MAX_CANDIDATES, W]`` of the worlds played.

    Returns:
        Index of the chosen candidate.
    """
    best = first
    most = 0.0
    for i in range(count):
        if i == first:
            continue
        mean, error = _difference(values, i, first, min(found[i].worlds, found[first].worlds))
        if mean <= p[0].gate * error:
            continue
        if p[0].trust > 0 and found[i].action < KNOCK:
            mean = _shrunk(mean, error, found[i].prior - found[0].prior, p[0].trust, p[0].slope)
        if mean > most:
            most = mean
            best = i
    for i in range(count):
        shared = min(found[i].worlds, found[best].worlds)
        found[i].error = _difference(values, i, best, shared)[1] if i != best else 0.0
    return best


@kernel
def draw_hands(views, n, p, model, belief, seed, turns, hands, weights):
    """Draws hands of the opponent for a decision.

    Args:
        views: ``VIEW[N]``.
        n: the view that decides.
        p: ``SETTINGS[1]``.
        model: ``MODEL[1]``.
        belief: ``float32[N, 52]``, logits of the opponent's cards, used by the network's belief alone.
        seed: uint64 of the player.
        turns: ``TURN[MAX_TURNS]`` scratch.
        hands: ``int64[P]``, written.
        weights: ``float64[P]``, written: how likely each is.

    Returns:
        The state of the random stream.
    """
    v = views[n]
    word = mix(v.luck ^ mix(seed))
    if p[0].belief == BELIEF_BAYES:
        return believe(v, model[0], turns, hands, weights, word)
    if p[0].belief == BELIEF_NETWORK:
        return believe_logits(v, belief, n, hands, weights, word)
    return believe_uniform(v, hands, weights, word)


@kernel
def describe_hands(views, n, model, belief, turns, hands, features, word):
    """What a model of whole hands reads about hands that were drawn (``agents.search.worlds.describe``)."""
    return describe(views[n], model[0], turns, belief, n, hands, features, word)


@kernel
def fill_worlds(views, n, camps, hands, weights, worlds, caution, word):
    """Worlds of a decision from its hands.

    Args:
        views: ``VIEW[N]``.
        n: the view that decides.
        camps: probability that the opponent camps on gin.
        hands: ``int64[P]``, hands of the opponent.
        weights: ``float64[P]``, how likely each is.
        worlds: ``STATE[W]``, written.
        caution: ``uint8[W]``, written: 1 where the world's opponent camps on gin.
        word: uint64, state of the random stream.

    Returns:
        The stream's new state.
    """
    word = draw_worlds(views[n], hands, weights, worlds, word)
    for w in range(worlds.shape[0]):
        caution[w] = unit(mix(word + np.uint64(w))) < camps
    return word


@kernel
def propose(views, n, p, wanted, logits, found):
    """The candidates of a decision and what the prior would play.

    Args:
        views: ``VIEW[N]``.
        n: the view that decides.
        p: ``SETTINGS[1]``.
        wanted: the style's action, the prior where no network is.
        logits: ``float32[N, 107]`` of a network's policy.
        found: ``CANDIDATE[MAX_CANDIDATES]``, written.

    Returns:
        How many candidates there are, and the index of the prior's choice.
    """
    v = views[n]
    count = list_candidates(v, p[0], logits, n, found)
    first = 0
    if count > 1 and not p[0].policy:
        for i in range(count):
            # The prior's discard is the first of the list, which is sorted by its cost.
            if found[i].action == wanted and (wanted >= KNOCK or v.phase == PHASE_SPREAD):
                first = i
    return count, first


@kernel
def branch(worlds, action, bound, out, bounds, first):
    """Every world after an action.

    Args:
        worlds: ``STATE[W]``.
        action: of the seat to move.
        bound: whether that seat plays for gin from now on.
        out: ``STATE[N]``, written from ``first`` on.
        bounds: ``uint8[N, 2]``, written alike: who plays for gin.
        first: see above.
    """
    for w in range(worlds.shape[0]):
        s = out[first + w]
        copy_state(s, worlds[w])
        seat = np.int64(s.turn)
        other = 1 - seat
        bounds[first + w, seat] = bound
        # Whoever holds so little and did not knock has declined to.
        could = s.thrown[other] != 0 and deadwood(s.hands[other]) <= s.limit
        bounds[first + w, other] = 1 if could else 0
        apply(s, action)


@kernel
def settle(found, count, values, lean, slack, word):
    """Takes the candidate of the best mean over all worlds, the prior's opinion added; or one that is nearly as good.

    Args:
        found: ``CANDIDATE``, sorted by the prior (its cost is minus a log-probability); value, error and worlds are written.
        count: how many candidates.
        values: ``float64[count * W]``, candidate by candidate.
        lean: value that one nat of the prior stands for.
        slack: value by which a candidate falls short when it is taken e times less often than the best (0: the best is taken).
            Neither what is drawn nor whether to knock is left to chance.
        word: uint64, decides among those nearly as good.

    Returns:
        Index of the chosen candidate.
    """
    total = values.shape[0] // count
    best = 0
    scores = np.empty(count)
    for i in range(count):
        mean = 0.0
        for w in range(total):
            mean += values[i * total + w]
        mean /= total
        found[i].value = mean
        found[i].worlds = total
        scores[i] = mean - lean * (found[i].prior - found[0].prior)
        if scores[i] > scores[best]:
            best = i
    if slack > 0 and found[best].action < KNOCK:
        best = _nearly_best(found, count, scores, best, slack, word)
    for i in range(count):
        mean = found[i].value - found[best].value
        squares = 0.0
        for w in range(total):
            squares += (values[i * total + w] - values[best * total + w] - mean) ** 2
        found[i].error = np.sqrt(squares / max(1, total - 1) / total)
    return best


@kernel
def _nearly_best(found, count, scores, best, slack, word):
    """Draws one of the discards by its score."""
    chosen = best
    total = 0.0
    for i in range(count):
        if found[i].action >= KNOCK:
            continue
        weight = np.exp((scores[i] - scores[best]) / slack)
        total += weight
        word = mix(word)
        if unit(word) * total < weight:
            chosen = i
    return chosen
