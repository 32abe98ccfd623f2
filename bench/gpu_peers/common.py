"""The common part of the yardsticks: sizes and constants of the update, initial parameters, timing, and the losses
in NumPy, one agent at a time and in double precision, as a check.

An update is DSAC's (docs/method.md, "Learning"): temperature, both critics, the actor by the critics just updated, target
networks. A layer is a list [weights (in, out), bias] with [gain, shift] behind them where its sums are normalised.
"""

import argparse
import json
import math
import statistics
import sys
import time

import numpy as np

# HalfCheetah's sizes and this program's defaults
OBSERVATION, ACTION, HIDDEN, BATCH, REPLAY = 17, 6, 256, 256, 10_000
QUANTILES, COSINES = 20, 64
DISCOUNT, POLYAK, LEARNING_RATE, BETA1, BETA2, EPSILON = 0.99, 0.005, 3e-4, 0.9, 0.999, 1e-8
NORM_EPSILON, SQUASH_EPSILON, NARROWEST = 1e-5, 1e-6, 0.1
MIN_LOG_STD, MAX_LOG_STD = -20.0, 2.0
ENTROPY = -ACTION  # target entropy of the temperature
LOG_ROOT_2PI = 0.5 * math.log(2 * math.pi)

# columns of a row of the replay buffer: s, a, r, s', terminal
S = slice(0, OBSERVATION)
A = slice(OBSERVATION, OBSERVATION + ACTION)
R = OBSERVATION + ACTION
NEXT = slice(R + 1, R + 1 + OBSERVATION)
TERMINAL = R + 1 + OBSERVATION
COLUMNS = TERMINAL + 1

BEGAN = time.perf_counter()
ROUNDS, UPDATES = 9, 100  # a measurement is the median of this many rounds of this many updates


def arguments(description, *more):
    """more: (flag, settings) for the options of one library."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--head", choices=["qr", "iqn"], default="qr", help="fixed fractions, or drawn anew")
    parser.add_argument("--agents", type=int, nargs="+", default=[1, 10, 50, 200], help="sizes of the population")
    parser.add_argument("--precision", choices=["tf32", "fp32"], default="tf32", help="of the products")
    parser.add_argument("--updates", type=int, default=UPDATES, help="of one round")
    parser.add_argument("--no-check", action="store_true", help="do not compare with NumPy first")
    for flag, settings in more:
        parser.add_argument(flag, **settings)
    return parser.parse_args()


# ---- initial values


def _layer(rng, agents, inputs, outputs, norm):
    bound = inputs**-0.5
    layer = [rng.uniform(-bound, bound, (*agents, inputs, outputs)), rng.uniform(-bound, bound, (*agents, outputs))]
    if norm:
        layer += [np.ones((*agents, outputs)), np.zeros((*agents, outputs))]
    return [part.astype(np.float32) for part in layer]


def actor_parameters(agents, seed=0):
    """The actors' parameters; the first axis of each array is the agent."""
    rng = np.random.default_rng(seed)
    sizes = [(OBSERVATION, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 2 * ACTION)]
    return [_layer(rng, (agents,), *size, norm=False) for size in sizes]


def critic_parameters(head, agents, seed=1):
    """Two critics for each agent; the first axes are (2, agents). qr: three layers; iqn: features, gate, merged, output."""
    rng = np.random.default_rng(seed)
    inputs = OBSERVATION + ACTION
    if head == "qr":
        sizes = [(inputs, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, QUANTILES)]
    else:
        sizes = [(inputs, HIDDEN), (COSINES, HIDDEN), (HIDDEN, HIDDEN), (HIDDEN, 1)]
    return [_layer(rng, (2, agents), *size, norm=size is not sizes[-1]) for size in sizes]


def replay_rows(agents, seed=2):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((agents, REPLAY, COLUMNS), dtype=np.float32)
    rows[..., A] = np.tanh(rows[..., A])
    rows[..., TERMINAL] = np.arange(REPLAY) % 100 == 0
    return rows


def some_draws(head, agents, seed=3):
    """The random numbers of one update: rows of the buffer, noise of both policies, and for iqn the uniform numbers of the
    fractions of target, prediction and policy."""
    rng = np.random.default_rng(seed)
    draws = {
        "rows": rng.integers(0, REPLAY, (agents, BATCH)),
        "noise": rng.standard_normal((agents, BATCH, ACTION), dtype=np.float32),
        "next_noise": rng.standard_normal((agents, BATCH, ACTION), dtype=np.float32),
    }
    if head == "iqn":
        draws["fractions"] = rng.random((3, agents, BATCH, QUANTILES), dtype=np.float32)
    return draws


# ---- the losses of one agent in NumPy


def _linear(layer, x):
    return x @ layer[0] + layer[1]


def _normed(layer, x):
    y = _linear(layer, x)
    y = (y - y.mean(-1, keepdims=True)) / np.sqrt(y.var(-1, keepdims=True) + NORM_EPSILON)
    return y * layer[2] + layer[3]


def _relu(x):
    return np.maximum(x, 0)


def _sample(actor, observation, noise):
    x = _relu(_linear(actor[1], _relu(_linear(actor[0], observation))))
    mean, log_std = np.split(_linear(actor[2], x), 2, -1)
    log_std = np.clip(log_std, MIN_LOG_STD, MAX_LOG_STD)
    action = np.tanh(mean + np.exp(log_std) * noise)
    terms = -0.5 * noise**2 - log_std - LOG_ROOT_2PI - np.log(1 - action**2 + SQUASH_EPSILON)
    return action, terms.sum(-1)


def _fractions(uniform):
    """Widths (summing to one) and midpoints of the intervals."""
    width = uniform.astype(np.float64) + NARROWEST
    width /= width.sum(-1, keepdims=True)
    return width, np.cumsum(width, -1) - width / 2


def _values(head, critic, observation, action, midpoint):
    x = np.concatenate([observation, action], -1)
    if head == "qr":
        return _linear(critic[2], _relu(_normed(critic[1], _relu(_normed(critic[0], x)))))
    features = _relu(_normed(critic[0], x))
    cosines = np.cos(np.pi * np.arange(1, COSINES + 1) * midpoint[..., None])
    gate = 1 / (1 + np.exp(-_normed(critic[1], cosines)))
    merged = _relu(_normed(critic[2], features[:, None, :] * gate))
    return _linear(critic[3], merged)[..., 0]


def _agent(layers, i):
    return [[part[i].astype(np.float64) for part in layer] for layer in layers]


def _twins(layers, i):
    return [_agent([[part[k] for part in layer] for layer in layers], i) for k in range(2)]


class Reference:
    """The losses of agent i, for target networks that equal the others and a temperature of 1."""

    def __init__(self, head, i, actor, critics, rows, draws):
        self.head, self.i = head, i
        batch = rows[i][draws["rows"][i]].astype(np.float64)
        self.s, self.a = batch[:, S], batch[:, A]
        self.noise = draws["noise"][i].astype(np.float64)
        equal = np.full((BATCH, QUANTILES), 0.5)
        uniform = draws["fractions"][:, i] if head == "iqn" else [equal] * 3
        (self.target_width, target_tau), (_, self.tau), (self.policy_width, self.policy_tau) = map(_fractions, uniform)

        following = batch[:, NEXT]
        action, log_pi = _sample(_agent(actor, i), following, draws["next_noise"][i].astype(np.float64))
        smaller = np.minimum(*[_values(head, critic, following, action, target_tau) for critic in _twins(critics, i)])
        self.y = batch[:, R, None] + DISCOUNT * (1 - batch[:, TERMINAL, None]) * (smaller - log_pi[:, None])

    def critic_loss(self, critics):
        loss = 0.0
        for critic in _twins(critics, self.i):
            error = self.y[:, :, None] - _values(self.head, critic, self.s, self.a, self.tau)[:, None, :]
            clipped = np.clip(error, -1, 1)
            pinball = np.abs(self.tau[:, None, :] - (error < 0)) * clipped * (error - clipped / 2)
            loss += (self.target_width[:, :, None] * pinball).sum((1, 2)).mean()
        return loss

    def actor_loss(self, actor, critics):
        action, log_pi = _sample(_agent(actor, self.i), self.s, self.noise)
        values = [_values(self.head, critic, self.s, action, self.policy_tau) for critic in _twins(critics, self.i)]
        return (log_pi - np.minimum(*[(self.policy_width * z).sum(-1) for z in values])).mean()

    def temperature_gradient(self, actor):
        return -(_sample(_agent(actor, self.i), self.s, self.noise)[1] + ENTROPY).mean()


# ---- checks and measurements


def check(head, evaluate, update):
    """Compares with the losses above and with differences of them; an agent must learn the same in any place.

    evaluate(actor, critics, rows, draws): losses of the critics and of the actor, gradients of the temperature's loss (an
    array each, over the agents), gradients of the critics and of the actor (shaped as they are).
    update(actor, critics, rows, draws): critics and actor after one update.
    """

    actor, critics, rows = actor_parameters(3), critic_parameters(head, 3), replay_rows(3)
    draws = some_draws(head, 3)
    say("checking losses and gradients")
    references = [Reference(head, i, actor, critics, rows, draws) for i in range(3)]
    *losses, critic_gradients, actor_gradients = evaluate(actor, critics, rows, draws)
    for i, reference in enumerate(references):
        expected = reference.critic_loss(critics), reference.actor_loss(actor, critics), reference.temperature_gradient(actor)
        np.testing.assert_allclose([loss[i] for loss in losses], expected, rtol=1e-4, atol=1e-5)

    def slope(loss, parameters, gradients):
        """The derivative of the sum over the agents in a random direction: by the gradients, and by differences."""
        rng, step = np.random.default_rng(4), 1e-6
        direction = [[rng.standard_normal(part.shape) for part in layer] for layer in parameters]
        moved = lambda size: [[p + size * d for p, d in zip(*both)] for both in zip(parameters, direction)]
        by_gradients = sum((g * d).sum() for both in zip(gradients, direction) for g, d in zip(*both))
        return by_gradients, (loss(moved(step)) - loss(moved(-step))) / (2 * step)

    for pair in (
        slope(lambda moved: sum(r.critic_loss(moved) for r in references), critics, critic_gradients),
        slope(lambda moved: sum(r.actor_loss(moved, critics) for r in references), actor, actor_gradients),
    ):
        np.testing.assert_allclose(*pair, rtol=1e-3)

    # independent of its place among the others
    say("checking an update")
    swapped = lambda part, axis: part.take([2, 1, 0], axis)
    in_place = update(actor, critics, rows, draws)
    exchanged = update(
        [[swapped(part, 0) for part in layer] for layer in actor],
        [[swapped(part, 1) for part in layer] for layer in critics],
        swapped(rows, 0),
        {name: swapped(part, int(name == "fractions")) for name, part in draws.items()},
    )
    for axis, before, one, other in zip((1, 0), (critics, actor), in_place, exchanged):
        for start, moved, again in zip(*[sum(layers, []) for layers in (before, one, other)]):
            step = np.abs(moved - start).mean() / LEARNING_RATE
            apart = np.abs(swapped(again, axis) - moved).mean() / LEARNING_RATE
            assert 0.1 < step < 1.1 and apart < 1e-2, f"moved by {step} of a step, and by {apart} elsewhere in another place"
    say("checked")


def say(words):
    print(f"[{time.perf_counter() - BEGAN:5.1f} s] {words}", file=sys.stderr, flush=True)


def measure(run, finish, updates, agents, rounds=ROUNDS):
    """Milliseconds of one of the updates that run() does; finish() waits for the device."""
    say(f"{agents} agents: first round")
    run()  # compiles, fills caches, raises clocks
    finish()
    say(f"{agents} agents: measuring")
    times = []
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        finish()
        times.append((time.perf_counter() - began) / updates)
    return 1e3 * statistics.median(times)


def report(library, version, device, options, agents, ms, **more):
    row = {"what": "update", "library": library, "version": version, "head": options.head, "agents": agents}
    print(json.dumps(row | {"ms": round(ms, 4), "precision": options.precision, "device": device} | more), flush=True)
