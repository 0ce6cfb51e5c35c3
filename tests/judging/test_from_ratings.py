"""The whole way of SearchTweak and of Quepid, from single ratings (CONVENTIONS 2.2 and 2.3)."""

from __future__ import annotations

import json
import math

import polars as pl
import pytest

from rankgate.core.errors import UsageError
from rankgate.data.qrels import Ratings
from rankgate.interface.cli import main
from rankgate.judging.resolution.rated_evaluation import (
    TOOL_RULES,
    from_ratings,
    holds_ratings,
    percent_change,
)
from rankgate.measurement.evaluation.commands import FROM_RATINGS
from support.wording import raises


def rated(slots, scale=None):
    """Ratings of one keyword: a list of grades for each place of its list."""
    rows = [
        ("shoes", f"d{i:02}", f"rater{j}", None if grade is None else float(grade))
        for i, grades in enumerate(slots)
        for j, grade in enumerate(grades if isinstance(grades, list) else [grades])
    ]
    schema = {"query_id": pl.String, "doc_id": pl.String, "rater": pl.String, "grade": pl.Float64}
    return Ratings(pl.DataFrame(rows, schema=schema, orient="row"), scale=scale)


def value(slots, metric, scale, how="searchtweak"):
    run = {"shoes": {f"d{i:02}": float(len(slots) - i) for i in range(len(slots))}}
    (scale_result,) = from_ratings(rated(slots), run, [metric], how, scale=scale).parts
    return scale_result.evaluation.runs[0].means[metric]


@pytest.mark.parametrize(
    ("metric", "scale", "slots", "expected"),
    [
        # tests/Unit/Services/Scorers of SearchTweak
        ("AP@5", "binary", [1, 0, 1, 0, 1], 0.7556),
        ("P@3", "binary", [[1, 1, 0], [0, 0, 1], [1, 0, None]], 0.5),
        ("AP@3", "binary", [[1, 0, None], [1, 1, 0], [0, 0, 1]], 0.5),
        ("RR@3", "binary", [[1, 0], [0, 0], [1, 1]], 1 / 3),
        ("CG@3", "graded", [[3, 2, 1], [1, 1, 1], [0, 0, 0]], 3),
        ("ERR@10", "graded", [3], 0.875),
        ("ERR@10", "graded", [0, 3], 0.4375),
        ("ERR@10", "graded", [3, 2, 1, 0], 0.9017),
        ("ERR-0.18@10", "graded", [0, 3], 0.7724),
        # each grade is carried first: 1, 1, 0 are relevant by majority
        ("P@1", "graded", [[1, 1, 0]], 1),
        # detail 8, 4 and 1 are 3, 1 and 0 on the graded scale; their mean is 4/3
        ("CG@1", "detail", [[8, 4, 1]], 4 / 3),
        ("CG(d)@1", "detail", [[8, 4, 1]], 13 / 3),
        ("CG(d)@1", "binary", [[1, 1, 0]], 7),
        # a list of equally bad results
        ("nDCG@3", "graded", [1, 1, 1], 1),
    ],
)
def test_searchtweak(metric, scale, slots, expected):
    assert value(slots, metric, scale) == pytest.approx(expected, abs=5e-5)


def test_a_keyword_without_a_judgment_has_no_value():
    ties = rated([[1, 0]]).table.with_columns(query_id=pl.lit("ties"))
    combined = pl.concat([ties, rated([1, 0]).table])
    run = {name: {"d00": 2.0, "d01": 1.0} for name in ("ties", "shoes")}
    (scale_result,) = from_ratings(Ratings(combined), run, ["P@2"], scale="binary").parts
    assert scale_result.evaluation.runs[0].means["P@2"] == 0.5
    assert scale_result.made_by["rule"] == "majority"


def test_metrics_of_two_scales_go_two_ways():
    run = {"shoes": {"d00": 1.0}}
    metrics = ["P@1", "nDCG@1", "RR@1", "CG@1"]
    parts = from_ratings(rated([[3, 1]]), run, metrics, scale="graded").parts
    assert [(scale_result.scale, scale_result.evaluation.metrics) for scale_result in parts] == [
        ("binary", ("P@1", "RR@1")),
        ("graded", ("nDCG@1", "CG@1")),
    ]
    assert parts[0].made_by["transformer"] == "graded-to-binary"
    assert parts[1].evaluation.runs[0].means["CG@1"] == 2


@pytest.mark.parametrize(
    ("grades", "grade"),
    [([4, 1], 2.5), ([3, 2, 1], 1), ([3, 3, 3, 1, 0], 3), ([3, 2, 2, 1, 0], 2), ([2.5, 2.5, 1.5], 1.5)],
)
def test_quepid(grades, grade):
    # one rated document: DCG@10 at the first rank is its gain
    assert value([grades], "DCG@10", None, "quepid") == pytest.approx(2**grade - 1)


def test_quepid_without_a_relevant_document_spoils_the_mean():
    assert math.isnan(value([[0, 0]], "AP@10", None, "quepid"))


@pytest.mark.parametrize(
    ("value_", "before", "shown"),
    [(0.55, 0.5, 10), (0.45, 0.5, -10), (0.5, 0.5, 0), (0.5, 0.0, None), (0.605, 0.5, 21)],
)
def test_the_badge_of_a_change(value_, before, shown):
    assert percent_change(value_, before) == shown


def test_a_scale_that_nobody_said_is_not_guessed():
    with raises("unknown-scale", UsageError):
        from_ratings(rated([1, 0]), {"shoes": {"d00": 1.0}}, ["P@1"])
    with raises("unsupported-rule", UsageError):
        from_ratings(rated([1]), {"shoes": {"d00": 1.0}}, ["P@1"], "trec")


def test_the_command_line_knows_every_tool_with_a_way():
    assert set(FROM_RATINGS) == set(TOOL_RULES)


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    lines = ["query,document,rater,grade", "shoes,a,ann,1", "shoes,a,bob,1", "shoes,b,ann,0", "shoes,b,bob,1"]
    (tmp_path / "ratings.csv").write_text("\n".join(lines) + "\n")
    (tmp_path / "one.run").write_text("shoes Q0 a 1 2 t\nshoes Q0 b 2 1 t\n")
    assert holds_ratings(tmp_path / "ratings.csv", "searchtweak")
    assert not holds_ratings(tmp_path / "ratings.csv", "trec")
    program_args = [
        "eval",
        str(tmp_path / "ratings.csv"),
        str(tmp_path / "one.run"),
        "--scale",
        "binary",
        "--convention",
        "searchtweak",
        "-m",
        "P@2",
        "-m",
        "CG@2",
    ]

    def result(*more):
        monkeypatch.setattr("sys.argv", ["rankgate", *program_args, *more])
        with pytest.raises(SystemExit) as exit_info:
            main()
        assert exit_info.value.code == 0
        return capsys.readouterr().out

    text = " ".join(result().split())
    assert "on the binary scale, by majority" in text
    assert "on the graded scale, by mean after binary-to-graded" in text
    json_parts = json.loads(result("--format", "json"))["parts"]
    assert "against" not in text
    (tmp_path / "two.run").write_text("shoes Q0 b 1 2 t\nshoes Q0 x 2 1 t\n")
    program_args.insert(2, str(tmp_path / "two.run"))  # the first of the two
    text = result()
    assert "one against two: CG@2 +200 %" in text  # 4.5 against 1.5
    program_args.pop(2)
    # b ties and has no judgment; on the graded scale its mean is 3/2
    assert [entry["runs"][0]["mean"] for entry in json_parts] == [{"P@2": 1.0}, {"CG@2": 4.5}]
    bounded, _ = json.loads(result("--bounds", "--format", "json"))["parts"]
    assert bounded["runs"][0]["all_irrelevant"] == {"P@2": 0.5}  # b, which ties, is unjudged
