"""DSAC's update for many agents in lockstep, in PyTorch: parameters of all agents in one array, batched products, autograd,
the whole update in a CUDA graph. `--compile` fuses what lies between the products by torch.compile.

    python3 bench/gpu_peers/torch_update.py --head qr --agents 1 10 50 200
"""

import torch
import torch.nn.functional as F

import common
from common import ACTION, BATCH, HIDDEN, QUANTILES

PER_GRAPH = 10  # updates in one graph
VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])


# ---- networks: the first axis of every array is the network, (M, ...) for actors, (2 M, ...) for critics


def linear(layer, x):
    return torch.baddbmm(layer[1].unsqueeze(1), x, layer[0])


def normed(layer, x):
    y = F.layer_norm(linear(layer, x), (HIDDEN,), eps=common.NORM_EPSILON)
    return torch.addcmul(layer[3].unsqueeze(1), y, layer[2].unsqueeze(1))


def sample(actor, observation, noise):
    x = torch.relu(linear(actor[1], torch.relu(linear(actor[0], observation))))
    mean, log_std = linear(actor[2], x).chunk(2, -1)
    log_std = log_std.clamp(common.MIN_LOG_STD, common.MAX_LOG_STD)
    action = torch.tanh(mean + log_std.exp() * noise)
    terms = -0.5 * noise.square() - log_std - common.LOG_ROOT_2PI - torch.log(1 - action.square() + common.SQUASH_EPSILON)
    return action, terms.sum(-1)


def values_qr(critics, x, midpoint):
    """(2 M, batch, quantiles) at x (M, batch, inputs)."""
    hidden = torch.relu(normed(critics[1], torch.relu(normed(critics[0], x.repeat(2, 1, 1)))))
    return linear(critics[2], hidden)


def values_iqn(critics, x, midpoint):
    """The same at the fractions `midpoint` (M, batch, quantiles), which both critics share."""
    features = torch.relu(normed(critics[0], x.repeat(2, 1, 1)))
    numbers = torch.arange(1, common.COSINES + 1, device=x.device, dtype=x.dtype)
    cosines = torch.cos(torch.pi * midpoint.flatten(1).unsqueeze(-1) * numbers)
    gate = torch.sigmoid(normed(critics[1], cosines.repeat(2, 1, 1)))
    gated = features.unsqueeze(2) * gate.unflatten(1, (BATCH, QUANTILES))
    merged = torch.relu(normed(critics[2], gated.flatten(1, 2)))
    return linear(critics[3], merged).view(-1, BATCH, QUANTILES)


def cut_interval(uniform):
    """Widths, which sum to one, and midpoints of the intervals."""
    width = uniform + common.NARROWEST
    width = width / width.sum(-1, keepdim=True)
    return width, width.cumsum(-1) - width / 2


# ---- losses, summed over the agents, whose gradients are independent


def td_targets(values, actor_target, critic_targets, alpha, batch, next_noise, midpoint):
    following = batch[..., common.NEXT]
    action, log_pi = sample(actor_target, following, next_noise)
    smaller = torch.minimum(*values(critic_targets, torch.cat([following, action], -1), midpoint).chunk(2))
    continues = common.DISCOUNT * (1 - batch[..., common.TERMINAL])
    entropy = alpha * log_pi
    return batch[..., common.R].unsqueeze(-1) + continues.unsqueeze(-1) * (smaller - entropy.unsqueeze(-1))


def critic_losses(values, critics, batch, y, midpoint, width):
    """(M,): every target i against every prediction j."""
    z = values(critics, batch[..., : common.R], midpoint).unflatten(0, (2, -1)).unsqueeze(-2)
    target = y.unsqueeze(-1).expand(2, *y.shape, QUANTILES)
    z = z.expand_as(target)
    huber = F.huber_loss(z, target, reduction="none")
    tau = midpoint.unsqueeze(-2)
    weight = torch.where(target < z.detach(), 1 - tau, tau) * width.unsqueeze(-1)
    return (weight * huber).sum((0, 3, 4)).mean(-1)


def actor_losses(values, critics, alpha, batch, action, log_pi, midpoint, width):
    """(M,): by the smaller of both critics' means."""
    z = values(critics, torch.cat([batch[..., common.S], action], -1), midpoint).unflatten(0, (2, -1))
    q = torch.minimum(*(width * z).sum(-1))
    return (alpha * log_pi - q).mean(-1)


# ---- the learner


def tensors(layers, device):
    return [[torch.tensor(part, device=device) for part in layer] for layer in layers]


def flat(layers):
    return [part for layer in layers for part in layer]


def like(parts, layers):
    """The layers from a flat list of their parts."""
    parts = iter(parts)
    return [[next(parts) for _ in layer] for layer in layers]


def detached(layers):
    return [[part.detach() for part in layer] for layer in layers]


class Learner:
    def __init__(self, head, actor, critics, rows, device, compiled=False):
        agents = len(rows)
        self.device, self.head = device, head
        values = {"qr": values_qr, "iqn": values_iqn}[head]
        wrap = (lambda f: torch.compile(f, dynamic=False)) if compiled else (lambda f: f)
        self.sample = wrap(sample)
        self.td_targets = wrap(lambda *args: td_targets(values, *args))
        self.critic_losses = wrap(lambda *args: critic_losses(values, *args))
        self.actor_losses = wrap(lambda *args: actor_losses(values, *args))

        joined = [[part.reshape(-1, *part.shape[2:]) for part in layer] for layer in critics]
        self.actor, self.critics = tensors(actor, device), tensors(joined, device)
        self.actor_target, self.critic_targets = tensors(actor, device), tensors(joined, device)
        self.log_alpha = torch.zeros(agents, 1, device=device, requires_grad=True)
        # rows of all agents in one array
        self.rows = torch.tensor(rows, device=device).flatten(0, 1)
        self.first_row = common.REPLAY * torch.arange(agents, device=device).unsqueeze(-1)
        equal = torch.full((agents, BATCH, QUANTILES), 0.5, device=device)
        self.fixed = cut_interval(equal)

        for part in flat(self.actor) + flat(self.critics):
            part.requires_grad_()
        # one kernel for all parameters: on the CPU since PyTorch 2.4
        fused = {"fused": True, "capturable": True} if device.type == "cuda" else {"fused": True} if VERSION >= (2, 4) else {}
        adam = lambda parts: torch.optim.Adam(parts, lr=common.LEARNING_RATE, betas=(common.BETA1, common.BETA2),
                                              eps=common.EPSILON, **fused)  # fmt: skip
        self.actor_adam, self.critic_adam = adam(flat(self.actor)), adam(flat(self.critics))
        self.alpha_adam = adam([self.log_alpha])

    def draw(self):
        agents = len(self.log_alpha)
        noise = torch.randn(2, agents, BATCH, ACTION, device=self.device)
        draws = {"rows": torch.randint(common.REPLAY, (agents, BATCH), device=self.device),
                 "noise": noise[0], "next_noise": noise[1]}  # fmt: skip
        if self.head == "iqn":
            draws["fractions"] = torch.rand(3, agents, BATCH, QUANTILES, device=self.device)
        return draws

    def begin(self, draws):
        """Batch, fractions, the policy's actions at s, and the gradient of the temperature's loss."""
        batch = self.rows[draws["rows"] + self.first_row]
        fractions = [cut_interval(u) for u in draws["fractions"]] if self.head == "iqn" else [self.fixed] * 3
        action, log_pi = self.sample(self.actor, batch[..., common.S], draws["noise"])
        temperature = -(log_pi.detach() + common.ENTROPY).mean(-1, keepdim=True)
        return batch, fractions, action, log_pi, temperature

    def critic_gradients(self, batch, fractions, next_noise):
        (target_width, target_midpoint), (_, midpoint), _ = fractions
        alpha = self.log_alpha.detach().exp()
        with torch.no_grad():
            y = self.td_targets(self.actor_target, self.critic_targets, alpha, batch, next_noise, target_midpoint)
        losses = self.critic_losses(self.critics, batch, y, midpoint, target_width)
        return losses.detach(), torch.autograd.grad(losses.sum(), flat(self.critics))

    def actor_gradients(self, batch, fractions, action, log_pi):
        width, midpoint = fractions[2]
        alpha = self.log_alpha.detach().exp()
        # without gradients of the critics' own parameters
        losses = self.actor_losses(detached(self.critics), alpha, batch, action, log_pi, midpoint, width)
        return losses.detach(), torch.autograd.grad(losses.sum(), flat(self.actor))

    def update(self, draws=None):
        draws = draws or self.draw()
        batch, fractions, action, log_pi, temperature = self.begin(draws)
        self.step(self.alpha_adam, [self.log_alpha], [temperature])
        self.step(self.critic_adam, flat(self.critics), self.critic_gradients(batch, fractions, draws["next_noise"])[1])
        self.step(self.actor_adam, flat(self.actor), self.actor_gradients(batch, fractions, action, log_pi)[1])
        with torch.no_grad():
            targets = flat(self.actor_target) + flat(self.critic_targets)
            networks = flat(self.actor) + flat(self.critics)
            torch._foreach_lerp_(targets, networks, common.POLYAK)

    def step(self, adam, parts, gradients):
        for part, gradient in zip(parts, gradients):
            part.grad = gradient
        adam.step()


# ---- checks and measurements


def check(head, device, compiled):
    def arrays(layers, twins):
        array = lambda part: part.detach().cpu().numpy()
        return [[array(part).reshape(2, -1, *part.shape[1:]) if twins else array(part) for part in layer] for layer in layers]

    def made(actor, critics, rows, draws):
        draws = {name: torch.tensor(part, device=device) for name, part in draws.items()}
        return Learner(head, actor, critics, rows, device, compiled), draws

    def evaluate(*subject):
        learner, draws = made(*subject)
        batch, fractions, action, log_pi, temperature = learner.begin(draws)
        critic_losses, critic_gradients = learner.critic_gradients(batch, fractions, draws["next_noise"])
        actor_losses, actor_gradients = learner.actor_gradients(batch, fractions, action, log_pi)
        losses = [part.flatten().cpu().numpy() for part in (critic_losses, actor_losses, temperature)]
        critic_gradients, actor_gradients = like(critic_gradients, learner.critics), like(actor_gradients, learner.actor)
        return (*losses, arrays(critic_gradients, True), arrays(actor_gradients, False))

    def update(*subject):
        learner, draws = made(*subject)
        learner.update(draws)
        return arrays(learner.critics, True), arrays(learner.actor, False)

    common.check(head, evaluate, update)


def captured(learner):
    """A function that replays PER_GRAPH updates."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            learner.update()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(PER_GRAPH):
            learner.update()
    return graph.replay


def main():
    options = common.arguments(
        __doc__.split("\n\n")[0],
        ("--compile", {"action": "store_true", "help": "torch.compile what lies between the products"}),
        ("--device", {"default": "cuda", "help": "cpu: without a graph, to try this file out"}),
    )
    device = torch.device(options.device)
    gpu = device.type == "cuda"

    def precision(tf32):
        torch.backends.cuda.matmul.allow_tf32 = tf32

    if not options.no_check:
        precision(False)
        check(options.head, device, options.compile)
    precision(options.precision == "tf32")
    for agents in options.agents:
        if options.compile:
            torch._dynamo.reset()
        learner = Learner(options.head, common.actor_parameters(agents), common.critic_parameters(options.head, agents),
                          common.replay_rows(agents), device, options.compile)  # fmt: skip
        once, updates = (captured(learner), PER_GRAPH) if gpu else (learner.update, 1)
        repeats = max(1, options.updates // updates)

        def run():
            for _ in range(repeats):
                once()

        ms = common.measure(run, torch.cuda.synchronize if gpu else lambda: None, repeats * updates, agents)
        name = torch.cuda.get_device_name() if gpu else "cpu"
        common.report("torch", torch.__version__, name, options, agents, ms, compiled=options.compile)
        del learner, once
        if gpu:
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
