"""How the ids of two tables meet: counts, near fits, verdicts; and the spellings that make them fit."""

from __future__ import annotations

import polars as pl
import pytest

import rankgate
from rankgate.data.id_match import IdMatch, IdRules
from support.wording import raises

NEAR_FITS = {
    "trim": (["a ", " b", "c", "d "], ["a", "b", "c ", "d"]),
    "guard": (["-5 v", "+a", "=b"], ["'-5 v", "'+a", "'=b"]),
    "percent": (["red shoes", "café", "a/b"], ["red%20shoes", "caf%C3%A9", "a%2Fb"]),
    "nfc": (["caf\u00e9", "\u00fc", "\u00e5"], ["cafe\u0301", "u\u0308", "a\u030a"]),
    "nfkc": (["x²", "ﬁn", "½"], ["x2", "fin", "1⁄2"]),
    "underscore": (["red shoes", "a b c", "d e"], ["red_shoes", "a_b_c", "d_e"]),
    "hyphen": (["red shoes", "a b c", "d e"], ["red-shoes", "a-b-c", "d-e"]),
    "case": (["Lamp", "MUG", "Zoë"], ["lamp", "mug", "zoë"]),
    "point-zero": (["1", "2", "30"], ["1.0", "2.0", "30.0"]),
    "zeros": (["1", "2", "30"], ["001", "002", "030"]),
    "prefix:q": (["10", "11", "12"], ["q10", "q11", "q12"]),
    "suffix:.json": (["10", "20", "30"], ["10.json", "20.json", "30.json"]),
    "underscore,case": (["Red Shoes", "A b", "C D"], ["red_shoes", "a_b", "c_d"]),
}


@pytest.mark.parametrize("spelling", NEAR_FITS)
@pytest.mark.parametrize("turned", [False, True])
def test_near_fits_are_named_and_their_line_works(spelling, turned):
    left, right = NEAR_FITS[spelling][::-1] if turned else NEAR_FITS[spelling]
    match = IdMatch.from_ids(pl.Series(left), pl.Series(right))
    assert (",".join(match.spelling), match.near, match.verdict) == (spelling, len(left) - match.both, "not")
    qrels = {query: {"d": 1} for query in left}
    run = {query: {"d": 2.0, "e": 1.0} for query in right}
    with raises("ids-do-not-fit"):
        rankgate.evaluate(qrels, run, ["RR"])
    scores = rankgate.evaluate(rankgate.Collection(qrels, ids=spelling), run, ["RR"])
    assert scores.means.row(0)[1] == 1  # every query is answered
    assert scores.runs[0].counts.missing == 0


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [
        (range(10), range(10), "fits"),
        (range(100), range(5), "fits"),  # a subset, whatever its size
        (range(100), range(2, 102), "partly"),  # two unmatched ids are no error
        (range(100), range(9, 109), "partly"),  # as many ids, and 9 % are unmatched
        (range(100), range(10, 110), "not"),  # as many ids, and a tenth is unmatched
        (range(100), range(10, 111), "not"),  # 101 are as many as 100
        (range(100), range(10, 113), "partly"),  # 103 are not, and 90 of 100 meet
        (range(100), range(90, 120), "partly"),  # 10 of 30 meet
        (range(100), range(98, 120), "not"),  # 2 of 22 meet, under a tenth
        (range(2), range(10, 13), "partly"),  # two ids are not three
    ],
)
def test_verdicts_are_those_of_the_rule(left, right, verdict):
    ids = [pl.Series([f"{'abcdefghij'[n % 10]}{n}x" for n in numbers]) for numbers in (left, right)]
    match = IdMatch.from_ids(*ids)
    shared = len(set(left) & set(right))
    assert match.verdict == verdict
    assert (match.left, match.right, match.both) == (len(left), len(right), shared)
    assert (match.only_left, match.only_right) == (len(left) - shared, len(right) - shared)
    turned = IdMatch.from_ids(*ids[::-1])
    assert turned.verdict == verdict


@pytest.mark.parametrize(("others", "verdict"), [(3, "not"), (4, "partly")])
def test_half_of_the_smaller_side_decides_on_near_fits(others, verdict):
    """Three of six unmatched ids differ by a blank, or three of seven; 100 ids are in both."""
    left = ["a ", "b ", "c ", "hat", "ice", "jug", "key"][: 3 + others]
    right = ["a", "b", "c", *"mnopqrstuv"]
    match = IdMatch.from_unmatched(100, pl.Series(left), pl.Series(right))
    assert (match.spelling, match.near, match.verdict) == (("trim",), 3, verdict)


def test_ambiguous_near_fits_do_not_count():
    match = IdMatch.from_ids(pl.Series(["a ", " a", "b "]), pl.Series(["a", "b"]))
    assert (match.near, match.near_examples) == (1, (("b ", "b"),))


@pytest.mark.parametrize(("text", "rules"), [("", IdRules()), ("as-they-are", IdRules(accept=True))])
def test_rules_are_read(text, rules):
    assert IdRules.read(text) == rules


def test_rules_of_documents():
    collection = rankgate.Collection({"q": {"007": 1}}, ids="doc=zeros")
    assert rankgate.evaluate(collection, {"q": {"7": 1.0}}, ["RR"]).means.row(0)[1] == 1


def test_spellings_that_do_not_exist_or_merge_queries_are_errors():
    with raises("unknown-choice"):
        rankgate.Collection({"q": {"a": 1}}, ids="upper")
    with raises("duplicate-id"):
        rankgate.evaluate(rankgate.Collection({"q": {"a": 1}, "Q": {"a": 1}}, ids="case"), {"q": {"a": 1.0}})
