"""Interleaving draws the lists of the papers, without a preference under random clicks."""

import json
import math
from collections import Counter
from dataclasses import replace
from random import Random

import numpy as np
import polars as pl
import pytest
from click.testing import CliRunner

from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.interface.cli import rankgate as program
from rankgate.online.interleaving.interleave import interleave
from rankgate.online.interleaving.interleaving_method import Assignment
from rankgate.online.interleaving.interleaving_methods import (
    METHODS,
    mixed_list_probabilities,
    reciprocal_rank_difference,
)
from rankgate.online.interleaving.score_interleaving import needed_units
from rankgate.online.interleaving.simulate_tests import credits_of_clicks
from support.wording import raises

DRAWS = 3000
ABC, BCA = ["a", "b", "c"], ["b", "c", "a"]


def drawn(lists, method, length, draws=DRAWS):
    """The share of every mixed list."""
    counts = Counter(
        interleave(lists, str(number), method=method, length=length).docs for number in range(draws)
    )
    return {docs: count / draws for docs, count in counts.items()}


def close(shares, expected):
    assert shares.keys() == {tuple(mixed_list) for mixed_list in expected}
    for docs, chance in expected.items():
        error = 4.5 * math.sqrt(chance * (1 - chance) / DRAWS)
        assert shares[tuple(docs)] == pytest.approx(chance, abs=error), docs


def test_c01_lists_of_team_draft():
    # mpkato/interleaving, tests of team draft
    close(drawn([["1", "2"], ["2", "3"]], "team_draft", 2), {"12": 1 / 2, "21": 1 / 2})
    four = dict.fromkeys(("132", "134", "312", "314"), 1 / 4)
    close(drawn([["1", "2"], ["3", "4"]], "team_draft", 3), four)
    kinds = {
        (assignment.docs, assignment.teams)
        for assignment in (
            interleave([["1", "2", "3"], ["2", "3", "1"]], str(number)) for number in range(400)
        )
    }
    assert len(kinds) == 4


def test_c02_lists_of_balanced_interleaving():
    # mpkato/interleaving, tests of balanced interleaving; the list ends where one of both does
    close(drawn([["1", "2"], ["2", "3"]], "balanced", 3), {"12": 1 / 2, "213": 1 / 2})
    close(drawn([["1", "2"], ["3", "4"]], "balanced", 3), {"132": 1 / 2, "314": 1 / 2})


def test_c03_probabilities_of_optimised_interleaving():
    lists, shares, depth = mixed_list_probabilities(("1", "2"), ("2", "3"), 2, reciprocal_rank_difference)
    assert depth == 2
    probabilities = dict(zip(lists, shares, strict=True))
    assert probabilities == pytest.approx(
        {("1", "2"): 0.4285714, ("2", "1"): 0.3714286, ("2", "3"): 0.2}, abs=1e-7
    )


def test_c04_probabilities_of_probabilistic_interleaving():
    rounds = {"12": 0.4444, "13": 0.4444, "21": 0.049383, "31": 0.049383, "23": 0.0061728, "32": 0.0061728}
    close(drawn([["1", "2"], ["1", "3"]], "probabilistic_rounds", 2), rounds)
    # by hand, a coin for every slot: 2 first with 1/18, then a has 1 alone, b 1 with 8/9
    low = 1 / 18
    slots = {
        "12": 4 / 9,
        "13": 4 / 9,
        "21": low * 17 / 18,
        "31": low * 17 / 18,
        "23": low / 18,
        "32": low / 18,
    }
    close(drawn([["1", "2"], ["1", "3"]], "probabilistic", 2), slots)


def test_c06_team_draft_cannot_see_every_difference():
    # only c is ever clicked; b ranks it higher, and is credited as often as a
    wins = Counter()
    for number in range(DRAWS):
        assignment = interleave([ABC, BCA], str(number), length=3)
        wins[assignment.teams[assignment.docs.index("c")]] += 1
    assert wins[0] / DRAWS == pytest.approx(0.5, abs=0.03)


def test_c07_units_that_a_sign_test_needs():
    assert [needed_units(win_share) for win_share in (0.51, 0.52, 0.55, 0.6)] == [19620, 4904, 783, 194]
    assert needed_units(0.5) is None


def random_clicks(lists, method, rate, seed=1, length=3):
    """The mean credit of the second system minus the first, with its error, under random clicks."""
    assignments = [interleave(lists, str(number), method=method, length=length) for number in range(DRAWS)]
    depth = max(len(assignment.docs) for assignment in assignments)
    rates = rate if np.isscalar(rate) else rate[:depth]  # balanced lists end where one ends
    clicks = np.random.default_rng(seed).random((DRAWS, depth)) < rates
    clicks &= np.array([[slot < len(assignment.docs) for slot in range(depth)] for assignment in assignments])
    credit = credits_of_clicks(assignments, clicks)
    delta = credit[:, 1] - credit[:, 0]
    return delta.mean(), delta.std() / math.sqrt(DRAWS)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "lists",
    [(ABC, BCA), (list("abcde"), list("fghij")), (list("ab"), list("bcdefg")), (ABC, ABC)],
    ids=["moved", "disjoint", "unequal", "same"],
)
def test_a_user_who_clicks_at_random_prefers_nobody(method, lists):
    for rate in (0.3, np.array([0.7, 0.3, 0.1, 0.05, 0.02, 0.01])):
        length = 5
        click_rates = rate if np.isscalar(rate) else rate[: min(length, len(set(lists[0] + lists[1])))]
        mean, error = random_clicks(lists, method, click_rates, length=length)
        assert abs(mean) <= 4 * error + 1e-12


def test_random_clicks_do_not_prefer_a_list_that_is_moved_up():
    """By hand, a random click prefers b c a to a b c in two of three cases."""
    assignments = [interleave([ABC, BCA], str(number), method="balanced", length=3) for number in range(600)]
    clicked = [[number % 3] for number in range(600)]
    counts = [METHODS["balanced"].score(*row) for row in zip(assignments, clicked, strict=True)]
    wins = Counter(
        (second_count > first_count) - (first_count > second_count) for first_count, second_count in counts
    )
    assert wins[1] / (wins[1] + wins[-1]) == pytest.approx(2 / 3, abs=0.06)
    result = online.preference(
        [(row, [slots[0] + 1]) for row, slots in zip(assignments, clicked, strict=True)]
    )
    pair = result.pairs.row(0, named=True)
    assert pair["preferred"] is None
    assert pair["low"] < 0 < pair["high"]
    assert "at random" in METHODS["balanced"].bias


def test_a_balanced_request_that_is_alone_says_nothing():
    assignments = [
        interleave([ABC, BCA], str(number), method="balanced", length=3, query=f"q{number}")
        for number in range(40)
    ]
    result = online.preference([(row, [1]) for row in assignments])
    pair = result.pairs.row(0, named=True)
    assert (pair["ties"], pair["credit"], pair["preferred"]) == (40, 0, None)


@pytest.mark.parametrize("method", METHODS)
def test_preference_interval_and_verdict_are_of_one_test(method):
    """Random clicks on lists with one document moved up, and on the second's higher ranks."""
    random = np.random.default_rng(8)
    lists = list("abcdef"), list("bcdefa")
    for lean in np.linspace(0, 0.6, 7):
        for _ in range(6):
            assignments = [
                interleave(lists, str(random.integers(10**9)), method=method, length=6) for _ in range(60)
            ]
            clicks = [
                [row.docs.index("b") + 1]
                if random.random() < lean
                else [int(random.integers(len(row.docs))) + 1]
                for row in assignments
            ]
            result = online.preference([*zip(assignments, clicks, strict=True)])
            pair = result.pairs.row(0, named=True)
            excludes_zero = pair["low"] > 0 or pair["high"] < 0
            assert excludes_zero == (pair["preferred"] is not None)
            if result.test == "t":
                assert pair["preference"] == pair["credit"]


def test_a_better_list_is_preferred_by_every_method():
    better, worse = list("abcdef"), list("fedcba")
    for method in METHODS:
        assignments = [
            interleave([worse, better], str(number), method=method, length=6) for number in range(300)
        ]
        scored = online.preference(
            [(assignment, [assignment.docs.index("a") + 1]) for assignment in assignments]
        )
        assert scored.pairs["preferred"].to_list() == ["2"], method


def test_several_lists():
    lists = {"x": list("abcd"), "y": list("badc"), "z": list("dcba")}
    # a draft never credits x or y with their last documents; drawing by rank does, y more often
    preferred = {
        "team_draft": [None, "z", "z"],
        "probabilistic": ["y", "z", "z"],
        "probabilistic_rounds": ["y", "z", "z"],
    }
    for method, expected in preferred.items():
        assignments = [interleave(lists, str(number), method=method, length=4) for number in range(2000)]
        scored = online.preference(
            [(assignment, [assignment.docs.index("d") + 1]) for assignment in assignments]
        )
        assert scored.pairs["preferred"].to_list() == expected, method
        assert scored.p_teams > 0.001


def test_a_request_is_always_answered_alike_and_pages_go_on():
    lists = [list("abcdefghij"), list("jihgfedcba")]
    for method in ("team_draft", "balanced", "probabilistic"):
        short = interleave(lists, "r1", method=method, length=4)
        long = interleave(lists, "r1", method=method, length=8)
        assert long.docs[:4] == short.docs == long.page(1, 4)
        assert long.page(2, 4) == long.docs[4:]
    distinct_lists = {interleave(lists, "r1", seed=seed).docs for seed in range(30)}
    assert len(distinct_lists) > 10


def test_the_shorter_list_does_not_lose_credit():
    assignment = interleave([["a"], list("bcdef")], "r", length=5)
    assert set(assignment.docs) == set("abcde")
    assert sorted(map(str, assignment.teams)) == ["0", "1", "None", "None", "None"]


def test_an_assignment_makes_the_round_trip():
    assignment = interleave({"old": ABC, "new": BCA}, "r", query="q")
    assert Assignment.from_dict(json.loads(json.dumps(assignment.to_dict()))) == assignment


def test_marginal_credits_are_those_of_all_assignments():
    # by enumeration: the share of draws of a list in which a team filled a slot
    method = METHODS["probabilistic"]
    lists = [["1", "2", "3"], ["3", "1", "4"]]
    teams = {}
    for number in range(40_000):
        docs, slot_teams = method.draw(lists, 3, Random(number))
        teams.setdefault(tuple(docs), []).append(slot_teams)
    docs, team_draws = max(teams.items(), key=lambda item: len(item[1]))
    assignment = next(
        candidate
        for candidate in (
            interleave(lists, str(number), method="probabilistic", length=3) for number in range(1000)
        )
        if candidate.docs == docs
    )
    for slot in range(3):
        share = np.mean([team_draw[slot] == 1 for team_draw in team_draws])
        assert method.score(assignment, [slot])[1] == pytest.approx(share, abs=0.03)


def written(path, shown, **more):
    rows = [{**assignment.to_dict(), "clicks": clicks, **more} for assignment, clicks in shown]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_the_command_scores_a_log_and_events(tmp_path):
    runs = {"old": {"q": {"b": 2.0, "a": 1.0}}, "new": {"q": {"a": 2.0, "b": 1.0}}}
    lists = online.mix([runs["old"], runs["new"]], lists=60).assignments
    log = written(
        tmp_path / "l.jsonl", [(assignment, [assignment.docs.index("a") + 1]) for assignment in lists]
    )
    result = CliRunner().invoke(program, ["online", "interleave", "score", str(log), "--format", "json"])
    assert result.exit_code == 0, result.output
    inline = json.loads(result.output)
    assert inline["pairs"][0]["preferred"] == "run2"
    rows = [
        {"kind": "click", "query_event_id": assignment.request, "doc_id": "a", "session": f"s{number // 2}"}
        for number, assignment in enumerate(lists)
    ]
    events = pl.DataFrame(rows)
    plain = written(tmp_path / "p.jsonl", [(assignment, []) for assignment in lists])
    joined = online.preference(plain, events)
    assert joined.to_dict()["pairs"] == inline["pairs"]
    assert online.preference(plain, events, unit="session").units == 30


def test_the_command_mixes_lists_and_plans(tmp_path):
    (tmp_path / "q.txt").write_text("q1 0 a 1\nq1 0 b 0\nq1 0 c 0\n")
    (tmp_path / "a.run").write_text("q1 Q0 b 1 2 x\nq1 Q0 a 2 1 x\n")
    (tmp_path / "b.run").write_text("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\nq2 Q0 b 1 1 x\n")
    runs = [str(tmp_path / "a.run"), str(tmp_path / "b.run")]
    out = tmp_path / "l.jsonl"
    result = CliRunner().invoke(program, ["online", "interleave", "lists", *runs, "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert Assignment.from_dict(json.loads(out.read_text())).systems == ("a", "b")
    arguments = [
        "online",
        "interleave",
        "sensitivity",
        str(tmp_path / "q.txt"),
        *runs,
        "--searches",
        "400",
        "--format",
        "json",
    ]
    result = CliRunner().invoke(program, arguments)
    assert result.exit_code == 0, result.output
    tests = {row["test"]: row for row in json.loads(result.output)["tests"]}
    assert set(METHODS) < set(tests)
    assert tests["team_draft"]["better"] == tests["mrr_first_click"]["better"] == "b"


def test_logs_that_do_not_fit(tmp_path):
    assignment = interleave({"old": ABC, "new": BCA}, "r")
    path = tmp_path / "l.jsonl"
    path.write_text('{"request": 1}\n')
    with raises("invalid-assignment", InputError, source=str(path), line=1):
        online.preference(path)
    path.write_text(json.dumps(assignment.to_dict()) + "\nnot json\n")
    with raises("invalid-json", InputError, source=str(path), line=2):
        online.preference(path)
    with raises("click-outside-list", InputError, source=str(path), line=1):
        online.preference(written(path, [(assignment, [4])]))
    written(path, [(assignment, [3])])
    with raises("missing-unit", InputError, source=str(path), line=1):
        online.preference(path, unit="user")
    with raises("mixed-assignments", InputError):
        online.preference([assignment, interleave([ABC, BCA], "s", method="balanced")])
    with raises("duplicate-request", InputError):
        online.preference([assignment, replace(assignment, seed=5)])
    with raises("no-assignments", InputError):
        online.preference([])
    with raises("no-common-requests", InputError):
        online.preference(
            [assignment], pl.DataFrame({"kind": ["click"], "query_event_id": ["x"], "doc_id": ["a"]})
        )
    with raises("wrong-list-count", InputError):
        interleave([ABC, BCA, ABC], "r", method="balanced")
    with raises("duplicate-document", InputError):
        interleave([ABC, ["a", "a"]], "r")
    with raises("unknown-interleaving-method", UsageError):
        interleave([ABC, BCA], "r", method="team-draft")
    with raises("too-many-slots", UsageError):
        interleave([ABC, BCA], "r", method="optimised", length=11)


def test_shares_that_do_not_fit_the_draw_give_no_preference():
    # lists whose first slot is of the old system are lost for half of the requests
    assignments = [interleave({"old": ABC, "new": BCA}, str(number)) for number in range(400)]
    remaining = [
        assignment for number, assignment in enumerate(assignments) if assignment.teams[0] == 1 or number % 2
    ]
    result = online.preference([(assignment, [1]) for assignment in remaining])
    assert result.verdict == "inconclusive"
    assert result.status == 3
    assert result.pairs["preferred"].to_list() == [None]
    assert result.notices[0].code == "unbalanced-teams"


def test_few_clicks_and_none():
    assignments = [interleave({"old": ABC, "new": BCA}, str(number)) for number in range(4)]
    none = online.preference(assignments)
    assert none.clicked == 0
    assert none.pairs["preference"].to_list() == [None]
    assert "few-decisive-units" in [notice.code for notice in none.notices]


@pytest.mark.parametrize("lengths", [(3, 10), (10, 3), (2, 5)])
def test_rounds_of_short_lists_give_systems_equal_shares_of_slots(lengths):
    """A round counts or not before anybody draws, so that the order of draws cannot decide it."""
    lists = {
        name: [f"d{step * k}" for k in range(length)]
        for name, length, step in zip("AB", lengths, (1, 2), strict=True)
    }
    shown = [
        online.interleave(lists, f"r{number}", method="probabilistic_rounds", seed=number)
        for number in range(3000)
    ]
    result = online.preference([(assignment, [1]) for assignment in shown])
    assert result.p_teams > 0.001
    assert all(assignment.teams[:2] != (None, None) for assignment in shown)


def test_assignments_may_be_the_objects_of_a_log():
    shown = [
        online.interleave({"A": ["a", "b"], "B": ["b", "a"]}, f"r{number}", seed=number)
        for number in range(20)
    ]
    logged = [
        {**assignment.to_dict(), "clicks": [1], "session": f"s{number // 2}"}
        for number, assignment in enumerate(shown)
    ]
    expected = online.preference([(assignment, [1]) for assignment in shown])
    assert online.preference(logged).to_dict()["pairs"] == expected.to_dict()["pairs"]
    assert online.preference(logged, unit="session").units == 10
    with pytest.raises(InputError) as caught:
        online.preference([{"a": 1}])
    assert caught.value.code == "invalid-assignment"
