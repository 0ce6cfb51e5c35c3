"""A fusion: how, what each run contributed, and what was learned from judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import decimal
from rankgate.measurement.fusion.catalogue import METHODS
from rankgate.measurement.fusion.fuser import FIRST, Setting

if TYPE_CHECKING:
    from rankgate.measurement.fusion.fusion import Fusion, Learned


def document(result: Fusion) -> Document:
    """The method, the runs, and the measured gain where something was learned."""
    learned = result.learned
    blocks = (
        (Table("folds", _folds(learned)), Table("by metric", _means(learned))) if learned else ()
    )
    head = tuple(result.sources.columns)
    return made(
        f"{len(result.sources)} runs fused by {result.method}: {result.queries:,} queries, "
        f"{result.documents:,} documents",
        Table("", _sources(result)),
        *reversed(blocks),
        Warnings(tuple(notice.text for notice in result.notices)),
        _method(result),
        lead=(_gain(learned),) if learned else (),
        rows=PlainRows(head, list(result.sources.iter_rows())),
    )


def _gain(learned: Learned) -> str:
    best = max(learned.singles, key=lambda name: learned.singles[name])
    return (
        f"{learned.metric} on held-out queries: {learned.held_out:.4f}, against "
        f"{learned.singles[best]:.4f} of {printable(best)}, the best single run; on the queries "
        f"that were learned from {learned.in_sample:.4f}."
    )


def _sources(result: Fusion) -> Grid:
    weights = result.weights or (None,) * len(result.sources)
    rows = [
        (
            printable(row["run"]),
            f"{row['queries']:,}",
            f"{row['documents']:,}",
            f"{row['alone']:,}",
            f"{row['first']:.1%}",
            *((f"{weight:g}",) if result.weights else ()),
        )
        for row, weight in zip(result.sources.to_dicts(), weights, strict=True)
    ]
    head = ("run", "queries", "documents", "only in\nthis run", f"of first\n{FIRST} fused")
    return Grid((*head, *(("weight",) if result.weights else ())), tuple(rows))


def _means(learned: Learned) -> Grid:
    rows = [(printable(name), decimal(mean)) for name, mean in learned.singles.items()]
    rows += [
        ("fused, held-out queries", decimal(learned.held_out)),
        ("fused, same queries (too high)", decimal(learned.in_sample)),
    ]
    return Grid(("run", learned.metric), tuple(rows))


def _folds(learned: Learned) -> Grid:
    rows = [
        (f"{number}", f"{fold.queries:,}", str(fold.setting), decimal(fold.training))
        for number, fold in enumerate(learned.folds, 1)
        if fold.training is not None
    ]
    head = ("fold", "queries", "chosen on the others", f"{learned.metric}\nthere")
    return Grid(head, tuple(rows), frozenset({2}))


def _method(result: Fusion) -> str:
    method = METHODS.named(result.method)
    setting = Setting(result.parameters, result.weights)
    scores = f" Scores are normalised by {result.normalisation}." if result.normalisation else ""
    depth = f" The first {result.depth} documents of each list count." if result.depth else ""
    return (
        f"{method.name}: {method.title} ({method.formula}; {method.source}); {setting}."
        f"{scores}{depth} Ranks are by score, equal scores by document id, descending."
    )
