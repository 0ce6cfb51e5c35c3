"""Self-checks of a gate as documents: shares of flipped verdicts, and the noise of each metric."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.numbers import format_decimal

if TYPE_CHECKING:
    from rankgate.decisions.gating.gate_check import GateCheck

_MAX_PAIRS = 10
_EVENTS = {
    "flip": "another verdict than most pairs have",
    "false fail": "fail, though nothing changed",
    "false improvement": "an improvement, though nothing changed",
    "inconclusive": "no verdict (inconclusive)",
}


def document(result: GateCheck) -> Document:
    """Verdicts counted, rates with intervals, noise against margins, and pairs that disagree."""
    pairs_by_verdict = Counter(result.verdicts["verdict"].to_list())
    verdict_counts = ", ".join(
        f"{count:,} {verdict}" for verdict, count in pairs_by_verdict.most_common()
    )
    return made(
        f"self-check of the gate: {len(result.runs)} snapshots of one system, "
        f"{len(result.verdicts):,} pairs: {verdict_counts}",
        Table("pairs with", _rates(result)),
        Table("noise", _noise(result)),
        *_disagreeing_tables(result, pairs_by_verdict.most_common(1)[0][0]),
        Warnings(tuple(notice.text for notice in result.notices)),
        f"Each snapshot is gated against each other one. Intervals ({result.level:.0%}, Wilson) "
        f"count the {result.independent} pairs without a snapshot in common. Noise is the largest "
        "difference of means between any two snapshots.",
        f"policy: {make_printable(result.policy)}",
        status=result.verdict,
        rows=PlainRows(tuple(result.verdicts.columns), list(result.verdicts.iter_rows())),
    )


def _rates(result: GateCheck) -> Grid:
    rows = tuple(
        (
            _EVENTS[row["event"]],
            f"{row['pairs']:,}",
            f"{row['share']:.1%}",
            f"[{row['low']:.1%}, {row['high']:.1%}]",
        )
        for row in result.rates.iter_rows(named=True)
    )
    return Grid(("", "pairs", "share", f"{result.level:.0%} interval"), rows)


def _noise(result: GateCheck) -> Grid:
    rows = tuple(
        (
            make_printable(row["metric"]),
            *(format_decimal(row[name]) for name in ("lowest", "highest", "noise", "margin")),
        )
        for row in result.metrics.iter_rows(named=True)
    )
    header = ("metric", "lowest\nmean", "highest\nmean", "noise", "smallest\nmargin")
    return Grid(header, rows)


def _disagreeing_tables(result: GateCheck, usual_verdict: str) -> tuple[Table, ...]:
    """The first pairs with another verdict than most."""
    disagreeing = [
        row for row in result.verdicts.iter_rows(named=True) if row["verdict"] != usual_verdict
    ]
    rows = tuple(
        (row["candidate"], row["baseline"], row["verdict"], make_printable(row["reason"]))
        for row in disagreeing[:_MAX_PAIRS]
    )
    if not rows:
        return ()
    grid = Grid(("candidate", "baseline", "verdict", "why"), rows, frozenset(range(4)))
    return (Table(f"other verdicts ({len(rows)} of {len(disagreeing):,})", grid),)
