"""Spark's values equal those of the local engine to the bit."""

import numpy as np
import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rankgate
from rankgate import metric
from rankgate.core.errors import DuplicateError, InputError, UsageError
from rankgate.core.present.codec import encode
from rankgate.data.id_match import ACCEPT, DO_NOT_FIT, PARTLY_FIT
from support.spark import (
    measured,
    spark,  # noqa: F401 - a fixture
    there,
)
from support.wording import raises

pytestmark = [
    pytest.mark.usefixtures("spark"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of Spark
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]

METRICS = [
    "nDCG@10",
    "RR",
    "AP",
    "P@5",
    "Recall@10",
    "ERR@10",
    "Rprec",
    "bpref",
    "RBP",
    "nDCG",
    "infAP",
    "Success@3",
    "F1@5",
    "nDCG(gain='exp')@5",
    "AP(rel=2)@7",
    "RR@3",
    "num_rel_ret",
]


@pytest.fixture(scope="module")
def data():
    """Judgments and a run with ties, missing and unknown queries, and one without relevant."""
    rng = np.random.default_rng(7)
    rows = [
        (f"q{query}", f"d{doc}", float(rng.integers(0, 6)))
        for query in range(120)
        for doc in rng.permutation(60)[: rng.integers(1, 40)]
    ]
    run = pl.DataFrame(rows, schema=["query_id", "doc_id", "score"], orient="row")
    judged = [
        (f"q{query}", f"d{doc}", int(rng.integers(-1, 4)) if query != 5 else 0)
        for query in range(3, 125)
        for doc in rng.permutation(60)[: rng.integers(1, 25)]
    ]
    qrels = pl.DataFrame(judged, schema=["query_id", "doc_id", "grade"], orient="row")
    return qrels, run


def evaluate(qrels, *given, **settings):
    """Values on Spark, which are kept."""
    return measured(rankgate.evaluate, there(qrels), *given, **{"keep_values": True, **settings})


def values_of(result, label):
    rows = result.maker.values.select("query_id", f"`{label}`").toArrow()
    return dict(pl.DataFrame(pl.from_arrow(rows)).iter_rows())


@pytest.mark.parametrize("convention", ["trec", "pytrec_eval", "recommenders", "beir", "torchmetrics"])
def test_values_equal_those_of_one_machine(data, tmp_path, convention):
    qrels, run = data
    qrels.write_parquet(tmp_path / "qrels.parquet")
    run.write_csv(tmp_path / "run.csv")
    names = METRICS if convention == "trec" else METRICS[:5]
    paths = tmp_path / "qrels.parquet", tmp_path / "run.csv"
    local_run = rankgate.evaluate(*paths, names, convention).runs[0]
    spark_result = evaluate(*paths, names, convention, partitions=3)
    for label in names:
        assert values_of(spark_result, label) == local_run.per_query(label), label
    summary = spark_result.runs[0]
    assert summary.means == pytest.approx(dict(local_run.means), rel=1e-12, nan_ok=True)
    local_counts, spark_counts = encode(local_run.counts), encode(summary.counts)
    assert local_counts.pop("judged_at") == pytest.approx(spark_counts.pop("judged_at"), rel=1e-12)
    assert local_counts == spark_counts


def test_values_that_were_kept_are_those_of_one_machine(data):
    qrels, run = data
    names = ["nDCG@10", "Rprec"]
    local_result = rankgate.evaluate(qrels, {"one": run}, names)
    spark_result = evaluate(qrels, {"one": run}, names)
    keys = ["metric", "query_id"]
    assert_frame_equal(
        local_result.values.sort(keys), spark_result.values.sort(keys), check_column_order=False
    )
    assert spark_result.to_dict(per_query=True)["runs"][0]["per_query"].keys() == {*names}
    without_values = evaluate(qrels, {"one": run}, names, keep_values=False)
    assert values_of(without_values, "Rprec") == local_result.runs[0].per_query("Rprec")  # made again
    with raises("missing-part", UsageError):
        _ = without_values.values
    with raises("missing-part", UsageError):
        without_values.to_dict(per_query=True)


def test_intervals_are_those_of_all_values(data):
    qrels, run = data
    spark_result = evaluate(qrels, run, ["nDCG@10"])
    values = np.array([*values_of(spark_result, "nDCG@10").values()])
    row = spark_result.intervals.row(0, named=True)
    assert row["n"] == len(values)
    assert row["sd"] == pytest.approx(values.std(ddof=1), rel=1e-12)
    assert row["high"] - row["mean"] == pytest.approx(row["mean"] - row["low"], rel=1e-12)


def test_trec_files_of_several_parts_and_a_user_s_metric(data, tmp_path):
    qrels, run = data
    lines = [f"{q} 0 {d} {g}" for q, d, g in qrels.iter_rows()]
    (tmp_path / "all.qrels").write_text("# judged\n" + "\n".join(lines) + "\n")
    ranked = [f"{q}\tQ0 {d} 1 {s} tag" for q, d, s in run.iter_rows()]
    (tmp_path / "a.run").write_text("\n".join(ranked[:500]))
    (tmp_path / "b.run").write_text("\n".join(ranked[500:]))

    @metric
    def first_grade(grades: list[float | None]) -> float:
        """The grade of the first document."""
        return float(grades[0] or 0) if grades else 0.0

    runs = {"system": there([tmp_path / "a.run", tmp_path / "b.run"])}
    spark_result = evaluate(tmp_path / "all.qrels", runs, ["RR", first_grade])
    local_result = rankgate.evaluate(qrels, run, ["RR", first_grade])
    assert spark_result.means.row(0)[1:] == pytest.approx(local_result.means.row(0)[1:], rel=1e-12)
    assert spark_result.runs[0].run == "system"


def test_duplicates_in_two_files_name_both_places(data, tmp_path):
    qrels, run = data
    folder = tmp_path / "run"
    folder.mkdir()
    run.head(300).write_parquet(folder / "part-0.parquet")
    pl.concat([run.slice(300, 200), run[7:8]]).write_parquet(folder / "part-1.parquet")
    with raises("duplicate-document", DuplicateError) as caught:
        evaluate(qrels, folder, ["RR"], partitions=3)
    assert (caught.value.source, caught.value.line) == (str(folder / "part-1.parquet"), 201)
    assert f"{folder / 'part-0.parquet'}:8" in caught.value.problem


def test_a_score_that_is_no_number_names_its_line(data, tmp_path):
    qrels, _ = data
    (tmp_path / "bad.run").write_text("q1 Q0 d1 1 0.5 t\n\nq2 Q0 d1 1 high t\n")
    with raises("not-a-number", InputError) as caught:
        evaluate(qrels, tmp_path / "bad.run", ["RR"])
    assert (caught.value.source, caught.value.line) == (str(tmp_path / "bad.run"), 3)


def test_missing_damaged_and_different_files(data, tmp_path):
    qrels, run = data
    with raises("no-such-file", InputError) as caught:
        evaluate(qrels, tmp_path / "nowhere.parquet", ["RR"])
    folder = tmp_path / "run"
    folder.mkdir()
    run.head(200).write_parquet(folder / "part-0.parquet")
    (folder / "part-1.parquet").write_bytes(b"PAR1 damaged PAR1")
    with raises("damaged-file", InputError) as caught:
        evaluate(qrels, folder, ["RR"])
    assert caught.value.source.endswith("part-1.parquet")
    (folder / "part-1.parquet").unlink()
    text_scores = run.slice(200).with_columns(pl.format("score {}", "score").alias("score"))
    text_scores.write_parquet(folder / "part-2.parquet")
    with raises("wrong-type", InputError) as caught:
        evaluate(qrels, folder, ["RR"])


def test_the_convention_refuses_across_partitions():
    with raises("queries-differ", InputError):
        evaluate({"q": {"a": 1}}, {"other": {"a": 1.0}}, ["RR"])
    with raises("missing-query", InputError):
        evaluate(
            {"q": {"a": 1}, "r": {"a": 1}},
            {"q": {"a": 1.0}},
            ["RR"],
            rankgate.convention("trec", ["missing=error"]),
        )


@pytest.mark.parametrize("form", ["ids", "table"])
def test_slices_are_those_of_one_machine(data, form):
    qrels, run = data
    ids = [f"q{i}" for i in range(3, 120)]  # some queries have no row
    table = pl.DataFrame({"query_id": ids, "kind": [("a", "b", None)[i % 3] for i in range(117)]})
    tags, tag = ("ids:q(?P<first>[0-4]).*", "first") if form == "ids" else (table, "kind")
    runs = {"one": run, "two": run.with_columns(-pl.col("score"))}
    tagged = rankgate.Collection(qrels, tags=tags)
    local_result = rankgate.evaluate(tagged, runs, ["nDCG@10", "RR"], slices=[tag])
    moved = rankgate.Collection(there(qrels), tags=tags)
    arguments = (moved, runs, ["nDCG@10", "RR"])
    spark_result = measured(rankgate.evaluate, *arguments, slices=[tag], partitions=3)
    assert_frame_equal(local_result.slices, spark_result.slices, rel_tol=1e-12)
    columns = ["tag", "value", "run", "metric"]
    assert_frame_equal(
        local_result.intervals.sort(columns),
        spark_result.intervals.sort(columns),
        rel_tol=1e-9,
        abs_tol=1e-12,
    )
    intervals = spark_result.intervals.filter(pl.col("n") > 1)
    assert (intervals["low"] < intervals["mean"]).all()
    if form == "ids":
        with raises("unknown-tag", UsageError):
            rankgate.evaluate(moved, runs, ["RR"], slices=["other"])


def test_a_run_without_a_judged_document_is_named_as_on_one_machine(data):
    qrels, run = data
    strange = run.with_columns(doc_id="x" + pl.col("doc_id").str.slice(1))
    one_judged = pl.concat([strange, run.join(qrels, on=["query_id", "doc_id"]).select(run.columns).head(1)])
    runs = {"good": run, "strange": strange, "one": one_judged}
    local_notices = rankgate.evaluate(qrels, runs, ["RR"]).notices
    spark_notices = evaluate(qrels, runs, ["RR"]).notices
    assert spark_notices == local_notices
    pairs = [("no-shared-document", "strange")]
    assert [(notice.code, notice.subject) for notice in spark_notices if notice.code != PARTLY_FIT] == pairs
    low = qrels.with_columns(pl.col("grade") / 8)
    notices = evaluate(low, {"good": run}, ["RR"]).notices
    assert "grades-below-relevant" in {notice.code for notice in notices}
    assert notices == rankgate.evaluate(low, {"good": run}, ["RR"]).notices
    for judged in (there(qrels), qrels):
        result = rankgate.compare(judged, run, strange, ["RR"], test=rankgate.Test(unequal="zero"))
        assert any("no document of the run is judged" in text for text in result.warnings), result
    card = measured(rankgate.scorecard, there(qrels), runs, ["RR"])
    assert sum("no item of its lists is judged" in text for text in card.warnings) == 1
    assert card.warnings == rankgate.scorecard(qrels, runs, ["RR"]).warnings


def test_ids_that_do_not_fit_are_refused_as_on_one_machine(data):
    qrels, run = data
    respelled = run.with_columns(query_id="q 0" + pl.col("query_id").str.slice(1))
    judged = qrels.with_columns(query_id="Q_" + pl.col("query_id").str.slice(1))
    with raises(DO_NOT_FIT, InputError) as local_error:
        rankgate.evaluate(judged, {"bad": respelled}, ["RR"])
    for verb, runs in ((rankgate.evaluate, ({"bad": respelled},)), (rankgate.compare, (respelled, run))):
        with raises(DO_NOT_FIT, InputError) as spark_error:
            measured(verb, there(judged), *runs, ["RR"])
        assert str(spark_error.value).partition(": ")[2] == str(local_error.value).partition(": ")[2]
    partly = run.with_columns(query_id=pl.col("query_id").replace({"q7": "Q7", "q8": "Q8", "q9": "Q9"}))
    accepted = rankgate.Collection(there(qrels), ids=ACCEPT)
    spark_mean = measured(rankgate.evaluate, accepted, {"run": partly}, ["RR"]).means["RR"].item()
    local_result = rankgate.evaluate(rankgate.Collection(qrels, ids=ACCEPT), {"run": partly}, ["RR"])
    assert spark_mean == pytest.approx(local_result.means["RR"].item(), rel=1e-12)
