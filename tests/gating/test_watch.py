"""The ramp of a launch: its action on each day, and launches that must never pass."""

import json
from datetime import timedelta
from functools import cache

import polars as pl
import pytest

from online.arms import START, log
from rankgate import gate, online
from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.gating.policy import parse_policy, policy, read
from rankgate.decisions.gating.ramps.ramp_steps import experiment_of, read_earlier_stages
from support.wording import raises

HEAD = """
[experiment]
control = "old"
treatment = "new"
start = "2026-03-01"
tuned_to = 1000
"""
STEPS = """
[[ramp]]
share = 0.2
since = "2026-03-01"
days = 3
[[ramp]]
share = 0.5
{}
days = 3
"""
CTR = """
[[rules]]
id = "ctr"
kind = "kpi_noninferiority"
kpi = "search_ctr"
relative = 0.2
"""
LATENCY = """
[[rules]]
id = "latency"
kind = "kpi_noninferiority"
kpi = "latency_p50"
relative = 0.1
"""


@cache
def ramped(effects=(0.0, 0.0), days=(6, 6), users=1200, seed=0, **more):
    """A log of two steps, of 20% and of 50% of new users each."""
    first = log(users, days[0], effects[0], share=0.2, seed=seed, **more)
    second = log(users, days[1], effects[1], share=0.5, seed=seed + 1, **more)
    later = second.with_columns(
        pl.col("at") + timedelta(days=days[0]),
        *(
            (pl.lit("b") + pl.col(name)).alias(name)
            for name in ("user", "session", "query_event_id", "event_id")
        ),
    )
    return pl.concat([first, later])


SECOND = 'since = "2026-03-07"'


def watched(text, events, **more):
    return online.watch(parse_policy(text, "launch.toml"), events, **more)


def test_a_harmless_candidate_goes_up_the_ramp():
    events = ramped()
    text = HEAD + STEPS.format(SECOND) + CTR + LATENCY
    assert watched(text, events, today="2026-03-02").steps["why"][0] == "day 2 of 3"
    early = watched(HEAD + STEPS.format("") + CTR + LATENCY, events, today="2026-03-05")
    assert (early.verdict, early.allowed, early.status) == ("pass", 0.5, 0)
    late = watched(text, events)
    assert (late.verdict, late.allowed, late.status) == ("pass", 1.0, 0)
    assert late.steps["status"].to_list() == ["pass", "pass"]
    assert [rule_result.outcome.status for rule_result in late.rules] == ["pass", "pass"]
    assert late.experiment.variants["planned"].to_list() == [0.5, 0.5]


def test_a_bad_candidate_is_stopped():
    result = watched(HEAD + STEPS.format(SECOND) + CTR, ramped((-0.3, -0.3)))
    assert (result.verdict, result.allowed, result.status) == ("fail", 0.0, 1)
    assert "Stop" in str(result)


def test_a_failed_step_is_not_forgotten():
    result = watched(HEAD + STEPS.format(SECOND) + CTR, ramped((-0.4, 0.1)))
    assert result.steps["status"].to_list()[0] == "fail"
    assert (result.verdict, result.allowed) == ("fail", 0.0)


def test_few_users_are_inconclusive():
    result = watched(HEAD + STEPS.format(SECOND) + CTR.replace("0.2", "0.01"), ramped(users=300))
    assert (result.verdict, result.allowed, result.status) == ("inconclusive", 0.5, 3)
    assert result.steps["why"][1] == "not passed yet: ctr"


def test_named_rules_must_pass_before_the_next_step():
    text = HEAD + STEPS.format("").replace("days = 3", 'days = 3\npasses = ["ctr"]', 1)
    strict = watched(text + CTR.replace("0.2", "0.01"), ramped(), today="2026-03-05")
    assert (strict.verdict, strict.allowed) == ("inconclusive", 0.2)
    text = HEAD + STEPS.format("").replace("days = 3", "units = 9999", 1)
    units = watched(text + CTR, ramped(), today="2026-03-05")
    assert "of 9,999 units" in units.steps["why"][0]


def test_improvement():
    rule = CTR.replace("noninferiority", "improvement").replace("0.2", "0.01")
    assert watched(HEAD + rule, log(800, effect=0.3)).verdict == "pass"
    assert watched(HEAD + rule, log(1500)).verdict == "inconclusive"


def test_rules_that_warn_do_not_decide():
    text = HEAD + STEPS.format(SECOND) + CTR.replace("relative", 'tier = "warn"\nrelative')
    result = watched(text + LATENCY, ramped((-0.3, -0.3)))
    assert [rule_result.outcome.status for rule_result in result.rules] == ["fail", "pass"]
    assert result.verdict == "pass"


# what must never pass


@pytest.mark.parametrize(
    "spoil",
    {
        "sample ratio": lambda rows: rows.filter(
            (pl.col("variant") == "old") | (pl.col("user").hash() % 4 > 0)
        ),
        "no users": lambda rows: rows.filter(pl.col("variant") == "old"),
        "two arms": lambda rows: (
            rows.with_columns(
                variant=pl.when((pl.col("user") == "u1") & (pl.col("at").dt.day() > 2))
                .then(pl.lit("new"))
                .when(pl.col("user") == "u1")
                .then(pl.lit("old"))
                .otherwise("variant")
            )
            .vstack(
                rows.filter(pl.col("user") == "u1").with_columns(
                    variant=pl.lit("new"), event_id=pl.lit("x") + pl.col("event_id")
                )
            )
            .vstack(
                rows.filter(pl.col("user") == "u1").with_columns(
                    variant=pl.lit("old"), event_id=pl.lit("y") + pl.col("event_id")
                )
            )
        ),
        "started twice": lambda rows: rows.filter(
            (pl.col("variant") == "old") | (pl.col("at").dt.day() < 3) | (pl.col("at").dt.day() > 6)
        ),
        "logging": lambda rows: rows.filter(
            (pl.col("variant") == "old") | (pl.col("kind") != "click") | (pl.col("at").dt.day() < 5)
        ),
        "null KPI": lambda rows: rows.filter(pl.col("kind") != "click"),
    }.items(),
    ids=lambda each: each[0],
)
def test_bad_data_never_pass(spoil):
    events = spoil[1](log(1500, 8, 0.2))
    result = watched(HEAD + CTR, events)
    assert (result.verdict, result.status) == ("inconclusive", 3)
    assert result.rules[0].outcome.status == "inconclusive"
    assert result.allowed <= 0.5


def test_before_the_first_step_only_earlier_stages_decide(tmp_path):
    text = HEAD + '[[ramp]]\nshare = 0.01\n[earlier]\ngate = "gate.json"\n' + CTR
    policy_path = tmp_path / "launch.toml"
    policy_path.write_text(text)
    missing = online.watch(str(policy_path), log(50))
    assert (missing.verdict, missing.allowed) == ("inconclusive", 0.0)
    assert missing.experiment is None
    digest = read(policy_path).sha256
    for verdict, allowed in (("pass", 0.01), ("fail", 0.0)):
        values = {"schema_version": 1, "kind": "verdict", "verdict": verdict, "hashes": {"policy": digest}}
        (tmp_path / "gate.json").write_text(json.dumps(values))
        result = online.watch(str(policy_path), log(50))
        assert (result.verdict, result.allowed) == (verdict, allowed)
    (tmp_path / "gate.json").write_text(
        '{"kind": "verdict", "verdict": "pass", "hashes": {"policy": "other"}}'
    )
    assert online.watch(str(policy_path), log(50)).verdict == "inconclusive"
    for bad in ("{", "[]", '{"verdict": "yes"}'):
        (tmp_path / "gate.json").write_text(bad)
        with raises("invalid-result", InputError):
            online.watch(str(policy_path), log(50))


def interleaved(low, high, *, level=0.95, test="sign", p_teams=0.5, names=("old", "new")):
    pair = {
        "one": names[0],
        "other": names[1],
        "low": low,
        "high": high,
        "credit_low": low,
        "credit_high": high,
    }
    return {"kind": "preference", "level": level, "test": test, "p_teams": p_teams, "pairs": [pair]}


def lists_replayed(low, high):
    """A result of rankgate online replay with this interval; empty where it was refused."""
    row = {"measure": "dcg", "logged": 0.5, "delta_low": low, "delta_high": high}
    return {"kind": "counterfactual_replay", "level": 0.95, "measures": [row] if low else []}


def replayed(low, high, estimator="snips"):
    row = {"estimator": "snips", "delta_low": low, "delta_high": high}
    return {
        "kind": "off_policy_estimate",
        "level": 0.95,
        "logged": 0.5,
        "estimator": estimator,
        "estimates": [row],
    }


@pytest.mark.parametrize(
    ("name", "values", "status"),
    [
        ("interleaving", interleaved(0.01, 0.1), "pass"),
        ("interleaving", interleaved(-0.04, 0.1, test="t"), "pass"),
        ("interleaving", interleaved(-0.06, 0.1), "inconclusive"),
        ("interleaving", interleaved(-0.2, -0.06), "fail"),
        ("interleaving", interleaved(0.06, 0.2, names=("new", "old")), "fail"),
        ("interleaving", interleaved(0.01, 0.1, level=0.9), "inconclusive"),
        ("interleaving", interleaved(0.01, 0.1, p_teams=1e-6), "inconclusive"),
        ("replay", replayed(-0.01, 0.2), "pass"),
        ("replay", replayed(-0.2, -0.1), "fail"),
        ("replay", replayed(-0.1, 0.1), "inconclusive"),
        ("replay", replayed(None, None), "inconclusive"),
        ("replay", replayed(0.1, 0.2, None), "inconclusive"),
        ("replay", lists_replayed(-0.01, 0.2), "pass"),
        ("replay", lists_replayed(-0.2, -0.1), "fail"),
        ("replay", lists_replayed(None, None), "inconclusive"),
    ],
)
def test_results_of_interleaving_and_replay(tmp_path, name, values, status):
    (tmp_path / "result.json").write_text(json.dumps({"schema_version": 1, **values}))
    policy_path = tmp_path / "launch.toml"
    policy_path.write_text(
        HEAD + f'[earlier]\n{name} = "result.json"\n{name}_margin = 0.05\n[budget]\nalpha = 0.1\n' + CTR
    )
    (stage,) = (
        earlier_stage
        for earlier_stage in read_earlier_stages(read(policy_path))
        if earlier_stage.name == name
    )
    assert stage.status == status, stage


def test_a_result_of_other_systems_is_refused(tmp_path):
    (tmp_path / "r.json").write_text(
        json.dumps({"schema_version": 1, **interleaved(0.1, 0.2, names=("bm25", "new"))})
    )
    policy_path = tmp_path / "launch.toml"
    policy_path.write_text(HEAD + '[earlier]\ninterleaving = "r.json"\n' + CTR)
    with raises("invalid-result", InputError):
        read_earlier_stages(read(policy_path))


def test_one_budget_of_errors_over_all_stages():
    budget = "[budget]\nalpha = 0.04\ngate = 0.5\nreplay = 0\ninterleaving = 0\nramp = 0.5\n"
    text = HEAD + STEPS.format(SECOND) + budget + CTR
    assert parse_policy(text, "p")["alpha"] == pytest.approx(0.02)
    result = watched(text, ramped())
    assert result.steps["alpha"].to_list() == pytest.approx([0.01, 0.01])
    spent = result.stages.filter(pl.col("stage") == "ramp")["alpha"].item()
    assert spent == pytest.approx(result.steps["alpha"].sum())
    assert result.stages["alpha"].sum() == pytest.approx(0.04)


OFFLINE = '[[rules]]\nid = "relevance"\nkind = "floor"\nmetric = "nDCG@10"\nat_least = 0.1\n'


@pytest.mark.parametrize(
    ("more", "unseen"),
    [
        ("", []),
        ("[budget]\nalpha = 0.05\n", []),  # shares that nobody wrote declare nothing
        ("[budget]\ngate = 0\nreplay = 0\ninterleaving = 0.2\nramp = 0.8\n", ["interleaving"]),
        ("[budget]\ngate = 0.3\nreplay = 0.1\ninterleaving = 0\nramp = 0.6\n", ["gate", "replay"]),
        (OFFLINE, ["gate"]),
    ],
)
def test_a_declared_stage_that_was_never_seen_is_inconclusive_and_named(more, unseen):
    text = HEAD + STEPS.format(SECOND) + more + CTR
    result = watched(text, ramped(users=2500))
    stages = result.stages.filter(pl.col("status") == "inconclusive")["stage"].to_list()
    assert stages == unseen
    assert result.verdict == ("inconclusive" if unseen else "pass")
    assert result.allowed == (0.5 if unseen else 1.0)
    for name in unseen:
        assert any(text.startswith(f"{name}: no result") for text in result.notes)


def test_one_policy_for_the_gate_and_the_ramp(tmp_path):
    qrels = {f"q{i}": {"a": 1} for i in range(30)}
    run = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    offline = '[[rules]]\nkind = "noninferiority"\nmetric = "nDCG@10"\nmargin = 0.02\n'
    policy_path = tmp_path / "launch.toml"
    policy_path.write_text(HEAD + '[earlier]\ngate = "gate.json"\n' + CTR + offline)
    verdict = gate(qrels, run, run, policy=policy_path)
    assert [rule_result.rule.kind for rule_result in verdict.rules] == ["noninferiority"]
    (tmp_path / "gate.json").write_text(json.dumps(verdict.to_dict()))
    result = online.watch(policy_path, log(1500))
    assert result.stages["status"].to_list() == ["pass", None, None, "pass"]
    assert result.verdict == "pass"
    policy_path.write_text(HEAD + CTR)
    with raises("invalid-policy", InputError):
        gate(qrels, run, run, policy=policy_path)


@pytest.mark.parametrize(
    "text",
    [CTR, HEAD + '[[rules]]\nkind = "noninferiority"\nmetric = "RR"\nmargin = 0.1\n'],
    ids=["no experiment", "no rule on a KPI"],
)
def test_a_policy_that_cannot_be_watched(text):
    with raises("invalid-policy", InputError):
        watched(text, log(20))


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (HEAD + CTR.replace("search_ctr", "serach_ctr"), 11),
        (HEAD + CTR.replace("search_ctr", "latency"), 11),
        (HEAD + CTR.replace("search_ctr", "clicks_per_search"), 8),
        (HEAD.replace("new", "old") + CTR, 4),
        (HEAD.replace("2026-03-01", "March") + CTR, 5),
        (HEAD + "[[ramp]]\nshare = 0.5\n[[ramp]]\nshare = 0.1\n" + CTR, 10),
        (HEAD + '[[ramp]]\nshare = 0.5\npasses = ["x"]\n' + CTR, 9),
        (HEAD + '[[ramp]]\nshare = 0.1\n[[ramp]]\nshare = 0.5\nsince = "2026-03-01"\n' + CTR, 11),
        ("[[ramp]]\nshare = 0.5\n" + CTR, 1),
        (HEAD + "[budget]\ngate = 0.9\n" + CTR, 7),
        (HEAD + "[gate]\nalpha = 0.1\n[budget]\nalpha = 0.05\n" + CTR, 8),
        (HEAD + "[budget]\nramp = 0\n" + CTR, 8),
        (HEAD + '[earlier]\nreplay = "r.json"\n[budget]\nreplay = 0\n' + CTR, 10),
    ],
)
def test_policies_that_are_wrong_name_the_line(text, line):
    with raises("invalid-policy", InputError, line=line):
        parse_policy(text, "launch.toml")


def test_bad_words():
    with raises("missing-input", UsageError):
        online.watch(parse_policy(HEAD + CTR, "launch.toml"))
    with raises("invalid-day", UsageError):
        watched(HEAD + CTR, log(20), today="March")
    with raises("no-times", InputError):
        watched(HEAD + CTR, log(20).with_columns(at=pl.lit(None, pl.Datetime("us", "UTC"))))


def test_the_command(run, tmp_path):
    log(1500).write_parquet(tmp_path / "log.parquet")
    policy_path = tmp_path / "launch.toml"
    policy_path.write_text(HEAD.replace("control", 'events = "log.parquet"\ncontrol', 1) + CTR)
    result = run("online", "watch", str(policy_path), "--format", "json")
    assert result.code == 0, result.err
    assert json.loads(result.out)["exit_code"] == 0
    log(800, effect=-0.3).write_parquet(tmp_path / "log.parquet")
    assert run("online", "watch", str(policy_path)).code == 1
    log(60).write_parquet(tmp_path / "log.parquet")
    assert run("online", "watch", str(policy_path)).code == 3
    policy_path.write_text(policy_path.read_text().replace("search_ctr", "no_kpi"))
    assert run("online", "watch", str(policy_path)).code == 2
    assert policy().rules


def test_the_day_is_that_of_the_log():
    result = watched(HEAD + CTR, log(300, 4))
    assert result.day == str((START + timedelta(days=3)).date())


def test_an_experiment_of_a_policy_is_a_design_and_a_test():
    stated = parse_policy(f"{HEAD}unit = 'session'\ncrossed = 0.1\n{CTR}", "p.toml")
    experiment = experiment_of(stated)
    design = online.Design(unit="session", control="old", start="2026-03-01", crossed=0.1)
    assert experiment.design == design
    assert experiment.test == online.ExperimentTest(sequential=True, tuned_to=1000)
    assert experiment.arms == ("old", "new")


def test_a_treatment_that_begins_late_is_compared_on_the_days_of_both():
    """Clicks fall from day 5 on; the new arm begins on day 4, and changes nothing."""
    rows = log(6000, 10, 0.0, seed=3)
    day = pl.col("at").dt.day()
    falls = (pl.col("kind") != "click") | (day < 5) | (pl.col("user").hash(1) % 2 == 0)
    late = rows.filter(falls & ((pl.col("variant") == "old") | (day >= 4)))
    result = watched(HEAD + CTR, late)
    outcome = result.rules[0].outcome
    assert outcome.low < 0 < outcome.high
    assert "uncommon-days" in {finding.code for finding in result.experiment.findings}
