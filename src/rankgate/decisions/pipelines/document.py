"""Stages: the bottleneck in a sentence, then metrics, steps, ceilings, documents, labels."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.document import Chart, Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import corrected, interval, number, p_value, signed
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import UNDEFINED, decimal
from rankgate.decisions.comparison.method import way
from rankgate.decisions.pipelines.sentence import sentence

if TYPE_CHECKING:
    from rankgate.decisions.pipelines.stages import Pipeline

_WHY = {
    "retrieval": "its first {depth} lack relevant documents",
    "depth": "it does not look below its first candidates",
    "cut": "takes relevant documents out",
    "order": "its order of the candidates",
}
_LONGEST = 18  # of a stage's name in a table, so that the steps stay one table


def document(result: Pipeline) -> Document:
    """The bottleneck in a sentence, the picture, every table, warnings, notes."""
    tables = [Table(heading, grid) for heading, grid in grids(result)]
    chart = Chart("rankgate.decisions.pipelines.charts.staged:draw", result)
    head = ("stage", "metric", "mean", "n")
    rows = PlainRows(head, list(result.means.select(*head).iter_rows()))
    return made(
        title(result),
        chart,
        *tables,
        Warnings(result.warnings),
        notes(result),
        lead=(sentence(result),),
        rows=rows,
    )


def title(result: Pipeline) -> str:
    """Who follows whom, and by which rules."""
    names = " → ".join(map(printable, result.stages))
    return (
        f"{names}, by judgments {printable(result.qrels)}, convention {result.convention['name']} "
        f"({result.convention['hash']})"
    )


def grids(result: Pipeline) -> list[tuple[str, Grid]]:
    """Every table with its heading, those that say something."""
    ceiling = (
        f"the ceiling: {result.target} of the first {result.depth} documents, or those that a "
        "reranker may order, in their best order "
        f"(best there is: {decimal(result.best)})"
    )
    tables = [
        ("", stage_table(result)),
        ("latency in milliseconds, and queries that were answered", latency(result)),
        (f"each step against {_against(result)}", steps(result)),
        (ceiling, ceilings(result)),
        (f"where {result.target} is lost", losses(result)),
        ("relevant documents, over all queries", documents(result)),
        (f"labels of the first {result.k} documents", labels(result)),
    ]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def stage_table(result: Pipeline) -> Grid:
    """The mean of each metric after each stage."""
    metrics = result.means["metric"].unique(maintain_order=True).to_list()
    mean = {(row["stage"], row["metric"]): row["mean"] for row in _rows(result.means)}
    rows = [
        (printable(stage), *(decimal(mean[stage, metric]) for metric in metrics))
        for stage in result.stages
    ]
    return Grid(("stage", *metrics), tuple(rows))


def latency(result: Pipeline) -> Grid:
    """How long each stage takes alone, and the pipeline to its end."""
    rows = [
        (
            printable(row["stage"]),
            printable(row["does"]),
            f"{row['ok']:,}",
            f"{row['zero']:,}",
            f"{row['failed']:,}",
            *(_milliseconds(row[name]) for name in ("p50", "p95", "total_p50", "total_p95")),
        )
        for row in _rows(result.latency)
    ]
    ends = [f"{word}\n{q}" for word in ("alone,", "to here,") for q in ("median", "p95")]
    head = ("stage", "by", "with\nresults", "without", "failed", *ends)
    return Grid(head, tuple(rows), frozenset({0, 1}))


def steps(result: Pipeline) -> Grid:
    """What each stage changes, and how sure that is."""
    rows = [
        (
            printable(row["stage"]),
            row["metric"],
            signed(row["delta"]),
            interval(row["low"], row["high"]),
            p_value(row["p_value"]),
            f"{row['wins']}/{row['ties']}/{row['losses']}",
        )
        for row in _rows(result.steps)
    ]
    head = ("stage", "metric", "delta", f"{result.level:.0%} interval", "p", "won/tied/\nlost")
    return Grid(head, tuple(rows), frozenset({0, 1}), keys=2)


def ceilings(result: Pipeline) -> Grid:
    """How far the best order of each stage's candidates would reach, and how far it reaches."""
    rows = [
        (
            printable(row["stage"]),
            row["kind"],
            number(row["documents"], 1),
            decimal(row["value"]),
            decimal(row["ceiling"]),
            _percent(row["realised"]),
        )
        for row in _rows(result.ceilings)
    ]
    head = ("stage", "does", "candidates\nper query", result.target, "ceiling", "realised")
    return Grid(head, tuple(rows), frozenset({0, 1}))


def losses(result: Pipeline) -> Grid:
    """The parts that add up to what is missing in the end."""
    rows = [
        (
            printable(row["stage"]),
            _WHY[row["why"]].format(depth=result.depth),
            decimal(row["lost"]),
            _percent(row["share"]),
        )
        for row in _rows(result.losses)
    ]
    return Grid(("stage", "why", "lost", "share"), tuple(rows), frozenset({0, 1}))


def documents(result: Pipeline) -> Grid:
    """Relevant documents that each stage has, brings and loses, among the first ones."""
    cutoffs = result.moves["k"].unique(maintain_order=True).to_list()
    found = {(row["k"], row["stage"]): row for row in _rows(result.moves)}
    rows = []
    for stage in result.stages:
        cells = [found[k, stage][name] for k in cutoffs for name in ("relevant", "gained", "lost")]
        rows.append((printable(stage), *(UNDEFINED if c is None else f"{c:,}" for c in cells)))
    head = [f"{word}\nfirst {k}" for k in cutoffs for word in ("found,", "gained,", "lost,")]
    return Grid(("stage", *head), tuple(rows))


def labels(result: Pipeline) -> Grid:
    """The share of each label among the first documents."""
    names = result.mix["label"].unique(maintain_order=True).to_list()
    share = {(row["stage"], row["label"]): row["share"] for row in _rows(result.mix)}
    rows = [
        (printable(stage), *(_percent(share[stage, name]) for name in names))
        for stage in result.stages
    ]
    return Grid(("stage", *map(printable, names)), tuple(rows))


def notes(result: Pipeline) -> str:
    """What the figures are of."""
    timed = (
        " Latency to here: that of the stage plus that of its slowest input, as branches run at "
        "the same time; fusion is timed for all queries together."
    )
    errors = result.steps["mc_error"] if len(result.steps) else ()
    drawn = way(result.interval, result.test, result.resamples, result.seed, errors)
    return (
        f"Means are over queries; the ceiling is over the {result.queries} that have a value at "
        f"every stage. Relevant is a grade above 0; unjudged documents count as not "
        f"relevant, in the ceiling too. A stage reranks if all of its first {result.depth} "
        f"documents are among those of the stage before. {drawn[0].upper()}{drawn[1:]}, "
        f"{corrected(result.correction)}.{timed if len(result.latency) else ''}"
    )


def _against(result: Pipeline) -> str:
    return "its last input" if len(result.latency) else "the stage before"


def _rows(table: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - a frame
    rows: list[dict[str, Any]] = table.to_dicts()
    return rows


def _milliseconds(value: float | None) -> str:
    return number(value, 1 if value is None or value >= 1 else 3)


def _percent(share: float | None) -> str:
    return UNDEFINED if share is None else f"{share:.1%}"
