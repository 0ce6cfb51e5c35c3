"""Columns of the tables on a sample of queries and its population."""

from __future__ import annotations

from typing import Any

import polars as pl

REPRESENTED: dict[str, Any] = {
    "metric": pl.String,
    "queries": pl.Int64,
    "effective": pl.Float64,
    "population": pl.Int64,
    "people": pl.Float64,
    "people_low": pl.Float64,
    "people_high": pl.Float64,
    "model": pl.Float64,
    "correlation": pl.Float64,
    "slope": pl.Float64,
    "saving": pl.Float64,
    "needed": pl.Int64,
    "documents": pl.Int64,
    "more_documents": pl.Int64,
    "seen": pl.Int64,
    "agreement": pl.Float64,
}
"""One row a metric. queries: judged by people; effective: as many of equal weight tell as much;
population: queries that the model judged; people, with the ends of its interval: the difference
without the model; model: by the model alone; slope: how much its judgments count; saving: the
share of people's queries that it saves; needed: people's queries that would show this difference,
null where no number up to the population's does; documents: that people judged, null where they
judged all of these queries; more_documents: that they must judge in addition to show this
difference, null where all of these queries' would not do; seen: queries that are left out because
the model saw their judgments; agreement: Cohen's kappa of its grades with people's."""

PREDICTIONS: dict[str, Any] = {
    "query_id": pl.String,
    "metric": pl.String,
    "delta": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
"""Queries that the model alone judged: its difference, and the conformal interval of the one that
people would find."""
