"""The common part of the yardsticks for residual networks with categorical critics: sizes, initial parameters, draws, and the
losses of one agent in NumPy and double precision, as a check.

Two updates are a pair: one moves the actor, the temperature and the critics, the next one the critics alone (docs/method.md,
"Residual networks"). A network is a dictionary of arrays whose first axis is the network.
"""

import numpy as np

from common import ACTION, COLUMNS, NEXT, OBSERVATION, R, S, TERMINAL, LOG_ROOT_2PI, MAX_LOG_STD, MIN_LOG_STD, SQUASH_EPSILON

BATCH, REPLAY, BLOCKS, EXPANSION, ACTOR_WIDTH, CRITIC_WIDTH = 512, 10_000, 2, 4, 128, 256
ATOMS, LEAST, MOST = 101, -5.0, 5.0
DISTANCE = (MOST - LEAST) / (ATOMS - 1)
VALUES = np.linspace(LEAST, MOST, ATOMS, dtype=np.float32)
POLYAK, MOMENTUM, NORM_EPSILON, RMS_EPSILON = 0.01, 0.01, 1e-5, 1e-6
ENTROPY = 0.5 * ACTION * np.log(2 * np.pi * np.e * 0.15**2)


def layers(inputs, width, outputs):
    """Name, inputs and outputs of each linear layer, and the width of the norm that follows it or, for the first, precedes it."""
    wide = EXPANSION * width
    blocks = [[(f"up{b}", width, wide), (f"down{b}", wide, width)] for b in range(BLOCKS)]
    return [("in", inputs, width), *sum(blocks, []), ("head", width, outputs)]


def network(count, inputs, width, outputs, seed):
    """Parameters and running statistics of `count` networks."""
    rng = np.random.default_rng(seed)
    parameters, statistics = {"rms": np.ones((count, width))}, {}
    for name, fan_in, fan_out in layers(inputs, width, outputs):
        w = rng.standard_normal((count, fan_in, fan_out))
        parameters[name] = w / np.linalg.norm(w, axis=1, keepdims=True)
        features = fan_in if name == "in" else fan_out
        if name == "head":
            parameters["bias"] = np.zeros((count, outputs))
            continue
        parameters[f"{name}_gain"], parameters[f"{name}_shift"] = np.ones((count, features)), np.zeros((count, features))
        statistics[f"{name}_mean"], statistics[f"{name}_var"] = np.zeros((count, features)), np.ones((count, features))
    return tuple({name: part.astype(np.float32) for name, part in parts.items()} for parts in (parameters, statistics))


def actors(agents):
    return network(agents, OBSERVATION, ACTOR_WIDTH, 2 * ACTION, 0)


def critics(agents):
    """Both critics of the first agent, then of the next."""
    return network(2 * agents, OBSERVATION + ACTION, CRITIC_WIDTH, ATOMS, 1)


def replay_rows(agents):
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((agents, REPLAY, COLUMNS), dtype=np.float32)
    rows[..., OBSERVATION:R] = np.tanh(rows[..., OBSERVATION:R])
    rows[..., TERMINAL] = np.arange(REPLAY) % 100 == 0
    return rows


def some_draws(agents):
    rng = np.random.default_rng(3)
    return {
        "rows": rng.integers(0, REPLAY, (agents, BATCH)),
        "noise": rng.standard_normal((agents, BATCH, ACTION), dtype=np.float32),
        "next_noise": rng.standard_normal((agents, BATCH, ACTION), dtype=np.float32),
    }


# ---- the losses of one agent in NumPy


def _forward(p, statistics, x):
    """statistics: None for those of the batch."""

    def norm(name, x):
        mean, var = (x.mean(0), x.var(0)) if statistics is None else (statistics[f"{name}_mean"], statistics[f"{name}_var"])
        return (x - mean) / np.sqrt(var + NORM_EPSILON) * p[f"{name}_gain"] + p[f"{name}_shift"]

    x = norm("in", x) @ p["in"]
    for b in range(BLOCKS):
        up = np.maximum(norm(f"up{b}", x @ p[f"up{b}"]), 0)
        x = x + np.maximum(norm(f"down{b}", up @ p[f"down{b}"]), 0)
    x = x / np.sqrt((x**2).mean(-1, keepdims=True) + RMS_EPSILON) * p["rms"]
    return x @ p["head"] + p["bias"]


def _sample(output, noise):
    mean, log_std = np.split(output, 2, -1)
    log_std = np.clip(log_std, MIN_LOG_STD, MAX_LOG_STD)
    action = np.tanh(mean + np.exp(log_std) * noise)
    return action, (-0.5 * noise**2 - log_std - LOG_ROOT_2PI - np.log(1 - action**2 + SQUASH_EPSILON)).sum(-1)


def _softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def losses(i, agents, alpha, discount):
    """Mean losses of the critics and of the actor of agent i of so many before the first update."""
    pick = lambda parts, k: {name: part[k].astype(np.float64) for name, part in parts.items()}
    (actor, statistics), (critic, critic_statistics) = actors(agents), critics(agents)
    actor, statistics = pick(actor, i), pick(statistics, i)
    draws = {name: part[i] for name, part in some_draws(agents).items()}
    batch = replay_rows(agents)[i][draws["rows"]].astype(np.float64)
    s, following = batch[:, S], batch[:, NEXT]
    next_action, next_log_pi = _sample(_forward(actor, statistics, following), draws["next_noise"])
    both = np.concatenate([batch[:, :R], np.concatenate([following, next_action], -1)])
    pair = [pick(critic, 2 * i + k) for k in range(2)]
    outputs = [_forward(p, None, both) for p in pair]
    target = [_softmax(output[BATCH:]) for output in outputs]
    first = target[0] @ VALUES <= target[1] @ VALUES
    chosen = np.where(first[:, None], target[0], target[1])
    continues = discount * (1 - batch[:, TERMINAL, None])
    moved = batch[:, R, None] + continues * (VALUES - alpha * next_log_pi[:, None])
    place = (np.clip(moved, LEAST, MOST) - LEAST) / DISTANCE
    weight = np.maximum(0, 1 - np.abs(place[:, :, None] - np.arange(ATOMS)))
    projected = (chosen[:, :, None] * weight).sum(1)
    critic_loss = np.mean([-(projected * np.log(_softmax(output[:BATCH]))).sum(-1).mean() for output in outputs])
    action, log_pi = _sample(_forward(actor, None, np.concatenate([s, following]))[:BATCH], draws["noise"])
    x = np.concatenate([s, action], -1)
    q = np.minimum(*[_softmax(_forward(p, pick(critic_statistics, 2 * i + k), x)) @ VALUES for k, p in enumerate(pair)])
    return critic_loss, (alpha * log_pi - q).mean()
