"""Parquet files."""

from __future__ import annotations

from rankgate.data import arrow
from rankgate.data.format import Format


def sniff(head: bytes, name: str) -> str | None:  # noqa: ARG001 - what every format is asked
    """The letters that every Parquet file begins with."""
    return "it begins with PAR1" if head.startswith(arrow.PARQUET) else None


FORMAT = Format(
    name="parquet",
    title="Parquet with columns for query, document and grade or score",
    suffixes=(".parquet", ".pq"),
    sniff=sniff,
    read=arrow.read,
    read_qrels=arrow.read_qrels,
    read_run=arrow.read_run,
    holds=("qrels", "runs"),
    detail="",
)
