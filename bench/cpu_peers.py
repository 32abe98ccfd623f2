"""DSAC's update of one agent on the CPU: ovde beside PyTorch 2, eager and compiled, in one run.

    python3 bench/cpu_peers.py --threads 1 16 --ovde build/ovde --json cpu_peers.json

The PyTorch update is that of gpu_peers/torch_update.py, once as it is (the products of both critics in one batched
product) and once with a product for each network; the table has the faster one. Eager PyTorch is checked against NumPy
before it is measured (with the first number of threads), compiled PyTorch against eager PyTorch. A program with n threads
is pinned to n cores. All of them are measured in turns, so that other work on the machine slows all alike; a figure is the
shortest time per update. Compilation, which takes two minutes, comes after the first turns and beside nothing else; where
the budget ends before it, there is no figure of compiled PyTorch.
"""

import argparse
import contextlib
import json
import os
import queue
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
STYLES = ("batched", "apart")  # both critics in one product, or a product for each network
BEGAN = time.monotonic()


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 16])
    parser.add_argument("--ovde", type=Path, default=HERE.parent / "build/ovde", help="the program")
    parser.add_argument("--budget", type=float, default=400, help="seconds of the whole run, compilation included")
    parser.add_argument("--first-core", type=int, default=0, help="core that the pinning begins with")
    parser.add_argument("--round", type=float, default=1.0, help="seconds of PyTorch's updates in one turn")
    parser.add_argument("--turns", type=int, default=9, help="turns at most, before and after compilation")
    parser.add_argument("--json", type=Path, help="file for the measurements, one JSON object a line")
    parser.add_argument("--no-compile", action="store_true", help="eager PyTorch only")
    parser.add_argument("--worker", help=argparse.SUPPRESS)  # the process that runs PyTorch, started by this script
    return parser.parse_args()


def say(words):
    print(f"[{time.monotonic() - BEGAN:5.1f} s] {words}", file=sys.stderr, flush=True)


def counted(threads):
    return f"{threads} thread{'s' * (threads > 1)}"


def cores(options, threads):
    """The cores for so many threads; all that the machine has where it has fewer."""
    there = sorted(os.sched_getaffinity(0))
    chosen = [core for core in there if core >= options.first_core][:threads]
    return chosen or there


# ---- a process that runs PyTorch: prepares, prints "ready", then answers each line "go" with a time per update


def worker(options):
    settings = json.loads(options.worker)
    threads, compiled = settings["threads"], settings["compiled"]
    sys.path.insert(0, str(HERE / "gpu_peers"))
    import numpy as np
    import torch
    import torch_update

    import common

    torch.set_num_threads(threads)
    if settings["style"] == "apart":
        torch_update.linear = apart(torch)
    cpu = torch.device("cpu")
    arrays = common.actor_parameters(1), common.critic_parameters("qr", 1), common.replay_rows(1)
    learner = torch_update.Learner("qr", *arrays, cpu, compiled)
    if compiled:
        # the functions that are measured, compared with eager ones that another process compares with NumPy
        eager = torch_update.Learner("qr", *arrays, cpu)
        draws = {name: torch.tensor(part) for name, part in common.some_draws("qr", 1).items()}
        for one, other in zip(gradients(learner, draws), gradients(eager, draws)):
            apart_by = np.linalg.norm(one - other) / np.linalg.norm(other)
            assert apart_by < 1e-4, f"compiled and eager PyTorch differ by {apart_by} of a gradient's length"
    elif settings["check"]:
        torch_update.check("qr", cpu, False)
    for _ in range(20):
        learner.update()

    # compilation may use all cores; the measurement has its own
    for task in os.listdir("/proc/self/task"):
        with contextlib.suppress(ProcessLookupError):  # a thread that has ended since
            os.sched_setaffinity(int(task), settings["cores"])
    more = {"fused_adam": bool(learner.actor_adam.defaults.get("fused"))}
    print(json.dumps({"ready": torch.__version__, "more": more}), flush=True)
    for line in sys.stdin:
        count, began = 0, time.perf_counter()
        while (passed := time.perf_counter() - began) < options.round or count < 5:
            learner.update()
            count += 1
        print(json.dumps({"ms": 1e3 * passed / count, "gemm_gflops": plain_product(torch)}), flush=True)


def plain_product(torch):
    """GFLOP/s of a 256 x 256 x 256 product, which shows a PyTorch without a fast BLAS."""
    x, times = torch.randn(256, 256), []
    for _ in range(30):
        began = time.perf_counter()
        x @ x
        times.append(time.perf_counter() - began)
    return 2e-9 * 256**3 / min(times)


def apart(torch):
    def linear(layer, x):
        products = [torch.addmm(bias, rows, weights) for weights, bias, rows in zip(layer[0], layer[1], x)]
        return products[0].unsqueeze(0) if len(products) == 1 else torch.stack(products)

    return linear


def gradients(learner, draws):
    batch, fractions, action, log_pi, temperature = learner.begin(draws)
    losses, of_critics = learner.critic_gradients(batch, fractions, draws["next_noise"])
    actor_losses, of_actor = learner.actor_gradients(batch, fractions, action, log_pi)
    return [part.detach().numpy() for part in (losses, actor_losses, temperature, *of_critics, *of_actor)]


# ---- what is measured


class Torch:
    """A worker process."""

    def __init__(self, options, threads, compiled, style, folder):
        self.name, self.threads, self.style = "PyTorch, compiled" if compiled else "PyTorch, eager", threads, style
        self.times, self.error, self.version, self.more = [], None, "", {}
        self.cores = cores(options, threads)
        settings = {"threads": threads, "compiled": compiled, "style": style, "cores": self.cores,
                    "check": threads == options.threads[0]}  # fmt: skip
        # a cache of its own: compiled code depends on the number of threads
        cache = folder / f"{compiled}_{threads}_{style}"
        cache.mkdir()
        environment = dict(os.environ, OMP_NUM_THREADS=str(threads), MKL_NUM_THREADS=str(threads),
                           TORCHINDUCTOR_CACHE_DIR=str(cache), TORCHINDUCTOR_COMPILE_THREADS="4",
                           CUDA_VISIBLE_DEVICES="")  # fmt: skip
        self.log = cache / "log"
        command = [sys.executable, __file__, "--worker", json.dumps(settings), "--round", str(options.round)]
        available = [core for core in sorted(os.sched_getaffinity(0)) if core >= options.first_core]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(self.log, "w"), text=True, env=environment,
            start_new_session=True, preexec_fn=(lambda: os.sched_setaffinity(0, available)) if available else None)  # fmt: skip
        self.lines = queue.Queue()
        threading.Thread(target=self.read, daemon=True).start()

    def __str__(self):
        return f"{self.name} ({self.style}), {counted(self.threads)}"

    def read(self):
        for line in self.process.stdout:
            if line.startswith("{"):
                self.lines.put(json.loads(line))
        self.lines.put(None)  # it ended

    def answer(self, seconds):
        """The next line; None, with an error noted, where none comes in time."""
        try:
            line = self.lines.get(timeout=max(seconds, 0.1))
        except queue.Empty:
            self.fail("no answer within its time")
            return None
        if line is None:
            self.process.wait()
            self.fail(self.log.read_text().strip()[-1500:] or f"ended with {self.process.returncode}")
        return line

    def fail(self, error):
        self.error = error
        self.stop()
        say(f"{self} fails: {error.splitlines()[-1]}")

    def prepare(self, until):
        line = self.answer(until - time.monotonic())
        if line:
            self.version, self.more = line["ready"], line["more"]
            say(f"{self} is ready")

    def measure(self, until):
        try:
            self.process.stdin.write("go\n")
            self.process.stdin.flush()
        except OSError:
            pass  # it ended; answer() says why
        line = self.answer(until - time.monotonic())
        if line:
            self.times.append(line["ms"])
            self.more["gemm_gflops"] = round(max(self.more.get("gemm_gflops", 0), line["gemm_gflops"]), 1)

    def stop(self):
        """Ends the process and the compilers that it started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Ovde:
    name, style = "ovde", ""

    def __init__(self, options, threads):
        self.threads, self.times, self.error, self.version, self.more = threads, [], None, "", {}
        self.cores = cores(options, threads)
        self.command = [options.ovde.resolve(), "bench", "update", "--algo", "dsac", "--threads", str(threads), "--json"]
        self.program = options.ovde.resolve()

    def prepare(self, until):
        try:
            self.version = subprocess.run([self.program, "--version"], capture_output=True, text=True).stdout.split("\n")[0]
        except OSError as error:
            self.error = str(error)
            say(f"ovde fails: {error}")

    def measure(self, until):
        try:
            done = subprocess.run(self.command, capture_output=True, text=True, check=True,
                                  timeout=max(until - time.monotonic(), 1),
                                  preexec_fn=lambda: os.sched_setaffinity(0, self.cores))  # fmt: skip
            row = json.loads(done.stdout)
            self.times.append(row["ms"])
            self.more = {"gemm_gflops": round(max(self.more.get("gemm_gflops", 0), row["gemm_gflops"]), 1)}
        except (OSError, subprocess.SubprocessError, ValueError) as error:
            self.error = f"{error} {getattr(error, 'stderr', '') or ''}".strip()
            say(f"ovde, {counted(self.threads)}, fails: {self.error}")

    def stop(self):
        pass


# ---- the measurement


def prepare(programs, until):
    for program in programs:
        program.prepare(until)


def measure(programs, turns, until, end):
    """Turns that begin before `until`; a program that does not answer before `end` has failed."""
    for turn in range(turns):
        began = time.monotonic()
        for program in programs:
            if not program.error:
                program.measure(end)
                time.sleep(0.3)  # until the threads that wait for more work have stopped spinning
        running = [p for p in programs if p.times and not p.error]
        say(f"turn {turn + 1}, ms: " + ", ".join(f"{p.name} x{p.threads} {p.times[-1]:.3f}" for p in running))
        if turn == 0:
            drop_slower(programs)
        if time.monotonic() + 1.2 * (time.monotonic() - began) > until:
            break


def drop_slower(programs):
    """Of two ways to write the same, only the faster one is measured again."""
    for program in programs:
        rivals = [p for p in programs if (p.name, p.threads) == (program.name, program.threads) and p.times]
        if program.times and not program.error and program is not min(rivals, key=lambda p: min(p.times)):
            program.error = "the other way is faster"
            program.stop()


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":", 1)[1].strip()
    return os.uname().machine


def row_of(program):
    times = program.times
    return {
        "what": "update",
        "program": program.name,
        "version": program.version,
        "threads": program.threads,
        "cores": len(program.cores),
        "products": program.style,
        "ms": round(min(times), 4) if times else None,
        "median_ms": round(statistics.median(times), 4) if times else None,
        "turns": len(times),
        "error": program.error,
        "processor": processor(),
    } | program.more


def table(rows, thread_counts):
    lines = ["| ms per DSAC update, shortest (median) | " + " | ".join(counted(n) for n in thread_counts) + " |",
             "| --- |" + " --- |" * len(thread_counts)]  # fmt: skip
    best = {}
    for row in rows:
        key = row["program"], row["threads"]
        if row["ms"] and (key not in best or row["ms"] < best[key]["ms"]):
            best[key] = row
    for name in dict.fromkeys(row["program"] for row in rows):
        cells = []
        for threads in thread_counts:
            row, ours = best.get((name, threads)), best.get(("ovde", threads))
            if not row:
                cells.append("failed")
            else:
                ratio = f", {row['ms'] / ours['ms']:.2f} times ovde" if ours and name != "ovde" else ""
                cells.append(f"{row['ms']:.3f} ({row['median_ms']:.3f}){ratio}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main():
    options = parse()
    if options.worker:
        return worker(options)
    folder = Path(tempfile.mkdtemp(prefix="cpu_peers_"))
    programs = []
    end = BEGAN + options.budget
    try:
        for threads in options.threads:
            if len(cores(options, threads)) < threads:
                say(f"only {len(cores(options, threads))} cores for {counted(threads)}")
            programs.append(Ovde(options, threads))
            programs += [Torch(options, threads, False, style, folder) for style in STYLES]
        share = 1 if options.no_compile else 0.4
        prepare(programs, BEGAN + 0.7 * share * options.budget)
        measure(programs, options.turns, BEGAN + share * options.budget, end)
        if not options.no_compile:
            faster = {p.threads: p.style for p in programs if isinstance(p, Torch) and not p.error}
            compiled = [Torch(options, n, True, faster.get(n, STYLES[0]), folder) for n in options.threads]
            programs += compiled
            prepare(compiled, BEGAN + 0.85 * options.budget)
            if any(not p.error for p in compiled):
                measure(programs, options.turns, end, end)
    finally:
        for program in programs:
            program.stop()
        shutil.rmtree(folder, ignore_errors=True)
    rows = [row_of(program) for program in programs]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    if options.json:
        options.json.write_text(lines)
    print(lines + "\n" + table(rows, options.threads))


if __name__ == "__main__":
    main()
