"""The update of residual networks with categorical critics for many agents in lockstep, in JAX: one agent's by vmap for all,
compiled by jit, many in one scan, buffers donated. Products take fp16 numbers.

    python3 bench/gpu_peers/residual_jax.py --agents 1 10 50
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import tree_map

import common
import residual
from common import ACTION
from residual import BATCH, BLOCKS

START = 0.01  # temperature


def product(half, x, w):
    if half:
        x, w = x.astype(jnp.float16), w.astype(jnp.float16)
    return x @ w


def forward(half, p, statistics, x, from_batch):
    """Outputs of one network, and the statistics it used."""
    used = {}

    def norm(name, x):
        x = x.astype(jnp.float32)
        if from_batch:
            used[f"{name}_mean"], used[f"{name}_var"] = x.mean(0), x.var(0)
        mean, var = [(used if from_batch else statistics)[f"{name}_{which}"] for which in ("mean", "var")]
        return (x - mean) * jax.lax.rsqrt(var + residual.NORM_EPSILON) * p[f"{name}_gain"] + p[f"{name}_shift"]

    x = product(half, norm("in", x), p["in"])
    for b in range(BLOCKS):
        up = jax.nn.relu(norm(f"up{b}", product(half, x, p[f"up{b}"])))
        x = x + jax.nn.relu(norm(f"down{b}", product(half, up, p[f"down{b}"]))).astype(x.dtype)
    x = x.astype(jnp.float32)
    x = x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + residual.RMS_EPSILON) * p["rms"]
    return product(half, x, p["head"]).astype(jnp.float32) + p["bias"], used


def followed(statistics, used, rows):
    share = lambda name: rows / (rows - 1) if name.endswith("var") else 1
    return {name: s + residual.MOMENTUM * (share(name) * used[name] - s) for name, s in statistics.items()}


def sample(output, noise):
    mean, log_std = jnp.split(output, 2, -1)
    log_std = jnp.clip(log_std, common.MIN_LOG_STD, common.MAX_LOG_STD)
    action = jnp.tanh(mean + jnp.exp(log_std) * noise)
    terms = -0.5 * noise**2 - log_std - common.LOG_ROOT_2PI - jnp.log(1 - action**2 + common.SQUASH_EPSILON)
    return action, terms.sum(-1)


def critic_loss(half, critics, state, inputs, batch, entropy):
    outputs, used = jax.vmap(lambda p: forward(half, p, None, inputs, True))(critics)
    targets = jax.lax.stop_gradient(jax.vmap(lambda p: forward(half, p, None, inputs, True)[0])(state["target"])[:, BATCH:])
    values = jnp.asarray(residual.VALUES)
    probability = jax.nn.softmax(targets)
    mean = probability @ values
    chosen = jnp.where((mean[0] <= mean[1])[:, None], probability[0], probability[1])
    continues = common.DISCOUNT * (1 - batch[:, common.TERMINAL, None])
    moved = jnp.clip(batch[:, common.R, None] + continues * (values - entropy[:, None]), residual.LEAST, residual.MOST)
    place = (moved - residual.LEAST) / residual.DISTANCE
    weight = jnp.maximum(0, 1 - jnp.abs(place[:, :, None] - jnp.arange(residual.ATOMS)))
    projected = (chosen[:, :, None] * weight).sum(1)
    return -(projected * jax.nn.log_softmax(outputs[:, :BATCH])).sum(-1).mean(), used


def actor_loss(half, actor, state, batch, noise, alpha):
    both = jnp.concatenate([batch[:, common.S], batch[:, common.NEXT]])
    output, used = forward(half, actor, None, both, True)
    action, log_pi = sample(output[:BATCH], noise)
    x = jnp.concatenate([batch[:, common.S], action], -1)
    z = jax.vmap(lambda p, s: forward(half, p, s, x, False)[0])(state["critics"], state["critic_statistics"])
    q = (jax.nn.softmax(z) @ jnp.asarray(residual.VALUES)).min(0)
    return (alpha * log_pi - q).mean(), (used, log_pi)


def adam(step, gradient, moments, parameters):
    first = tree_map(lambda m, g: m + (1 - common.BETA1) * (g - m), moments[0], gradient)
    second = tree_map(lambda v, g: v + (1 - common.BETA2) * (g * g - v), moments[1], gradient)
    rate, shrink = common.LEARNING_RATE / (1 - common.BETA1**step), 1 / (1 - common.BETA2**step)
    return tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v * shrink) + common.EPSILON), parameters, first, second), (first, second)


def project(p):
    """Restores the lengths; p: one network."""
    out = dict(p)
    for name, part in p.items():
        if name.endswith("gain"):
            shift = p[name.replace("gain", "shift")]
            factor = jnp.sqrt(part.shape[-1] / ((part**2).sum() + (shift**2).sum() + 1e-8))
            out[name], out[name.replace("gain", "shift")] = part * factor, shift * factor
        elif name == "rms":
            out[name] = part * jnp.sqrt(part.shape[-1] / ((part**2).sum() + 1e-8))
        elif part.ndim == 2:
            out[name] = part * jax.lax.rsqrt((part**2).sum(0, keepdims=True) + 1e-8)
    return out


def update(half, moves, step, state, rows, draws):
    """One agent's; step: the number of this update, from 1, as a float."""
    state = dict(state)
    batch = rows[draws["rows"]]
    next_output = forward(half, state["actor"], state["actor_statistics"], batch[:, common.NEXT], False)[0]
    next_action, next_log_pi = sample(next_output, draws["next_noise"])
    alpha = jnp.exp(state["log_alpha"])
    inputs = jnp.concatenate([batch[:, : common.R], jnp.concatenate([batch[:, common.NEXT], next_action], -1)])
    (loss, used), gradient = jax.value_and_grad(partial(critic_loss, half), has_aux=True)(
        state["critics"], state, inputs, batch, alpha * next_log_pi)  # fmt: skip
    moved, state["critic_moments"] = adam(step, gradient, state["critic_moments"], state["critics"])
    state["critics"] = jax.vmap(project)(moved)
    state["critic_statistics"] = followed(state["critic_statistics"], used, 2 * BATCH)
    state["target"] = tree_map(lambda t, p: t + residual.POLYAK * (p - t), state["target"], state["critics"])
    if not moves:
        return state, (loss, jnp.zeros(()))
    (by_actor, (used, log_pi)), gradient = jax.value_and_grad(partial(actor_loss, half), has_aux=True)(
        state["actor"], state, batch, draws["noise"], alpha)  # fmt: skip
    at = (step + 1) / 2
    moved, state["actor_moments"] = adam(at, gradient, state["actor_moments"], state["actor"])
    state["actor"] = project(moved)
    state["actor_statistics"] = followed(state["actor_statistics"], used, 2 * BATCH)
    temperature = -(log_pi.mean() + residual.ENTROPY)
    state["log_alpha"], state["alpha_moments"] = adam(at, temperature, state["alpha_moments"], state["log_alpha"])
    return state, (loss, by_actor)


def first_state(agents):
    (actor, actor_statistics), (critics, critic_statistics) = residual.actors(agents), residual.critics(agents)
    pairs = lambda parts: {name: jnp.array(part).reshape(agents, 2, *part.shape[1:]) for name, part in parts.items()}
    state = {"actor": tree_map(jnp.array, actor), "actor_statistics": tree_map(jnp.array, actor_statistics),
             "critics": pairs(critics), "critic_statistics": pairs(critic_statistics), "target": pairs(critics),
             "log_alpha": jnp.full(agents, np.log(START, dtype=np.float32))}  # fmt: skip
    zeros = lambda parts: (tree_map(jnp.zeros_like, parts), tree_map(jnp.zeros_like, parts))
    return state | {"actor_moments": zeros(state["actor"]), "critic_moments": zeros(state["critics"]),
                    "alpha_moments": zeros(state["log_alpha"])}  # fmt: skip


def update_all(half, moves, step, state, rows, draws):
    return jax.vmap(partial(update, half, moves), in_axes=(None, 0, 0, 0))(step, state, rows, draws)


def draw(agents, key):
    keys = jax.random.split(key, 3)
    return {"rows": jax.random.randint(keys[0], (agents, BATCH), 0, residual.REPLAY),
            "noise": jax.random.normal(keys[1], (agents, BATCH, ACTION)),
            "next_noise": jax.random.normal(keys[2], (agents, BATCH, ACTION))}  # fmt: skip


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=(2,))
def many_updates(half, pairs, carry, rows):
    def two(carry, _):
        state, step, key = carry
        for moves in (True, False):
            key, now = jax.random.split(key)
            state, _ = update_all(half, moves, step, state, rows, draw(len(rows), now))
            step = step + 1
        return (state, step, key), None

    return jax.lax.scan(two, carry, None, length=pairs)[0]


def check():
    rows, draws = jnp.array(residual.replay_rows(2)), tree_map(jnp.array, residual.some_draws(2))
    critic = update_all(False, False, 1.0, first_state(2), rows, draws)[1][0]
    values = partial(actor_loss, False)
    state = first_state(2)
    batch = jax.vmap(lambda r, d: r[d])(rows, draws["rows"])
    actor = jax.vmap(lambda s, b, n: values(s["actor"], s, b, n, START)[0])(state, batch, draws["noise"])
    for i in range(2):
        np.testing.assert_allclose([critic[i], actor[i]], residual.losses(i, 2, START, common.DISCOUNT), rtol=2e-4, atol=1e-5)
    common.say("checked")


def main():
    options = common.arguments(__doc__.split("\n\n")[0])
    options.head = "categorical"
    jax.config.update("jax_default_prng_impl", "rbg")  # the faster one on a GPU
    if not options.no_check:
        with jax.default_device(jax.devices("cpu")[0]):
            check()
    half, options.precision = options.precision != "fp32", "fp32" if options.precision == "fp32" else "fp16"
    for agents in options.agents:
        carry = [(first_state(agents), jnp.float32(1), jax.random.PRNGKey(0))]
        rows = jnp.array(residual.replay_rows(agents))

        def run():
            carry[0] = many_updates(half, options.updates // 2, carry[0], rows)

        ms = common.measure(run, lambda: jax.block_until_ready(carry[0]), options.updates // 2 * 2, agents, rounds=5)
        common.report("jax", jax.__version__, jax.devices()[0].device_kind, options, agents, ms)


if __name__ == "__main__":
    main()
