"""Three metrics of a shop's search: the page's worked examples, labels and table of stages."""

from __future__ import annotations

from math import log2

import pytest
from click.testing import CliRunner

import rankgate
from rankgate.interface.cli import rankgate as program
from support.wording import raises

QUERY = "wireless bluetooth headphones"
RANKING = {QUERY: ["Sony WH-1000XM5 Wireless", "JBL Tune Bluetooth Earbuds", "Headphone Stand"]}
TABLE = """\
| Stage | NDCG@10 | MRR@10 | Recall@100 |
|-------|---------|--------|------------|
| BM25 | 0.585 | 0.812 | 0.741 |
| Dense Bi-Encoder | 0.611 | 0.808 | 0.825 |
| Hybrid (RRF) | 0.628 | 0.834 | 0.842 |
| + Cross-Encoder | 0.645 | 0.860 | 0.842 |
| + LLM Reranker | 0.717 | 0.901 | 0.842 |
"""
WORDS = ("Exact", "Substitute", "Complement", "Irrelevant")


@pytest.mark.parametrize("labels", ["ESCI", WORDS])
def test_the_worked_example_of_ndcg(labels):
    exact, substitute, complement, _ = labels
    judged = dict(zip(RANKING[QUERY], (exact, substitute, complement), strict=True)) | {"another": exact}
    grades = {label: 3 - position for position, label in enumerate(labels)}
    collection = rankgate.Collection({QUERY: judged}, grades=grades)
    values = {
        name: rankgate.evaluate(collection, RANKING, ["nDCG@3"], name).runs[0].means["nDCG@3"]
        for name in ("esci", "trec")
    }
    ideal = 7 + 7 / log2(3) + 3 / 2
    assert values["esci"] == pytest.approx((7 + 3 / log2(3) + 1 / 2) / ideal)
    assert values["esci"] == pytest.approx(9.393 / 12.916, abs=5e-5)  # the page's own sums
    linear = (3 + 2 / log2(3) + 1 / 2) / (3 + 3 / log2(3) + 2 / 2)
    assert values["trec"] == pytest.approx(linear)
    assert round(linear, 4) == 0.8081


@pytest.fixture
def audited(tmp_path):
    (tmp_path / "table.md").write_text(TABLE)
    return rankgate.audit(tmp_path / "table.md", queries=500)


def test_the_audit_says_what_it_could_check(audited):
    checked = audited.cells.filter(audited.cells["status"] != "unknown")
    assert set(checked["column"]) == {"MRR@10"}
    text = str(audited)
    assert "5 of 15 numbers could be checked, and are possible; 10 could not" in " ".join(text.split())


def test_a_tie_of_three_has_no_best(audited, tmp_path):
    row = audited.pairs.filter(column="Recall@100").row(0, named=True)
    assert (row["best"], row["second"], row["status"]) == ("–", "–", "unresolvable")
    assert row["why"] == "no best: Hybrid (RRF), + Cross-Encoder, + LLM Reranker are equal"
    assert audited.pairs["best"].to_list()[:2] == ["+ LLM Reranker"] * 2
    result = CliRunner().invoke(program, ["audit", str(tmp_path / "table.md"), "--queries", "500"])
    assert result.exit_code == 3  # most numbers are unknown
    assert "PASS" not in result.output


def test_the_notice_names_the_other_formula():
    labels = dict(zip([*RANKING[QUERY], "another"], "ESCE", strict=True))
    collection = rankgate.Collection({QUERY: labels}, grades=dict(zip("ESCI", (3, 2, 1, 0), strict=True)))
    scores = rankgate.evaluate(collection, RANKING, ["nDCG@3", "RR"])
    (notice,) = scores.notices
    assert notice.code == "gains-of-labels"
    assert "(--convention esci) nDCG@3 is 0.7272 instead of 0.8081" in notice.text
    for other in (
        rankgate.evaluate(collection, RANKING, ["nDCG@3"], "esci"),
        rankgate.evaluate(collection, RANKING, ['nDCG(gain="exp")@3', "RR"]),
        rankgate.evaluate({QUERY: dict.fromkeys(RANKING[QUERY], 2)}, RANKING, ["nDCG@3"]),
    ):
        assert other.notices == ()


@pytest.mark.parametrize("labels", ["ESC", WORDS])
def test_labels_without_grades_are_answered_with_a_guess(labels):
    judged = dict(zip(RANKING[QUERY], labels, strict=False))
    with raises("not-a-number"):
        rankgate.evaluate({QUERY: judged}, RANKING, ["nDCG@3"])


def test_retrieval_sets_the_ceiling():
    """The first example of the page, and its order turned round."""
    labels = dict(zip([*RANKING[QUERY], "another"], "ESCE", strict=True))
    collection = rankgate.Collection({QUERY: labels}, grades=dict(zip("ESCI", (3, 2, 1, 0), strict=True)))
    runs = {"retrieved": {QUERY: RANKING[QUERY][::-1]}, "reranked": RANKING}
    text = " ".join(str(rankgate.stages(collection, runs, ["nDCG@3"], "esci")).split())
    assert "The bottleneck now is retrieval" in text
    assert "reranked reranks 3.0 0.7272 0.7272 100.0%" in text
