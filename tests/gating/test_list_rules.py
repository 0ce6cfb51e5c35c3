"""Rules on metrics of lists: three words each, directions, slices, saved baselines, errors."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import rankgate
from rankgate.core.errors import InputError, UsageError
from rankgate.data.collection import Collection
from rankgate.decisions.gating.policy import parse_policy
from rankgate.decisions.gating.saved.baseline_file import Baseline, dump_baseline
from rankgate.interface.cli import rankgate as program
from rankgate.measurement.evaluation.scored_system import Scorer
from support.wording import raises

USERS, ITEMS = 60, 40
QRELS = {f"u{u:02}": {f"i{u % ITEMS:02}": 1} for u in range(USERS)}


def shown(picks, users=range(USERS)):
    """A run of five items for each user."""
    return {f"u{u:02}": {f"i{i:02}": 9.0 - r for r, i in enumerate(picks(u))} for u in users}


POPULAR = shown(lambda _: range(5))
TURNED = shown(lambda _: range(4, -1, -1))
WIDE = shown(lambda u: [(u + 8 * j) % ITEMS for j in range(5)])
HALF = shown(lambda u: range(5) if u % 2 else [(u + 8 * j) % ITEMS for j in range(5)])
RNG = np.random.default_rng(3)
PULL = (1 + np.arange(ITEMS)) ** -0.8
DRAWN = [shown(lambda _: RNG.choice(ITEMS, 5, replace=False, p=PULL / PULL.sum())) for _ in range(2)]


def rule(kind, metric, **says):
    lines = [f'[[rules]]\nid = "r"\nkind = "{kind}"\nmetric = "{metric}"']
    return "\n".join([*lines, *(f"{name} = {json.dumps(setting)}" for name, setting in says.items())])


def ended(baseline, candidate, text, **facts):
    collection = Collection(QRELS, **facts)
    result = rankgate.gate(collection, baseline, candidate, parse_policy(text, "p.toml"))
    return result, result.rules[0].outcome


@pytest.mark.parametrize(
    ("baseline", "candidate", "words", "status"),
    [
        (POPULAR, WIDE, ("improvement", "Coverage@5", {"by": 0.2}), "pass"),
        (WIDE, POPULAR, ("noninferiority", "Coverage@5", {"margin": 0.2}), "fail"),
        (*DRAWN, ("noninferiority", "Coverage@5", {"margin": 0.001}), "inconclusive"),
        (POPULAR, WIDE, ("improvement", "Gini@5", {"by": 0.2}), "pass"),
        (WIDE, POPULAR, ("noninferiority", "Gini@5", {"margin": 0.2}), "fail"),
        (*DRAWN, ("noninferiority", "Gini@5", {"margin": 0.001}), "inconclusive"),
        (POPULAR, WIDE, ("floor", "Gini@5", {"at_most": 0.3}), "pass"),
        (POPULAR, WIDE, ("ceiling", "Gini@5", {"at_most": 0.3}), "pass"),
        (WIDE, POPULAR, ("ceiling", "Gini@5", {"at_most": 0.3}), "fail"),
        (WIDE, POPULAR, ("floor", "Gini@5", {"at_most": 0.3}), "fail"),
        (POPULAR, WIDE, ("floor", "Coverage@5", {"at_least": 0.5}), "pass"),
        (WIDE, POPULAR, ("floor", "Coverage@5", {"at_least": 0.5}), "fail"),
        (POPULAR, HALF, ("noninferiority", "Coverage@5", {"relative": 0.1}), "pass"),
    ],
)
def test_numbers_about_all_lists_end_in_three_words(baseline, candidate, words, status):
    kind, metric, says = words
    result, outcome = ended(baseline, candidate, rule(kind, metric, **says))
    assert outcome.status == result.verdict == status, outcome.reason
    assert outcome.n == USERS
    if kind not in {"floor", "ceiling"}:
        card = rankgate.scorecard(QRELS, {"one": baseline, "two": candidate}, [metric])
        assert outcome.delta == pytest.approx(card.differences["delta"][0])
        assert outcome.low <= outcome.delta <= outcome.high


def test_the_default_margin_of_a_slice_is_about_its_users():
    import polars as pl

    tags = pl.DataFrame({"query_id": list(QRELS), "half": ["a" if u % 2 else "b" for u in range(USERS)]})
    text = rule("improvement", "Coverage@5", by=0.2, slice="half={}")
    for half, status in (("b", "pass"), ("a", "fail")):
        result, outcome = ended(POPULAR, HALF, text.replace("{}", half), tags=tags)
        assert outcome.status == status, outcome.reason
        assert len(result.comparison.metrics) > 1


def test_lists_that_are_turned_show_nothing_new():
    _, outcome = ended(POPULAR, TURNED, rule("noninferiority", "Coverage@5", margin=0.01))
    assert outcome.status == "inconclusive"
    assert "Coverage@5 did not move, though" in outcome.reason
    _, unchanged = ended(POPULAR, POPULAR, rule("noninferiority", "Coverage@5", margin=0.01))
    assert unchanged.status == "pass"


def test_values_of_users_are_held_as_those_of_queries():
    import polars as pl

    train = pl.DataFrame(
        {"user": ["x"] * 40 + ["y"] * 5, "item": [f"i{i:02}" for i in [*range(40), *range(5)]]}
    )
    text = rule("improvement", "Novelty@5", by=0.1)
    assert ended(POPULAR, WIDE, text, training=train)[0].verdict == "pass"
    with raises("missing-input", UsageError):
        ended(POPULAR, WIDE, text)


def test_less_is_better_of_rankings_too():
    """Missed@k of judged irrelevant documents and their like: a rise is the loss."""
    qrels = {f"q{i}": {"good": 1, "bad": 0} for i in range(30)}
    good_run = {query: {"good": 2.0, "bad": 1.0} for query in qrels}
    bad_run = {query: {"good": 1.0, "bad": 2.0} for query in qrels}
    text = rule("noninferiority", "Fallout@1", margin=0.1)
    fine = rankgate.gate(qrels, bad_run, good_run, parse_policy(text, "p"))
    assert fine.verdict == "pass"
    assert fine.queries == []
    worse = rankgate.gate(qrels, good_run, bad_run, parse_policy(text, "p"))
    assert worse.verdict == "fail"
    assert worse.rules[0].outcome.delta == 1
    assert "(less is better)" in worse.rules[0].outcome.reason
    assert len(worse.queries) == 30


def test_no_query_has_a_number_about_all_lists():
    with raises("unsupported-rule", UsageError):
        ended(POPULAR, WIDE, rule("per_query", "Gini@5", max_drop=0.1))
    with raises("invalid-policy", InputError, line=1):
        parse_policy(rule("floor", "Gini@5"), "p.toml")
    with raises("invalid-policy", InputError, line=2):
        parse_policy('[lists]\ntrian = "x"\n' + rule("floor", "Gini@5", at_most=1), "p.toml")


def test_what_can_end_one_way_only_is_refused():
    with raises("impossible-bound", UsageError):
        ended(POPULAR, WIDE, rule("noninferiority", "Coverage@5", margin=1))
    with raises("impossible-bound", UsageError):
        ended(POPULAR, WIDE, rule("floor", "Gini@5", at_most=2))


def test_noise_of_the_same_system_is_a_floor():
    text = rule("noninferiority", "Coverage@5", margin=0.0001)
    noise_run = shown(lambda u: [(u + j) % ITEMS for j in range(5)])
    with raises("margin-below-noise", UsageError):
        ended(rankgate.read_run(DRAWN[0], noise=[noise_run]), DRAWN[1], text)


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{u} 0 {i} {g}\n" for u, row in QRELS.items() for i, g in row.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    for name, run in (("popular", POPULAR), ("wide", WIDE)):
        rows = [
            f"{u} Q0 {i} {r} {s} {name}\n"
            for u, row in run.items()
            for r, (i, s) in enumerate(row.items(), 1)
        ]
        (tmp_path / f"{name}.run").write_text("".join(rows))
    items = "item,kind\n" + "".join(f"i{i:02},{'ab'[i // 8 % 2]}\n" for i in range(ITEMS))
    (tmp_path / "items.csv").write_text(items)
    (tmp_path / "rankgate.toml").write_text(
        '[lists]\nitems = "items.csv"\ngroup = "kind"\n\n'
        + rule("improvement", "Coverage@5", by=0.2)
        + "\n\n"
        + rule("noninferiority", "AWRF@5", margin=0.1).replace('"r"', '"fair"')
    )
    return tmp_path


def test_the_command_in_every_form_and_with_a_saved_baseline(place):
    def run(*words):
        return CliRunner().invoke(program, list(words))

    result = run("gate", "qrels.txt", "popular.run", "wide.run")
    assert result.exit_code == 0, result.output
    assert "Coverage@5 +0.875" in result.output
    for form in ("json", "markdown", "junit", "github", "html"):
        text = run("gate", "qrels.txt", "popular.run", "wide.run", "--format", form).stdout
        assert "Coverage@5" in text
        assert "AWRF@5" in text
        assert "None" not in text
    saved = run("baseline", "save", "main", "qrels.txt", "popular.run", "-m", "nDCG@10")
    assert saved.exit_code == 0, saved.output
    baseline_result = run("gate", "qrels.txt", "main", "wide.run")
    assert baseline_result.exit_code == 0, baseline_result.output
    assert "Coverage@5 +0.875" in baseline_result.output
    policy = place / "rankgate.toml"
    policy.write_text(policy.read_text().replace("Coverage@5", "Coverage@20"))
    deep = run("gate", "qrels.txt", "main", "wide.run")
    assert "the first 10 documents of the lists of judged queries; save it" in str(deep.exception)
    policy.write_text(policy.read_text().replace('items = "items.csv"\n', ""))
    items_result = run("gate", "qrels.txt", "popular.run", "wide.run", "--items", "items.csv")
    assert items_result.exit_code == 0, items_result.output


def test_a_query_is_won_where_less_is_better_and_it_fell():
    qrels = {f"q{i}": {"good": 1, "bad": 0} for i in range(12)}
    good_run = {query: {"good": 2.0, "bad": 1.0} for query in qrels}
    bad_run = {query: {"good": 1.0, "bad": 2.0} for query in qrels}
    result = rankgate.compare(qrels, bad_run, good_run, ["Fallout@1", "P@1"])
    counts = result.metrics.select("metric", "wins", "ties", "losses").rows()
    assert counts == [("Fallout@1", 12, 0, 0), ("P@1", 12, 0, 0)]


@pytest.mark.parametrize(("part", "n"), [("new", 20), ("light", 21), ("heavy", 19)])
def test_activity_is_a_slice_where_there_is_training(part, n):
    import polars as pl

    rows = [(f"u{u:02}", f"i{i}") for u in range(20, USERS) for i in range(1 + (u > 40))]
    train = pl.DataFrame(rows, schema=["user", "item"], orient="row")
    text = rule("improvement", "Coverage@5", by=0.1, slice=f"activity={part}")
    _, outcome = ended(POPULAR, WIDE, text, training=train)
    assert (outcome.status, outcome.n) == ("pass", n)
    text = rule("noninferiority", "P@5", margin=0.5, slice=f"activity={part}")
    assert ended(POPULAR, WIDE, text, training=train)[1].n == n


SERVED = {f"v{u:02}": {f"i{(3 * u + j) % ITEMS:02}": 9.0 - j for j in range(5)} for u in range(30)}
TAGGED = {**dict.fromkeys(QRELS, "a"), **{user: "ab"[int(user[1:]) % 2] for user in SERVED}}


@pytest.mark.parametrize("saved", [False, True])
def test_slices_hold_users_without_judgments(tmp_path, saved):
    import polars as pl

    tags = pl.DataFrame({"query_id": list(TAGGED), "half": list(TAGGED.values())})
    old_lists = {user: {f"i{i:02}": 9.0 - i for i in range(5)} for user in SERVED}
    baseline, candidate = {**POPULAR, **old_lists}, {**WIDE, **SERVED}
    rules = "\n".join(
        rule("noninferiority", metric, margin=0.5, slice=f"half={half}").replace('"r"', f'"{number}"')
        for number, (metric, half) in enumerate(
            (("Coverage@5", "a"), ("Coverage@5", "b"), ("ListLength@5", "b"))
        )
    )
    policy = tmp_path / "rankgate.toml"
    policy.write_text(rules)
    if saved:
        scorer = Scorer.from_metrics(
            Collection(QRELS, tags=tags), ["P@5", "Coverage@5"], depth=10, every_kind=True
        )
        file = tmp_path / "main.json"
        file.write_text(dump_baseline(Baseline("main", scorer.scored(baseline))))
        baseline = str(file)
    result = rankgate.gate(Collection(QRELS, tags=tags), baseline, candidate, policy, log=False)
    assert [rule_result.outcome.n for rule_result in result.rules] == [USERS + 15, 15, 15]
    shown_items = {item for user in SERVED if TAGGED[user] == "b" for item in SERVED[user]}
    deltas = [rule_result.outcome.delta for rule_result in result.rules]
    assert deltas == pytest.approx([(ITEMS - 5) / ITEMS, (len(shown_items) - 5) / ITEMS, 0])


def test_users_without_judgments_are_active_or_new_too():
    import polars as pl

    train = pl.DataFrame({"user": ["v00", "v01", "v01"], "item": ["i00", "i00", "i01"]})
    for activity, n in (("new", USERS + 28), ("light", 1), ("heavy", 1)):
        text = rule("floor", "Coverage@5", at_least=0, slice=f"activity={activity}")
        outcome = ended({**POPULAR, **SERVED}, {**WIDE, **SERVED}, text, training=train)[1]
        assert outcome.n == n
