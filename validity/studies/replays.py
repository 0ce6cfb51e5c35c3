"""Replays of candidates on logged clicks: how often their intervals hold the truth.

Lists of three rankers are shown to simulated users, who look at ranks independently (position
based) or stop when they are satisfied (cascade); the candidate reorders what was shown. `rankgate
online replay` chooses the click model by held-out searches; its intervals reach over all models
that may be as good. Beside it: the interval of the model that was chosen alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.online.clicks.packed_searches import PackedSearches
from rankgate.online.off_policy.replay import replay

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

LOGS, RESAMPLES = 40, 40
LEVEL = 0.95
QUERIES, DOCUMENTS, DEPTH = 6, 7, 4
LOOKS = np.array([1.0, 0.7, 0.5, 0.35])
KINDS = tuple((users, n) for users in ("position based", "cascade") for n in (1000, 4000))
STOP, ONWARD = 0.6, 0.85  # after a click; to the next rank otherwise


@dataclass(frozen=True)
class Cell:
    """How often intervals of clicks a search hold the truth.

    Attributes:
        users: position based or cascade.
        searches: of a log.
        logs: how many.
        answered: share of the logs with an interval.
        covered: share of these whose interval holds the truth.
        alone: the same of the chosen model's interval alone.
        width: mean width.
        alone_width: of the chosen model's alone.
    """

    users: str
    searches: int
    logs: int
    answered: float
    covered: float
    alone: float
    width: float
    alone_width: float

    @property
    def holds(self) -> bool:
        """True if no fewer are covered than the level says, within two standard errors."""
        error = np.sqrt(LEVEL * (1 - LEVEL) / max(self.answered * self.logs, 1))
        return bool(self.covered >= LEVEL - 2 * error)


def run(logs: int = LOGS, seed: int = 0) -> list[Cell]:
    """Both kinds of users, with few and many searches."""
    return [
        _cell(users, searches, logs, np.random.default_rng([seed, index]))
        for index, (users, searches) in enumerate(KINDS)
    ]


def _cell(users: str, searches: int, logs: int, random: np.random.Generator) -> Cell:
    rows = []
    for _ in range(logs):
        log, candidate, truth = _world(users, searches, random)
        result = replay(candidate, log, k=DEPTH, resamples=RESAMPLES, level=LEVEL)
        if result.verdict:
            continue
        single_model = result
        if len(result.models) > 1:
            single_model = replay(
                candidate, log, k=DEPTH, resamples=RESAMPLES, level=LEVEL, model=result.model
            )
        ends = (replay_result.measures.row(0, named=True) for replay_result in (result, single_model))
        rows.append([truth, *(row[end] for row in ends for end in ("low", "high"))])
    truth, low, high, alone_low, alone_high = np.array(rows).T
    return Cell(
        users,
        searches,
        logs,
        len(rows) / logs,
        float(((low <= truth) & (truth <= high)).mean()),
        float(((alone_low <= truth) & (truth <= alone_high)).mean()),
        float((high - low).mean()),
        float((alone_high - alone_low).mean()),
    )


def _world(
    users: str, searches: int, random: np.random.Generator
) -> tuple[PackedSearches, dict[str, dict[str, float]], float]:
    """A log, a candidate's scores, and the clicks of a search that its lists truly have."""
    attractive = random.beta(1, 4, (QUERIES, DOCUMENTS))
    rankers = np.stack([_ranked(attractive, 0.25, random) for _ in range(3)])
    query, ranker = random.integers(QUERIES, size=searches), random.integers(3, size=searches)
    lists = rankers[ranker, query]
    clicked = _clicks(users, attractive[query[:, None], lists], random)
    listed_mask = np.zeros(attractive.shape, bool)
    for ranking in rankers:
        listed_mask[np.arange(QUERIES)[:, None], ranking] = True
    candidate = _ranked(np.where(listed_mask, attractive, -9.0), 0.1, random)
    scores = {
        f"q{number}": {f"d{document}": float(DEPTH - rank) for rank, document in enumerate(ranking)}
        for number, ranking in enumerate(candidate)
    }
    log = PackedSearches.pack(
        pl.DataFrame(
            {
                "search": np.repeat(np.arange(searches), DEPTH),
                "query_id": [f"q{number}" for number in np.repeat(query, DEPTH)],
                "doc_id": [f"d{number}" for number in lists.ravel()],
                "rank": np.tile(np.arange(1, DEPTH + 1), searches),
                "clicked": clicked.ravel(),
            }
        )
    )
    worth = _expected(users, attractive[np.arange(QUERIES)[:, None], candidate])
    return log, scores, float(worth @ np.bincount(query, minlength=QUERIES) / searches)


def _ranked(attractive: Floats, noise: float, random: np.random.Generator) -> Ints:
    """(Q, K) the documents by attractiveness and noise."""
    order = np.argsort(-(attractive + random.normal(0, noise, attractive.shape)), axis=1)
    return np.asarray(order[:, :DEPTH])


def _clicks(users: str, attractive: Floats, random: np.random.Generator) -> NDArray[np.bool_]:
    """(N, K) from the attractiveness of what is shown."""
    if users == "position based":
        return np.asarray(random.random(attractive.shape) < attractive * LOOKS)
    clicked = np.zeros(attractive.shape, bool)
    looking = np.ones(len(attractive), bool)
    for rank in range(DEPTH):
        clicked[:, rank] = looking & (random.random(len(looking)) < attractive[:, rank])
        stops = clicked[:, rank] & (random.random(len(looking)) < STOP)
        looking &= ~stops & (random.random(len(looking)) < ONWARD)
    return clicked


def _expected(users: str, attractive: Floats) -> Floats:
    """(Q,) the expected clicks of a search."""
    if users == "position based":
        return np.asarray(attractive @ LOOKS)
    total, looking = np.zeros(len(attractive)), np.ones(len(attractive))
    for rank in range(DEPTH):
        total += looking * attractive[:, rank]
        looking *= (1 - STOP * attractive[:, rank]) * ONWARD
    return total


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    from tables import marked, percent, table

    rows = [
        (
            c.users,
            f"{c.searches:,}",
            percent(c.answered),
            marked(c.covered, c.holds),
            percent(c.alone),
            f"{c.width:.3f}",
            f"{c.alone_width:.3f}",
        )
        for c in cells
    ]
    text = (
        f"{cells[0].logs} logs of each kind with {QUERIES} queries, intervals of 95 % of the candidate's "
        "clicks a search (standard error of a share of 95 % "
        f"{percent(np.sqrt(LEVEL * (1 - LEVEL) / cells[0].logs))}). Which click model users follow is not "
        "known from so few searches; the interval of the chosen model alone, which was printed before, takes "
        "it as known."
    )
    heads = ("users", "searches", "with an interval", "covered", "chosen model alone", "width", "its width")
    return f"## Replays on logged clicks\n\n{text}\n\n{table(heads, rows)}"
