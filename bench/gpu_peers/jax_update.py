"""DSAC's update for many agents in lockstep, in JAX: the update of one agent, by vmap for all, compiled by jit, many in one
scan, buffers donated.

    python3 bench/gpu_peers/jax_update.py --head qr --agents 1 10 50 200
"""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import tree_map

import common
from common import ACTION, BATCH, COSINES, QUANTILES

# ---- networks of one agent


def linear(layer, x):
    return x @ layer[0] + layer[1]


def normed(layer, x):
    y = linear(layer, x)
    y = (y - y.mean(-1, keepdims=True)) * jax.lax.rsqrt(y.var(-1, keepdims=True) + common.NORM_EPSILON)
    return y * layer[2] + layer[3]


def sample(actor, observation, noise):
    x = jax.nn.relu(linear(actor[1], jax.nn.relu(linear(actor[0], observation))))
    mean, log_std = jnp.split(linear(actor[2], x), 2, -1)
    log_std = jnp.clip(log_std, common.MIN_LOG_STD, common.MAX_LOG_STD)
    action = jnp.tanh(mean + jnp.exp(log_std) * noise)
    terms = -0.5 * noise**2 - log_std - common.LOG_ROOT_2PI - jnp.log(1 - action**2 + common.SQUASH_EPSILON)
    return action, terms.sum(-1)


def values_qr(critic, x, midpoint):
    """(batch, quantiles) at x (batch, inputs)."""
    return linear(critic[2], jax.nn.relu(normed(critic[1], jax.nn.relu(normed(critic[0], x)))))


def values_iqn(critic, x, midpoint):
    """The same at the fractions `midpoint` (batch, quantiles)."""
    features = jax.nn.relu(normed(critic[0], x))
    cosines = jnp.cos(jnp.pi * midpoint[..., None] * jnp.arange(1, COSINES + 1, dtype=x.dtype))
    gate = jax.nn.sigmoid(normed(critic[1], cosines))
    merged = jax.nn.relu(normed(critic[2], features[:, None, :] * gate))
    return linear(critic[3], merged)[..., 0]


def both(head):
    """The values of two critics, (2, batch, quantiles), at the same fractions."""
    return jax.vmap(values_qr if head == "qr" else values_iqn, in_axes=(0, None, None))


def cut_interval(uniform):
    """Widths, which sum to one, and midpoints of the intervals."""
    width = uniform + common.NARROWEST
    width = width / width.sum(-1, keepdims=True)
    return width, jnp.cumsum(width, -1) - width / 2


# ---- losses of one agent


def td_targets(head, targets, alpha, batch, next_noise, midpoint):
    following = batch[:, common.NEXT]
    action, log_pi = sample(targets["actor"], following, next_noise)
    z = both(head)(targets["critics"], jnp.concatenate([following, action], -1), midpoint)
    continues = common.DISCOUNT * (1 - batch[:, common.TERMINAL])
    return batch[:, common.R, None] + continues[:, None] * (jnp.minimum(z[0], z[1]) - (alpha * log_pi)[:, None])


def critic_loss(head, critics, batch, y, midpoint, width):
    """Every target i against every prediction j."""
    z = both(head)(critics, batch[:, : common.R], midpoint)
    error = y[:, :, None] - z[:, :, None, :]
    clipped = jnp.clip(error, -1, 1)
    tau = midpoint[:, None, :]
    weight = jnp.where(error < 0, 1 - tau, tau) * width[:, :, None]
    return (weight * clipped * (error - clipped / 2)).sum((0, 2, 3)).mean()


def mean_value(head, critics, observation, action, midpoint, width):
    """The smaller of both critics' means, over the batch."""
    z = both(head)(critics, jnp.concatenate([observation, action], -1), midpoint)
    q = (width * z).sum(-1)
    return jnp.minimum(q[0], q[1]).mean()


# ---- the update of one agent


def begin(head, state, rows, draws):
    """Batch, fractions, the policy's actions at s with their vector-Jacobian product, and the gradient of the
    temperature's loss."""
    batch = rows[draws["rows"]]
    uniform = draws["fractions"] if head == "iqn" else [jnp.full((BATCH, QUANTILES), 0.5)] * 3
    fractions = [cut_interval(u) for u in uniform]
    observation = batch[:, common.S]
    (action, log_pi), pull_back = jax.vjp(lambda actor: sample(actor, observation, draws["noise"]), state["networks"]["actor"])
    return batch, fractions, action, log_pi, pull_back, -(log_pi + common.ENTROPY).mean()


def critic_gradients(head, state, log_alpha, batch, fractions, next_noise):
    (target_width, target_midpoint), (_, midpoint), _ = fractions
    y = td_targets(head, state["targets"], jnp.exp(log_alpha), batch, next_noise, target_midpoint)
    loss = lambda critics: critic_loss(head, critics, batch, y, midpoint, target_width)
    return jax.value_and_grad(loss)(state["networks"]["critics"])


def actor_gradients(head, critics, log_alpha, batch, fractions, action, log_pi, pull_back):
    width, midpoint = fractions[2]
    alpha = jnp.exp(log_alpha)
    value = lambda action: mean_value(head, critics, batch[:, common.S], action, midpoint, width)
    q, slope = jax.value_and_grad(value)(action)
    (gradient,) = pull_back((-slope, alpha / BATCH * jnp.ones_like(log_pi)))
    return (alpha * log_pi).mean() - q, gradient


def adam(step, gradient, moments, parameters):
    first = tree_map(lambda m, g: m + (1 - common.BETA1) * (g - m), moments[0], gradient)
    second = tree_map(lambda v, g: v + (1 - common.BETA2) * (g * g - v), moments[1], gradient)
    rate = common.LEARNING_RATE / (1 - common.BETA1**step)
    shrink = 1 / (1 - common.BETA2**step)
    moved = tree_map(lambda p, m, v: p - rate * m / (jnp.sqrt(v * shrink) + common.EPSILON), parameters, first, second)
    return moved, (first, second)


def update(head, step, state, rows, draws):
    """step: the number of this update, from 1, as a float."""
    networks, moments = dict(state["networks"]), dict(state["moments"])

    def move(name, gradient):
        networks[name], moments[name] = adam(step, gradient, moments[name], networks[name])

    batch, fractions, action, log_pi, pull_back, temperature = begin(head, state, rows, draws)
    move("log_alpha", temperature)
    log_alpha = networks["log_alpha"]
    move("critics", critic_gradients(head, state, log_alpha, batch, fractions, draws["next_noise"])[1])
    move("actor", actor_gradients(head, networks["critics"], log_alpha, batch, fractions, action, log_pi, pull_back)[1])
    moved = {name: networks[name] for name in state["targets"]}
    targets = tree_map(lambda target, p: target + common.POLYAK * (p - target), state["targets"], moved)
    return {"networks": networks, "moments": moments, "targets": targets}


# ---- many agents


def first_state(actor, critics):
    """The first axis of every array is the agent."""
    onto_device = lambda layers: tree_map(jnp.array, layers)
    critics = [[part.swapaxes(0, 1) for part in layer] for layer in critics]
    networks = {"actor": onto_device(actor), "critics": onto_device(critics), "log_alpha": jnp.zeros(len(actor[0][0]))}
    zeros = lambda: tree_map(jnp.zeros_like, networks)
    first, second = zeros(), zeros()
    return {"networks": networks, "moments": {name: (first[name], second[name]) for name in networks},
            "targets": {"actor": onto_device(actor), "critics": onto_device(critics)}}  # fmt: skip


def axes(head):
    """The agents' axis in the arrays of some_draws."""
    draws = {"rows": 0, "noise": 0, "next_noise": 0}
    return draws | {"fractions": 1} if head == "iqn" else draws


def draw(head, agents, key):
    keys = jax.random.split(key, 4)
    draws = {"rows": jax.random.randint(keys[0], (agents, BATCH), 0, common.REPLAY),
             "noise": jax.random.normal(keys[1], (agents, BATCH, ACTION)),
             "next_noise": jax.random.normal(keys[2], (agents, BATCH, ACTION))}  # fmt: skip
    if head == "iqn":
        draws["fractions"] = jax.random.uniform(keys[3], (3, agents, BATCH, QUANTILES))
    return draws


def update_all(head, step, state, rows, draws):
    return jax.vmap(partial(update, head), in_axes=(None, 0, 0, axes(head)))(step, state, rows, draws)


@partial(jax.jit, static_argnums=(0, 1), donate_argnums=(2,))
def many_updates(head, updates, carry, rows):
    """carry: state, number of the next update, key."""

    def one(carry, _):
        state, step, key = carry
        key, now = jax.random.split(key)
        return (update_all(head, step, state, rows, draw(head, len(rows), now)), step + 1, key), None

    return jax.lax.scan(one, carry, None, length=updates)[0]


# ---- checks and measurements


def check(head):
    def arrays(layers, twins=False):
        return [[np.asarray(part).swapaxes(0, 1) if twins else np.asarray(part) for part in layer] for layer in layers]

    def losses(state, rows, draws):
        log_alpha = state["networks"]["log_alpha"]
        batch, fractions, *sampled, temperature = begin(head, state, rows, draws)
        critics, critics_back = critic_gradients(head, state, log_alpha, batch, fractions, draws["next_noise"])
        actor, actor_back = actor_gradients(head, state["networks"]["critics"], log_alpha, batch, fractions, *sampled)
        return critics, actor, temperature, critics_back, actor_back

    every = jax.jit(jax.vmap(losses, in_axes=(0, 0, axes(head))))
    once = jax.jit(partial(update_all, head))

    def evaluate(actor, critics, rows, draws):
        *values, critics_back, actor_back = every(first_state(actor, critics), jnp.array(rows), tree_map(jnp.array, draws))
        return (*map(np.asarray, values), arrays(critics_back, True), arrays(actor_back))

    def updated(actor, critics, rows, draws):
        networks = once(1.0, first_state(actor, critics), jnp.array(rows), tree_map(jnp.array, draws))["networks"]
        return arrays(networks["critics"], True), arrays(networks["actor"])

    common.check(head, evaluate, updated)


def main():
    options = common.arguments(__doc__.split("\n\n")[0])
    jax.config.update("jax_default_prng_impl", "rbg")  # the faster one on a GPU
    if not options.no_check:
        # on the CPU, where compilation does not tune every product
        with jax.default_device(jax.devices("cpu")[0]):
            check(options.head)
    # JAX's default for products of floats on a GPU is TF32
    with jax.default_matmul_precision("default" if options.precision == "tf32" else "highest"):
        for agents in options.agents:
            state = first_state(common.actor_parameters(agents), common.critic_parameters(options.head, agents))
            carry = [(state, jnp.float32(1), jax.random.PRNGKey(0))]
            del state
            rows = jnp.array(common.replay_rows(agents))

            def run():
                carry[0] = many_updates(options.head, options.updates, carry[0], rows)

            ms = common.measure(run, lambda: jax.block_until_ready(carry[0]), options.updates, agents)
            common.report("jax", jax.__version__, jax.devices()[0].device_kind, options, agents, ms)


if __name__ == "__main__":
    main()
