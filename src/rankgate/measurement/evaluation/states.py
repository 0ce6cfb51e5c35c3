"""Count the queries of a run by state, from its snapshot."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from rankgate.data.scores import RunScores

_STATE_TEXTS = {"failed": "failed", "not_run": "were not asked"}


def with_states(
    scores: RunScores, queries: pl.DataFrame | None, judged: Sequence[str] | pl.Series
) -> RunScores:
    """The scores with the number of judged queries in each state, also of those left out.

    Args:
        scores: of a run.
        queries: the run's data on queries, with ``state`` where it is known.
        judged: the ids of judged queries.
    """
    if queries is None or "state" not in queries.columns:
        return scores
    from rankgate.data.formats.run_meta import STATES

    judged_ids = pl.Series(judged, dtype=pl.String)
    judged_queries = queries.filter(pl.col("query_id").is_in(judged_ids.implode()))
    count_by_state = dict(judged_queries.group_by("state").len().iter_rows())
    states = {state: count_by_state.get(state, 0) for state in STATES}
    return replace(scores, counts=replace(scores.counts, states=states))


def unanswered_sentence(name: str, states: Mapping[str, int]) -> str:
    """A sentence about queries without an answer; empty if every query has one."""
    total = sum(states.values())
    parts = [
        f"{states[state]:,} of {total:,} queries {state_text}"
        for state, state_text in _STATE_TEXTS.items()
        if states.get(state)
    ]
    if not parts:
        return ""
    return f"{name}: {' and '.join(parts)}: without an answer, their values say nothing about ranks"
