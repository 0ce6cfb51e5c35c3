"""``rankgate.conventions``, ``rankgate.convention``, and their use in verbs."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

import rankgate
from rankgate.extend import using
from rankgate.measurement.scoring import CONVENTIONS
from support.wording import raises

QRELS = {"q": {"a": 1}}
TIED = {"q": {"a": 1.0, "b": 1.0}}


def test_every_convention_is_there():
    all_conventions = rankgate.conventions()
    assert all_conventions.names == tuple(CONVENTIONS)
    assert len(all_conventions) == len(CONVENTIONS) == len(list(all_conventions))
    assert all_conventions.to_polars().columns == ["name", "title", "source", "hash"]
    assert all_conventions.to_polars()["hash"].to_list() == [
        convention.hash for convention in CONVENTIONS.values()
    ]
    assert "searchtweak" in all_conventions._repr_html_()


def test_one_shows_its_choices():
    trec = rankgate.conventions()["trec"]
    assert trec.hash == CONVENTIONS["trec"].hash
    rows = trec.details.to_polars().filter(pl.col("axis") == "ties")
    assert rows["value"].to_list() == ["doc_id_desc"]
    assert "ties" in trec._repr_html_()
    assert str(trec).startswith(f"trec ({trec.hash})")


def test_choosing_otherwise_gives_another_one_which_scores():
    convention = rankgate.convention("trec", ["ties=doc_id_asc"])
    assert rankgate.evaluate(QRELS, TIED, "RR", convention).means["RR"].to_list() == [1.0]
    assert rankgate.evaluate(QRELS, TIED, "RR").means["RR"].to_list() == [0.5]
    assert convention.name == "trec+"
    assert "ties *" in convention._repr_html_()


def test_overrides_in_the_call_are_the_same():
    convention = rankgate.convention("trec", {"ties": "doc_id_asc"})
    result = rankgate.evaluate(QRELS, TIED, "RR", convention)
    assert result.convention["hash"] == convention.hash
    explanation = rankgate.explain(QRELS, TIED, "q", "RR", rankgate.convention("trec", ["ties=doc_id_asc"]))
    assert explanation.value == 1.0
    assert explanation.convention["hash"] == convention.hash


def test_a_file_says_a_convention(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "mine"\nbase = "trec"\nties = "doc_id_asc"\n')
    for convention in (str(path), rankgate.convention(str(path))):
        result = rankgate.evaluate(QRELS, TIED, "RR", convention)
        assert result.means["RR"].to_list() == [1.0]
        assert result.convention["name"] == "mine"
    assert rankgate.explain(QRELS, TIED, "q", "RR", str(path)).value == 1.0


def test_an_axis_that_there_is_not():
    with raises("unknown-axis", rankgate.UsageError):
        rankgate.convention("trec", {"tie": "doc_id_asc"})
    with raises("unknown-convention", rankgate.UsageError):
        rankgate.conventions()["trek"]


def test_bounds_stand_beside_values():
    qrels = {"q": {"a": 1}, "r": {"a": 1}}
    run = {"q": {"x": 2.0, "a": 1.0}, "r": {"a": 2.0, "x": 1.0}}
    result = rankgate.evaluate(qrels, run, ["RR", "Judged@2"], bounds=True)
    assert result.bounds.rows() == [("run1", "RR", 0.75, 0.75, 1.0), ("run1", "Judged@2", 0.5, None, None)]
    values = result.values.filter(pl.col("metric") == "RR").select("query_id", "value", "low", "high")
    assert values.rows() == [("q", 0.5, 0.5, 1.0), ("r", 1.0, 1.0, 1.0)]
    assert "[0.7500, 1.0000]" in result._repr_html_()
    plain = rankgate.evaluate(qrels, run, ["RR"])
    assert plain.bounds.row(0) == ("run1", "RR", 0.75, None, None)
    assert plain.values.columns == ["run", "query_id", "metric", "value", "why"]
    assert plain.values.equals(plain.values)  # to look at them changes nothing


def test_another_s_metrics_are_known_by_name():
    @rankgate.metric
    def top(grades: Sequence[float | None]):
        return float(grades[0] or 0)

    with using(top):
        assert rankgate.evaluate(QRELS, TIED, "top").means["top"].to_list() == [0.0]
    assert rankgate.evaluate(QRELS, TIED, top).means["top"].to_list() == [0.0]
