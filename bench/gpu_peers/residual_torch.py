"""The update of residual networks with categorical critics for many agents in lockstep, in PyTorch: parameters of all agents
in one array, batched products in fp16, compiled, a pair of updates in a CUDA graph.

    python3 bench/gpu_peers/residual_torch.py --agents 1 10 50
"""

import numpy as np
import torch

import common
import residual
from common import ACTION
from residual import BATCH, BLOCKS

START = 0.01  # temperature
PAIRS_PER_GRAPH = 5


def forward(p, statistics, x, from_batch):
    """Outputs of all networks, and the statistics they used; x (networks, rows, inputs)."""
    used = {}

    def norm(name, x):
        x = x.float()
        if from_batch:
            used[f"{name}_mean"], used[f"{name}_var"] = x.mean(1), x.var(1, correction=0)
        mean, var = [(used if from_batch else statistics)[f"{name}_{which}"].unsqueeze(1) for which in ("mean", "var")]
        return (x - mean) * torch.rsqrt(var + residual.NORM_EPSILON) * p[f"{name}_gain"].unsqueeze(1) + p[f"{name}_shift"].unsqueeze(1)

    x = torch.bmm(norm("in", x), p["in"])
    for b in range(BLOCKS):
        up = torch.relu(norm(f"up{b}", torch.bmm(x, p[f"up{b}"])))
        x = x + torch.relu(norm(f"down{b}", torch.bmm(up, p[f"down{b}"]))).to(x.dtype)
    x = x.float()
    x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + residual.RMS_EPSILON) * p["rms"].unsqueeze(1)
    return torch.bmm(x, p["head"]).float() + p["bias"].unsqueeze(1), used


def sample(output, noise):
    mean, log_std = output.chunk(2, -1)
    log_std = log_std.clamp(common.MIN_LOG_STD, common.MAX_LOG_STD)
    action = torch.tanh(mean + log_std.exp() * noise)
    terms = -0.5 * noise.square() - log_std - common.LOG_ROOT_2PI - torch.log(1 - action.square() + common.SQUASH_EPSILON)
    return action, terms.sum(-1)


def projected_targets(outputs, values, batch, entropy):
    """outputs: (2 M, batch, atoms) of the target critics at s'."""
    probability = outputs.softmax(-1).unflatten(0, (-1, 2))
    mean = probability @ values
    chosen = torch.where((mean[:, 0] <= mean[:, 1]).unsqueeze(-1), probability[:, 0], probability[:, 1])
    continues = common.DISCOUNT * (1 - batch[..., common.TERMINAL].unsqueeze(-1))
    moved = batch[..., common.R].unsqueeze(-1) + continues * (values - entropy.unsqueeze(-1))
    place = (moved.clamp(residual.LEAST, residual.MOST) - residual.LEAST) / residual.DISTANCE
    lower = place.floor().clamp(max=residual.ATOMS - 2)
    share, lower = place - lower, lower.long()
    out = torch.zeros_like(chosen)
    return out.scatter_add(-1, lower, chosen * (1 - share)).scatter_add(-1, lower + 1, chosen * share)


def critic_losses(critics, target, values, inputs, batch, entropy):
    with torch.no_grad():
        y = projected_targets(forward(target, None, inputs, True)[0][:, BATCH:], values, batch, entropy)
    outputs, used = forward(critics, None, inputs, True)
    logs = outputs[:, :BATCH].log_softmax(-1).unflatten(0, (-1, 2))
    return -(y.unsqueeze(1) * logs).sum(-1).mean((1, 2)), used


def actor_losses(actor, critics, statistics, values, batch, noise, alpha):
    output, used = forward(actor, None, torch.cat([batch[..., common.S], batch[..., common.NEXT]], 1), True)
    action, log_pi = sample(output[:, :BATCH], noise)
    x = torch.cat([batch[..., common.S], action], -1).repeat_interleave(2, 0)
    q = (forward(critics, statistics, x, False)[0].softmax(-1) @ values).unflatten(0, (-1, 2)).amin(1)
    return (alpha.unsqueeze(-1) * log_pi - q).mean(-1), used, log_pi.detach()


def next_sample(actor, statistics, batch, noise):
    return sample(forward(actor, statistics, batch[..., common.NEXT], False)[0], noise)


def finish_step(p, statistics, used, target):
    """Restores the lengths, follows the statistics and moves the target networks, if there are any."""
    for name, part in p.items():
        if name.endswith("gain"):
            shift = p[name.replace("gain", "shift")]
            factor = torch.sqrt(part.shape[-1] / (part.square().sum(-1, True) + shift.square().sum(-1, True) + 1e-8))
            part.mul_(factor)
            shift.mul_(factor)
        elif name == "rms":
            part.mul_(torch.sqrt(part.shape[-1] / (part.square().sum(-1, True) + 1e-8)))
        elif part.ndim == 3:
            part.mul_(torch.rsqrt(part.square().sum(1, True) + 1e-8))
    rows = 2 * BATCH
    for name, s in statistics.items():
        s.lerp_(used[name] * (rows / (rows - 1) if name.endswith("var") else 1), residual.MOMENTUM)
    if target is not None:
        for name, part in target.items():
            part.lerp_(p[name], residual.POLYAK)


class Learner:
    def __init__(self, agents, device, half, compiled):
        tensors = lambda parts: {name: torch.tensor(part, device=device) for name, part in parts.items()}
        self.device, self.half, self.agents = device, half, agents
        (actor, statistics), (critics, critic_statistics) = residual.actors(agents), residual.critics(agents)
        self.actor, self.statistics = tensors(actor), tensors(statistics)
        self.critics, self.critic_statistics, self.target = tensors(critics), tensors(critic_statistics), tensors(critics)
        self.log_alpha = torch.full((agents,), float(np.log(START)), device=device)
        self.values = torch.tensor(residual.VALUES, device=device)
        self.rows = torch.tensor(residual.replay_rows(agents), device=device).flatten(0, 1)
        self.first_row = residual.REPLAY * torch.arange(agents, device=device).unsqueeze(-1)
        for parts in (self.actor, self.critics):
            for part in parts.values():
                part.requires_grad_()
        on_gpu = {"fused": True, "capturable": True} if device.type == "cuda" else {}
        adam = lambda parts: torch.optim.Adam(parts, lr=common.LEARNING_RATE, betas=(common.BETA1, common.BETA2), eps=common.EPSILON, **on_gpu)
        self.actor_adam, self.critic_adam = adam(list(self.actor.values())), adam(list(self.critics.values()))
        self.alpha_adam = adam([self.log_alpha])
        wrap = (lambda f: torch.compile(f, dynamic=False)) if compiled else (lambda f: f)
        self.critic_losses, self.actor_losses, self.next_sample = wrap(critic_losses), wrap(actor_losses), wrap(next_sample)
        self.finish_step = wrap(finish_step)

    def draw(self):
        noise = torch.randn(2, self.agents, BATCH, ACTION, device=self.device)
        rows = torch.randint(residual.REPLAY, (self.agents, BATCH), device=self.device)
        return {"rows": rows, "noise": noise[0], "next_noise": noise[1]}

    def step(self, adam, parts, losses):
        for part, gradient in zip(parts, torch.autograd.grad(losses.sum(), parts)):
            part.grad = gradient
        adam.step()

    def update(self, moves, draws=None):
        draws = draws or self.draw()
        batch = self.rows[draws["rows"] + self.first_row]
        alpha = self.log_alpha.exp()
        with torch.autocast(self.device.type, torch.float16, enabled=self.half):
            with torch.no_grad():
                next_action, next_log_pi = self.next_sample(self.actor, self.statistics, batch, draws["next_noise"])
                following = torch.cat([batch[..., common.NEXT], next_action], -1)
                inputs = torch.cat([batch[..., : common.R], following], 1).repeat_interleave(2, 0)
            losses, used = self.critic_losses(self.critics, self.target, self.values, inputs, batch, alpha.unsqueeze(-1) * next_log_pi)
        self.step(self.critic_adam, list(self.critics.values()), losses)
        with torch.no_grad():
            self.finish_step(self.critics, self.critic_statistics, used, self.target)
        if not moves:
            return losses.detach(), None
        with torch.autocast(self.device.type, torch.float16, enabled=self.half):
            critics = {name: part.detach() for name, part in self.critics.items()}
            by_actor, used, log_pi = self.actor_losses(self.actor, critics, self.critic_statistics, self.values, batch, draws["noise"], alpha)
        self.step(self.actor_adam, list(self.actor.values()), by_actor)
        with torch.no_grad():
            self.finish_step(self.actor, self.statistics, used, None)
            self.log_alpha.grad = -(log_pi.mean(-1) + residual.ENTROPY)
            self.alpha_adam.step()
        return losses.detach(), by_actor.detach()


def check(device):
    learner = Learner(2, device, False, False)
    draws = {name: torch.tensor(part, device=device) for name, part in residual.some_draws(2).items()}
    batch = learner.rows[draws["rows"] + learner.first_row]
    actor = actor_losses(learner.actor, learner.critics, learner.critic_statistics, learner.values, batch, draws["noise"],
                         learner.log_alpha.exp())[0].detach().cpu()  # fmt: skip
    critic = learner.update(False, draws)[0].cpu()
    for i in range(2):
        np.testing.assert_allclose([critic[i], actor[i]], residual.losses(i, 2, START, common.DISCOUNT), rtol=2e-4, atol=1e-5)
    common.say("checked")


def captured(learner):
    pair = lambda: [learner.update(moves) for moves in (True, False)]
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(2):
            pair()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(PAIRS_PER_GRAPH):
            pair()
    return graph.replay


def main():
    options = common.arguments(
        __doc__.split("\n\n")[0],
        ("--eager", {"action": "store_true", "help": "without torch.compile"}),
        ("--device", {"default": "cuda", "help": "cpu: without a graph, to try this file out"}),
    )
    options.head = "categorical"
    device = torch.device(options.device)
    gpu = device.type == "cuda"
    half, options.precision = options.precision != "fp32", "fp32" if options.precision == "fp32" else "fp16"
    if not options.no_check:
        check(device)
    for agents in options.agents:
        torch._dynamo.reset()
        learner = Learner(agents, device, half, not options.eager)
        once = captured(learner) if gpu else lambda: [learner.update(moves) for moves in (True, False)]
        updates = 2 * PAIRS_PER_GRAPH if gpu else 2
        repeats = max(1, options.updates // updates)

        def run():
            for _ in range(repeats):
                once()

        ms = common.measure(run, torch.cuda.synchronize if gpu else lambda: None, repeats * updates, agents, rounds=5)
        name = torch.cuda.get_device_name() if gpu else "cpu"
        common.report("torch", torch.__version__, name, options, agents, ms, compiled=not options.eager)
        del learner, once
        if gpu:
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
