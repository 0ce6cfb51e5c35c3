"""Differences of users, against brute force on small logs and against the simulation."""

import json
from datetime import UTC, datetime, timedelta
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from scipy.stats import spearmanr

import rankgate
from rankgate import online
from rankgate.core.errors import InputError, UsageError
from rankgate.online.users.user_rates import user_rate
from support.wording import raises

START = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday


def log_of(searches):
    """Events of (day, user, query, variant, list, clicked documents)."""
    rows = []
    for number, (day, user, query, variant, docs, clicked) in enumerate(searches):
        at = START + timedelta(days=day, minutes=number % 1000)
        head = {"query_event_id": f"s{number}", "user": user, "session": f"v{number}", "variant": variant}
        rows.append({**head, "at": at, "kind": "search", "query": query, "state": "ok"})
        rows += [
            {**head, "at": at, "kind": "impression", "doc_id": doc, "rank": rank}
            for rank, doc in enumerate(docs, 1)
        ]
        rows += [
            {
                **head,
                "at": at + timedelta(seconds=5),
                "kind": "click",
                "doc_id": doc,
                "rank": docs.index(doc) + 1,
            }
            for doc in clicked
        ]
    table = pl.DataFrame(rows, infer_schema_length=None)
    return table.with_columns(
        action="kind",
        source_file=pl.lit("log"),
        source_line=pl.int_range(1, pl.len() + 1),
        rank=pl.col("rank").cast(pl.Int32),
    )


@pytest.fixture(scope="module")
def several():
    random = np.random.default_rng(5)
    rows = []
    for number in range(240):
        query = f"q{number % 4}"
        docs = [f"{query}{each}" for each in "abcd"]
        clicked = [doc for doc in docs if random.random() < (0.9, 0.3, 0.2, 0.1)["abcd".index(doc[-1])]]
        if number % 4 == 3:
            clicked = docs[:1]
        rows.append((number % 9, f"u{random.integers(12)}", query, "a", docs, clicked))
    return rows


def test_intents_are_what_pairs_of_users_say(several):
    found = online.intents(log_of(several), min_users=2).queries
    wanted = {}
    for _, user, query, _, _, clicked in several:
        if clicked:
            wanted.setdefault(query, {}).setdefault(user, set()).update(clicked)
    assert set(found["query"]) == set(wanted)
    for row in found.iter_rows(named=True):
        sets = list(wanted[row["query"]].values())
        different = [
            sum(one != other for one in left for other in right) / len(left) / len(right)
            for left, right in combinations(sets, 2)
        ]
        assert row["distance"] == pytest.approx(np.mean(different))
        share = {doc: np.mean([(doc in each) / len(each) for each in sets]) for each in sets for doc in each}
        p = np.array(list(share.values()))
        assert row["entropy"] == pytest.approx(-(p * np.log2(p)).sum())
        extra = (len(p) - 1) / (2 * len(sets) * np.log(2))
        assert row["corrected"] == pytest.approx(row["entropy"] + extra)
        assert (row["users"], row["documents"]) == (len(sets), len(p))
    assert found.filter(query="q3")["distance"].item() == 0


def test_queries_of_few_users_are_left_out(several):
    found = online.intents(log_of(several), min_users=100)
    assert found.distance is None
    assert found.seen == 4
    assert {each.code for each in found.notices} == {"few-users"}


def test_a_rate_has_the_error_of_the_delta_method():
    random = np.random.default_rng(1)
    count = random.integers(1, 9, 4000).astype(float)
    total = random.binomial(count.astype(int), random.beta(2, 3, 4000)).astype(float)
    resampled = []
    for _ in range(400):
        drawn = random.integers(4000, size=4000)
        resampled.append(total[drawn].sum() / count[drawn].sum())
    assert user_rate(total, count).error == pytest.approx(np.std(resampled), rel=0.15)
    assert np.isnan(user_rate(total[:1], count[:1]).error)


@pytest.fixture(scope="module")
def personal():
    """A variant that gives heavy users .3 more clicks and rotates lists by taste."""
    random = np.random.default_rng(2)
    rows = []
    for user in range(600):
        variant, heavy, taste = ("plain", "own")[user % 2], user % 4 < 2, user // 4 % 3
        for _ in range(4 if heavy else 2):
            docs = list("abcde")
            if variant == "own":
                docs = docs[taste:] + docs[:taste]
            chance = 0.3 + 0.3 * (heavy and variant == "own")
            clicked = docs[:1] if random.random() < chance else []
            rows.append((user % 5, f"u{user}", "tv", variant, docs, clicked))
    groups = {
        "user": [f"u{user}" for user in range(600)],
        "group": ["heavy" if user % 4 < 2 else "light" for user in range(600)],
    }
    return log_of(rows), pl.DataFrame(groups)


def test_lifts_are_those_of_the_groups(personal):
    log, groups = personal
    found = online.personalization(log, "plain", groups=groups, kpis=["search_ctr"], ranks=3)
    rows = {row["group"]: row for row in found.lifts.iter_rows(named=True)}
    for group, true in (("heavy", 0.3), ("light", 0.0)):
        # within four standard errors
        error = (rows[group]["high"] - rows[group]["low"]) / 2 / 1.96
        assert abs(rows[group]["delta"] - true) < 4 * error
    assert rows["all"]["users"] == rows["all"]["users_control"] == 300
    clicks = log.filter(kind="click").group_by("variant").len().sort("variant")["len"]
    assert rows["all"]["value"] == clicks[0] / 900
    assert rows["all"]["lift"] == pytest.approx(clicks[0] / clicks[1] - 1)
    assert found.interactions["p_value"].item() < 1e-4
    # of the first three of a list of five, rotated by 0, 1 or 2
    shares = {row["variant"]: row for row in found.lists.iter_rows(named=True)}
    assert shares["plain"]["between_users"] == 0
    assert shares["own"]["between_users"] == pytest.approx(2 / 9 * (1 + 1 + 2) / 3, abs=0.002)
    assert shares["own"]["from_control"] == pytest.approx((0 + 1 + 2) / 9, abs=0.002)
    assert not found.notices


def test_groups_are_by_activity_without_a_table(personal, tmp_path):
    log, groups = personal
    found = online.personalization(log, "plain", kpis=["search_ctr"])
    assert found.lifts["group"].to_list() == ["all", "2 to 9 searches"]
    assert {each.code for each in found.notices} == {"groups-by-activity"}
    groups.write_csv(tmp_path / "groups.csv")
    again = online.personalization(log, "plain", kpis=["search_ctr"], groups=tmp_path / "groups.csv")
    assert again.lifts["group"].to_list() == ["all", "heavy", "light"]


def test_variants_that_a_fault_makes_wrong_are_refused(personal):
    log, _ = personal
    few = log.filter((pl.col("variant") == "plain") | (pl.col("user").hash() % 3 == 0))
    with raises("spoiled-variants", InputError):
        online.personalization(few, "plain")
    found = online.personalization(online.Events(few, despite=True), "plain", kpis=["search_ctr"])
    assert {each.code for each in found.notices} >= {"spoiled-variants"}


@pytest.fixture(scope="module")
def stays():
    """Half of users come back a week, and click less the longer they are known."""
    random = np.random.default_rng(4)
    rows = []
    for user in range(900):
        first = int(random.integers(3))
        for week in range(first, 6):
            if week > first and random.random() > 0.5:
                continue
            age = week - first
            query = f"q{random.integers(6)}"
            docs = list("abcd")
            clicked = [docs[int(query[1]) // 2]] if random.random() < 0.6 - 0.08 * age else []
            day = week * 7 + int(random.integers(7))
            rows.append((day, f"u{user}", query, None, docs, clicked))
    rows.append((41, "last", "q0", None, list("abcd"), []))
    return rows


def test_cohorts_are_counted(stays):
    found = online.weeks(log_of(stays), kpis=["search_ctr"])
    first, active = {}, {}
    for day, user, *_ in stays:
        first[user] = min(first.get(user, 99), day // 7)
        active.setdefault(user, set()).add(day // 7)
    for row in found.cohorts.iter_rows(named=True):
        cohort = (datetime.fromisoformat(row["cohort"]).replace(tzinfo=UTC) - START).days // 7
        users = [user for user, week in first.items() if week == cohort]
        assert row["users"] == len(users)
        assert row["active"] == sum(cohort + row["age"] in active[user] for user in users)
    # the log ends with its sixth week, so that every week is whole
    assert found.cohorts.group_by("cohort").agg(pl.col("age").max()).sort("cohort")["age"].to_list() == [
        5,
        4,
        3,
        0,
    ]


def test_a_novelty_that_wears_off_is_seen(stays):
    found = online.weeks(log_of(stays), kpis=["search_ctr"])
    trend = found.trends.row(0, named=True)
    assert trend["low"] < -0.08 < trend["high"] < 0
    week = found.weeks.filter(week="2026-01-12").row(0, named=True)
    mine = [bool(clicked) for day, *_, clicked in stays if 7 <= day < 14]
    assert week["value"] == pytest.approx(np.mean(mine))
    assert week["low"] < week["value"] < week["high"]


def test_kpis_go_with_ranking_metrics(stays):
    qrels = {f"q{n}": dict(zip("abcd", (3, n % 3, 0, n // 3), strict=True)) for n in range(6)}
    found = online.weeks(log_of(stays), kpis=["mrr_first_click"], qrels=qrels, metrics=["nDCG@4"])
    lists = {query: list("abcd") for query in qrels}
    scores = rankgate.evaluate(qrels, lists, ["nDCG@4"]).runs[0]
    values = dict(zip(scores.query_ids, scores.values["nDCG@4"], strict=True))
    clicks = {}
    for _, _, query, _, docs, clicked in stays:
        clicks.setdefault(query, []).append(1 / (docs.index(clicked[0]) + 1) if clicked else 0)
    names = sorted(clicks)
    expected = spearmanr([values[q] for q in names], [np.mean(clicks[q]) for q in names])
    row = found.correlations.filter(per="query").row(0, named=True)
    assert (row["n"], row["spearman"]) == (6, pytest.approx(expected.statistic))
    with raises("no-common-queries", InputError):
        online.weeks(log_of(stays), qrels={"other": {"a": 1}})


def test_words_that_name_nothing(personal, stays):
    log, groups = personal
    with raises("unknown-variant", UsageError):
        online.personalization(log, "new")
    with raises("unsuitable-kpi", UsageError):
        online.personalization(log, "plain", kpis=["latency_p95"])
    with raises("no-values", UsageError):
        online.weeks(log, kpis=["conversion_rate"])
    with raises("missing-column", InputError):
        online.personalization(log, "plain", groups=groups.rename({"group": "kind"}))
    with raises("no-users", InputError):
        online.weeks(log_of(stays[:3]).with_columns(user=pl.lit(None, pl.String)))


@pytest.mark.parametrize("words", [("intents",), ("weeks",), ("personalization", "--control", "own")])
def test_the_commands_print_what_they_found(personal, tmp_path, run, words):
    personal[0].write_parquet(tmp_path / "log.parquet")
    done = run("online", words[0], str(tmp_path / "log.parquet"), *words[1:], "--format", "json")
    assert done.code == 0, done.err
    assert json.loads(done.out)["schema_version"] == 1
