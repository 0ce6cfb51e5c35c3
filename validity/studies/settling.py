"""What a settled comparison costs: documents drawn by their effect, by depth and at random.

All pairs of 16 runs of TREC-COVID, round 1, 30 topics, DCG@10. A model judges each document as a
language model judged documents of people's grade at TREC RAG 2025 (grades 0, 1 to 2 and 3 to 4 as
0, 1 and 2). People judge batches until the interval settles the difference, or all first ten
documents of both runs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.data import read_qrels, read_run
from rankgate.decisions.advice.settlement_plan import Prices, look_levels
from rankgate.measurement.stats.mean_intervals import guarded_interval
from rankgate.measurement.stats.sampling_design import inclusion_probabilities
from studies.populations import FOLDER
from studies.settling_loop import loop

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

LEVEL, LOOKS, DEPTH, TIMES, FLOOR, BEGIN = 0.95, 5, 10, 6, 0.1, 0.1
ORDERS = ("effect", "random", "depth", "depth, the model's rest")
BUDGETS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0)


@dataclass(frozen=True)
class Cell:
    """Pairs that were judged in one order, until they are settled.

    Attributes:
        order: of the documents.
        pairs: that all judgments decide; `others` that they leave open.
        cost: mean share of the documents that settle a decided pair.
        same: share of decided pairs with the verdict of all judgments; `opposite` with the other.
        open_cost, false: the same share, and the share that were settled, of the others.
        chance: share settled by a part of the documents where the systems do not differ: the sign
            of each query's difference is drawn at random.
        all_chance: share settled there by all looks, the last with all documents.
        curve: share of decided pairs with the right verdict by a fixed share of the documents.
    """

    order: str
    pairs: int
    others: int
    cost: float
    same: float
    opposite: float
    open_cost: float
    false: float
    chance: float
    all_chance: float
    curve: tuple[float, ...]


@dataclass(frozen=True)
class _Pair:
    """The documents that two runs show: query, weight in the difference, grades, rank."""

    query: NDArray[np.int64]
    weight: Floats
    people: Floats
    model: Floats
    rank: Floats
    queries: int

    def sums(self, values: Floats) -> Floats:
        return np.bincount(self.query, self.weight * values, self.queries)

    @property
    def truth(self) -> int:
        return _said(self.sums(self.people), LEVEL)


def run(times: int = TIMES, seed: int = 0) -> list[Cell]:
    """Every order, with the model and the sample drawn anew several times."""
    place = FOLDER / "trec-covid-r1"
    if not place.exists():
        return []
    rng = np.random.default_rng(seed)
    pairs = [pair for _ in range(times) for pair in _pairs(rng)]
    return [_cell(order, pairs, np.random.default_rng(seed + 1)) for order in ORDERS]


def _cell(order: str, pairs: Sequence[_Pair], rng: np.random.Generator) -> Cell:
    found = np.array([(pair.truth, *_settled(pair, order, rng)) for pair in pairs])
    fixed = np.array([[_fixed(pair, order, share, rng) == pair.truth for share in BUDGETS] for pair in pairs])
    truth, cost, said = found.T
    decided = truth != 0
    return Cell(
        order,
        int(decided.sum()),
        int((~decided).sum()),
        float(cost[decided].mean()),
        float((said == truth)[decided].mean()),
        float((said == -truth)[decided].mean()),
        float(cost[~decided].mean()),
        float((said != 0)[~decided].mean()),
        *_chances(pairs, order, rng),
        tuple(fixed[decided].mean(axis=0).round(4).tolist()),
    )


def _chances(pairs: Sequence[_Pair], order: str, rng: np.random.Generator) -> tuple[float, float]:
    """How often a part of the documents, and any look, settles what is no difference."""
    looks = []
    for pair in pairs:
        sign = rng.choice([-1.0, 1.0], pair.queries)[pair.query]
        share, verdict = _settled(replace(pair, weight=pair.weight * sign), order, rng)
        looks.append((verdict != 0 and share < 1, verdict != 0))
    early, all_looks = np.mean(looks, axis=0).tolist()
    return early, all_looks


def _settled(pair: _Pair, order: str, rng: np.random.Generator) -> tuple[float, int]:
    """The share of documents that were judged, and the verdict."""
    if order.startswith("depth"):
        return _by_depth(pair, order, rng.random(len(pair.query)))
    weight = pair.weight if order == "effect" else np.ones(len(pair.query))
    found = loop(pair, weight, Prices(), pair.queries, rng)
    return found.documents / len(pair.query), found.said


def _by_depth(pair: _Pair, order: str, number: Floats) -> tuple[float, int]:
    size = len(pair.query)
    first = max(pair.queries, round(BEGIN * size))
    levels = [*look_levels(LEVEL, LOOKS - 1), LEVEL]
    for look, level in enumerate(levels):
        expected = first * (size / first) ** (look / (LOOKS - 1))
        chance, judged = _drawn(pair, order, expected, number)
        said = _said(_estimate(pair, order, chance, judged), level)
        if said:
            break
    return float(judged.mean()), said


def _fixed(pair: _Pair, order: str, share: float, rng: np.random.Generator) -> int:
    """The verdict where so many documents are judged."""
    number = rng.random(len(pair.query))
    chance, judged = _drawn(pair, order, share * len(pair.query), number)
    return _said(_estimate(pair, order, chance, judged), LEVEL)


def _drawn(pair: _Pair, order: str, expected: float, number: Floats) -> tuple[Floats, NDArray[np.bool_]]:
    if order.startswith("depth"):
        judged = np.zeros(len(number), np.bool_)
        judged[np.lexsort((number, pair.rank))[: int(expected)]] = True
        return np.ones(len(number)), judged
    size = np.abs(pair.weight) if order == "effect" else np.ones(len(number))
    chance = inclusion_probabilities(np.maximum(size, FLOOR * size.mean()), expected)
    return chance, number < chance


def _estimate(pair: _Pair, order: str, chance: Floats, judged: NDArray[np.bool_]) -> Floats:
    """Differences by query; in depth's order unjudged documents are irrelevant, or the model's."""
    if order == "depth":
        return pair.sums(pair.people * judged)
    return pair.sums(pair.model + (pair.people - pair.model) * judged / chance)


def _said(values: Floats, level: float) -> int:
    ends = guarded_interval(values, level)
    return int(ends.low[0] > 0) - int(ends.high[0] < 0)


def _pairs(rng: np.random.Generator) -> Iterator[_Pair]:
    place = FOLDER / "trec-covid-r1"
    runs = [_firsts(path) for path in sorted((place / "runs").glob("*.gz"))]
    yield from pairs_of(place / "qrels.covid-round1.txt", runs, rng)


def pairs_of(
    qrels: Path, runs: Sequence[dict[str, list[str]]], rng: np.random.Generator, best: int = 2
) -> Iterator[_Pair]:
    """All pairs of runs, each with a model anew; grades above ``best`` are that."""
    grades = {
        (query, doc): int(min(max(grade, 0), best))
        for query, doc, grade in read_qrels(qrels).table.iter_rows()
    }
    queries = sorted({query for query, _ in grades})
    seen = _seen()
    discount = 1 / np.log2(np.arange(2, DEPTH + 2))
    for one, two in combinations(runs, 2):
        rows = []
        for at, query in enumerate(queries):
            weight: dict[str, float] = {}
            best: dict[str, int] = {}
            for sign, lists in ((-1, one), (1, two)):
                for rank, doc in enumerate(lists.get(query, [])):
                    weight[doc] = weight.get(doc, 0.0) + sign * discount[rank]
                    best[doc] = min(best.get(doc, DEPTH), rank)
            rows += [(at, weight[doc], grades.get((query, doc), 0), best[doc]) for doc in weight]
        query_, weight_, people, rank = np.array(rows).T
        model = np.array([rng.choice(3, p=seen[int(grade)]) for grade in people], np.float64)
        yield _Pair(query_.astype(np.int64), weight_, people, model, rank, len(queries))


def _firsts(path: Any) -> dict[str, list[str]]:  # noqa: ANN401 - a path
    table = read_run(path).table.sort("query_id", "score", "doc_id", descending=[False, True, True])
    parts = table.group_by("query_id", maintain_order=True).head(DEPTH)
    found: dict[str, list[str]] = {}
    for query, doc in parts.select("query_id", "doc_id").iter_rows():
        found.setdefault(query, []).append(doc)
    return found


def _seen() -> Floats:
    """(3, 3) how often a language model gave a grade to documents of each grade by people."""
    place = FOLDER / "rag25-human-vs-llm"
    people, model = (
        read_qrels(place / f"qrels.rag25.{each}.txt.gz").table for each in ("test", "test-umbrela2")
    )
    both = people.join(model, on=["query_id", "doc_id"]).select("grade", "grade_right")
    coarse = np.array([0, 1, 1, 2, 2])
    counts = np.zeros((3, 3))
    ours, theirs = (coarse[np.maximum(each, 0).astype(np.int64)] for each in both.to_numpy().T)
    np.add.at(counts, (ours, theirs), 1)
    return np.asarray(counts / counts.sum(axis=1, keepdims=True), np.float64)


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import percent, table

    rows = [
        (
            c.order,
            percent(c.cost),
            percent(c.same),
            percent(c.opposite),
            percent(c.open_cost),
            percent(c.false),
            percent(c.chance),
            percent(c.all_chance),
        )
        for c in cells
    ]
    curve = [(c.order, *(percent(share) for share in c.curve)) for c in cells]
    first = cells[0] if cells else None
    counts = (
        f"{first.pairs:,} pairs that all judgments decide and {first.others:,} others"
        if (first)
        else "no pairs"
    )
    return (
        "## What a settled comparison costs\n\n`rankgate next` draws documents by their effect on the "
        "difference, in batches, until the interval settles it. All pairs of 16 runs of TREC-COVID (30 "
        f"topics, DCG@10), {counts}; the model errs as a language model did at TREC RAG 2025. The cost is "
        "the share of the documents that either run shows among its first ten: what depth pooling judges. "
        "Documents in the order of depth have no chances: with the same looks, and unjudged documents "
        "irrelevant or as the model says, there is no guarantee for their verdicts on other pairs; they are "
        "shown here with the same rule of stopping.\n\n"
        + table(
            (
                "order",
                "documents",
                "same verdict",
                "opposite",
                "documents, open pairs",
                "settled though open",
                "settled early without a difference",
                "at any look",
            ),
            rows,
        )
        + "\nShare of decided pairs with the right verdict where a fixed share of the documents is judged, "
        "without looks before.\n\n" + table(("order", *(f"{share:.0%}" for share in BUDGETS)), curve)
    )
