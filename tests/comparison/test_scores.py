"""Values that other tools computed, straight into ``compare`` and ``gate``."""

from __future__ import annotations

import json
import pickle
from collections import defaultdict

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate import compare, evaluate, gate
from rankgate.core.errors import UsageError
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.reported_systems import read_scores
from rankgate.decisions.gating.policy import parse_policy
from support.command import assert_refused
from support.wording import raises

RNG = np.random.default_rng(2)
QRELS = {f"q{i:02}": {f"d{j}": int(RNG.integers(0, 3)) for j in range(8)} for i in range(30)}
RUNS = {
    name: {
        query: {doc: grade + float(RNG.normal(0, noise)) for doc, grade in docs.items()}
        for query, docs in QRELS.items()
    }
    for name, noise in (("old", 1.8), ("new", 1.2), ("third", 1.7))
}
METRICS = ["nDCG@5", "AP", "RR"]
TREC = {"nDCG@5": "ndcg_cut_5", "AP": "map", "RR": "recip_rank"}
RANX = {"nDCG@5": "ndcg@5", "AP": "map", "RR": "mrr"}
POLICY = """
[gate]
holes = "ignore"
[[rules]]
id = "a"
kind = "noninferiority"
metric = "nDCG@5"
margin = 0.02
[[rules]]
id = "b"
kind = "equivalence"
metric = "AP"
margin = 0.1
[[rules]]
id = "c"
kind = "per_query"
metric = "AP"
max_drop = 0.3
at_most = 3
[[rules]]
id = "d"
kind = "floor"
metric = "RR"
at_least = 0.5
"""

NO_WORSE = "[[rules]]\nkind = 'noninferiority'\nmetric = 'AP'\nmargin = 0.1\n"


@pytest.fixture(scope="module")
def values():
    """By system, metric and query."""
    result = evaluate(QRELS, RUNS, METRICS).to_dict(per_query=True)
    return {system["name"]: system["per_query"] for system in result["runs"]}


def trec(own):
    lines = [f"{TREC[m]:22}\t{q}\t{v!r}\n" for m, col in own.items() for q, v in col.items()]
    return "runid\tall\tx\n" * 0 + "".join(lines) + "num_ret\tq00\t8\nmap\tall\t0.5\n"


def measures(own):
    return "".join(f"{q}\t{m}\t{v!r}\n" for m, col in own.items() for q, v in col.items())


def by_query(own):
    query_values = defaultdict(dict)
    for metric, column in own.items():
        for query, value in column.items():
            query_values[query][TREC[metric]] = value
    return json.dumps(query_values)


def by_metric(own):
    return json.dumps({RANX[metric]: column for metric, column in own.items()})


def by_columns(own):
    rows = [f"{q},{','.join(repr(own[m][q]) for m in METRICS)}\n" for q in QRELS]
    return f"qid,{','.join(METRICS)}\n{''.join(rows)}"


def records(own):
    rows = [{"query_id": q, "measure": m, "value": v} for m in own for q, v in own[m].items()]
    return json.dumps(rows)


def lines(own):
    return "\n".join(map(json.dumps, json.loads(records(own))))


WRITERS = (trec, measures, by_query, by_metric, by_columns, records, lines)


def one_file_each(folder, values, write):
    places = []
    for name in ("old", "new"):
        places.append(str(folder / f"{name}.txt"))
        (folder / f"{name}.txt").write_text(write(values[name]))
    return places


@pytest.fixture(scope="module")
def from_runs():
    """The comparison and the verdict of the runs themselves."""
    runs = {"old": RUNS["old"]}, {"new": RUNS["new"]}
    compared = compare(QRELS, *runs, METRICS).only
    return compared, gate(QRELS, *runs, parse_policy(POLICY, "p"))


@pytest.mark.parametrize("write", WRITERS, ids=lambda each: each.__name__)
def test_any_tools_file_gives_the_figures_and_the_verdict_of_the_runs(tmp_path, values, write, from_runs):
    files = one_file_each(tmp_path, values, write)
    result = compare(read_scores(*files), metrics=METRICS).only
    truth, expected = from_runs
    assert (result.baseline.name, result.candidate.name) == ("old", "new")
    assert result.metrics.drop("mc_error").equals(truth.metrics.drop("mc_error"))
    verdict = gate(read_scores(*files), policy=parse_policy(POLICY, "p"))
    assert verdict.verdict == expected.verdict
    assert [rule_result.outcome for rule_result in verdict.rules] == [
        rule_result.outcome for rule_result in expected.rules
    ]
    assert verdict.again == expected.again


def long_table(values):
    rows = [
        f"{q},{name},{m},{v!r}\n"
        for name, system_values in values.items()
        for m, column in system_values.items()
        for q, v in column.items()
    ]
    return "query,system,metric,value\n" + "".join(rows)


def wide_table(values, metric="AP"):
    rows = [f"{q},{','.join(repr(values[n][metric][q]) for n in values)}\n" for q in QRELS]
    return f"query,{','.join(values)}\n{''.join(rows)}"


def test_a_long_table_a_frame_and_dicts_name_their_systems(tmp_path, values):
    (tmp_path / "long.csv").write_text(long_table(values))
    frame = pl.read_csv(tmp_path / "long.csv")
    truth = compare(QRELS, RUNS["new"], RUNS["third"], "AP").metrics.select("delta", "p_value")
    for scores in (tmp_path / "long.csv", frame, values, str(tmp_path / "long.csv")):
        result = compare(read_scores(scores), "new", ["third"], "AP")
        assert result.metrics.select("delta", "p_value").equals(truth)
    comparisons = compare(read_scores(frame), metrics="AP")
    assert (len(comparisons), comparisons.many is not None) == (2, True)


def test_a_wide_table_takes_its_metric_from_the_option(tmp_path, values, run):
    (tmp_path / "wide.csv").write_text(wide_table(values))
    table_path = str(tmp_path / "wide.csv")
    truth = compare(QRELS, RUNS["old"], RUNS["new"], "AP").metrics["p_value"][0]
    result = run("compare", "--scores", table_path, "-m", "AP", "old", "new", "--format", "json")
    (comparison,) = json.loads(result.out)["comparisons"]
    assert comparison["metrics"][0]["p_value"] == truth
    assert_refused(run("compare", "--scores", table_path), "missing-metric", table_path, 1)
    verdict = run("gate", "--scores", table_path, "old", "new")  # of the default policy: nDCG@10
    assert verdict.code in (0, 1, 3)


def test_rankgates_own_values_are_read(tmp_path, values):
    result = evaluate(QRELS, RUNS, METRICS)
    (tmp_path / "e.json").write_text(json.dumps(result.to_dict(per_query=True)))
    comparison = compare(read_scores(tmp_path / "e.json"), "old", ["new"], "AP")
    assert comparison.metrics["delta"][0] == pytest.approx(
        np.mean(list(values["new"]["AP"].values())) - np.mean(list(values["old"]["AP"].values()))
    )


def test_a_metric_that_nobody_knows_takes_its_direction_from_the_option(tmp_path, values, run):
    (tmp_path / "wide.csv").write_text(wide_table(values))
    arguments = ["compare", "--scores", str(tmp_path / "wide.csv"), "-m", "seconds", "old", "new"]
    assert_refused(run(*arguments), "unknown-direction")
    scores = (
        read_scores(tmp_path / "wide.csv", directions={"seconds": better}) for better in ("higher", "lower")
    )
    higher_gain, lower_gain = (compare(table, "old", "new", "seconds").metrics["gain"][0] for table in scores)
    assert higher_gain == -lower_gain != 0
    assert_refused(run(*arguments, "--direction", "seconds=best"), "unknown-choice")


@pytest.fixture
def table(tmp_path, values):
    """A long table of two systems by AP that a test can spoil."""
    two = {name: {"AP": values[name]["AP"]} for name in ("old", "new")}
    return tmp_path / "t.csv", long_table(two)


@pytest.mark.parametrize(
    ("spoil", "code", "line"),
    [
        (lambda text: text + "q00,new,AP,0.5\n", "duplicate-value", 62),
        (lambda text: text.replace("q00,old,AP,", "q00,old,AP,1", 1), "out-of-range", 2),
        (lambda text: text.replace("q00,old,AP,", "q00,old,AP,x", 1), "not-a-number", 2),
        (lambda text: text.replace("q00,old,AP,", "q00,AP,", 1), "wrong-field-count", 2),
        (lambda text: text.replace("q01,old", ",old", 1), "empty-value", 3),
        (lambda text: text.replace("system", "metric", 1), "duplicate-column", 1),
        (lambda text: text.replace("q00,old", f"{'q' * 200_000},old", 1), "invalid-syntax", 2),
        (lambda _: "nothing here\n", "unknown-format", 1),
        (lambda _: "q1 AP\nq2 AP\n", "unknown-format", 1),
        (lambda _: '{"a": 1}', "wrong-document", None),
        (lambda _: '{"a": {"b": 1}}', "unknown-metric", None),
        (lambda _: "[1, 2]", "wrong-document", None),
        (lambda _: '{"q1": {"AP": "x"}}', "not-a-number", None),
        (lambda _: "map all 0.5\n", "no-values", None),
        (lambda _: "a b 0.5\nc d 0.5\n", "unknown-metric", 1),
        (lambda _: "map q1 0.5\nmap q2\n", "wrong-field-count", 2),
    ],
)
def test_bad_tables_are_one_error_with_file_and_line(table, run, spoil, code, line):
    path, text = table
    path.write_text(spoil(text))
    assert_refused(run("compare", "--scores", str(path)), code, str(path), line)


def test_queries_of_one_system_alone_are_refused_left_out_or_0(table, run):
    path, text = table
    path.write_text(
        "".join(line for line in text.splitlines(keepends=True) if not line.startswith("q05,new"))
    )
    arguments = ["compare", "--scores", str(path), "--format", "json"]
    assert_refused(run(*arguments), "values-differ")
    (dropped,) = json.loads(run(*arguments, "--unequal", "drop").out)["comparisons"]
    assert dropped["metrics"][0]["n"] == 29
    assert dropped["excluded"][0]["query_id"] == "q05"
    (zero,) = json.loads(run(*arguments, "--unequal", "zero").out)["comparisons"]
    row = next(query_row for query_row in zero["queries"] if query_row["query_id"] == "q05")
    assert (zero["metrics"][0]["n"], row["candidate"]) == (30, 0)
    with raises("conflicting-options"):
        compare(read_scores(path, directions={"AP": "lower"}), metrics="AP", test=Test(unequal="zero"))
    with raises("invalid-parameter"):
        compare(read_scores(path), test=Test(unequal="guess"))


def emptied(values, systems):
    """The AP of old and new, without a value of q03 and q04 for some systems."""
    two = {name: {"AP": dict(values[name]["AP"])} for name in ("old", "new")}
    for name in systems:
        two[name]["AP"] |= {"q03": None, "q04": None}
    return two


def write_table(text, path):
    path.write_text(text.replace("None", ""))
    return path


FORMS = {
    "wide": lambda two, path: write_table(wide_table(two), path / "t.csv"),
    "long": lambda two, path: write_table(long_table(two), path / "t.csv"),
    "JSON": lambda two, path: write_table(json.dumps(two), path / "t.json"),
    "wide frame": lambda two, path: pl.read_csv(FORMS["wide"](two, path)),
    "pandas": lambda two, path: pl.read_csv(FORMS["wide"](two, path)).to_pandas(),
    "dicts": lambda two, _: two,
}


@pytest.mark.parametrize("form", FORMS)
def test_an_empty_cell_of_one_system_is_a_query_that_it_lacks(form, tmp_path, values):
    scores = read_scores(FORMS[form](emptied(values, ["new"]), tmp_path))
    with raises("values-differ"):
        compare(scores, "old", "new", "AP")
    with raises("values-differ"):
        gate(scores, "old", "new", parse_policy(NO_WORSE, "p"))
    dropped = compare(scores, "old", "new", "AP", test=Test(unequal="drop"))
    shared_queries = [query for query in QRELS if query not in {"q03", "q04"}]
    means = [np.mean([values[name]["AP"][query] for query in shared_queries]) for name in ("old", "new")]
    row = dropped.only.metrics.row(0, named=True)
    assert (row["n"], [row["baseline"], row["candidate"]]) == (28, pytest.approx(means))
    assert dropped.only.excluded["query_id"].to_list() == ["q03", "q04"]
    assert any("2 queries were run by only one system" in notice.text for notice in dropped.notices)
    zero = compare(scores, "old", "new", "AP", test=Test(unequal="zero"))
    zero_mean = sum(values["new"]["AP"][query] for query in shared_queries) / len(QRELS)
    assert zero.only.metrics["candidate"][0] == pytest.approx(zero_mean)
    verdict = gate(scores, "old", "new", parse_policy(f"[gate]\nunequal = 'drop'\n{NO_WORSE}", "p"))
    assert any("2 queries were run by only one system" in note for note in verdict.notes)


def test_a_cell_that_is_empty_for_all_is_left_out_counted_and_shown(tmp_path, values, run):
    path = FORMS["wide"](emptied(values, ["old", "new"]), tmp_path)
    result = run("compare", "--scores", str(path), "-m", "AP", "old", "new")
    assert "the cell is empty" in result.out
    assert compare(read_scores(path), "old", "new", "AP").metrics["n"][0] == 28


def test_systems_and_metrics_that_are_not_there(table, run, monkeypatch):
    path, text = table
    monkeypatch.chdir(path.parent)  # a gate without arguments looks for them in the folder
    path.write_text(text)
    arguments = ["compare", "--scores", str(path)]
    assert_refused(run(*arguments, "old", "nobody"), "unknown-system")
    assert_refused(run(*arguments, "old", "old"), "baseline-is-candidate")
    assert run(*arguments, "old").out == run(*arguments).out, "the others are the candidates"
    assert_refused(run(*arguments, "-m", "nDCG@3"), "unknown-metric")
    assert_refused(run(*arguments, "--scores", str(path)), "baseline-is-candidate")
    assert_refused(run(*arguments, "--convention", "gdeval"), "conflicting-options")
    assert_refused(run(*arguments, "--train", "x"), "conflicting-options")
    assert_refused(run("compare"), "missing-input")
    assert_refused(run("gate"), "missing-input")
    assert_refused(run("gate", "--scores", str(path), "old"), "missing-input")
    assert_refused(run("gate", "--scores", str(path), "--noise", "x"), "missing-part")
    path.write_text(text + "q00,third,RR,1\n")
    assert_refused(run(*arguments, "-m", "AP"), "not-comparable")
    assert_refused(run("gate", "--scores", str(path)), "unknown-metric")


def test_rules_about_lists_stay_open_and_slices_work(table):
    path, text = table
    path.write_text(text)
    rule = "[[rules]]\nkind = 'floor'\nmetric = 'AP'\nat_least = 0.1\nslice = 'part=x'\n"
    tags = pl.DataFrame({"query_id": list(QRELS), "part": ["x", "y"] * 15})
    policy = parse_policy(f"{rule}[[rules]]\nkind = 'judged'\nat_least = 0.5\ntier = 'warn'\n", "p")
    result = gate(read_scores(path, tags=tags), policy=policy)
    assert [rule_result.outcome.status for rule_result in result.rules] == ["pass", "inconclusive"]
    assert result.rules[0].outcome.n == 15
    equal = {name: {"AP": dict.fromkeys(QRELS, 0.5)} for name in "ab"}
    equal_verdict = gate(read_scores(equal), policy=parse_policy(NO_WORSE, "p"))
    assert equal_verdict.verdict == "inconclusive"
    with raises("unsupported-rule"):
        gate(read_scores(path), policy=parse_policy("[[rules]]\nkind = 'unseen'\n", "p"))


def test_the_pages_say_that_values_were_given(table, tmp_path):
    path, text = table
    path.write_text(text)
    result = compare(read_scores(path))
    assert "by the values in t.csv" in str(result)
    assert "judged@" not in str(result)
    result.report(tmp_path / "page.html")
    verdict = gate(
        read_scores(path),
        policy=parse_policy(
            POLICY.partition('[[rules]]\nid = "a"')[0] + ("[[rules]]\nkind = 'improvement'\nmetric = 'AP'\n"),
            "p",
        ),
    )
    verdict.report(tmp_path / "verdict.html")
    assert "given values" in str(verdict.document())
    assert rankgate.compare is compare


@pytest.mark.parametrize("depth", [5, 10])
def test_an_evaluation_goes_into_compare_and_gate_with_all_that_it_was_made_from(depth):
    qrels = {f"q{i}": {"a": 1, "b": i % 3} for i in range(30)}
    old = {query: {"b": 3.0, "x": 2.0, "a": 1.0} for query in qrels}
    new = {query: {"a": 3.0, "b": 2.0, "y": 1.0} for query in qrels}
    evaluation = rankgate.evaluate(qrels, {"old": old, "new": new, "same": old}, ["nDCG@10", "RR"])
    expected = rankgate.compare(
        qrels, {"old": old}, {"new": new, "same": old}, ["nDCG@10", "RR"], depth=depth
    )
    assert rankgate.compare(evaluation, depth=depth) == expected
    swapped = rankgate.compare(evaluation, "new", ["old"], ["RR"])
    assert swapped == rankgate.compare(qrels, {"new": new}, {"old": old}, ["RR"])
    verdict = rankgate.gate(evaluation, "old", "new")
    assert verdict == rankgate.gate(qrels, {"old": old}, {"new": new})
    assert verdict.comparison.lists.height, "the lists are made again, as values have none"
    with pytest.raises(UsageError, match="the evaluation has old, new, same: name two of them"):
        rankgate.gate(evaluation)
    with pytest.raises(UsageError, match="unknown system 'newer'; the scores have old, new, same"):
        rankgate.compare(evaluation, "newer")


def test_systems_are_named_alike_in_scores_of_every_source():
    evaluation = rankgate.evaluate(QRELS, RUNS, METRICS)
    stored = type(evaluation).from_dict(evaluation.to_dict(per_query=True))
    tables = read_scores({name: {query: {"AP": 0.5} for query in QRELS} for name in RUNS})
    for scores in (evaluation, stored, tables):
        pairs = {
            args: [(pair.baseline.name, pair.candidate.name) for pair in compare(scores, *args).comparisons]
            for args in ((), ("new",), (None, "third"), ("third", ("old",)))
        }
        assert pairs == {
            (): [("old", "new"), ("old", "third")],
            ("new",): [("new", "old"), ("new", "third")],
            (None, "third"): [("old", "third")],
            ("third", ("old",)): [("third", "old")],
        }
        assert gate(scores, None, "new", ["AP"]).names == ("old", "new")
        for wrong, code in ((("old", "old"), "baseline-is-candidate"), (("no",), "unknown-system")):
            with raises(code, UsageError):
                compare(scores, *wrong)


def test_an_evaluation_that_was_stored_is_compared_by_its_values():
    qrels = {f"q{i}": {"a": 1} for i in range(12)}
    runs = {"old": {q: {"b": 2.0, "a": 1.0} for q in qrels}, "new": {q: {"a": 2.0} for q in qrels}}
    evaluation = rankgate.evaluate(qrels, runs, ["RR"])
    stored = type(evaluation).from_dict(evaluation.to_dict(per_query=True))
    figures = ["n", "baseline", "candidate", "delta"]
    (row,) = rankgate.compare(stored).metrics.select(figures).rows()
    assert row == rankgate.compare(evaluation).metrics.select(figures).row(0) == (12, 0.5, 1.0, 0.5)
    copied = pickle.loads(pickle.dumps(evaluation))  # noqa: S301 - our own
    assert copied == evaluation
    assert copied.maker is None
