"""``rankgate compare``, ``blindspots`` and ``holes``: formats, and figures computed by hand."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path

import pytest

from support.command import assert_refused

COMMANDS = ("compare", "blindspots", "holes")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Twelve queries, one good document each; new finds it first, old second."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "qrels.txt").write_text("".join(f"q{i} 0 good 2\nq{i} 0 bad 0\n" for i in range(12)))
    rows = {
        "old.run": ["bad", "good", "x"],
        "new.run": ["good", "y", "bad"],
        "other.run": ["y", "bad", "good"],
    }
    for name, docs in rows.items():
        lines = [f"q{i} Q0 {d} {r} {9 - r} t\n" for i in range(12) for r, d in enumerate(docs, 1)]
        (tmp_path / name).write_text("".join(lines))
    (tmp_path / "tags.csv").write_text(
        "query_id,kind\n" + "".join(f"q{i},{'head' if i < 6 else 'tail'}\n" for i in range(12))
    )
    return ["qrels.txt", "old.run", "new.run"]


@pytest.mark.parametrize("form", ["text", "json", "csv", "markdown", "latex"])
def test_every_form_of_a_comparison_has_the_difference(run, data, form):
    result = run("compare", *data, "-m", "RR", "--format", form)
    assert result.code == 0
    assert "0.5" in result.out
    if form == "json":
        (comparison,) = json.loads(result.out)["comparisons"]
        row = comparison["metrics"][0]
        assert (row["baseline"], row["candidate"], row["delta"]) == (0.5, 1.0, 0.5)
        assert (row["wins"], row["ties"], row["losses"]) == (12, 0, 0)
    if form == "csv":
        (row,) = [r for r in csv.DictReader(io.StringIO(result.out)) if r.get("metric") == "RR"][:1]
        assert float(row["delta"]) == 0.5
    if form == "text":
        assert all(len(line) <= 80 for line in result.out.splitlines())


def test_both_lists_of_a_query(run, data):
    result = run("compare", *data, "-m", "RR", "--query", "q3").out
    assert "query q3" in result
    rows = [line.split() for line in result.splitlines() if line.strip()[:1].isdigit()]
    assert rows[0][:4] == ["1", "bad", "0", "-2"]  # two ranks lower in the candidate
    result = run("compare", *data, "-m", "RR", "--query", "q99")
    assert_refused(result, "unknown-query")


def test_slices(run, data):
    result = run("compare", *data, "-m", "RR", "--tags", "tags.csv", "--slice", "kind").out
    assert "head" in result
    assert "tail" in result
    result = run("compare", *data, "-m", "RR", "--tags", "tags.csv", "--slice", "mood")
    assert_refused(result, "unknown-tag")


def test_slices_of_three_systems_have_a_row_for_each_candidate(run, data):
    result = run("compare", *data, "other.run", "-m", "RR", "--tags", "tags.csv", "--slice", "kind").out
    begin = result.index("kind: figures of each value")
    rows = [line.split() for line in result[begin:].splitlines() if line[:4] in {"head", "tail"}]
    figures = {(row[0], row[2]): row[3:6] for row in rows if row[4:5] == ["0.5000"]}
    assert figures == {
        (part, system): ["6*", "0.5000", mean]
        for part in ("head", "tail")
        for system, mean in (("new", "1.0000"), ("other", "0.3333"))
    }


def test_three_systems_get_every_pair(run, data):
    result = run("compare", *data, "other.run", "-m", "RR", "-m", "nDCG@10", "--format", "json")
    systems = json.loads(result.out)["systems"]
    assert {(row["first"], row["second"]) for row in systems["pairs"]} == {
        ("old", "new"),
        ("old", "other"),
        ("new", "other"),
    }
    (order,) = systems["orderings"]
    assert (order["tau"], order["rbo"]) == (1, pytest.approx(1))


def test_the_same_words_give_the_same_bytes(run, data):
    arguments = ("compare", *data, "-m", "RR", "--test", "randomization", "--interval", "bca")
    assert run(*arguments).out == run(*arguments).out


def test_what_the_reciprocal_rank_does_not_see(run, data):
    result = json.loads(run("blindspots", *data[:2], "-m", "RR", "-m", "P@3", "--format", "json").out)
    share = {(row["change"], row["metric"]): row["unmoved"] for row in result["profile"]}
    assert share["swap ranks 1 and 2", "RR"] == 0
    assert share["swap ranks 1 and 2", "P@3"] == 1
    assert "swap ranks 1 and 2" in run("blindspots", *data[:2], "-m", "RR").out
    assert run("blindspots", *data, "-m", "RR", "--format", "markdown").out.count("|") > 20


def test_bounds_of_the_holes(run, data):
    result = json.loads(run("holes", *data, "-m", "P@1", "-m", "P@3", "--format", "json").out)
    rows = {row["metric"]: row for row in result["metrics"]}
    # every first document is judged; one of three of either list is not
    assert (rows["P@1"]["worst"], rows["P@1"]["delta"], rows["P@1"]["best"]) == (1, 1, 1)
    third = pytest.approx(1 / 3)
    assert (rows["P@3"]["worst"], rows["P@3"]["delta"]) == (pytest.approx(-1 / 3), 0)
    assert rows["P@3"]["best"] == third
    assert len(result["judge_next"]) == 24


def test_the_pool_of_what_to_judge_next(run, data):
    result = run("holes", *data, "-m", "P@3", "--format", "pool", "--judge-next", "5")
    rows = list(csv.reader(io.StringIO(result.out)))
    assert rows[0] == ["query", "document", "why"]
    assert len(rows) == 6
    assert {row[1] for row in rows[1:]} <= {"x", "y"}


def test_the_first_of_what_to_judge_next_is_shown(run, data):
    words = ("holes", *data, "-m", "P@3")
    rows = json.loads(run(*words, "--format", "json").out)["judge_next"]
    pairs = [(row["query_id"], row["doc_id"]) for row in rows]
    lines = run(*words, "--judge-next", "5").out.splitlines()
    shown = [tuple(line.split()[:2]) for line in lines]
    assert [pair for pair in shown if pair in set(pairs)] == pairs[:5]
    pool = csv.reader(io.StringIO(run(*words, "--format", "pool", "--judge-next", "5").out))
    assert [tuple(row[:2]) for row in pool][1:] == pairs[:5]


def test_ids_like_formulas_are_guarded_once_in_the_pool(run, tmp_path):
    for name, text in (("q.txt", "q 0 a 1\n"), ("old", "q Q0 a 1 2 t\n"), ("new", "q Q0 =x 1 2 t\n")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    paths = [tmp_path / name for name in ("q.txt", "old", "new")]
    pool = tmp_path / "pool.csv"
    run("holes", *paths, "-m", "P@1", "--format", "pool", "-o", pool)
    assert next(line for line in pool.read_text("utf-8").splitlines() if "x" in line).startswith("q, =x,")


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    ("change", "code", "line"),
    [
        (("new.run", "q0 Q0 good 1 x t\n"), "not-a-number", 1),
        (("qrels.txt", "q0 0 good\n"), "not-a-number", 1),
        (("new.run", ""), "empty-file", None),
    ],
)
def test_what_is_wrong_is_reported_with_its_place(run, data, name, change, code, line):
    with open(change[0], "w", encoding="utf-8") as stream:  # noqa: PTH123 - in the folder
        stream.write(change[1])
    assert_refused(run(name, *data, "-m", "P@3"), code, change[0], line)


def test_two_query_sets_are_refused_unless_allowed(run, data):
    with open("new.run", encoding="utf-8") as stream:  # noqa: PTH123 - in the folder
        lines = [line for line in stream if not line.startswith("q1")]
    with open("new.run", "w", encoding="utf-8") as stream:  # noqa: PTH123 - in the folder
        stream.writelines(lines)
    result = run("compare", *data, "-m", "RR")
    assert_refused(result, "values-differ")
    zero = json.loads(run("compare", *data, "-m", "RR", "--unequal", "zero", "--format", "json").out)
    drop = json.loads(run("compare", *data, "-m", "RR", "--unequal", "drop", "--format", "json").out)
    delta = [output["comparisons"][0]["metrics"][0]["delta"] for output in (zero, drop)]
    assert delta == [pytest.approx((9 * 1.0) / 12 - 0.5), 0.5]
    assert len(drop["comparisons"][0]["excluded"]) >= 3


@pytest.mark.usefixtures("data")
def test_nothing_changed(run):
    Path("again.run").write_bytes(Path("old.run").read_bytes())
    result = run("compare", "qrels.txt", "old.run", "again.run", "-m", "RR")
    assert result.code == 0
    assert "1.000" in result.out
    assert "no query changed its value" in result.out
    assert "nan" not in result.out.lower()


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "qrels.txt", "old.run", "new.run", "./old.run"),
        ("gate", "qrels.txt", "old.run", "old.run"),
        ("report", "qrels.txt", "old.run", "link.run", "-o", "r.html"),
        ("holes", "qrels.txt", "old.run", "old.run"),
        ("blindspots", "qrels.txt", "old.run", "old.run"),
    ],
)
@pytest.mark.usefixtures("data")
def test_the_baseline_is_no_candidate(run, words):
    Path("link.run").symlink_to("old.run")
    assert_refused(run(*words), "baseline-is-candidate")


def test_one_query(run, data):
    with open("qrels.txt", "w", encoding="utf-8") as stream:  # noqa: PTH123 - in the folder
        stream.write("q0 0 good 1\n")
    result = run("compare", *data, "-m", "RR", "--format", "json")
    row = json.loads(result.out)["comparisons"][0]["metrics"][0]
    assert (row["n"], row["low"], row["p_value"]) == (1, None, None)


@pytest.mark.parametrize("metric", ["GMAP", "GAUC"])
def test_what_is_no_mean_is_not_compared_as_one(run, data, metric):
    assert_refused(run("compare", *data, "-m", metric), "unsupported-metric")


def test_runs_of_the_same_name_are_distinguished_everywhere(run, tmp_path):
    """Runs are named by their folders, as in eval; a name means the same run in every command."""
    for folder, first in (("main", "a"), ("next", "b")):
        (tmp_path / folder).mkdir()
        ranks = [first, *({"a", "b"} - {first})]
        rows = [f"q{q} Q0 {d} 1 {9 - i} t" for q in range(3) for i, d in enumerate(ranks)]
        (tmp_path / folder / "bm25.run").write_text("\n".join(rows))
    qrels = tmp_path / "qrels.txt"
    qrels.write_text("".join(f"q{q} 0 a 1\nq{q} 0 b 0\n" for q in range(3)))
    runs = tmp_path / "main/bm25.run", tmp_path / "next/bm25.run"
    for command in ("compare", "gate", "holes", "blindspots"):
        result = run(command, qrels, *runs).out
        assert "main/bm25" in result, command
        assert "next/bm25" in result, command
    assert "rank 1 of next/bm25" in run("pool", *runs).out
    three = run("compare", qrels, *runs, runs[1], "--format", "json").out
    assert json.loads(three)["systems"]["systems"] == ["main/bm25", "bm25#2", "bm25#3"]


def test_latex_of_many_systems_marks_what_is_better_and_has_signs_that_latex_prints(run, tmp_path):
    (tmp_path / "qrels.txt").write_text("".join(f"q{i:02} 0 good 1\n" for i in range(24)))
    paths = [tmp_path / "qrels.txt"]
    systems = (("old", range(1, 24), ""), ("new", range(3), ""), ("other", range(2, 5), "uvw"))
    for name, wrong, unjudged in systems:
        lines = [
            f"q{i:02} Q0 {doc} {rank} {9 - rank} t\n"
            for i in range(24)
            for rank, doc in enumerate((*(("bad", "good") if i in wrong else ("good", "bad")), *unjudged), 1)
        ]
        paths.append(tmp_path / f"{name}.run")
        paths[-1].write_text("".join(lines))
    out = run("compare", *paths, "-m", "RR", "--format", "latex").out
    rows = [line for line in out.splitlines() if line.startswith("\\textsuperscript")]
    assert rows == [
        "\\textsuperscript{b} new & \\textbf{0.9375\\textsuperscript{a}} \\\\",
        "\\textsuperscript{c} other & \\textbf{0.9375\\textsuperscript{a}} \\\\",
        "\\textsuperscript{a} old & 0.5208 \\\\",
    ]
    assert "".join(line for line in out.splitlines() if not line.startswith("%")).isascii()
    judged = [line for line in out.splitlines() if "judged@10 is" in line]
    assert [line.split(":")[0] for line in judged] == ["% other"]  # it alone is judged less far
