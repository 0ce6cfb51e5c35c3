"""A shop's search on simulated users, from its log to the launch of a new ranking.

python run.py

The truth is known: what each document is worth, and what every system's lists earn. Every step says
what it found, then what is true.
"""

# ruff: noqa: S311 - a script that simulates users and prints

from __future__ import annotations

import json
import random
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

import rankgate
from rankgate import online

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result

QUERIES, DOCS, SHOWN, DAYS = 60, 12, 8, 14
BEGIN = datetime(2026, 3, 2, tzinfo=UTC)
HERE = Path(__file__).parent / "work"

Lists = dict[str, list[str]]
GRADES = {
    f"query {q}": {f"d{q}-{d}": random.Random(f"{q}/{d}").choice([0, 0, 0, 1, 1, 2, 3])
                   for d in range(DOCS)}
    for q in range(QUERIES)
}
"""What every document is worth to users, 0 to 3."""


def system(noise: float, name: str) -> Lists:
    """A ranking that sees what documents are worth with some noise."""
    draw = random.Random(name)
    found = {}
    for query, grades in GRADES.items():
        scores = {doc: grade + draw.gauss(0, noise) for doc, grade in grades.items()}
        found[query] = sorted(scores, key=scores.__getitem__, reverse=True)[:SHOWN]
    return found


def clicks(query: str, docs: list[str], draw: random.Random) -> list[int]:
    """Ranks that a user clicks, going down until satisfied."""
    found = []
    for rank, doc in enumerate(docs, 1):
        worth = GRADES[query][doc] / 3
        if draw.random() < 0.05 + 0.75 * worth:
            found.append(rank)
            if draw.random() < 0.2 + 0.7 * worth:
                break
    return found


def log(arms: dict[str, Lists], searches: int, seed: int) -> pl.DataFrame:
    """Events of users, each of one arm, who search over some days."""
    draw, rows = random.Random(seed), []
    for number in range(searches):
        user = draw.randrange(searches // 3)
        arm = list(arms)[random.Random(f"{seed}/{user}").randrange(len(arms))]
        query = draw.choice(list(GRADES))
        docs = arms[arm][query]
        at = BEGIN + timedelta(seconds=number * DAYS * 86400 / searches)
        base = {"query_event_id": f"s{number}", "query": query, "user": f"u{user}", "variant": arm,
                "session": f"v{number}", "state": "ok"}
        rows.append({**base, "kind": "search", "at": at})
        rows += [{**base, "kind": "impression", "doc_id": doc, "rank": rank, "at": at}
                 for rank, doc in enumerate(docs, 1)]
        rows += [{**base, "kind": "click", "doc_id": docs[rank - 1], "rank": rank,
                  "at": at + timedelta(seconds=5 * rank)}
                 for rank in clicks(query, docs, draw)]
    return pl.DataFrame(rows, infer_schema_length=None)


def truth(lists: Lists) -> float:
    """The mean reciprocal rank of the first click that the lists truly have."""
    total = 0.0
    for query, docs in lists.items():
        missed = 1.0
        for rank, doc in enumerate(docs, 1):
            chance = 0.05 + 0.75 * GRADES[query][doc] / 3
            total += missed * chance / rank
            missed *= 1 - chance
    return total / len(lists)


def history() -> list[dict[str, Any]]:
    """Past experiments: what the gate measured, and what users did."""
    rows = []
    old = system(1.5, "old")
    for number in range(14):
        new = system(random.Random(number).uniform(0.6, 2.6), f"past {number}")
        found = rankgate.compare(GRADES, run(old), {"new": run(new)}, ["nDCG@8", "P@8"])
        offline = {"experiment": f"e{number}", "side": "offline", "standard_error": None}
        rows += [{**offline, "name": metric, "delta": found["new", metric]["delta"]}
                 for metric in ("nDCG@8", "P@8")]
        error = 0.008
        seen = truth(new) - truth(old) + random.Random(f"e{number}").gauss(0, error)
        rows.append({"experiment": f"e{number}", "side": "online", "name": "mrr_first_click",
                     "delta": seen, "standard_error": error})
    return rows


def run(lists: Lists) -> dict[str, dict[str, float]]:
    """Lists with scores."""
    return {query: {doc: float(-rank) for rank, doc in enumerate(docs)}
            for query, docs in lists.items()}


def said(step: str, result: Result, true: str = "") -> None:
    """Print what a step found, and what is true."""
    document = result.document()
    status = f"{document.status}: " if document.status else ""
    print(f"{step}: {status}{document.title}")
    if true:
        print(f"    true: {true}")
    (HERE / f"{step.replace(' ', '-')}.json").write_text(json.dumps(result.to_dict()))


def interval(measures: pl.DataFrame, name: str) -> str:
    """The difference of a measure to the lists that were shown."""
    row = measures.row(by_predicate=pl.col("measure") == name, named=True)
    return f"{row['delta']:+.3f} ({row['delta_low']:+.3f} to {row['delta_high']:+.3f})"


def main() -> None:
    """Every step."""
    HERE.mkdir(exist_ok=True)
    old, new = system(1.5, "old"), system(0.8, "new")
    explore = system(3.5, "explore")  # a second ranker, which shows other documents
    before = log({"old": old, "explore": explore}, 2500, seed=1)
    gain = truth(new) / truth(old) - 1
    said("doctor", online.doctor(before), "nothing is wrong with the log")
    said("kpis", online.kpi(before, ("search_ctr", "mrr_first_click")),
         f"mrr_first_click of old {truth(old):.4f}, of explore {truth(explore):.4f}")
    learned = online.judgments(before, models=("pbm", "dbn"), human=GRADES)
    said("click judgments", learned, f"Spearman with it {learned.agreement['spearman']:.2f}")
    judged = rankgate.gate(GRADES, {"old": run(old)}, {"new": run(new)})
    said("offline gate", judged, "new is better")
    replayed = online.replay(run(new), before, k=SHOWN, resamples=10)
    said(
        "replay",
        replayed,
        "users who are satisfied click less; DCG " + interval(replayed.measures, "dcg"),
    )
    mixed, draw = [], random.Random(3)
    for number in range(600):
        query = draw.choice(list(GRADES))
        made = online.interleave({"old": old[query], "new": new[query]}, f"r{number}", length=SHOWN)
        mixed.append((made, clicks(query, list(made.docs), draw)))
    said("interleaving", online.preference(mixed), "users prefer new")
    after = log({"old": old, "new": new}, 6000, seed=2)
    after.write_parquet(HERE / "after.parquet")
    compared = online.ab(after, ["mrr_first_click"], design=online.Design(control="old"))
    row = compared.metrics.row(0, named=True)
    said("experiment", compared, f"{gain:+.1%}; seen: {row['relative']:+.1%}")
    (HERE / "launch.toml").write_text(LAUNCH)
    said("ramp", online.watch(HERE / "launch.toml", today="2026-03-15"), "go on")
    past = pl.DataFrame(history(), infer_schema_length=None)
    said("agreement", online.agreement(past, resamples=100), "nDCG@8 sees the order of lists")


LAUNCH = """\
[experiment]
events = "after.parquet"
control = "old"
treatment = "new"

[[ramp]]
share = 0.5
since = "2026-03-02"
days = 7

[[rules]]
id = "first-clicks"
kind = "kpi_noninferiority"
kpi = "mrr_first_click"
relative = 0.05
"""

if __name__ == "__main__":
    main()
