"""How the queries of a run ended: what a snapshot says of them, next to their values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from rankgate.data.scores import Scores

_UNANSWERED = {"failed": "failed", "not_run": "were not asked"}


def with_states(
    scores: Scores, queries: pl.DataFrame | None, judged: Sequence[str] | pl.Series
) -> Scores:
    """The scores with the number of judged queries in each state, also of those left out.

    Args:
        scores: of a run.
        queries: what the run says of its queries; ``state`` among it where it is known.
        judged: the ids of judged queries.
    """
    if queries is None or "state" not in queries.columns:
        return scores
    from rankgate.data.formats.run_meta import STATES

    known = pl.Series(judged, dtype=pl.String)
    own = queries.filter(pl.col("query_id").is_in(known.implode()))
    counted = dict(own.group_by("state").len().iter_rows())
    states = {state: counted.get(state, 0) for state in STATES}
    return replace(scores, counts=replace(scores.counts, states=states))


def unanswered(name: str, states: Mapping[str, int]) -> str:
    """A sentence about queries without an answer; empty if every query has one."""
    total = sum(states.values())
    parts = [
        f"{states[state]:,} of {total:,} queries {words}"
        for state, words in _UNANSWERED.items()
        if states.get(state)
    ]
    if not parts:
        return ""
    return f"{name}: {' and '.join(parts)}: without an answer, their values say nothing about ranks"
