"""Comparisons, reports and studies."""

import shutil

import numpy as np
import pytest

import ovde


def curves(mean, seed, shape=(6, 40)):
    rng = np.random.default_rng(seed)
    return mean + rng.normal(size=(shape[0], 1)) + 0.1 * rng.normal(size=shape)


def every(k):
    some = np.full((6, 40), np.nan)
    some[:, k - 1 :: k] = curves(3, 0)[:, k - 1 :: k]
    return some


def diverged(given, seed, epoch):
    given[seed, epoch:] = np.nan
    return given


def test_compare_finds_significant_differences(tmp_path):
    result = ovde.compare({"sb3": curves(0, 0), "same": curves(0.1, 1), "mine": curves(6, 2)}, title="Mine & theirs")
    verdicts = {test["baseline"]: test["verdict"] for test in result.tests}
    assert verdicts == {"sb3": "better", "same": "better"}
    turned = ovde.compare({"mine": curves(6, 2), "sb3": curves(0, 0)}, ours="sb3")
    assert [test["verdict"] for test in turned.tests] == ["worse"]
    [cell] = [cell for cell in result.cells if cell["method"] == "mine"]
    assert cell["runs"] == 6 and cell["low"] < cell["mean"] < cell["high"]
    # the score is the mean of the last 8 % of the epochs
    np.testing.assert_allclose(cell["scores"], curves(6, 2)[:, -4:].mean(axis=1))
    assert "mine" in result.to_markdown()
    assert "mine against sb3: better" in str(result)

    page = result.to_html(tmp_path / "deep" / "report.html")
    text = page.read_text()
    assert "Mine &amp; theirs" in text and "significant" in text.lower()
    assert [path.name for path in page.parent.iterdir()] == ["report.html"]
    if shutil.which("gnuplot"):
        assert "<svg" in text
    folder = result.report(tmp_path / "report").parent
    assert (folder / "tables" / "tests.csv").is_file()


def test_a_page_has_the_settings_of_runs_and_none_of_curves(tmp_path, trained_run):
    result = ovde.compare({"elsewhere": trained_run.curves["eval_return_mean"], "here": trained_run})
    text = result.to_html(tmp_path / "report.html").read_text()
    assert text.count("runs of another program") == 1 and text.count("network.hidden = [16]") == 1
    assert text.count("ovde train --task GridChaos-v0:s --algo dsac --seeds 0-1 --set") == 1


def test_compare_takes_a_list(tmp_path, small, trained_run):
    other = ovde.train("GridChaos-v0:s", "sac", seeds=[0, 1], epochs=3, out=tmp_path / "other", **small)
    again = ovde.train("GridChaos-v0:s", "sac", seeds=[0, 1], epochs=3, out=tmp_path / "again", **small)
    names = lambda *runs: [cell["method"] for cell in ovde.compare(list(runs)).cells]  # noqa: E731
    assert names(trained_run, other) == ["dsac", "sac"]
    assert names(other, again, trained_run) == [str(tmp_path / "other"), str(tmp_path / "again"), "dsac"]
    assert names(curves(0, 0), curves(1, 1)) == ["method 1", "method 2"]
    with pytest.raises(ovde.InputError, match="nothing to compare"):
        ovde.compare([])


def test_epochs_that_were_not_evaluated_are_left_out(tmp_path):
    some = np.full((6, 40), np.nan)
    some[:, ::3] = curves(3, 0)[:, ::3]
    result = ovde.compare({"all": curves(0, 1), "some": some})
    np.testing.assert_allclose(result.cells[1]["scores"], some[:, [36, 39]].mean(axis=1))
    assert result.to_html(tmp_path / "x.html").exists()


@pytest.mark.parametrize("k", [3, 7, 18])
def test_the_last_epoch_need_not_be_evaluated(k):
    [cell] = ovde.compare({"some": every(k)}).cells
    assert cell["runs"] == 6


def test_runs_of_different_tasks_are_not_compared(tmp_path, small, trained_run):
    other = ovde.train("GridChaos-v0:a", "sac", seeds=[0, 1], epochs=3, out=tmp_path / "x", **small)
    for given in ({"a": trained_run, "b": other}, {"T": {"a": trained_run, "b": other}}):
        with pytest.raises(ovde.InputError, match=r"a: GridChaos-v0:s, b: GridChaos-v0:a.*\{task: \{method: run\}\}"):
            ovde.compare(given)
    assert len(ovde.compare({"s": {"x": trained_run}, "a": {"x": other}}).cells) == 2


def test_unfinished_runs_are_not_compared(tmp_path, trained_run):
    shutil.copytree(trained_run.folder, tmp_path / "x")
    file = tmp_path / "x/seed_1/progress.csv"
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))
    with pytest.raises(ovde.InputError, match="seed 1: the curve is NaN after epoch 1, for 1 of 3"):
        ovde.compare({"x": ovde.Run(tmp_path / "x")})


def test_one_run_each_is_printed():
    assert "b against a" in str(ovde.compare({"a": curves(0, 0)[:1], "b": curves(1, 1)[:1]}))


def test_compare_takes_runs_curves_and_several_tasks(trained_run):
    both = {"a": trained_run.curves, "b": trained_run}
    assert {cell["task"] for cell in ovde.compare(both).cells} == {"GridChaos-v0:s"}
    tasks = ovde.compare({"Ant": {"x": curves(0, 0), "y": curves(1, 1)}, "Hopper": {"x": curves(0, 2), "y": curves(1, 3)}})
    assert [(cell["task"], cell["method"]) for cell in tasks.cells] == [
        ("Ant", "x"), ("Ant", "y"), ("Hopper", "x"), ("Hopper", "y"),
    ]  # fmt: skip
    assert len(tasks.tests) == 2


@pytest.mark.parametrize(
    "given, words",
    [
        ({}, "nothing"),
        ({"a": [1.0, 2.0]}, "seeds, epochs"),
        ({"a": np.zeros((2, 0))}, "seeds, epochs"),
        ({"a": np.full((2, 3), np.nan)}, "a, seed 0: the curve is NaN throughout"),
        ({"a": curves(0, 0), "b": diverged(curves(0, 0), 4, 39)}, "b, seed 4: the curve is NaN after epoch 38, for 1 of 40"),
        ({"a": diverged(every(3), 2, 36)}, "a, seed 2: the curve is NaN after epoch 35, for 4 of 40"),
        ({"a": curves(0, 0), "b": curves(0, 0, (6, 39))}, "task: a has 40 epochs, b 39"),
        ({"T": {"a": curves(0, 0)}, "U": {"b": curves(0, 0)}}, "methods"),
        ({"a": [[1.0, 2.0], [3.0]]}, r"a: must be a Run, its curves, or numbers of the shape \(seeds, epochs\)"),
        (["runs/a", "runs/b"], r"method 1: must be a Run, .*; ovde.Run\(folder\) opens a run"),
        ({"a": {"return": [1.0]}, "b": curves(0, 0)}, "a: must be a Run, its curves"),
        ({0.1: curves(0, 0), 0.2: curves(0, 0)}, "0.1: the name of a task or method must be a string"),
        ({"Ant": {}}, "nothing to compare"),
        ("runs/a", "'runs/a': must be a list of runs or arrays, or a dict"),
    ],
)
def test_invalid_comparisons_are_refused(given, words):
    with pytest.raises(ovde.Error, match=words):
        ovde.compare(given)


PLAN = """
title = "Two"
measures = ["score"]
show = ["table", "curves"]
seeds = "0-1"
epochs = 2
set = { network.hidden = [8], train.batch = 16, train.warmup_steps = 50, train.eval_steps = 100 }
[[row]]
name = "grid"
task = "GridChaos-v0:s"
[[column]]
name = "SAC"
algorithm = "sac"
[[column]]
name = "OVDE"
algorithm = "ovde_g"
role = "ours"
"""


def test_study_runs_and_reports(tmp_path):
    plan = tmp_path / "two.toml"
    plan.write_text(PLAN)
    seen = []
    page = ovde.study(plan, out=tmp_path / "out").run(jobs=2, progress=seen.append).report()
    assert page == tmp_path / "out" / "report.html" and "Two" in page.read_text()
    assert len(seen) == 8 and seen[-1]["done"] == pytest.approx(1)
    again = []
    ovde.study(plan, out=tmp_path / "out").run(progress=again.append)
    assert again == []  # nothing was left


@pytest.mark.parametrize("given", [dict(jobs=-1), dict(threads=-1), dict(jobs=1.5)])
def test_jobs_and_threads_are_counted(tmp_path, given):
    (tmp_path / "two.toml").write_text(PLAN)
    [name] = given
    with pytest.raises(ovde.InputError, match=f"{name}=.*: must be a whole number, at least 0"):
        ovde.study(tmp_path / "two.toml", out=tmp_path / "out").run(**given)
    assert not (tmp_path / "out").exists()


def test_a_wrong_plan_says_where(tmp_path):
    plan = tmp_path / "two.toml"
    plan.write_text(PLAN.replace("epochs", "epcohs"))
    with pytest.raises(ovde.InputError, match=r"two.toml:\d+.*epochs"):
        ovde.study(plan)


def test_report_of_a_run(trained_run, tmp_path):
    page = trained_run.report(tmp_path)
    assert page.name == "report.html" and "dsac on GridChaos-v0:s" in page.read_text()
