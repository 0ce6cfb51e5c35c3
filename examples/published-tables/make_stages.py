"""Lists whose means are those of a published table of stages; everything else of them is made up.

``python make_stages.py`` writes ``stages-grades.txt`` and a run for each stage. Documents and
orders are drawn, then documents of a query are exchanged for as long as that brings the means
nearer to the table's.
"""

from __future__ import annotations

import random
from math import log2
from pathlib import Path

HERE = Path(__file__).parent
QUERIES, SHOWN, JUDGED = 40, 16, 24
TABLE = {  # nDCG@10 with gain 2^grade - 1, RR@10, R@100; the last two have the third's documents
    "bm25": (0.585, 0.812, 0.741),
    "dense": (0.611, 0.808, 0.825),
    "rrf": (0.628, 0.834, 0.842),
    "cross-encoder": (0.645, 0.860, 0.842),
    "llm": (0.717, 0.901, 0.842),
}
CLOSE = 0.0004


def main() -> None:
    """Write the judgments and the five runs."""
    rng = random.Random(4)  # noqa: S311 - an example, no secret
    qrels = [_grades(rng) for _ in range(QUERIES)]
    lists: list[list[int]] = []
    for stage, (ndcg, rr, recall) in TABLE.items():
        if stage in {"cross-encoder", "llm"}:
            lists = [own[:] for own in lists]
        else:
            lists = _found(rng, qrels, recall)
        _ordered(rng, qrels, lists, ndcg, rr)
        _write(stage, lists)
    lines = [f"q{q:02d} 0 p{d:02d} {g}\n" for q, own in enumerate(qrels) for d, g in enumerate(own)]
    (HERE / "stages-grades.txt").write_text("".join(lines))


def _grades(rng: random.Random) -> list[int]:
    """Of the judged documents: 3 is Exact, 2 Substitute, 1 Complement, 0 Irrelevant."""
    relevant = rng.randint(5, 12)
    best = [3] + [rng.choice((3, 3, 2, 2, 1)) for _ in range(relevant - 1)]
    own = best + [0] * (JUDGED - relevant)
    rng.shuffle(own)
    return own


def _found(rng: random.Random, qrels: list[list[int]], recall: float) -> list[list[int]]:
    """Which documents each list has: as many relevant ones as give the mean recall."""
    relevant = [sum(g > 0 for g in own) for own in qrels]
    counts = [round(recall * n) for n in relevant]
    while abs(sum(map(_share, counts, relevant)) / QUERIES - recall) > CLOSE:
        q, step = rng.randrange(QUERIES), rng.choice((-1, 1))
        nearer = abs(
            sum(map(_share, counts, relevant)) + step / relevant[q] - recall * QUERIES
        ) < abs(sum(map(_share, counts, relevant)) - recall * QUERIES)
        if 1 <= counts[q] + step <= relevant[q] and (nearer or rng.random() < 0.3):
            counts[q] += step
    lists = []
    for own, count in zip(qrels, counts, strict=True):
        good = [d for d, g in enumerate(own) if g]
        rest = [d for d, g in enumerate(own) if not g]
        shown = rng.sample(good, count) + rng.sample(rest, min(SHOWN - count, len(rest)))
        rng.shuffle(shown)
        lists.append(shown)
    return lists


def _share(count: int, relevant: int) -> float:
    return count / relevant


def _ordered(
    rng: random.Random, qrels: list[list[int]], lists: list[list[int]], ndcg: float, rr: float
) -> None:
    """Exchange documents of lists until both means are those wanted."""
    values = [_values(own, shown) for own, shown in zip(qrels, lists, strict=True)]
    sums = [sum(each[i] for each in values) for i in range(2)]
    wanted = (ndcg * QUERIES, rr * QUERIES)
    while any(abs(a - b) > CLOSE * QUERIES for a, b in zip(sums, wanted, strict=True)):
        q = rng.randrange(QUERIES)
        i, j = rng.sample(range(len(lists[q])), 2)
        lists[q][i], lists[q][j] = lists[q][j], lists[q][i]
        new = _values(qrels[q], lists[q])
        moved = [total + a - b for total, a, b in zip(sums, new, values[q], strict=True)]
        if _off(moved, wanted) <= _off(sums, wanted) or rng.random() < 0.002:
            sums, values[q] = moved, new
        else:
            lists[q][i], lists[q][j] = lists[q][j], lists[q][i]


def _off(sums: list[float], wanted: tuple[float, float]) -> float:
    return sum(abs(a - b) for a, b in zip(sums, wanted, strict=True))


def _values(grades: list[int], shown: list[int]) -> tuple[float, float]:
    """nDCG@10 and RR@10."""
    ideal = sorted(grades, reverse=True)
    first = next((i for i, d in enumerate(shown[:10], 1) if grades[d]), None)
    return _dcg([grades[d] for d in shown]) / _dcg(ideal), 1 / first if first else 0.0


def _dcg(grades: list[int]) -> float:
    return sum((2**g - 1) / log2(i + 1) for i, g in enumerate(grades[:10], 1))


def _write(stage: str, lists: list[list[int]]) -> None:
    lines = [
        f"q{q:02d} Q0 p{d:02d} {rank} {len(own) - rank + 1} {stage}\n"
        for q, own in enumerate(lists)
        for rank, d in enumerate(own, 1)
    ]
    (HERE / f"{stage}.run").write_text("".join(lines))


if __name__ == "__main__":
    main()
