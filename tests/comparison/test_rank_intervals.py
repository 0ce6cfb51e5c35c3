"""Ranks that systems may have over data sets: closed forms, invariances, coverage, tables, bad input."""

from __future__ import annotations

import json
from itertools import product

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate import compare_data_sets, read_scores
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.write_results import render_result
from rankgate.measurement.stats.rank_separation import (
    alike_groups,
    compare_by_queries,
    compare_by_units,
    rank_intervals,
)
from support.command import assert_refused
from support.wording import raises


def board(values, names=None, sets=None):
    """A table of data sets by systems, as `read_scores` takes it."""
    names = names or [f"m{s}" for s in range(values.shape[1])]
    sets = sets or [f"t{d}" for d in range(len(values))]
    return {
        name: {data_set: {"AP": float(values[d, s])} for d, data_set in enumerate(sets)}
        for s, name in enumerate(names)
    }


def ranks(result, population="new data sets"):
    rows = result.intervals.filter(population=population)
    return {system: (low, high) for system, low, high in rows.select("system", "low", "high").iter_rows()}


def noisy(means, n=20, spread=0.01, seed=0):
    rng = np.random.default_rng(seed)
    return np.asarray(means) + rng.uniform(-0.2, 0.2, (n, 1)) + rng.normal(0, spread, (n, len(means)))


def test_flips_of_all_signs_bound_p_from_below():
    """Of two systems that always differ in one direction, p is that of the sign flips, 2/2ⁿ, or more."""
    for n in (2, 5, 8):
        values = np.column_stack([np.linspace(0.5, 0.6, n), np.linspace(0.1, 0.3, n)])
        result = compare_by_units(values)
        assert result.lowest_p == 2.0 ** (1 - n)
        assert result.p_value[0, 1] >= result.lowest_p
    assert result.is_better(0.95).tolist() == [[False, True], [False, False]]


def test_the_flips_are_those_counted_one_by_one():
    """For three systems on six rows, the step-down p of symmetric data by definition."""
    values = np.random.default_rng(5).normal(0, 1, (6, 3)) + np.array([0, 0.5, 3])
    pairs = [(0, 1), (0, 2), (1, 2)]
    differences = np.array([values[:, i] - values[:, j] for i, j in pairs])
    size = np.sqrt((differences**2).sum(axis=1))
    observed = np.abs(differences.sum(axis=1)) / size
    order = np.argsort(observed)
    flips = [np.abs(differences @ signs) / size for signs in product((1, -1), repeat=6)]
    expected = {}
    largest = 0.0
    for position in reversed(range(3)):
        remaining = order[: position + 1]
        share = np.mean([max(flip[remaining]) >= observed[order[position]] - 1e-12 for flip in flips])
        expected[pairs[order[position]]] = largest = max(largest, share)
    p_value = compare_by_units(values).p_value
    for pair, p in expected.items():
        assert p_value[pair] >= p - 1e-12  # the bootstrap may only raise it
        assert p_value[pair] == p_value[pair[::-1]]


def test_equal_systems_may_have_every_rank():
    column = np.random.default_rng(0).normal(0.5, 0.1, (12, 1))
    result = compare_by_units(np.repeat(column, 4, axis=1))
    low, high = rank_intervals(result.is_better(0.95))
    assert low.tolist() == [1] * 4
    assert high.tolist() == [4] * 4
    assert alike_groups(np.arange(4), result.is_better(0.95)) == [(0, 4)]


def test_a_near_copy_of_a_system_hides_no_others():
    """Two systems that differ in two rows have resamples without any spread of their difference."""
    values = noisy([0.3, 0.5, 0.4], n=40)
    copy = values[:, [1]] + np.eye(40)[:, [3]] / 100 - np.eye(40)[:, [7]] / 50
    is_better = compare_by_units(np.hstack([values, copy])).is_better(0.95)
    assert is_better.sum(axis=1).tolist() == [0, 2, 1, 2]


def test_clearly_different_systems_have_their_ranks():
    result = compare_data_sets(read_scores(board(noisy([0.3, 0.5, 0.4, 0.5]))))
    assert ranks(result) == {"m0": (4, 4), "m1": (1, 2), "m3": (1, 2), "m2": (3, 3)}
    row = result.separations.row(0, named=True)
    counts = {name: row[name] for name in ("pairs", "separate", "neighbours", "separate_neighbours", "best")}
    assert counts == {"pairs": 6, "separate": 5, "neighbours": 3, "separate_neighbours": 2, "best": 2}
    groups = [set(systems) for systems in result.groups["systems"]]
    assert groups == [{"m1", "m3"}, {"m2"}, {"m0"}]


@pytest.mark.parametrize(
    "change", [lambda x: x + 7, lambda x: x * 3, lambda x: x + np.arange(len(x))[:, None]]
)
def test_ranks_do_not_depend_on_scale_nor_on_the_level_of_a_data_set(change):
    values = noisy([0.3, 0.31, 0.32, 0.5], spread=0.02)
    before, after = compare_by_units(values), compare_by_units(change(values))
    assert np.allclose(before.p_value, after.p_value, atol=1e-12)


def test_names_and_order_do_not_matter():
    values = noisy([0.3, 0.31, 0.32, 0.5], n=10, spread=0.02)
    order = [2, 0, 3, 1]
    before = ranks(compare_data_sets(read_scores(board(values))))
    renamed = board(values[:, order], [f"m{s}" for s in order])
    assert ranks(compare_data_sets(read_scores(renamed))) == before


def test_lower_is_better_turns_the_ranks():
    values = noisy([0.1, 0.5])
    table = {
        name: {item: {"loss": value["AP"]} for item, value in rows.items()}
        for name, rows in board(values).items()
    }
    result = compare_data_sets(read_scores(table, directions={"loss": "lower"}))
    assert ranks(result) == {"m0": (1, 1), "m1": (2, 2)}
    assert result.intervals["mean"].to_list() == pytest.approx([*values.mean(axis=0)])


@pytest.mark.parametrize("spread", ["normal", "heavy", "unequal"])
def test_a_wrong_pair_is_rare(spread):
    """Of 300 tables of 6 equal systems, far fewer than 10 % may have a pair that is told apart."""
    rng = np.random.default_rng(11)
    wrong = 0
    for seed in range(300):
        noise = rng.standard_t(3, (12, 6)) if spread == "heavy" else rng.normal(0, 1, (12, 6))
        if spread == "unequal":
            noise *= np.exp(rng.normal(0, 1, (12, 1))) * np.arange(1, 7)
        wrong += bool(compare_by_units(noise, samples=199, seed=seed).is_better(0.95).any())
    assert wrong <= 27  # 5 % and three standard errors


def test_new_queries_need_no_agreement_of_data_sets():
    """Two systems that differ in opposite directions on two data sets, more on the first."""
    rng = np.random.default_rng(3)
    first = rng.normal([0.9, 0.3], 0.05, (40, 2))
    second = rng.normal([0.4, 0.5], 0.05, (60, 2))
    result = compare_by_queries([first, second])
    assert result.means == pytest.approx(
        [(a + b) / 2 for a, b in zip(first.mean(0), second.mean(0), strict=True)]
    )
    assert result.p_value[0, 1] < 0.01
    assert compare_by_units(np.stack([first.mean(0), second.mean(0)])).p_value[0, 1] >= 0.5


def test_one_bad_query_of_many_is_no_difference():
    rng = np.random.default_rng(4)
    values = rng.normal(0.5, 0.1, (30, 2))
    values[0, 1] = -40.0
    assert compare_by_queries([values, rng.normal(0.5, 0.1, (30, 2))]).p_value[0, 1] > 0.05


def judged(name, means, queries=12):
    """A comparison on one data set whose systems find the relevant document at drawn ranks."""
    rng = np.random.default_rng(len(name))
    qrels = {f"{name}{i}": {"r": 1} for i in range(queries)}
    runs = {
        system: {
            query: {"r" if rank == found else f"n{rank}": 1 / rank for rank in range(1, 9)}
            for query in qrels
            for found in [min(8, 1 + int(rng.exponential(mean)))]
        }
        for system, mean in means.items()
    }
    baseline, *others = runs
    return rankgate.compare(qrels, {baseline: runs[baseline]}, {name: runs[name] for name in others}, ["RR"])


def test_comparisons_of_data_sets_have_both_populations():
    means = {"slow": 9.0, "good": 0.4, "fine": 0.5}
    comparisons = {name: judged(name, means) for name in ("a", "bb", "ccc")}
    result = compare_data_sets(comparisons)
    assert ranks(result) == dict.fromkeys(means, (1, 3))  # three data sets show nothing of others
    assert [notice.code for notice in result.notices] == ["few-data-sets-for-ranks"]
    assert ranks(result, "new queries") == {"good": (1, 2), "fine": (1, 2), "slow": (3, 3)}
    assert result.intervals["mean"][0] == result.ranks.filter(system="good")["macro_mean"].item()
    text = " ".join(render_result(result, "text", width=160).split())
    assert "ranks, queries" in text
    assert "at least 6 are needed" in text
    assert rankgate.DataSetComparison.from_dict(json.loads(json.dumps(result.to_dict()))).groups.equals(
        result.groups
    )
    few = compare_data_sets({name: judged(name, means, queries=9) for name in ("a", "bb")})
    assert few.intervals["population"].unique().to_list() == ["new data sets"]
    assert "which are not here" in " ".join(render_result(few, "text").split())


def test_results_of_earlier_versions_have_no_ranks():
    values = compare_data_sets(read_scores(board(noisy([0.3, 0.5])))).to_dict()
    for name in ("intervals", "groups", "separations"):
        del values[name]
    old = rankgate.DataSetComparison.from_dict(values)
    assert old.intervals.is_empty()
    assert "may rank" not in render_result(old, "text")
    assert old.notices == ()


def test_the_chart_has_a_line_for_each_system():
    result = compare_data_sets(read_scores(board(noisy([0.3, 0.5, 0.4]))))
    picture = result.plot()
    assert [row["system"] for row in picture.rows] == ["m1", "m2", "m0"]
    assert "<svg" in picture.svg()


def mteb_folder(root, values, *, subsets=("default",), revisions=1):
    """A folder of results as MTEB keeps them: MODEL/REVISION/TASK.json and model_meta.json."""
    for s in range(values.shape[1]):
        for revision in range(revisions):
            folder = root / f"org__m{s}" / f"{revision}{s:039x}"
            folder.mkdir(parents=True)
            (folder / "model_meta.json").write_text(
                json.dumps({"name": f"org/m{s}", "revision": folder.name})
            )
            for d in range(len(values)):
                rows = [
                    {
                        "hf_subset": name,
                        "languages": ["eng-Latn"],
                        "main_score": float(values[d, s]),
                        "f1": 0.1,
                    }
                    for name in subsets
                ]
                content = {"task_name": f"Task{d}", "mteb_version": "1.38", "scores": {"test": rows}}
                (folder / f"Task{d}.json").write_text(json.dumps(content))
    return root


def test_a_folder_of_mteb_results_is_a_table_of_models_and_tasks(tmp_path, run):
    values = noisy([0.3, 0.5, 0.4])
    folder = mteb_folder(tmp_path / "results", values, subsets=("en", "de"))
    result = compare_data_sets(read_scores(folder))
    assert result.systems == ("org/m0", "org/m1", "org/m2")
    assert result.data_sets == tuple(sorted((f"Task{d}" for d in range(20)), key=str))
    assert result.intervals["mean"].to_list() == pytest.approx(sorted(values.mean(axis=0), reverse=True))
    out = run("compare", "--data-sets", "--scores", str(folder)).out
    assert "3 of 3 pairs of systems differ" in out
    names = tmp_path / "benchmark.txt"
    names.write_text("Task1\nTask2\n\nTask3\n")
    arguments = ("compare", "--data-sets", "--scores", str(folder), "--only", str(names), "--format", "json")
    answer = json.loads(run(*arguments).out)
    assert answer["data_sets"] == ["Task1", "Task2", "Task3"]
    assert answer["kind"] == "data_set_comparison"
    assert run("compare", "--data-sets", "--scores", str(folder), "org/m1", "org/m0").out.startswith(
        "2 systems"
    )


def test_revisions_of_a_model_are_systems(tmp_path):
    folder = mteb_folder(tmp_path, noisy([0.3, 0.5], n=6), revisions=2)
    systems = compare_data_sets(read_scores(folder)).systems
    assert systems == ("org/m0 (00000000)", "org/m0 (10000000)", "org/m1 (00000000)", "org/m1 (10000000)")


def test_missing_data_sets_are_refused_or_left_out(tmp_path, run):
    table = board(noisy([0.3, 0.5, 0.4], n=8))
    del table["m1"]["t3"]
    table["m2"]["t5"]["AP"] = None
    with raises("missing-value", InputError) as caught:
        compare_data_sets(read_scores(table))
    assert "not all of the 3 systems have all 8 data sets: m1 lacks t3; m2 lacks t5" in str(caught.value)
    fewer_sets = compare_data_sets(read_scores(table), missing="data-sets")
    assert fewer_sets.data_sets == ("t0", "t1", "t2", "t4", "t6", "t7")
    assert fewer_sets.data_sets_left_out == ("t3", "t5")
    assert [notice.code for notice in fewer_sets.notices] == ["data-sets-left-out"]
    with raises("missing-input", UsageError):
        compare_data_sets(read_scores(table), missing="systems")
    table["m3"] = {item: {"AP": 0.9 + d / 100} for d, item in enumerate(table["m0"])}
    fewer_systems = compare_data_sets(read_scores(table), missing="systems")
    assert fewer_systems.systems == ("m0", "m3")
    assert fewer_systems.systems_left_out == ("m1", "m2")
    assert compare_data_sets(read_scores(table), only=["t0", "t1", "t2"]).data_sets == ("t0", "t1", "t2")
    path = tmp_path / "table.csv"
    path.write_text("task,a,b\nx,0.1,0.2\ny,0.3,\n")
    options = ("compare", "--data-sets", "--scores", str(path), "-m", "AP")
    assert_refused(run(*options), "missing-value", "scores")


def test_a_cluster_of_items_is_one_data_set():
    table = board(noisy([0.3, 0.5], n=6))
    tags = pl.DataFrame({"query_id": [f"t{d}" for d in range(6)], "cluster": ["a", "a", "a", "b", "b", "c"]})
    result = compare_data_sets(read_scores(table, tags=tags))
    assert result.data_sets == ("a", "b", "c")
    values = [table["m0"][f"t{d}"]["AP"] for d in range(6)]
    expected = np.mean([np.mean(values[:3]), np.mean(values[3:5]), values[5]])
    assert result.intervals.filter(system="m0")["mean"].item() == pytest.approx(expected)


@pytest.mark.parametrize(
    ("change", "code"),
    [
        (lambda folder: (folder / "Task0.json").write_text('{"task_name": "T'), "invalid-json"),
        (
            lambda folder: (folder / "copy.json").write_text((folder / "Task0.json").read_text()),
            "duplicate-value",
        ),
        (lambda folder: [path.unlink() for path in folder.glob("Task*")], "no-values"),
    ],
)
def test_damaged_folders_are_refused(tmp_path, change, code):
    root = mteb_folder(tmp_path, noisy([0.3], n=2))
    change(next(root.glob("*/*")))
    with raises(code, InputError):
        compare_data_sets(read_scores(root))


@pytest.mark.parametrize(
    ("table", "options", "code"),
    [
        (board(noisy([0.3, 0.5], n=1)), {}, "missing-input"),
        (board(noisy([0.3], n=4)), {}, "missing-input"),
        (board(noisy([0.3, 0.5])), {"systems": ["m9"]}, "unknown-choice"),
        (board(noisy([0.3, 0.5])), {"only": ["t1", "t99"]}, "unknown-choice"),
        (board(noisy([0.3, 0.5])), {"only": ["t1", "t1"]}, "duplicate-name"),
        (board(noisy([0.3, 0.5])), {"test": rankgate.Test(interval="bca")}, "unused-option"),
        ({**board(noisy([0.3, 0.5])), "other": {"t0": {"RR": 1.0}}}, {}, "not-comparable"),
        ({"a": {"t0": {"AP": 2.0}}, "b": {"t0": {"AP": 0.2}}}, {}, "out-of-range"),
    ],
)
def test_what_cannot_be_compared_is_refused(table, options, code):
    with raises(code):
        compare_data_sets(read_scores(table), **options)


def test_options_of_scores_are_refused_for_comparisons():
    comparisons = {name: judged(name, {"x": 1.0, "y": 2.0}) for name in ("a", "bb")}
    with raises("unused-option"):
        compare_data_sets(comparisons, only=["a"])


@pytest.fixture
def paths(tmp_path, monkeypatch):
    """Three data sets with judgments and two runs each."""
    monkeypatch.chdir(tmp_path)
    for name in ("fiqa", "nq", "scifact"):
        (tmp_path / name).mkdir()
        rows = range(12)
        (tmp_path / name / "qrels.txt").write_text("".join(f"{name}{i} 0 r 1\n" for i in rows))
        for system, rank in (("old", 3), ("new", 1)):
            lines = [
                f"{name}{i} Q0 {'r' if place == max(1, rank - i % 2) else f'n{place}'} {place} {-place} run\n"
                for i in rows
                for place in range(1, 5)
            ]
            (tmp_path / name / f"{system}.run").write_text("".join(lines))
    return "{data_set}/qrels.txt", "{data_set}/old.run", "{data_set}/new.run"


def test_paths_of_data_sets_are_compared_at_once(run, paths):
    answer = json.loads(run("compare", "--data-sets", *paths, "-m", "RR", "--format", "json").out)
    assert answer["data_sets"] == ["fiqa", "nq", "scifact"]
    assert answer["systems"] == ["old", "new"]
    rows = [row for row in answer["intervals"] if row["population"] == "new queries"]
    assert [(row["system"], row["low"], row["high"]) for row in rows] == [("new", 1, 1), ("old", 2, 2)]
    two = json.loads(
        run("compare", "--data-sets", *paths, "--only", "nq", "--only", "fiqa", "--format", "json").out
    )
    assert two["data_sets"] == ["nq", "fiqa"]


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        (("{data_set}/qrels.txt", "{data_set}/old.run"), "missing-input", "two runs are needed"),
        (
            ("{data_set}/qrels.txt", "fiqa/old.run", "{data_set}/new.run"),
            "missing-input",
            "fiqa/old.run has no",
        ),
        (("{data_set}/judged.txt", "{data_set}/old.run", "{data_set}/new.run"), "no-file", "no judgments at"),
        (
            ("{data_set}/qrels.txt", "{data_set}/old.run", "{data_set}/new.run", "--only", "quora"),
            "no-file",
            "no judgments of quora; there are those of fiqa, nq, scifact",
        ),
        (
            ("{data_set}/qrels.txt", "{data_set}/old.run", "{data_set}/new.run", "--missing", "systems"),
            "conflicting-options",
            "--missing is for --data-sets with --scores",
        ),
        (
            ("{data_set}/qrels.txt", "{data_set}/old.run", "{data_set}/new.run", "--query", "nq1"),
            "conflicting-options",
            "--query is for one data set",
        ),
    ],
)
@pytest.mark.usefixtures("paths")
def test_other_paths_are_refused(run, arguments, code, text):
    ended = run("compare", "--data-sets", *arguments)
    assert_refused(ended, code)
    assert text in ended.err


@pytest.mark.usefixtures("paths")
def test_only_is_for_data_sets(run):
    assert_refused(
        run("compare", "fiqa/qrels.txt", "fiqa/old.run", "fiqa/new.run", "--only", "fiqa"),
        "conflicting-options",
    )
