import csv
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import ovde

TIMES = {"seconds", "steps_per_second"}


def rows(folder):
    with open(folder / "progress.csv") as file:
        return [{key: text for key, text in row.items() if key not in TIMES} for row in csv.DictReader(file)]


def assert_same_run(a, b):
    assert rows(a) == rows(b)
    assert (a / "policy.safetensors").read_bytes() == (b / "policy.safetensors").read_bytes()


def test_same_as_the_command_line(program, tmp_path):
    command = [program, "train", "--task", "NoisyHopper-v4", "--algo", "ovde_g", "--seeds", "3-4", "--epochs", "3"]
    command += ["--set", "explore.alpha=0.1", "--set", "network.hidden=[32,32]", "--set", "train.batch=64"]
    command += ["--set", "noise.action=0.05", "--set", "train.eval_steps=200", "--out", str(tmp_path / "cli")]
    listed = subprocess.run([program, "list", "tasks"], capture_output=True, text=True).stdout
    if "NoisyHopper" not in listed:
        command[3] = "GridChaos-v0:s"
    subprocess.run(command, check=True, capture_output=True)
    run = ovde.train(
        command[3], "ovde_g", seeds=range(3, 5), epochs=3, out=tmp_path / "python",
        explore={"alpha": 0.1}, network={"hidden": [32, 32]}, noise={"action": 0.05},
        train={"batch": 64, "eval_steps": 200},
    )  # fmt: skip
    for seed in (3, 4):
        assert_same_run(tmp_path / f"cli/seed_{seed}", run.folder / f"seed_{seed}")
    strip = lambda path: re.sub("^#.*\n", "", path.read_text(), flags=re.M)  # noqa: E731
    assert strip(tmp_path / "cli/population.toml") == strip(run.folder / "population.toml")


def test_run_reads_its_folder(trained_run):
    run = ovde.Run(trained_run.folder)
    assert (run.task, run.algorithm, run.seeds, run.epochs) == ("GridChaos-v0:s", "dsac", [0, 1], 3)
    assert run.finished and run.scores.shape == (2,)
    np.testing.assert_array_equal(run.curves["updates"], [[50, 100, 150]] * 2)
    written = [float(row["q_mean"]) for row in rows(run.folders[0])]
    np.testing.assert_array_equal(run.curves["q_mean"][0], written)
    assert [status["state"] for status in ovde.status(run.folder)] == ["finished", "finished"]


def test_frame(trained_run):
    pytest.importorskip("pandas", reason="pandas is not installed")
    frame = trained_run.frame()
    assert len(frame) == 6 and list(frame.columns[:2]) == ["seed", "epoch"]
    assert frame.groupby("seed").updates.max().tolist() == [150, 150]


def test_one_seed(tmp_path, small):
    run = ovde.train("GridChaos-v0:s", "sac", seeds=7, epochs=2, out=tmp_path / "x", **small)
    assert run.seeds == [7] and run.folders == [tmp_path / "x"]
    run.policy(7)


@pytest.mark.parametrize(
    "given, words",
    [
        (dict(task="GridChoas-v0"), "did you mean GridChaos-v0"),
        (dict(algorithm="ovde_x"), "ovde_g"),
        (dict(explore={"alhpa": 1}), "alpha"),
        (dict(train={"batch": 0}), "train.batch"),
        (dict(train={"batch": {}}), "must be a number"),
        (dict(train=3), "must be a dict of keys"),
        (dict(gama=0.9), "unknown argument gama=0.9"),
        (dict(ent_coef="auto"), "train.temperature"),
        (dict(policy_kwargs={"net_arch": [64]}), "network.hidden"),
        (dict(verbose=1), "progress=True"),
        (dict(seed=1, seeds=[2]), r"seed=1 and seeds=\[2\]: give one of them"),
        (dict(n_seeds=2, seeds=[2]), r"n_seeds=2 and seeds=\[2\]: give one of them"),
        (dict(n_seeds=0), "n_seeds=0: must be a whole number, at least 1"),
        (dict(algo="ovde_x"), "ovde_g"),
        (dict(seed=1.5), "seed 1.5: must be a whole number"),
        (dict(steps=5000), "steps and epochs: give one of them"),
        (dict(total_timesteps=5000), "total_timesteps and epochs: give one of them"),
        (dict(gamma=0.9, train={"discount": 0.8}), "train.discount is given twice: 0.9 and 0.8"),
        (dict(seeds=[1, 1]), "given twice"),
        (dict(seeds=[]), "0 seeds"),
        (dict(seeds=1.7), "seed 1.7: must be a whole number from 0 to 9007199254740991"),
        (dict(seeds="0-1"), "seed '0-1': must be a whole number.*range"),
        (dict(seeds=[0, True]), "seed True: must be a whole number"),
        (dict(seeds=-1), "seed -1: must be a whole number from 0"),
        (dict(seeds=2**64), "seed 18446744073709551616: must be a whole number"),
        (dict(seeds=None), "seed None: must be a whole number"),
        (dict(threads=-1), "threads=-1: must be a whole number, at least 0"),
        (dict(threads=1.5), "threads=1.5: must be a whole number"),
        (dict(progress="bar"), "progress='bar': must be True, False, None or a function"),
        (dict(train={"epochs": 2}), "epochs=1 and train={'epochs': 2}"),
        (dict(task=Path("no_such.toml")), "cannot read no_such.toml|a task file needs MuJoCo"),
        (dict(task=3), "3: must be a function that makes an environment"),
        (dict(device="tpu"), "tpu"),
        (dict(workers=2), "are for Python environments"),
    ],
)
def test_wrong_input_is_refused_and_leaves_nothing(tmp_path, given, words):
    arguments = {"task": "GridChaos-v0:s", "algorithm": "ovde_g", "epochs": 1, **given}
    with pytest.raises(ovde.InputError, match=words):
        ovde.train(arguments.pop("task"), arguments.pop("algorithm"), out=tmp_path / "x", **arguments)
    assert not (tmp_path / "x").exists()


def test_no_seeds_without_a_folder():
    with pytest.raises(ovde.InputError, match="0 seeds"):
        ovde.train("GridChaos-v0:s", seeds=[])


def test_without_an_algorithm_it_trains_what_the_program_does(tmp_path, small):
    assert ovde.train("GridChaos-v0:s", epochs=1, out=tmp_path / "x", **small).algorithm == "dsac"


def test_numpy_integers(tmp_path, small):
    run = ovde.train("GridChaos-v0:s", "sac", seeds=np.arange(2), epochs=1, threads=np.int64(1), out=tmp_path / "x", **small)
    assert run.seeds == [0, 1]


def test_task_is_a_table(tmp_path, small):
    run = ovde.train("GridChaos-v0:s", algorithm="sac", epochs=1, out=tmp_path / "x", task={"horizon": 50}, **small)
    assert "horizon = 50" in (run.folder / "config.toml").read_text()
    assert run.curves["eval_length_mean"].max() <= 50


def test_words_of_the_command_line(tmp_path, small):
    run = ovde.train("GridChaos-v0:s", algo="SAC", n_seeds=2, epochs=1, out=tmp_path / "x", **small)
    assert run.seeds == [0, 1]
    assert 'algorithm = "sac"' in (run.folder / "seed_0" / "config.toml").read_text()


def test_words_of_other_libraries(tmp_path):
    run = ovde.train("GridChaos-v0:s", "sac", seed=7, total_timesteps=260, out=tmp_path / "x", progress=False, gamma=0.9,
                     batch_size=32, net_arch=[16], learning_starts=60, steps_per_epoch=50, train={"eval_steps": 200})  # fmt: skip
    text = (run.folder / "config.toml").read_text()
    assert run.seeds == [7] and run.epochs == 4
    for line in ("discount = 0.9", "batch = 32", "hidden = [16]", "warmup_steps = 60"):
        assert line in text


def test_steps_are_rounded_up_to_epochs(tmp_path, small):
    assert ovde.train("GridChaos-v0:s", "sac", steps=161, out=tmp_path / "x", **small).epochs == 3
    with pytest.raises(ovde.InputError, match="steps = 60: the warm-up alone has 60 steps .*an epoch 50"):
        ovde.train("GridChaos-v0:s", "sac", steps=60, out=tmp_path / "y", **small)
    with pytest.raises(ovde.InputError, match="steps=0.5: must be a whole number, at least 1"):
        ovde.train("GridChaos-v0:s", "sac", steps=0.5, out=tmp_path / "y", **small)


def test_a_second_run_without_a_folder_takes_the_next_number(tmp_path, small, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folders = [str(ovde.train("GridChaos-v0:s", "sac", epochs=1, **small).folder) for _ in range(3)]
    assert folders == ["runs/GridChaos-v0-s-sac-0", "runs/GridChaos-v0-s-sac-0_2", "runs/GridChaos-v0-s-sac-0_3"]


def test_redirected_progress_is_printed_in_lines(script, small):
    done = script(f"""
import ovde
ovde.train("GridChaos-v0:s", "sac", epochs=3, out="x", **{small!r})
""")
    lines = done.stderr.splitlines()
    assert done.stdout == "" and "\r" not in done.stderr
    assert lines[0].startswith("sac on GridChaos-v0:s: 3 epochs of 50 steps: 210 steps with the warm-up; evaluated for ")
    assert lines[1].startswith("sac on GridChaos-v0:s: 33 % return ")
    assert lines[-1].startswith("sac on GridChaos-v0:s: 100 % return ")


def test_an_algorithm_is_found_in_any_case(tmp_path, small):
    run = ovde.train("GridChaos-v0:s", "SAC", epochs=1, out=tmp_path / "x", **small)
    assert run.algorithm == "sac" and repr(run).endswith(": sac on GridChaos-v0:s, seed 0)")
    assert repr(run.curves).startswith("Curves of 1 seed, 1 epoch: ")


def test_a_task_of_gymnasium_is_explained(tmp_path):
    pytest.importorskip("gymnasium")
    with pytest.raises(ovde.InputError, match=r"ovde.train\(lambda: gymnasium.make\('Pendulum-v1'\)"):
        ovde.train("Pendulum-v1", "sac", out=tmp_path / "x")
    with pytest.raises(ovde.InputError, match=r"Pendulum-v1 is an environment of Gymnasium: gymnasium.make\('Pendulum-v1'\)"):
        ovde.make("Pendulum-v1")
    with pytest.raises(ovde.InputError, match=r"of Gymnasium: gymnasium.make_vec\('Pendulum-v1', 2\)"):
        ovde.make_vec("Pendulum-v1", 2)
    assert not (tmp_path / "x").exists()


def test_equal_epochs_may_be_given_twice(tmp_path, small):
    small["train"]["epochs"] = 2
    assert ovde.train("GridChaos-v0:s", "sac", epochs=2, out=tmp_path / "x", **small).epochs == 2


def test_progress_is_called_for_every_epoch_on_this_thread(tmp_path, small):
    import threading

    seen = []
    ovde.train(
        "GridChaos-v0:s", "sac", seeds=range(3), epochs=4, out=tmp_path / "x", threads=2,
        progress=lambda event: seen.append((event["seed"], event["epoch"], threading.current_thread())), **small,
    )  # fmt: skip
    assert {thread for _, _, thread in seen} == {threading.main_thread()}
    assert sorted((seed, epoch) for seed, epoch, _ in seen) == [(s, e) for s in range(3) for e in range(4)]


def test_an_exception_of_progress_saves_the_run(tmp_path, small):
    whole = ovde.train("GridChaos-v0:s", "sac", epochs=30, out=tmp_path / "whole", **small)

    def enough(event):
        if event["epoch"] == 2:
            raise StopIteration("enough")

    with pytest.raises(StopIteration, match="enough"):
        ovde.train("GridChaos-v0:s", "sac", epochs=30, out=tmp_path / "x", progress=enough, **small)
    assert not ovde.Run(tmp_path / "x").finished
    run = ovde.resume(tmp_path / "x")
    assert_same_run(whole.folder, run.folder)


def test_ctrl_c_saves_and_raises_keyboard_interrupt(tmp_path, small):
    text = f"""
import ovde
try:
    ovde.train("GridChaos-v0:s", "ovde_g", seeds=[0, 1], epochs=100_000, out="x", **{small!r})
except KeyboardInterrupt:
    print("interrupted")
"""
    (tmp_path / "script.py").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "script.py"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 30
    while not list(tmp_path.glob("x/seed_*/progress.csv")) or len(rows(tmp_path / "x/seed_0")) < 2:
        assert time.monotonic() < deadline and process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (0, "interrupted\n")
    assert err.endswith("ovde: interrupted; the state is saved: ovde.resume('x')\n")
    assert {status["state"] for status in ovde.status(tmp_path / "x")} == {"interrupted"}
    assert list(tmp_path.glob("x/seed_0/checkpoints/*"))


def test_resume_of_nothing_and_of_a_finished_run(tmp_path, trained_run):
    with pytest.raises(ovde.InputError, match="no run"):
        ovde.resume(tmp_path)
    (tmp_path / "run").mkdir()
    with pytest.raises(ovde.InputError, match=r"rnu is not a folder \(did you mean run\?\)"):
        ovde.resume(tmp_path / "rnu")
    with pytest.raises(ovde.InputError, match="finished"):
        ovde.resume(trained_run.folder)
    with pytest.raises(ovde.InputError, match="task of the library"):
        ovde.resume(trained_run.folder, lambda: None)
    with pytest.raises(ovde.InputError, match="threads=-1"):
        ovde.resume(trained_run.folder, threads=-1)


def test_status_shows_unreadable_runs(tmp_path, trained_run):
    shutil.copytree(trained_run.folder, tmp_path / "whole")
    (tmp_path / "torn").mkdir()
    (tmp_path / "torn/config.toml").write_text("[run")
    states = {Path(status["folder"]).name: status["state"] for status in ovde.status(tmp_path)}
    assert states["torn"] == "unreadable" and "finished" in states.values()


def test_the_program(trained_run):
    done = subprocess.run([sys.executable, "-m", "ovde", "status", str(trained_run.folder)], capture_output=True, text=True)
    assert done.returncode == 0 and "finished" in done.stdout
    assert subprocess.run([sys.executable, "-m", "ovde", "nonsense"], capture_output=True).returncode == 2


def test_without_gymnasium(script):
    done = script("""
import sys
sys.modules["gymnasium"] = None  # as if it were not installed
import ovde
run = ovde.train("GridChaos-v0:s", "sac", epochs=1, out="x", network={"hidden": [8]}, train={"batch": 8, "warmup_steps": 20},
                 progress=False)
print(run.policy()([0.0, 0.0]).shape)
for call in (lambda: ovde.make("GridChaos-v0"), lambda: ovde.evaluate(run, "GridChaos-v0:s", 1)):
    try:
        call()
    except ImportError as error:
        print(error)
""")
    assert (done.returncode, done.stderr) == (0, "")
    first, make, evaluate = done.stdout.splitlines()
    assert first == "(2,)" and make.startswith("ovde.make needs Gymnasium: ")
    assert evaluate.startswith("ovde.evaluate needs Gymnasium: ")


def test_without_numpy(script):
    done = script("""
import sys
sys.modules["numpy"] = None  # as if it were not installed
import ovde
""")
    assert "ImportError: ovde needs NumPy (pip install numpy" in done.stderr


def test_first_line_tells_length_and_evaluation(tmp_path, small, capfd):
    ovde.train("GridChaos-v0:s", "sac", epochs=2, out=tmp_path / "x", **small)
    first = "sac on GridChaos-v0:s: 2 epochs of 50 steps: 160 steps with the warm-up; evaluated for 200 steps after every epoch"
    assert capfd.readouterr().err.startswith(first)
    ovde.train("GridChaos-v0:s", "sac", epochs=1, out=tmp_path / "y", progress=False, **small)
    assert capfd.readouterr().err == ""
