"""Pools of real runs, and what leaving runs out costs, counted by hand."""

import gzip
import math

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rankgate.core.errors import InputError, UsageError
from rankgate.data import read_qrels, read_run
from rankgate.data.collection import Collection
from rankgate.data.qrels import Qrels
from rankgate.decisions.unjudged.holes import holes
from rankgate.interface.cli import rankgate as program
from rankgate.judging.pooling.pool import pool
from rankgate.judging.pooling.pool_sampling import PoolDesign
from rankgate.judging.pooling.reusability import reusability
from rankgate.judging.resolution.resolve import resolve
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.stats.rank_correlation import tau
from support.wording import raises

STEP = 100  # judgments that are revealed at a time
DEEPEST = 100  # no metric and no pool here looks further down
A = {"1": {"a": 3.0, "b": 2.0, "c": 1.0}, "2": {"m": 1.0}}
B = {"1": {"b": 3.0, "d": 2.0, "a": 1.0}}


def test_what_is_judged_already_is_left_out():
    result = pool([A, B], PoolDesign(depth=2), collection={"1": {"b": 1, "z": 1}, "2": {"m": -1}})
    assert result.table.select("query_id", "doc_id", "best_rank").rows() == [
        ("1", "a", 1),
        ("2", "m", 1),
        ("1", "d", 2),
    ]
    assert dict(result.counts) == {"pool": 4, "sampled": 4, "judged": 1, "to_judge": 3, "queries": 2}


def test_batches_and_a_blind_order():
    result = pool([A, B], PoolDesign(depth=3, seed=5), batch=2, blind=True)
    assert result.table["batch"].to_list() == [1, 1, 2, 2, 3]
    assert result.table.equals(pool([A, B], PoolDesign(depth=3, seed=5), batch=2, blind=True).table)


def test_a_collection_says_how_judgments_and_runs_are_read():
    """Judgments and the second run of b have their own labels and column names."""
    judged = pl.DataFrame({"term": ["1"], "sku": ["b"], "label": ["Exact"]})
    ranked = pl.DataFrame({"term": ["1", "1"], "sku": ["b", "d"], "rank": [1, 2]})
    shop = Collection(judged, columns="query=term,doc=sku,grade=label", grades={"Exact": 3})
    result = pool([A, ranked], PoolDesign(depth=2), collection=shop)
    assert result.table["doc_id"].to_list() == ["a", "m", "d"]
    assert result.counts["judged"] == 1


def test_designs_that_contradict_themselves_are_refused():
    for design, code in (
        ({"order": "size"}, "unknown-choice"),
        ({"query_sampling": "all", "queries": 1}, "unknown-choice"),
        ({"query_sampling": "pps"}, "missing-input"),
        ({"sizes": {"1": 2.0}}, "missing-input"),
        ({"strata": "10:1,5:0.3"}, "invalid-stratum"),
    ):
        with raises(code, UsageError):
            PoolDesign(**design)
    assert PoolDesign(strata="1:1,3:0.5").last_rank == 3
    assert PoolDesign(4) == PoolDesign(depth=4) != PoolDesign(depth=5)


def test_the_command_reads_labels_and_columns(tmp_path):
    (tmp_path / "labels.csv").write_text("term,sku,label\n1,b,Exact\n")
    (tmp_path / "a.run").write_text("1 Q0 a 1 3 A\n1 Q0 b 2 2 A\n")
    (tmp_path / "shop.toml").write_text(
        '[collection]\njudgments = "labels.csv"\n'
        'columns = "query=term,doc=sku,grade=label"\ngrades = { Exact = 3 }\n'
    )
    base_arguments = ["pool", str(tmp_path / "a.run"), "--format", "csv", "--qrels"]
    stated = ["--columns", "query=term,doc=sku,grade=label", "--grades", "Exact=3"]
    for arguments in (
        [*base_arguments, str(tmp_path / "labels.csv"), *stated],
        [*base_arguments, str(tmp_path / "shop.toml")],
    ):
        result = CliRunner().invoke(program, arguments)
        assert result.exit_code == 0, result.output
        assert [row.split(",")[1] for row in result.stdout.splitlines()] == ["document", "a"]


def test_influence_needs_a_comparison():
    with raises("missing-input", UsageError):
        pool([A, B], PoolDesign(order="influence"))


def test_left_out_by_hand():
    """Only A has c, only B has d; nDCG@3 of a perfect list of two relevant documents is 1."""
    qrels = {"1": {"a": 1, "c": 1, "d": 0}}
    result = reusability(qrels, {"A": A, "B": B}.values(), ["nDCG@3", "R@3"], depth=3)
    rows = {(row["run"], row["metric"]): row for row in result.table.iter_rows(named=True)}
    ideal = 1 + 1 / math.log2(3)
    first = rows["run1", "nDCG@3"]
    assert first["value"] == pytest.approx((1 + 1 / 2) / ideal)
    assert first["without"] == pytest.approx(1.0)  # a alone is relevant, and first
    assert (first["unique"], first["unique_relevant"]) == (1, 1)
    assert rows["run1", "R@3"]["loss"] == 0
    second = rows["run2", "nDCG@3"]
    assert (second["unique"], second["unique_relevant"], second["loss"]) == (1, 0, 0)
    assert (first["rank"], second["rank_without"]) == (1, 2)


@pytest.mark.parametrize("convention", ["trec", "pytrec_eval"])
def test_queries_that_lose_all_judgments_count_on_both_sides(convention):
    """Each query has one relevant document; every fourth of these is only in the first run."""
    qrels = {f"q{i}": {"r": 1} for i in range(40)}
    first = {query: {"r": 2.0, "x": 1.0} for query in qrels}
    second = {query: {"x": 2.0, "r": 1.0} if i % 4 else {"x": 1.0} for i, query in enumerate(qrels)}
    result = reusability(qrels, [first, second], ["RR", "nDCG@5"], convention, depth=2)
    for row in result.table.filter(pl.col("run") == "run1").iter_rows(named=True):
        assert (row["unique_relevant"], row["value"]) == (10, 1.0)
        assert (row["without"], row["loss"]) == pytest.approx((30 / 40, 10 / 40))
    (notice,) = result.notices
    assert (notice.code, notice.subject) == ("emptied-queries", "run1")


@pytest.fixture(scope="module")
def files(shared):
    folder = shared / "trec-covid-r1"
    return folder / "qrels.covid-round1.txt", sorted((folder / "runs").glob("*.gz"))


@pytest.fixture(scope="module")
def covid(files):
    """The judgments, and of each of 16 runs the first 100 documents of a query, in memory."""
    path, runs = files
    top = pl.col("score").rank("ordinal", descending=True).over("query_id") <= DEEPEST
    return path, [read_run(run.table.filter(top), run.name) for run in map(read_run, runs)]


def hidden(qrels, kept):
    return Qrels(qrels.table.join(kept, on=["query_id", "doc_id"], how="semi"), name="some")


def test_move_to_front_finds_more_relevant_documents_than_depth(covid):
    """With the same number of ratings, revealed in batches of 100; other ratings are hidden."""
    path, runs = covid
    truth = read_qrels(path)
    counts = {}
    for order in ("rank", "move-to-front"):
        graded_rows = truth.table.head(0)
        for _ in range(6):
            judged = Qrels(graded_rows, unjudged=("1",)) if graded_rows.is_empty() else Qrels(graded_rows)
            result = pool(runs[:6], PoolDesign(depth=30, order=order), collection=judged)
            new_grades = result.table.select("query_id", "doc_id").join(
                truth.table, on=["query_id", "doc_id"], maintain_order="left"
            )
            graded_rows = graded_rows.vstack(new_grades.head(100))
        counts[order] = (len(graded_rows), int((graded_rows["grade"] > 0).sum()))
    assert counts["rank"][0] == counts["move-to-front"][0] == 600
    assert counts["move-to-front"][1] > 1.05 * counts["rank"][1]


def settled(truth, base, other, order):
    """Ratings until less than one draw in ten has another verdict; half are known before."""
    graded_rows, count = truth.table.sort("doc_id").gather_every(2), 0
    while True:
        judged = Qrels(graded_rows, name="some")
        if holes(judged, base, other, ["nDCG@10"], draws=100).metrics["flip"][0] <= 0.1:
            return count
        pool_table = pool([base, other], PoolDesign(order=order), collection=judged).table
        step = pool_table.select("query_id", "doc_id").join(
            truth.table, on=["query_id", "doc_id"], maintain_order="left"
        )
        if step.is_empty():
            return count
        graded_rows, count = graded_rows.vstack(step.head(STEP)), count + min(STEP, len(step))


@pytest.mark.slow
def test_judge_next_settles_a_comparison_with_fewer_ratings_than_depth(covid):
    """Judgments are hidden, and revealed some at a time in either order."""
    path, runs = covid
    truth, by_name = read_qrels(path), {run.name.split(".")[0]: run for run in runs}
    influence, rank = (
        settled(truth, by_name["T5R1"], by_name["sab20"], order) for order in ("influence", "rank")
    )
    assert 0 < influence < rank


def naive_ndcg(grades, ranking):
    """nDCG@10 of one query, written out."""
    ideal_grades = sorted((g for g in grades.values() if g > 0), reverse=True)[:10]
    ideal = sum(g / math.log2(i + 1) for i, g in enumerate(ideal_grades, 1))
    dcg = sum(max(grades.get(d, 0), 0) / math.log2(i + 1) for i, d in enumerate(ranking[:10], 1))
    return dcg / ideal if ideal else 0.0


def test_left_out_of_a_real_pool(files, covid):
    """The winner's loss, computed once more with dictionaries."""
    path, paths = files
    result = reusability(path, covid[1], ["nDCG@10"], depth=10)
    lists = {}
    for run_path in paths:
        rows = {}
        with gzip.open(run_path, "rt") as lines:
            for query, _, document, _, value, _ in (line.split() for line in lines):
                rows.setdefault(query, []).append((float(value), document))
        lists[run_path] = {
            q: [d for _, d in sorted(scored_documents, reverse=True)] for q, scored_documents in rows.items()
        }
    omitted_path = next(run_path for run_path in paths if run_path.name.startswith("xj4wang"))
    other_pairs = {
        (query, document)
        for run_path in paths
        if run_path != omitted_path
        for query, documents in lists[run_path].items()
        for document in documents[:10]
    }
    grades, remaining_grades, unique = {}, {}, 0
    for query, _, document, grade in (line.split() for line in path.read_text().splitlines()):
        grades.setdefault(query, {})[document] = int(grade)
        if (query, document) not in other_pairs and document in lists[omitted_path].get(query, ())[:10]:
            unique += 1
        else:
            remaining_grades.setdefault(query, {})[document] = int(grade)
    row = result.table.filter(pl.col("run") == "xj4wang_run1").row(0, named=True)
    assert row["unique"] == unique
    for name, grades_by_query in (("value", grades), ("without", remaining_grades)):
        ndcg_values = [
            naive_ndcg(query_grades, lists[omitted_path].get(query, ()))
            for query, query_grades in grades_by_query.items()
        ]
        assert row[name] == pytest.approx(np.mean(ndcg_values), abs=1e-12)
    assert row["value"] == pytest.approx(0.6513, abs=5e-5)  # the track's leaderboard


def rated(table, truth):
    """The grades of a rater who knows the truth; documents without a judgment are irrelevant."""
    result = table.join(truth.table, on=["query_id", "doc_id"], how="left")
    return result.select("query_id", "doc_id", pl.col("grade").fill_null(0), pl.lit("ann").alias("rater"))


def test_average_precision_from_a_third_of_the_pool(covid):
    """infAP of a sample against AP of the whole pool, 16 runs (Yilmaz and Aslam, CIKM 2006)."""
    path, runs = covid
    truth = read_qrels(path)
    full_pool = pool(runs, PoolDesign(depth=20))
    judged = resolve(rated(full_pool.table, truth)).qrels
    result = pool(runs, PoolDesign(strata="20:0.33", seed=1))
    assert 0.32 < len(result.table) / len(full_pool.table) < 0.36
    unsampled = Qrels(result.rest.with_columns(pl.lit(-1.0).alias("grade")), name="rest")
    sampled_qrels = resolve(rated(result.table, truth), sample=result, rest=unsampled).qrels
    assert sampled_qrels.table["inclusion"].drop_nulls().is_between(0.2, 0.5).all()
    assert (sampled_qrels.table["grade"] == -1).sum() == len(result.rest)
    full = [float(run_scores.means["AP"]) for run_scores in evaluate(judged, runs, ["AP"]).runs]
    estimate = [
        float(run_scores.means["infAP"]) for run_scores in evaluate(sampled_qrels, runs, ["infAP"]).runs
    ]
    assert tau(np.array(estimate), np.array(full)) > 0.8
    assert np.sqrt(np.mean((np.array(estimate) - full) ** 2)) < 0.03


def test_strata_of_unlike_rates_are_none_for_inferred_ap(covid):
    """infAP takes every judged document for one of a uniform sample, and is then too high."""
    path, runs = covid
    truth = read_qrels(path)
    full_pool = pool(runs, PoolDesign(depth=20))
    judged = resolve(rated(full_pool.table, truth)).qrels
    full = [float(run_scores.means["AP"]) for run_scores in evaluate(judged, runs, ["AP"]).runs]
    for strata, warned in (("5:1,20:0.3", True), ("20:0.33", False)):
        result = pool(runs, PoolDesign(strata=strata, seed=1))
        unsampled = Qrels(result.rest.with_columns(pl.lit(-1.0).alias("grade")), name="rest")
        resolution = resolve(rated(result.table, truth), sample=result, rest=unsampled)
        qrels = resolution.qrels
        estimate = [float(run_scores.means["infAP"]) for run_scores in evaluate(qrels, runs, ["infAP"]).runs]
        bias = np.mean(np.array(estimate) - full)
        assert (bias > 0.03) == warned
        assert ("unlike-strata" in {notice.code for notice in resolution.notices}) == warned


def test_what_was_drawn_and_not_graded_is_in_the_pool_all_the_same():
    result = pool([A, B], PoolDesign(strata="3:1"))
    ratings = result.table.head(2).select("query_id", "doc_id").with_columns(rater=pl.lit("a"), grade=1)
    table = resolve(ratings, sample=result, rest={"1": {"x": -1}}).qrels.table
    assert table["grade"].to_list() == [1, 1, *[-1] * (len(result.table) - 2), -1]
    assert table["inclusion"].to_list() == [1, 1, *[None] * (len(result.table) - 1)]
    assert len(resolve(ratings, sample=result).qrels.table) == 2


def test_a_grade_outside_the_sample_has_no_chance():
    result = pool([A, B], PoolDesign(strata="1:1,3:0.5"))
    unsampled_rows = result.rest.rows()
    table = pl.DataFrame(
        [(*unsampled_rows[0], "ann", 1.0)], schema=["query_id", "doc_id", "rater", "grade"], orient="row"
    )
    with raises("not-in-sample", InputError):
        resolve(table, sample=result)
    with raises("missing-input", UsageError):
        resolve(table, rest={"1": {"a": -1}})
    ratings = result.table.select("query_id", "doc_id").with_columns(rater=pl.lit("a"), grade=1.0)
    with raises("contradiction", InputError):
        resolve(ratings, sample=result, rest={"1": {"x": 2}})
    query, document = ratings.row(0)[:2]
    with raises("contradiction", InputError):
        resolve(ratings, sample=result, rest={query: {document: -1}})
