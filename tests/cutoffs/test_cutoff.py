"""The verb and the command: questions, thresholds, bad input."""

import json

import numpy as np
import polars as pl
import pytest

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.cutoffs.scored_questions import ScoredQuestions
from rankgate.measurement.evaluation.scored_system import Scorer
from support.wording import assert_wording, raises

RNG = np.random.default_rng(2)
ANSWERED = {f"a{i:03}": {"r": 1, "s": 1, "n": 0} for i in range(100)}
SILENT = {f"b{i:03}": {"n": 0} for i in range(100)}
QRELS = {**ANSWERED, **SILENT}
RUN = {
    query: {doc: float(RNG.normal(2.0 * grade, 1)) for doc, grade in grades.items()}
    for query, grades in QRELS.items()
}
TAGS = pl.DataFrame(
    {"query_id": [*QRELS], "intent": ["head", "tail"] * 100, "answerable": ["yes"] * 100 + ["no"] * 100}
)


def demands(analysis, **columns):
    return analysis.demands.filter(**columns)


def test_thresholds_are_order_statistics_of_the_questions():
    analysis = rankgate.cutoff(QRELS, {"dense": RUN})
    silent, kept = analysis.demands.to_dicts()
    tops = sorted(max(RUN[query].values()) for query in SILENT)
    assert tops[-2] < silent["threshold"] <= tops[-1]  # one of 100 may be lost: P(X <= 1 | 100, 0.05) = 0.037
    assert (silent["n"], silent["share"]) == (100, 0.99)
    assert silent["low"] >= 0.95
    assert kept["n"] == 100
    assert kept["share"] == pytest.approx(0.96)  # 4 of 100 may be: P(X <= 4 | 100, 0.1) = 0.024
    assert_wording(analysis.sentences[0])


@pytest.mark.parametrize(("keep", "choose"), [("one", max), ("all", min)])
def test_what_is_kept_of_a_question(keep, choose):
    analysis = rankgate.cutoff(QRELS, RUN, keep=keep)
    (threshold,) = demands(analysis, subject="kept")["threshold"]
    scores = sorted(choose(RUN[query]["r"], RUN[query]["s"]) for query in ANSWERED)
    assert scores[3] < threshold <= scores[4]


def test_the_drawn_documents_are_of_each_question_and_follow_the_seed():
    scorer = Scorer.from_metrics(QRELS, "nDCG@10")
    questions = ScoredQuestions.read(scorer, rankgate.read_run(RUN))
    drawn = questions.scores("share").relevant
    pairs = np.array([(RUN[query]["r"], RUN[query]["s"]) for query in ANSWERED])
    assert (drawn[:, None] == pairs).any(axis=1).all()
    assert 25 < (drawn == pairs[:, 0]).sum() < 75
    assert not np.array_equal(drawn, questions.scores("share", seed=1).relevant)
    assert np.array_equal(drawn, questions.scores("share").relevant)


def test_both_demands_hold_between_two_thresholds():
    run = {
        query: {
            doc: score + 9 * grade
            for (doc, score), grade in zip(row.items(), QRELS[query].values(), strict=True)
        }
        for query, row in RUN.items()
    }
    analysis = rankgate.cutoff(QRELS, run)
    silent, kept = analysis.demands["threshold"]
    assert silent < kept
    assert f"show scores from {silent} on" in analysis.sentences[0]


def test_missing_labels_are_counted():
    few = {query: grades for query, grades in QRELS.items() if query < "b040"}
    analysis = rankgate.cutoff(few, RUN)
    (row,) = demands(analysis, subject="silent").to_dicts()
    assert (row["n"], row["threshold"], row["missing"], row["status"]) == (40, None, 19, "labels missing")
    assert "judge 19 more questions without an answer" in analysis.sentences[0]
    without = rankgate.cutoff(ANSWERED, RUN)
    assert demands(without, subject="silent")["missing"].to_list() == [59]


def test_slices_share_the_error_and_change_nothing_else():
    collection = rankgate.Collection(QRELS, tags=TAGS)
    whole, sliced = (rankgate.cutoff(collection, RUN, slices=slices) for slices in ((), ("intent",)))
    assert whole.demands.equals(sliced.demands.filter(pl.col("slice").is_null()))
    parts = demands(sliced, subject="silent", slice="intent=head")
    assert parts["confidence"].to_list() == [0.975]
    assert parts["n"].to_list() == [50]
    assert parts["missing"].to_list() == [72 - 50]  # 0.95 ** 72 <= 0.025
    with raises("unknown-tag", UsageError):
        rankgate.cutoff(collection, RUN, slices=["colour"])


def test_tags_may_have_any_name():
    names = ["value", "top", "state", "scores", "has_answer", "score", "relevant", "cluster_of"]
    tags = TAGS.with_columns(pl.col("intent").alias(name) for name in names)
    plain = rankgate.cutoff(rankgate.Collection(QRELS, tags=TAGS), RUN, slices=["intent"])
    tagged = rankgate.cutoff(rankgate.Collection(QRELS, tags=tags), RUN, slices=["has_answer"])
    assert tagged.demands.drop("slice").equals(plain.demands.drop("slice"))
    assert tagged.abstention.equals(plain.abstention)
    assert tagged.curve.equals(plain.curve)


def test_a_stated_threshold_is_checked():
    analysis = rankgate.cutoff(QRELS, RUN, threshold=0.0)
    status = dict(analysis.demands.filter(threshold=0.0).select("subject", "status").iter_rows())
    assert status["silent"] == "fail"
    far = rankgate.cutoff(QRELS, RUN, threshold=9.0)
    assert dict(far.demands.filter(threshold=9.0).select("subject", "status").iter_rows()) == {
        "silent": "pass",
        "kept": "fail",
    }


def test_questions_without_an_answer_can_be_declared_by_a_tag():
    judged = {**ANSWERED, "b000": {"n": 0}}  # the others are not judged
    collection = rankgate.Collection(judged, tags=TAGS)
    analysis = rankgate.cutoff(collection, RUN, no_answer="answerable=no")
    assert demands(analysis, subject="silent").equals(demands(rankgate.cutoff(QRELS, RUN), subject="silent"))
    for wrong in ("answerable=maybe", "colour=red", "unjudged"):
        with raises("unknown-tag", UsageError):
            rankgate.cutoff(collection, RUN, no_answer=wrong)
    with raises("contradicting-tags", InputError):
        rankgate.cutoff(collection, RUN, no_answer="answerable=yes")


def test_questions_without_judgments_have_no_answer_only_if_it_is_declared():
    named = {**ANSWERED, **{query: {} for query in SILENT}}
    analysis = rankgate.cutoff(named, RUN)
    assert demands(analysis, subject="silent")["n"].to_list() == [0]
    assert "neither" in {notice.code for notice in analysis.notices}
    declared = rankgate.cutoff(named, RUN, no_answer="named")
    assert demands(declared, subject="silent")["n"].to_list() == [100]
    assert "unjudged-tops" in {notice.code for notice in declared.notices}


def test_documents_that_were_pooled_and_not_judged_make_no_question_judged():
    pooled = {**ANSWERED, **{query: {"n": -1} for query in SILENT}}
    analysis = rankgate.cutoff(pooled, RUN)
    assert demands(analysis, subject="silent")["n"].to_list() == [0]
    unjudged = {query: {**grades, "x": 0} for query, grades in SILENT.items()}
    tops = {query: {**row, "y": 50.0 + i} for i, (query, row) in enumerate(RUN.items())}
    notices = {notice.code: notice.text for notice in rankgate.cutoff({**ANSWERED, **unjudged}, tops).notices}
    assert "100" in notices["unjudged-tops"]
    complete = rankgate.Collection({**ANSWERED, **unjudged}, selection="complete")
    assert "unjudged-tops" not in {notice.code for notice in rankgate.cutoff(complete, tops).notices}


def test_what_a_threshold_cannot_change_is_said():
    run = {query: dict(list(row.items())[:1]) for query, row in RUN.items() if query != "b000"}
    notices = {notice.code: notice.text for notice in rankgate.cutoff(QRELS, {"dense": run}).notices}
    assert "100" in notices["not-retrieved"]  # s of each question
    assert "1" in notices["not-asked"]
    assert "unjudged-tops" not in notices


def test_questions_that_returned_nothing_are_silent(tmp_path):
    lines = [f"{q} Q0 {d} 1 {s} x\n" for q, row in RUN.items() if q < "b020" for d, s in row.items()]
    (tmp_path / "a.run").write_text("".join(lines))
    states = [{"query_id": query, "state": "zero"} for query in SILENT if query >= "b020"]
    (tmp_path / "a.run.meta.jsonl").write_text("".join(json.dumps(row) + "\n" for row in states))
    analysis = rankgate.cutoff(QRELS, str(tmp_path / "a.run"))
    assert demands(analysis, subject="silent")["n"].to_list() == [100]


def test_questions_of_a_cluster_count_once():
    tags = TAGS.with_columns(cluster=pl.when(pl.col("query_id") >= "b050").then(pl.lit("c")))
    analysis = rankgate.cutoff(rankgate.Collection(QRELS, tags=tags), RUN)
    assert demands(analysis, subject="silent")["n"].to_list() == [51]
    assert "clusters" in {notice.code for notice in analysis.notices}


def test_the_curve_goes_from_everything_to_nothing():
    curve = rankgate.cutoff(QRELS, RUN).curve
    assert (curve["silent"][0], curve["kept"][0]) == (0, 1)
    assert (curve["silent"][-1], curve["kept"][-1]) == (1, 0)
    assert curve["threshold"].is_sorted()
    for name, descending in (("silent", False), ("kept", True), ("shown", True)):
        assert curve[name].is_sorted(descending=descending)
    assert 1.9 < curve["shown"][0] <= 2  # 3 and 1 documents; some score below those that count


def test_each_system_has_thresholds_of_its_own():
    scaled = {query: {doc: 100 * score for doc, score in row.items()} for query, row in RUN.items()}
    analysis = rankgate.cutoff(QRELS, {"a": RUN, "b": scaled})
    first, second = (demands(analysis, system=name)["threshold"].to_numpy() for name in "ab")
    np.testing.assert_allclose(second, 100 * first, rtol=0.01)


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("equal-scores", lambda row: {doc: 5.0 - rank for rank, doc in enumerate(row)}),
        ("not-a-number", lambda row: {doc: float("nan") for doc in row}),
    ],
)
def test_scores_that_no_threshold_can_cut_are_refused(code, change):
    run = {query: change(row) for query, row in RUN.items()}
    with raises(code, InputError):
        rankgate.cutoff(QRELS, {"dense": run})


def test_distances_and_repeated_documents_are_refused_with_the_file(tmp_path):
    rows = [
        f"{query} Q0 {doc} {rank} {i + rank} x\n"
        for i, (query, row) in enumerate(RUN.items())
        for rank, doc in enumerate(row, 1)
    ]
    (tmp_path / "far.run").write_text("".join(rows))
    with raises("rising-scores", InputError):
        rankgate.cutoff(QRELS, str(tmp_path / "far.run"))
    (tmp_path / "twice.run").write_text("".join([*rows[:3], rows[0]]))
    with raises("duplicate-document", InputError):
        rankgate.cutoff(QRELS, str(tmp_path / "twice.run"))


def test_judgments_and_metrics_that_do_not_fit_are_refused():
    with raises("no-relevant", InputError):
        rankgate.cutoff(QRELS, {"dense": RUN}, rel=2)
    with raises("unsupported-metric", UsageError):
        rankgate.cutoff(QRELS, RUN, "DCG@10")
    with raises("conflicting-options", UsageError):
        rankgate.cutoff(rankgate.Collection(QRELS, sample="random"), RUN)
    with raises("missing-input", UsageError):
        rankgate.cutoff(QRELS, [])
    with raises("unused-option", UsageError):
        rankgate.cutoff(QRELS, RUN, test=rankgate.Test("bootstrap"))


@pytest.mark.parametrize(
    "wrong",
    [{"silent": 1.5}, {"silent": 0}, {"kept": float("nan")}, {"keep": "most"}, {"threshold": float("inf")}],
)
def test_options_out_of_their_range_are_refused(wrong):
    with raises("out-of-range", UsageError):
        rankgate.cutoff(QRELS, RUN, **wrong)


def test_the_level_is_that_of_the_test():
    analysis = rankgate.cutoff(QRELS, RUN, silent=0.99, test=rankgate.Test(level=0.99))
    (row,) = demands(analysis, subject="silent").to_dicts()
    assert (row["missing"], row["confidence"]) == (459 - 100, pytest.approx(0.99))  # 0.99 ** 459 <= 0.01


def test_the_command_prints_what_the_verb_returns(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [f"{q} 0 {d} {g}\n" for q, row in QRELS.items() for d, g in row.items()]
    (tmp_path / "qrels.txt").write_text("".join(rows))
    rows = [f"{q} Q0 {d} 1 {s!r} x\n" for q, row in RUN.items() for d, s in row.items()]
    (tmp_path / "dense.run").write_text("".join(rows))
    ended = run(
        "cutoff", "qrels.txt", "dense.run", "--silent", "0.9", "--threshold", "1.5", "--format", "json"
    )
    expected = rankgate.cutoff("qrels.txt", "dense.run", silent=0.9, threshold=1.5)
    assert json.loads(ended.out) == json.loads(json.dumps(expected.to_dict()))
    text = run("cutoff", "qrels.txt", "dense.run").out
    assert "dense: from" in text
    assert run("cutoff", "qrels.txt", "dense.run", "--silent", "1").code == 2
