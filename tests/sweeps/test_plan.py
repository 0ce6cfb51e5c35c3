"""Sweeps that cannot be run, and why, with file and line."""

from pathlib import Path
from types import SimpleNamespace

import pytest

import rankgate
from rankgate.decisions.sweeps import point_measurer
from rankgate.decisions.sweeps.dials import Dial, RangeKeys, grid_points, is_same_value
from rankgate.decisions.sweeps.sweep_plan import read_plan
from support.wording import raises

from .conftest import DIALS, HEAD

LINES = len(HEAD.splitlines())


def test_a_range_has_evenly_spaced_values(plan):
    text = """[dials]
title = {low = 0, high = 1, steps = 5}
body = {low = 0.1, high = 10, steps = 3, log = true}
depth = {low = 1, high = 4, steps = 3, integer = true}
"""
    title, body, depth = read_plan(plan(text)).dials
    assert title.values == (0, 0.25, 0.5, 0.75, 1)
    assert body.values == (0.1, 1, 10)
    assert depth.values == (1, 2, 4)
    assert all(isinstance(value, int) for value in depth.values)
    assert 0.3 in title
    assert 2 not in title
    assert RangeKeys(0, 1).steps is None


def test_the_baseline_is_the_first_point_and_of_the_engine(plan):
    sweep_plan = read_plan(plan())
    assert sweep_plan.baseline == {"title": 1.0, "table": "plain"}
    assert len(sweep_plan.points) == 6
    assert sweep_plan.points[0] == sweep_plan.baseline
    baseline_plan = read_plan(plan(f"{DIALS}[baseline]\ntitle = 2\n"))
    assert len(baseline_plan.points) == 7
    assert baseline_plan.points[0] == {"title": 2, "table": "plain"}


def test_a_grid_has_every_combination_once():
    dials = (Dial("a", (1, 2)), Dial("b", ("x", True)))
    assert [tuple(point.values()) for point in grid_points(dials)] == [
        (1, "x"),
        (1, True),
        (2, "x"),
        (2, True),
    ]
    assert is_same_value(2, 2.0)
    assert not is_same_value(0, [False][0])


@pytest.mark.parametrize(
    ("code", "line", "text"),
    [
        ("unknown-dial", 2, "[dials]\nboost = [1, 2]\n"),
        ("unused-dial", 2, "[dials]\nspare = [1, 2]\n"),
        ("unknown-dial", 3, "[dials]\ntitle = [1]\ntable = [3]\n"),
        ("unknown-dial", 2, '[dials]\nmatch = ["or", "near"]\n'),
        ("empty-grid", 2, "[dials]\ntitle = []\n"),
        ("invalid-sweep", 2, "[dials]\ntitle = 3\n"),
        ("invalid-sweep", 2, "[dials]\ntitle = [1, 2, 1.0]\n"),
        ("invalid-sweep", 2, "[dials]\ntitle = [{a = 1}]\n"),
        ("invalid-sweep", 2, "[dials]\ntitle = [[[1], 2]]\n"),
        ("unknown-dial", 2, "[dials]\ntitle = {values = [1, 2], when = {body = [1]}}\nbody = [1, 2]\n"),
        ("unused-dial", 3, "[dials]\ntitle = [1, 2]\nbody = {values = [2], when = {title = 7}}\n"),
        ("invalid-sweep", 2, "[dials]\ntitle = {low = 1, high = 2}\n"),
        ("invalid-sweep", 2, "[dials]\ntitle = {low = 2, high = 1, steps = 3}\n"),
        ("invalid-sweep", 2, "[dials]\ntitle = {low = 0, high = 1, steps = 3, log = true}\n"),
        ("invalid-sweep", 2, "[dials]\ntitle = {low = 0.5, high = 4, steps = 3, integer = true}\n"),
        ("invalid-sweep", 2, "[dials]\ntitle = {low = 0, high = 1, step = 3}\n"),
        ("large-grid", 1, "[dials]\ntitle = {low = 0, high = 1, steps = 900}\nbody = [1, 2]\n"),
        ("unknown-dial", 4, "[dials]\ntitle = [1]\n[baseline]\nbody = 1\n"),
        ("missing-baseline", 2, '[dials]\nk1 = [1]\n[[setup]]\nsql = "SELECT {{k1}}"\n'),
        ("unknown-dial", 3, '[dials]\ntitle = [1]\n[[setup]]\nsql = "SELECT {{k1}}"\n'),
        ("invalid-sweep", 3, "[dials]\ntitle = [1]\n[[setup]]\ntimeout = 3\n"),
        ("invalid-sweep", 4, '[dials]\ntitle = [1]\n[[setup]]\nrequets = "GET /"\n'),
        ("invalid-sweep", 3, '[dials]\ntitle = [1]\n[[setup]]\nrequest = "/shop"\n'),
        ("invalid-sweep", 3, '[dials]\ntitle = [1]\n[[undo]]\nsql = "SELECT 1"\n'),
        ("invalid-sweep", None, "[dails]\ntitle = [1]\n"),
        ("invalid-sweep", None, ""),
    ],
)
def test_dials_that_cannot_be(plan, code, line, text):
    file = plan(text)
    with raises(code, source=str(file), line=line and LINES + line):
        read_plan(file)


@pytest.mark.parametrize(
    ("code", "line", "old", "new"),
    [
        ("invalid-sweep", 1, 'qrels = "qrels.txt"\n', ""),
        ("invalid-sweep", 1, 'queries = "queries.tsv"\n', ""),
        ("invalid-sweep", 1, 'engine = "engine.toml"\n', ""),
        ("invalid-sweep", 5, "metrics", "metric"),
        ("unknown-metric", 5, "nDCG@10", "nDGC@10"),
        ("invalid-sweep", 6, "[dials]", 'search = "random"\n[dials]'),
        ("queries-differ", 4, "qrels.txt", "other.txt"),
    ],
)
def test_settings_that_cannot_be(plan, shop, code, line, old, new):
    (shop / "other.txt").write_text("x1 0 d1 1\n")
    text = (HEAD + DIALS).replace(old, new)
    file = plan(text, "")
    with raises(code, source=str(file), line=line):
        rankgate.sweep(file)


def test_files_that_are_not_there(plan, shop):
    with raises("cannot-read", source=str(shop / "gone.toml")):
        rankgate.sweep(shop / "gone.toml")
    with raises("cannot-read"):
        rankgate.sweep(plan(head=HEAD.replace("engine.toml", "gone.toml")))


def test_a_fusion_and_a_command_need_what_they_are_made_of(plan, shop):
    fuse = '[sweep]\nqrels = "qrels.txt"\n[fuse]\nruns = ["a.run"]\n[dials]\nk = [1]\n'
    (shop / "a.run").write_text("q1 Q0 d1 1 1.0 a\n")
    with raises("invalid-sweep", line=4):
        read_plan(plan(fuse, ""))
    (shop / "b.run").write_text("q1 Q0 d1 1 1.0 b\n")
    with raises("unknown-dial", line=6):
        read_plan(plan(fuse.replace('"a.run"', '"a.run", "b.run"'), ""))
    command = '[sweep]\nqrels = "qrels.txt"\n[command]\ncommand = ["rank"]\n[dials]\nk = [1]\n'
    with raises("invalid-sweep", line=4):
        read_plan(plan(command, ""))
    with raises("unknown-dial", line=6):
        read_plan(plan(command.replace('"rank"', '"rank", "{{run}}"'), ""))
    with raises("invalid-sweep", line=1):
        read_plan(plan(command.replace("qrels =", 'engine = "engine.toml"\nqrels ='), ""))


@pytest.mark.parametrize(
    ("code", "line", "text"),
    [
        ("unused-option", 7, "weights = [1, 1]\n[dials]\nnorm = ['sum']\n[baseline]\nnorm = 'min-max'\n"),
        ("unused-dial", 8, "weights = [1, '{{b}}']\n[dials]\nb = [1, 2]\n[baseline]\nb = 1\n"),
        ("unknown-dial", 7, "[dials]\nmethod = ['combsum', 'mean-of-all']\n"),
        ("unknown-dial", 8, "norm = 'sum'\n[dials]\nnorm = ['none', 'half']\n"),
        ("missing-input", 6, "[dials]\nmethod = ['combsum', 'bayesfuse']\n"),
        ("invalid-parameter", 6, "[dials]\nmethod = ['combsum', 'linear']\nweights = [[0, 0]]\n"),
        ("invalid-parameter", 6, "[dials]\nmethod = ['combsum', 'linear']\nweights = [[1, 1, 1]]\n"),
        ("unknown-parameter", 7, "parameters = {kk = 3}\n[dials]\nmethod = ['combsum', 'rrf']\n"),
    ],
)
def test_points_that_cannot_succeed_are_refused_before_any_run(plan, shop, code, line, text):
    for name in "ab":
        (shop / f"{name}.run").write_text(f"q1 Q0 d1 1 1.0 {name}\n")
    head = '[sweep]\nqrels = "qrels.txt"\n[fuse]\nmethod = "combsum"\nruns = ["a.run", "b.run"]\n'
    file = plan(head + text, "")
    with raises(code, source=str(file), line=line):
        rankgate.sweep(file)
    assert not (shop / "sweep.points").exists()


def test_the_certificates_of_a_step_are_next_to_the_file(plan, shop, monkeypatch):
    monkeypatch.chdir("/")
    step = '[[{}]]\nrequest = "PUT http://127.0.0.1:9/{{{{title}}}}"\nca = "{}"\n'
    file = plan(
        "[dials]\ntitle = [1, 2]\n" + step.format("setup", "certs/ca.pem") + step.format("undo", "/ca.pem")
    )
    setup = read_plan(file).setup
    assert [step.ca for step in setup.steps] == [str(shop / "certs/ca.pem")]
    assert [step.ca for step in setup.undo] == ["/ca.pem"]


@pytest.mark.parametrize(
    ("now", "done", "text"),
    [
        (130.0, 0, ""),
        (130.0, 1, ", 90 s left"),
        (130.0, 2, ", 30 s left"),
        (140.0, 1, ", 2 min left"),
        (900.0, 2, ", 13 min left"),
        (103.0, 4, ""),
    ],
)
def test_the_remaining_time_is_that_of_the_points_so_far(monkeypatch, now, done, text):
    """Four points, begun at 100 s."""
    monkeypatch.setattr(point_measurer, "time", SimpleNamespace(monotonic=lambda: now))
    measurer = point_measurer.PointMeasurer(None, Path(), 4, _began=100.0, _done=done)
    assert measurer._remaining_time() == text
