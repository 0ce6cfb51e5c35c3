"""Rules that count: documents of single queries, states; required contents of a saved baseline."""

import json

import polars as pl
import pytest

from rankgate.core.errors import InputError, UsageError
from rankgate.data.collection import Collection
from rankgate.decisions.gating.gate import gate
from rankgate.decisions.gating.policy import parse_policy
from rankgate.decisions.gating.saved import saved_baselines as baseline
from rankgate.measurement.scoring.presets import chosen_convention
from support.wording import assert_wording, raises

QRELS = {f"q{i:02}": {"good": 1, "bad": 0} for i in range(12)}
LONG = {query: {"good": 9.0, "bad": 8.0, **{f"d{i}": 7 - i / 10 for i in range(12)}} for query in QRELS}


def ended(rule, candidate=LONG, head=""):
    """How one rule ended."""
    policy = parse_policy(f"[gate]\nholes = 'ignore'\n{head}\n[[rules]]\n{rule}", "policy")
    return gate(QRELS, LONG, candidate, policy).rules[0].outcome


def order(above, below):
    return f'kind = "order"\nquery = "q03"\nabove = "{above}"\nbelow = "{below}"'


def test_what_stands_above_passes_and_what_does_not_fails():
    assert ended(order("good", "bad")).status == "pass"
    result = ended(order("bad", "good"))
    assert (result.status, result.next) == ("fail", "look at it side by side (rankgate compare --query q03)")
    assert result.reason == "for q03 bad is at rank 2 and good is at rank 1; bad must be above"


def test_a_document_beyond_the_depth_stands_below_every_one_within():
    assert ended(order("good", "d11")).status == "pass"
    assert ended(order("d11", "good")).status == "fail"


def test_of_two_documents_beyond_the_depth_nobody_can_tell_the_order():
    result = ended(order("d10", "d11"))
    assert result.status == "inconclusive"
    assert "d10 is not among the first 10" in result.reason
    assert "depth" in result.next
    assert ended(order("d10", "d11"), head="depth = 20").status == "pass"


@pytest.mark.parametrize(("within", "status"), [(1, "fail"), (2, "pass")])
def test_a_document_that_must_be_there(within, status):
    rule = f'kind = "must_have"\nquery = "q03"\ndoc = "bad"\nwithin = {within}'
    assert ended(rule).status == status
    opposite = {"fail": "pass", "pass": "fail"}[status]
    assert ended(rule.replace("must_have", "must_not_have")).status == opposite


def test_a_query_that_is_not_compared_leaves_it_open():
    result = ended('kind = "must_have"\nquery = "q77"\ndoc = "bad"')
    assert (result.status, result.n) == ("inconclusive", 0)


def test_what_nobody_judged_can_be_demanded_too():
    """As in a behavioural test: a query and its required results."""
    extended_run = LONG | {"aside": {"x": 3.0, "y": 2.0, "z": 1.0}}
    rule = 'kind = "must_have"\nquery = "aside"\ndoc = "{}"\nwithin = 2'
    assert ended(rule.format("y"), extended_run).status == "pass"
    result = ended(rule.format("z"), extended_run)
    assert result.reason == "z is at rank 3 for aside; it must be within 2"
    assert result.status == "fail"
    order_rule = 'kind = "order"\nquery = "aside"\nabove = "{}"\nbelow = "{}"'
    assert ended(order_rule.format("x", "z"), extended_run).status == "pass"
    assert ended(order_rule.format("z", "x"), extended_run).status == "fail"
    assert ended(rule.format("y")).status == "inconclusive"


def test_states_are_counted_of_so_many():
    partial_run = {query: ranked for query, ranked in LONG.items() if query > "q02"}
    policy_head = 'unequal = "zero"\nmin_answered = 0.7'
    result = ended('kind = "states"\nstate = "not_run"\nat_most = 0.2', partial_run, policy_head)
    assert result.status == "fail"
    assert result.reason.startswith(
        "3 of the candidate's 12 queries (25.0%) were not run, 0 of the baseline's 12 (0.0%); at"
    )
    assert (
        ended('kind = "states"\nstate = "not_run"\nat_most = 0.25', partial_run, policy_head).status == "pass"
    )


DROP = 'kind = "per_query"\nmetric = "AP"\nmax_drop = 0.1\n'

TAGS = pl.DataFrame({"query_id": list(QRELS), "band": ["head"] * 6 + ["tail"] * 6})


def sliced(rule, candidate, baseline=LONG, head="", band="tail"):
    text = f"[gate]\nholes = 'ignore'\n{head}\n[[rules]]\n{rule}\nslice = 'band={band}'"
    return (
        gate(Collection(QRELS, tags=TAGS), baseline, candidate, parse_policy(text, "policy")).rules[0].outcome
    )


def test_what_is_judged_and_seen_of_a_slice():
    """If the tail shows an unjudged document first, only a rule on the tail detects it."""
    changed_run = {
        query: {"new": 10.0, **ranked} if query > "q05" else ranked for query, ranked in LONG.items()
    }
    judged = 'kind = "judged"\nk = 1\nat_least = 0.5'
    assert ended(judged, changed_run).status == "pass"
    result = sliced(judged, changed_run)
    assert result.status == "fail"
    assert result.reason.startswith("judged@1 for band=tail is below 0.5: candidate 0.000")
    unseen = 'kind = "unseen"\nat_most = 0.0'
    assert sliced(unseen, changed_run).n == 6
    assert sliced(unseen, LONG).reason == "no list changed in its first 10 documents"


NAMES = [f"d{i}" for i in range(10)]


def test_a_share_at_its_bound_is_not_beyond_it():
    """0.6, 0.7 and 0.8 of ten are judged: 0.7 on average, and a little less in floats."""
    share = dict(zip(QRELS, (6, 7, 8) * 4, strict=True))
    qrels = {query: dict.fromkeys(NAMES[:count], 1) for query, count in share.items()}
    run = {query: {d: 10.0 - i for i, d in enumerate(NAMES)} for query in qrels}

    def of(rule):
        text = f"[gate]\nholes = 'ignore'\n[[rules]]\nkind = {rule}"
        return gate(qrels, run, run, parse_policy(text, "policy")).rules[0].outcome

    result = of('"judged"\nat_least = 0.7')
    assert result.status == "pass"
    assert result.reason == "judged@10 is at least 0.7: baseline 0.700, candidate 0.700"
    assert of('"judged"\nat_least = 0.700001').reason.startswith(
        "judged@10 is below 0.700001: baseline 0.700000, candidate 0.700000;"
    )
    floor = '"floor"\nmetric = "P@10"\nby = "mean"\nat_least = 0.7'
    assert of(floor).reason == "P@10 0.7000: not below the floor 0.7, by the mean alone"


def test_a_drop_at_its_bound_is_not_beyond_it():
    """P@10 falls from 0.8 to 0.5 in every query, which is 0.30000000000000004 in floats."""
    qrels = {query: dict.fromkeys(NAMES[:8], 1) for query in QRELS}
    old = {query: {d: 10.0 - i for i, d in enumerate(NAMES)} for query in qrels}
    new = {query: dict.fromkeys([*NAMES[:5], "x", "y", "z", "v", "w"], 9.0) for query in qrels}
    text = '[[rules]]\nkind = "per_query"\nmetric = "P@10"\nmax_drop = {}'
    ends = [
        gate(qrels, old, new, parse_policy(text.format(max_drop), "policy")).rules[0].outcome.status
        for max_drop in (0.3, 0.299)
    ]
    assert ends == ["pass", "fail"]


def test_states_are_counted_of_a_slice():
    """Three of twelve queries are lacking, all of them of the six in the tail."""
    partial_run = {query: ranked for query, ranked in LONG.items() if query < "q09"}
    policy_head = 'unequal = "zero"\nmin_answered = 0.7'
    rule = 'kind = "states"\nstate = "not_run"\nat_most = 0.25'
    assert ended(rule, partial_run, policy_head).status == "pass"
    assert sliced(rule, partial_run, head=policy_head, band="head").status == "pass"
    result = sliced(rule, partial_run, head=policy_head)
    assert (result.status, result.n) == ("fail", 6)
    assert result.reason == (
        "3 of the candidate's 6 queries for band=tail (50.0%) were not run, 0 of the baseline's 6 (0.0%); at "
        "most 25% may"
    )
    result = sliced(rule, partial_run, head=policy_head, band="body")
    assert (result.status, result.n) == ("inconclusive", 0)
    assert_wording(result.reason)


def test_latencies_are_those_of_a_slice(here):
    """The last three of twelve queries take 110 ms: half of the tail, none of the head."""

    def timed(slow, names=tuple(QRELS)):
        path = here / f"{slow}-{len(names)}.run"
        path.write_text((here / "old.run").read_text())
        took = [{"query_id": q, "latency_ms": slow if q > "q08" else 10} for q in names]
        path.with_name(f"{path.name}.meta.jsonl").write_text("\n".join(map(json.dumps, took)))
        return str(path)

    rule = 'kind = "latency"\nquantile = "p50"\nmax_ms = 50'
    assert ended(rule, timed(110)).status == "pass"
    assert sliced(rule, timed(110), band="head").status == "pass"
    result = sliced(rule, timed(110))
    assert (result.status, result.n) == ("fail", 6)
    assert result.reason == "p50 for band=tail is 60.0 ms; at most 50 ms are allowed"  # (10+110)/2
    ratio = 'kind = "latency"\nquantile = "p50"\nmax_ratio = 2.0'
    assert sliced(ratio, timed(110), timed(10)).status == "fail"
    assert sliced(ratio, timed(110), timed(100)).status == "pass"
    result = sliced(rule, timed(10, ("q00", "q01")))
    assert result.status == "inconclusive"
    assert_wording(result.reason)


def test_states_of_a_slice_against_a_saved_baseline(here):
    collection = Collection("qrels.txt", tags=TAGS)
    baseline.save("main", collection, "old.run", ["AP"])
    lines = (here / "old.run").read_text().splitlines(keepends=True)
    (here / "new.run").write_text("".join(line for line in lines if line < "q09"))
    text = '[gate]\nunequal = "zero"\n[[rules]]\nkind = "states"\nstate = "not_run"\n'
    policy = parse_policy(f'{text}more = 0.3\nslice = "band=tail"', "policy")
    result = gate(collection, "main", "new.run", policy).rules[0].outcome
    assert (result.status, result.n) == ("fail", 6)


@pytest.mark.parametrize(
    "rule",
    [
        'kind = "drift"\nslice = "band=tail"',
        'kind = "order"\nquery = "q"\nabove = "a"\nbelow = "b"\nslice = "x=y"',
        f'{DROP}allow = [{{query = "q01", until = "soon"}}]',
        f'{DROP}allow = [{{query = "q01", until = "2026-02-30"}}]',
    ],
)
def test_what_no_rule_can_say_is_reported_by_line(rule):
    with raises("invalid-policy", InputError) as result:
        parse_policy(f"[[rules]]\n{rule}", "policy")
    assert str(result.value).startswith("policy:")


@pytest.mark.parametrize(
    "rule",
    [
        'kind = "noninferiority"\nmetric = "AP"\nmargin = 1.0',
        'kind = "improvement"\nmetric = "AP"\nby = 2',
        'kind = "per_query"\nmetric = "RR"\nmax_drop = 1',
        'kind = "floor"\nmetric = "AP"\nat_least = 20',
    ],
)
def test_what_could_only_end_one_way_is_refused(rule):
    with raises("impossible-bound", UsageError):
        ended(rule)


def test_no_bound_is_no_impossible_margin():
    assert ended('kind = "noninferiority"\nmetric = "DCG@3"\nmargin = 5').status == "pass"


def test_the_worst_queries_are_first_those_of_rules():
    worse = {query: {**ranked, "bad": 10.0} for query, ranked in LONG.items()}
    rule = DROP.replace("AP", "nDCG@10")
    text = f"[gate]\nmetrics = ['RR']\n[[rules]]\n{rule}"
    result = gate(QRELS, LONG, worse, parse_policy(text, "policy"))
    assert [row["metric"] for row in result.queries] == ["nDCG@10"] * 12 + ["RR"] * 12
    assert result.queries[0]["delta"] > result.queries[12]["delta"]


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{q} 0 {d} {g}\n" for q, docs in QRELS.items() for d, g in docs.items()]
    (tmp_path / "qrels.txt").write_text("".join(lines))
    lines = [f"{q} Q0 {d} 1 {s} t\n" for q, docs in LONG.items() for d, s in docs.items()]
    (tmp_path / "old.run").write_text("".join(lines))
    return tmp_path


def test_a_baseline_that_is_saved_without_a_word_fits_the_gate_without_a_word(here):
    baseline.save("main", "qrels.txt", "old.run")
    assert gate("qrels.txt", "main", "old.run").verdict == "pass"
    text = '[[rules]]\nkind = "floor"\nmetric = "Success@12"\nat_least = 0.5\nby = "mean"\n'
    text += '[[rules]]\nkind = "judged"\nk = 12\nat_least = 0.1\n'
    (here / "rankgate.toml").write_text(text)
    saved = baseline.save("next", "qrels.txt", "old.run")
    assert saved.baseline.system.depth == 12
    assert gate("qrels.txt", "next", "old.run").verdict == "pass"


@pytest.mark.usefixtures("here")
def test_a_baseline_with_shorter_lists_than_a_rule_looks_at_is_refused():
    baseline.save("main", "qrels.txt", "old.run", depth=10)
    policy = parse_policy('[[rules]]\nkind = "judged"\nk = 12\nat_least = 0.1', "policy")
    with raises("baseline-lacks", UsageError):
        gate("qrels.txt", "main", "old.run", policy)


@pytest.mark.usefixtures("here")
def test_a_word_that_is_neither_a_run_nor_a_baseline():
    baseline.save("main", "qrels.txt", "old.run", ["AP"])
    with raises("unknown-baseline", UsageError):
        gate("qrels.txt", "mian", "old.run")


@pytest.mark.usefixtures("here")
def test_noise_is_measured_by_the_baselines_own_convention():
    otherwise = chosen_convention("trec", ["without_relevant=none"])
    baseline.save("main", "qrels.txt", "old.run", ["AP"], otherwise)
    with raises("unknown-convention", UsageError):
        baseline.measure_noise("main", "qrels.txt", ["old.run"])
