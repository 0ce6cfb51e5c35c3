"""From ratings to judgments: the cases of tools, and refusals."""

import json
from datetime import UTC, datetime

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.write_results import FORMS, render_result
from rankgate.data.qrels import Ratings, Scale, parse_scale
from rankgate.data.table_rows import RowLocation
from rankgate.judging.grade_transformers import TRANSFORMERS, Transformer, find_transformer
from rankgate.judging.resolution.resolution import RULES, ResolvedJudgments, resolve_ratings
from rankgate.judging.resolution.resolve import resolve as verb
from support.wording import assert_wording, raises


def rated(grades, **columns):
    """One pair a list of grades, one rater a place; None: could not tell."""
    rows = [
        {"query_id": "q", "doc_id": f"d{i}", "rater": f"r{j}", "grade": grade}
        for i, pair_grades in enumerate(grades)
        for j, grade in enumerate(pair_grades)
    ]
    table = pl.DataFrame(rows, schema_overrides={"grade": pl.Float64})
    location = RowLocation("ratings.csv", lambda row: row + 2)
    return Ratings(table.with_columns(**columns), place=location)


def grades_of(resolution, pairs):
    if resolution.qrels is None:
        return [None] * pairs
    result = dict(resolution.qrels.table.select("doc_id", "grade").iter_rows())
    return [result.get(f"d{i}") for i in range(pairs)]


@pytest.mark.parametrize(
    ("rule", "given_", "expected"),
    [
        # Quepid, app/services/ratings_manager.rb (CONVENTIONS 2.3)
        ("top-three", [4, 1], 2.5),
        ("top-three", [3, 2, 1], 1),
        ("top-three", [3, 3, 3, 1, 0], 3),
        ("top-three", [3, 2, 2, 1, 0], 2),
        ("top-three", [2.5, 2.5, 1.5], 1.5),
        # SearchTweak: majority on the binary scale, null where it ties
        ("majority", [1, 1, 0], 1),
        ("majority", [0, 0, 1], 0),
        ("majority", [1, 0, None], None),
        ("majority", [None, None, 1], 1),
        ("mean", [3, 2, 1], 2),
        ("mean", [3, 2], 2.5),
        ("median", [0, 3, 3], 3),
        ("median", [0, 1, 2, 3], 1),
        ("unanimous", [2, None, 2], 2),
        ("unanimous", [2, 2, 1], None),
    ],
)
def test_a_rule_on_one_pair(rule, given_, expected):
    assert grades_of(resolve_ratings(rated([given_]), rule), 1) == [expected]


def test_a_transformer_by_name_by_lines_or_from_a_file(tmp_path):
    (tmp_path / "map.txt").write_text("1: 0\n2: 1\n")
    steps = ((1.0, 0.0), (2.0, 1.0))
    for transformer in ("1: 0; 2: 1", "1: 0\n2: 1", str(tmp_path / "map.txt"), tmp_path / "map.txt"):
        assert find_transformer(transformer).steps == steps
    assert find_transformer("graded-to-binary") is TRANSFORMERS["graded-to-binary"]
    assert find_transformer(None) is None
    with raises("unknown-choice", UsageError):
        find_transformer("graded-to-nothing")


def test_searchtweak_transforms_before_it_aggregates():
    """Grades 1, 1, 0 are relevant by majority; their mean .67 would not be a grade to map."""
    result = resolve_ratings(rated([[1, 1, 0]]), "majority", transformer=TRANSFORMERS["graded-to-binary"])
    assert grades_of(result, 1) == [1]
    assert result.qrels.made_by["transformer"] == "graded-to-binary"
    assert result.qrels.made_by["maps"] == "0: 0\n1: 1\n2: 1\n3: 1"


@pytest.mark.parametrize(
    ("name", "grades", "becomes"),
    [
        ("binary-to-graded", [0, 1], [0, 3]),
        ("binary-to-detail", [0, 1], [1, 10]),
        ("graded-to-detail", [0, 1, 2, 3], [1, 4, 7, 10]),
        ("detail-to-binary", [1, 2, 10], [0, 1, 1]),
        ("detail-to-graded", [1, 2, 4, 5, 7, 8, 10], [0, 1, 1, 2, 2, 3, 3]),
    ],
)
def test_the_default_transformers(name, grades, becomes):
    result = TRANSFORMERS[name](rated([[grade] for grade in grades]))
    assert result.table["grade"].to_list() == becomes


def test_a_transformer_reads_what_it_writes():
    text = "1: 0\n2: 1\n\n3: 2.5"
    read = Transformer.parse(text, "mine")
    assert read.steps == ((1, 0), (2, 1), (3, 2.5))
    assert Transformer.parse(read.text, "mine") == read


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [("1: 0\nfoo", "invalid-syntax", 2), ("1: 0\n1: 1", "duplicate-grade", 2), ("\n", "empty-file", None)],
)
def test_a_transformer_that_cannot_be_read(text, code, line):
    with raises(code, InputError, line=line, source="mine"):
        Transformer.parse(text, "mine")


def test_a_grade_the_transformer_does_not_name():
    with raises("grade-outside-scale", InputError):
        TRANSFORMERS["graded-to-binary"](rated([[3, 7]]))


def test_a_grade_outside_the_scale_is_never_clipped():
    with raises("grade-outside-scale", InputError, line=4):
        resolve_ratings(rated([[3, 0], [5, 10]]), "mean", scale=parse_scale("0..3"))


def test_a_scale_with_grades_of_its_own():
    assert resolve_ratings(rated([[100, 10]]), scale=parse_scale("0,1,10,100")).counts["ties"] == 1
    with raises("grade-outside-scale", InputError):
        resolve_ratings(rated([[50]]), scale=parse_scale("0,1,10,100"))
    with raises("unknown-scale", UsageError):
        parse_scale("3..0")


def test_the_last_word_of_a_rater_counts():
    ratings = Ratings(
        pl.DataFrame(
            {
                "query_id": ["q"] * 4,
                "doc_id": ["d0"] * 4,
                "rater": ["ann", "bob", "ann", "ann"],
                "grade": [0.0, 1.0, 2.0, 3.0],
                "at": [datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2, 9, 5)],
            }
        )
    )
    result = resolve_ratings(ratings, "mean")
    assert grades_of(result, 1) == [1.5]
    assert result.counts["corrected"] == 2


def test_a_withdrawn_grade_is_no_grade():
    table = pl.DataFrame({"query_id": "q", "doc_id": "d0", "rater": ["ann", "ann"], "grade": [2.0, None]})
    result = resolve_ratings(Ratings(table), "mean")
    assert result.qrels is None
    assert result.unresolved["why"].to_list() == ["no grade"]


def test_slots_take_the_first_grades():
    result = resolve_ratings(rated([[0, None, 3, 3]]), "mean", slots=1)
    assert grades_of(result, 1) == [0]
    assert result.counts["beyond_slots"] == 2
    assert grades_of(resolve_ratings(rated([[0, None, 3, 3]]), "mean", slots=3), 1) == [2]


def test_ties_are_reported_with_their_grades():
    result = resolve_ratings(rated([[1, 0], [1, 1]]))
    assert result.unresolved.rows() == [("q", "d0", "tie", [1.0, 0.0])]
    assert dict(result.counts)["resolved"] == 1


def test_the_adjudicator_decides_where_raters_differ():
    ratings = rated([[1, 0, 2], [1, 1], [0, 1, None, 1], [0, 1]])
    result = resolve_ratings(ratings, "adjudicated", {"adjudicator": "r2"})
    assert grades_of(result, 4) == [2, 1, 1, None]
    assert result.unresolved["why"].to_list() == ["not adjudicated"]
    assert result.counts["adjudicated"] == 1
    options = {"adjudicator": "r2", "otherwise": "unanimous"}
    assert grades_of(resolve_ratings(ratings, "adjudicated", options), 4) == [2, 1, None, None]
    options = {"adjudicator": "r2", "otherwise": "median"}
    assert grades_of(resolve_ratings(ratings, "adjudicated", options), 4) == [2, 1, 1, 0]
    with raises("invalid-parameter", UsageError):
        resolve_ratings(ratings, "adjudicated", {"adjudicator": "r2", "otherwise": "latest"})
    with pytest.raises(UsageError):
        resolve_ratings(rated([[1]]), "adjudicated")
    with raises("unknown-choice", UsageError):
        resolve_ratings(rated([[1]]), "adjudicated", {"adjudicator": "nobody"})


def test_dawid_and_skene_trusts_who_is_consistent():
    """Two careful raters against three raters who always give 3."""
    truth = [0, 1, 2, 3, 0, 1, 2, 3, 0, 0, 1, 2] * 5
    result = resolve_ratings(rated([[t, t, 3, 3, 3] for t in truth]), "dawid-skene")
    assert grades_of(result, len(truth)) == truth
    assert grades_of(resolve_ratings(rated([[t, t, 3, 3, 3] for t in truth])), 4) == [3, 3, 3, 3]


def test_parameters_are_checked():
    with raises("unknown-parameter", UsageError):
        resolve_ratings(rated([[1]]), "mean", {"foo": 1})
    with raises("unknown-rule", UsageError):
        resolve_ratings(rated([[1]]), "majorty")
    with raises("invalid-parameter", UsageError):
        resolve_ratings(rated([[1]]), "top-three", {"rounded": "maybe"})
    assert grades_of(resolve_ratings(rated([[4, 1]]), "top-three", {"rounded": "yes"}), 1) == [3]


def test_the_scale_goes_with_the_judgments():
    ratings = Ratings(rated([[3]]).table, scale=Scale(0, 3))
    assert resolve_ratings(ratings, "mean").qrels.scale == Scale(0, 3)
    binary = resolve_ratings(ratings, transformer=TRANSFORMERS["graded-to-binary"]).qrels.scale
    assert (binary.lowest, binary.highest) == (0, 1)


@given(
    st.lists(
        st.lists(st.one_of(st.none(), st.integers(0, 3)), min_size=1, max_size=5), min_size=1, max_size=6
    ),
    st.sampled_from([name for name in RULES if name not in {"adjudicated", "latest"}]),
)
def test_every_pair_is_judged_or_reported(grades, rule):
    result = resolve_ratings(rated(grades), rule)
    judged = 0 if result.qrels is None else len(result.qrels.table)
    assert judged + len(result.unresolved) == result.counts["pairs"] == len(grades)
    for resolved, pair_grades in zip(grades_of(result, len(grades)), grades, strict=True):
        real = [grade for grade in pair_grades if grade is not None]
        assert resolved is None or min(real) <= resolved <= max(real) or rule == "dawid-skene"
        if len(set(real)) == 1 and rule != "dawid-skene":
            assert resolved == real[0]


def test_latest_needs_times_where_grades_differ():
    """The order of files must not choose the grade."""
    day = [datetime(2026, 1, d, tzinfo=UTC) for d in (3, 1, 2)]
    timed = rated([[0, 3, 1]], at=pl.Series(day))
    assert grades_of(resolve_ratings(timed, "latest"), 1) == [0]
    reversed_ratings = Ratings(timed.table.reverse())
    assert grades_of(resolve_ratings(reversed_ratings, "latest"), 1) == [0]
    with raises("missing-input", UsageError):
        resolve_ratings(rated([[0, 3, 1], [2, 2]]), "latest")
    with raises("missing-input", UsageError):
        resolve_ratings(rated([[0, 3]], at=pl.Series([day[0], day[0]])), "latest")
    with raises("missing-input", UsageError):
        resolve_ratings(rated([[0, 3]], at=pl.Series([day[0], None])), "latest")
    assert grades_of(resolve_ratings(rated([[0, 3, 1], [2, 2]]), "latest", {"order": "file"}), 2) == [1, 2]
    assert grades_of(resolve_ratings(rated([[1, 1]]), "latest"), 1) == [1]


def test_slots_without_times_are_said():
    three = rated([[0, 3, 1], [2, 2]])
    result = verb(three, "mean", slots=2)
    assert result.counts["unordered"] == 1
    assert [notice.code for notice in result.notices] == ["no-times"]
    assert_wording(*result.cautions)
    hours = [datetime(2026, 1, 1, h, tzinfo=UTC) for h in range(5)]
    assert not verb(rated([[0, 3, 1], [2, 2]], at=pl.Series(hours)), "mean", slots=2).cautions


def test_judgments_come_back_from_json():
    result = verb(rated([[1, 0], [1, 1], [None]]))
    restored = ResolvedJudgments.from_dict(json.loads(json.dumps(result.to_dict())))
    assert restored.to_dict() == result.to_dict()
    for form in FORMS:
        assert render_result(restored, form) == render_result(result, form)
