"""Document of a fusion: method, contribution of each run, gain from judgments."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document_model import Document, Grid, PlainRows, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun, format_decimal
from rankgate.measurement.fusion.run_fuser import TOP_RANKS, Setting
from rankgate.measurement.fusion.trained_methods import METHODS

if TYPE_CHECKING:
    from rankgate.measurement.fusion.fusion import Fusion, Learned


def fusion_document(result: Fusion) -> Document:
    """The method, the runs, and the measured gain if a setting was learned."""
    learned = result.learned
    blocks = (Table("folds", _folds(learned)), Table("by metric", _means(learned))) if learned else ()
    header = tuple(result.sources.columns)
    return made(
        f"{count_noun(len(result.sources), 'run')} fused by {result.method}: "
        f"{count_noun(result.queries, 'query')}, {count_noun(result.documents, 'document')}",
        Table("", _sources(result)),
        *reversed(blocks),
        Warnings.from_notices(result.notices),
        _method(result),
        lead=(_gain(learned),) if learned else (),
        rows=PlainRows(header, list(result.sources.iter_rows())),
    )


def _gain(learned: Learned) -> str:
    best = max(learned.singles, key=lambda name: learned.singles[name])
    return (
        f"{learned.metric} on held-out queries: {learned.held_out:.4f}, against {learned.singles[best]:.4f} "
        f"of {make_printable(best)}, the best single run; on the queries that were learned from "
        f"{learned.in_sample:.4f}."
    )


def _sources(result: Fusion) -> Grid:
    weights = result.weights or (None,) * len(result.sources)
    rows = [
        (
            make_printable(row["run"]),
            f"{row['queries']:,}",
            f"{row['documents']:,}",
            f"{row['alone']:,}",
            f"{row['first']:.1%}",
            *((f"{weight:g}",) if result.weights else ()),
        )
        for row, weight in zip(result.sources.to_dicts(), weights, strict=True)
    ]
    header = ("run", "queries", "documents", "only in\nthis run", f"of first\n{TOP_RANKS} fused")
    return Grid((*header, *(("weight",) if result.weights else ())), tuple(rows))


def _means(learned: Learned) -> Grid:
    rows = [(make_printable(name), format_decimal(mean)) for name, mean in learned.singles.items()]
    rows += [
        ("fused, held-out queries", format_decimal(learned.held_out)),
        ("fused, same queries (too high)", format_decimal(learned.in_sample)),
    ]
    return Grid(("run", learned.metric), tuple(rows))


def _folds(learned: Learned) -> Grid:
    rows = [
        (f"{number}", f"{fold.queries:,}", str(fold.setting), format_decimal(fold.training))
        for number, fold in enumerate(learned.folds, 1)
        if fold.training is not None
    ]
    header = ("fold", "queries", "chosen on the others", f"{learned.metric}\nthere")
    return Grid(header, tuple(rows), frozenset({2}))


def _method(result: Fusion) -> str:
    method = METHODS.find(result.method)
    setting = Setting(result.parameters, result.weights)
    scores = f" Scores are normalised by {result.normalisation}." if result.normalisation else ""
    depth = f" The first {count_noun(result.depth, 'document')} of each list count." if result.depth else ""
    return (
        f"{method.name}: {method.title} ({method.formula}; {method.source}); {setting}."
        f"{scores}{depth} Ranks are by score, equal scores by document id, descending."
    )
