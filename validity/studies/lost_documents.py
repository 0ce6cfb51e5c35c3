"""A candidate that lost the baseline's relevant documents fails, though its documents are unjudged."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.decisions.gating.flip_checks import MIN_KEPT, is_lost
from studies.hidden_judgments import DEPTH, collections, hidden
from tables import percent, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from studies.hidden_judgments import Collection, Hidden

TRIALS, JUNK, MARGIN = 400, 40, 0.02


@dataclass(frozen=True)
class Cell:
    """One collection.

    Attributes:
        data: the collection.
        trials: pairs of systems after judgments were hidden.
        not_worse: of them, the candidate does not lose more than the margin by all judgments.
        false: of these, called lost.
        lost: of all, called lost.
        junk: candidates of documents drawn from other queries.
        found: of these, called lost.
        kept: the lowest share of relevant documents that a candidate of a pair keeps.
    """

    data: str
    trials: int
    not_worse: int
    false: int
    lost: int
    junk: int
    found: int
    kept: float


def run(seed: int = 5) -> list[Cell]:
    """Every collection that is there."""
    return [_cell(collection, seed) for collection in collections()]


def _cell(collection: Collection, seed: int) -> Cell:
    rng = np.random.default_rng([seed, *collection.name.encode()])
    trials = [trial for i in range(TRIALS) if (trial := hidden(collection, i, rng))]
    counts = [_count_kept(trial) for trial in trials]
    is_worse = np.array([trial.gains(trial.grades).mean() < -MARGIN for trial in trials])
    lost = np.array([is_lost(*kept) for kept in counts])
    junk = [is_lost(*_count_kept(_with_junk(trial, rng))) for trial in trials[:JUNK]]
    return Cell(
        collection.name,
        len(trials),
        int((~is_worse).sum()),
        int((lost & ~is_worse).sum()),
        int(lost.sum()),
        len(junk),
        sum(junk),
        min(kept / max(relevant, 1) for kept, relevant in counts),
    )


def _count_kept(trial: Hidden) -> tuple[int, int]:
    """Relevant documents of the baseline's lists that the candidate shows, and all of them."""
    baseline, candidate = trial.lists
    relevant = {
        (query, document)
        for query in trial.queries
        for document in baseline[query]
        if trial.left[query].get(document, 0.0) >= 1
    }
    return len({(query, document) for query, document in relevant if document in candidate[query]}), len(
        relevant
    )


def _with_junk(trial: Hidden, rng: np.random.Generator) -> Hidden:
    """The same with a candidate whose lists are those of other queries."""
    queries = rng.permutation(trial.queries)
    lists = {query: trial.lists[1][queries[i - 1]] for i, query in enumerate(queries)}
    return replace(trial, lists=(trial.lists[0], lists))


def section(cells: Sequence[Cell]) -> str:
    """The section of the page."""
    header = (
        "collection",
        "pairs",
        "not worse",
        "called lost",
        "falsely",
        "least kept",
        "junk",
        "called lost",
    )
    rows = [
        (
            cell.data,
            f"{cell.trials:,}",
            f"{cell.not_worse:,}",
            f"{cell.lost:,}",
            f"{cell.false:,}",
            percent(cell.kept),
            f"{cell.junk:,}",
            f"{cell.found:,}",
        )
        for cell in cells
    ]
    false, pairs = sum(cell.false for cell in cells), sum(cell.not_worse for cell in cells)
    return (
        f"## Lost documents\n\nA rule that fails stays failed, whatever its unjudged documents are, where "
        f"the candidate keeps under {MIN_KEPT:.0%} of the relevant documents that the baseline shows in its "
        f"first {DEPTH}, by the upper 95 % bound of Clopper and Pearson. These are judged whatever the "
        "candidate shows. Pairs of systems and ways of hiding judgments are those of the section on holes; a "
        f"candidate is not worse if it loses at most {MARGIN:g} of nDCG@{DEPTH} by all judgments; junk has "
        f"the lists of other queries. Falsely called lost: {false} of {pairs:,}.\n\n{table(header, rows)}"
    )
