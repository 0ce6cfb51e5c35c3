"""``rankgate resolve`` and ``rankgate agree``, as a person calls them."""

import json

import pytest

from rankgate.data import read_qrels
from support.command import assert_refused

RATINGS = """\
query_id,doc_id,rater,grade
jaguar,d1,ann,3
jaguar,d1,bob,2
jaguar,d1,cyd,3
jaguar,d2,ann,0
jaguar,d2,bob,1
jaguar,d3,cyd,
"""


@pytest.fixture
def ratings(tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text(RATINGS)
    return path


def test_judgments_go_out_and_words_beside(run, ratings):
    result = run("resolve", ratings)
    assert result.out == "jaguar 0 d1 3\n"
    assert result.err == (
        "ratings: 6 ratings by 3 raters, 1 of 3 pairs resolved by majority\n"
        "ratings without a grade, because the rater could not tell: 1\n"
        "pairs left unjudged, tie: 1 (jaguar/d2)\n"
        "pairs left unjudged, no grade: 1 (jaguar/d3)\n"
    )


def test_fractions_keep_their_digits_and_the_rule_is_recorded(run, ratings, tmp_path):
    path = tmp_path / "qrels.txt"
    run("resolve", ratings, "--rule", "mean", "-o", path)
    grades = read_qrels(path).table["grade"].to_list()
    assert grades == [8 / 3, 0.5]
    metadata = json.loads((tmp_path / "qrels.txt.meta.json").read_text())
    assert metadata["made_by"]["rule"] == "mean"
    assert metadata["sha256"] == read_qrels(path).sha256
    assert metadata["unresolved"][0]["why"] == "no grade"


def test_a_transformer_from_a_file(run, ratings, tmp_path):
    steps = tmp_path / "steps.txt"
    steps.write_text("0: 0\n1: 0\n2: 1\n3: 1\n")
    assert run("resolve", ratings, "--transform", steps).out == ("jaguar 0 d1 1\njaguar 0 d2 0\n")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--scale", "0..2"], "grade-outside-scale"),
        (["--transform", "detail-to-binary"], "grade-outside-scale"),
        (["--transform", "nothing"], "unknown-choice"),
        (["--parameter", "adjudicator"], "invalid-syntax"),
        (["--rule", "adjudicated"], "missing-input"),
        (["--scale", "many"], "unknown-scale"),
    ],
)
def test_what_cannot_be(run, ratings, words, code):
    assert_refused(run("resolve", ratings, *words), code)


def test_judgments_are_no_ratings(run, tmp_path):
    path = tmp_path / "qrels.txt"
    path.write_text("1 0 a 1\n")
    assert_refused(run("agree", path), "missing-column")


def test_blanks_in_ids_need_another_form(run, tmp_path):
    path = tmp_path / "ratings.csv"
    path.write_text("query_id,doc_id,rater,grade\nblue jeans,d1,ann,1\n")
    assert_refused(run("resolve", path), "invalid-id")
    assert run("resolve", path, "--format", "csv").out == ("query_id,doc_id,grade\nblue jeans,d1,1\n")


def test_agreement_in_words_and_for_programs(run, ratings):
    result = run("agree", ratings).out
    assert result.startswith("agreement in ratings: 5 grades by 3 raters of 3 pairs; 2 pairs have")
    assert "! 2 of 3 pairs have two grades or more: at least 20 are" in result
    assert max(map(len, result.splitlines())) <= 80
    plain = json.loads(run("agree", ratings, "--format", "json").out)
    assert plain["coefficients"]["raw agreement"]["value"] == pytest.approx(1 / 6)
    assert [row["rater"] for row in plain["raters"]] == ["ann", "bob", "cyd"]
    table = run("agree", ratings, "--format", "csv").out.splitlines()
    assert table[0] == "coefficient,value,low,high"
    assert run("agree", ratings, "--seed", "1").out == run("agree", ratings, "--seed", "1").out


def test_quepids_book(run, shared):
    """The alarm about 562 pairs with two equal grades."""
    book = shared / "products" / "quepid" / "haystack_rating_party_book.json"
    result = run("agree", book).out
    assert "all 562 pairs with two grades or more agree perfectly" in result


def test_what_other_raters_would_have_said_of_two_runs(run, tmp_path):
    rows = [
        f"q{i},{doc},{r},{g}"
        for i in range(12)
        for doc, gs in (("a", "10"), ("b", "12"))
        for r, g in zip("xy", gs, strict=True)
    ]
    (tmp_path / "ratings.csv").write_text("\n".join(["query,document,rater,grade", *rows]) + "\n")
    for name, docs in (("old", "ab"), ("new", "ba")):
        lines = [f"q{i} Q0 {d} {r} {3 - r} t\n" for i in range(12) for r, d in enumerate(docs, 1)]
        (tmp_path / f"{name}.run").write_text("".join(lines))
    arguments = ["agree", tmp_path / "ratings.csv", tmp_path / "old.run", tmp_path / "new.run"]
    result = run(*arguments, "-m", "DCG@1", "--rule", "mean", "--draws", "20")
    assert result.code == 0
    assert "new against old by other raters, drawn 20 times (seed 0, mean)" in result.out
    assert "+1.0000" in result.out
    assert run(*arguments[:3]).code == 2
