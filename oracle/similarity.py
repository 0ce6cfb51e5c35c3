"""rankgate rank-similarity against repro_eval and scipy: the same pairs of runs, the same numbers.

As ``run.py`` for metrics. Ends with 1 where they differ.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

from agreement import Found, note
from table import Peer

from environment import environment
from rankgate.decisions.reproduction.rank_similarity import rank_similarity

HOME = Path(__file__).parent
WORK = HOME / "work"
SEED, COUNT = 20251122, 300
PEER = Peer(
    "repro_eval",
    "repro_eval",
    "0.5.0",
    "similarity.py",
    "trec",
    also=("scipy", "pytrec_eval-terrier", "pandas", "ir_measures"),
)
PER_QUERY = ("KTU", "tau-b", "Spearman")
Case = dict[str, Any]


def main() -> None:
    """Make the pairs, ask the peers, compare."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=COUNT, help="how many pairs")
    WORK.mkdir(exist_ok=True)
    cases = [_case(i) for i in range(parser.parse_args().count)]
    source, lines = WORK / "pairs.json", WORK / "similarity.jsonl"
    source.write_text(json.dumps(cases))
    built = environment(PEER, HOME, WORK)
    problem = (
        built if isinstance(built, str) else built.run(HOME / "peers" / PEER.script, source, lines)
    )
    agreement = Found(PEER, failed=problem)
    if not problem:
        _compare(cases, lines, agreement)
    print(agreement.line)
    for difference in agreement.differ[:5]:
        print(f"    {difference}")
    sys.exit(agreement.wrong)


def _compare(cases: list[Case], path: Path, found: Found) -> None:
    peer_lines = defaultdict(list)
    with path.open() as lines:
        for line in map(json.loads, lines):
            peer_lines[line["collection"]].append(line)
    for case in cases:
        runs = case["runs"]
        result = rank_similarity(
            runs["first"],
            runs["second"],
            collection=case["qrels"],
            metrics=["AP"],
            baselines=(runs["base"], runs["other"]),
        )
        rankgate_values = {(m, q): value for q, m, value in result.per_query.iter_rows()}
        rankgate_values |= {
            (name, None): value for name, value in result.reproduction.row(0, named=True).items()
        }
        for line in peer_lines[case["id"]]:
            if "error" in line:
                found.left_out[f"it fails: {line['error']}"][line["metric"]] += 1
                continue
            value = rankgate_values.get((line["metric"], line["query"]))
            note(case, line, None if value is None or math.isnan(value) else value, found)


def _case(number: int) -> Case:
    """Judgments of three queries, two runs that are to be alike, and the baseline of each."""
    rng = random.Random(f"{SEED}-{number}")  # noqa: S311 - no secrets
    ties = number % 3 == 0
    case: Case = {"id": number, "kind": "ties" if ties else "no ties", "qrels": {}, "runs": {}}
    for query in "123":
        documents = [f"d{i:02}" for i in range(40)]
        case["qrels"][query] = {d: rng.choice((0, 0, 1)) for d in rng.sample(documents, 15)} | {
            "d07": 1
        }
        for name in ("first", "second", "base", "other"):
            length = rng.randint(2, 20) if name in ("base", "other") else 12
            ranked = rng.sample(documents, length)
            steps = rng.sample(range(1000), length)
            scores = [rng.randint(1, 5) for _ in ranked] if ties else steps
            scores.sort(reverse=True)
            case["runs"].setdefault(name, {})[query] = dict(
                zip(ranked, map(float, scores), strict=True)
            )
    return case


if __name__ == "__main__":
    main()
