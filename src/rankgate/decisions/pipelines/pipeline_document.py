"""Document of a pipeline: a sentence on its bottleneck, then the figures of its stages.

The bottleneck is a sentence. Then follow metrics, steps, ceilings, documents and labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.present.document_model import (
    Chart,
    Document,
    Grid,
    PlainRows,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import (
    UNDEFINED,
    count_noun,
    format_bounds,
    format_correction,
    format_decimal,
    format_interval,
    format_milliseconds,
    format_p_value,
    format_signed,
)
from rankgate.data.query_latencies import row_bounds
from rankgate.decisions.comparison.inference import describe_method
from rankgate.decisions.pipelines.stage_figures import LATENCY
from rankgate.decisions.pipelines.stages import CEILINGS

if TYPE_CHECKING:
    from rankgate.decisions.pipelines.stages import Pipeline


def sentence(result: Pipeline) -> str:
    """Sentences on the stages that lower the metric, then on the present bottleneck."""
    return " ".join([*_lowering_sentences(result), _bottleneck_sentence(result)])


def _lowering_sentences(result: Pipeline) -> Iterator[str]:
    """Sentences on stages that lower the metric and can therefore be left out."""
    for row in result.steps.iter_rows(named=True):
        if row["metric"] == result.target and row["delta"] < 0 and not (row["high"] or -1) > 0:
            ends = format_interval(row["low"], row["high"])
            certainty = "" if row["high"] is None else f" ({result.level:.0%} interval {ends})"
            yield (
                f"{make_printable(row['stage'])} lowers {result.target} by {-row['delta']:.4f} against "
                f"{make_printable(row['against'])}{certainty}."
            )


def _bottleneck_sentence(result: Pipeline) -> str:
    """The bottleneck, and the significance of its difference to the next loss."""
    bottleneck = result.bottleneck
    if bottleneck is None:
        return f"Nothing is lost: the last stage has the best {result.target} there is."
    missing = float(result.losses["lost"].sum())
    name = make_printable(bottleneck.stage)
    cause = {
        "retrieval": f"retrieval: the first {count_noun(result.depth, 'document')} of {name} lack relevant "
        "ones",
        "approximation": f"the approximation by {name}: its search misses relevant documents that the stage "
        "before it finds",
        "depth": f"the depth of {name}: relevant documents are below those that it looks at",
        "cut": f"{name}: it takes relevant documents out of its candidates",
        "order": f"the order of {name}: the documents are there, and others are above them",
    }[bottleneck.why]
    first = (
        f"The bottleneck now is {cause}. That costs {bottleneck.lost:.4f} of the {missing:.4f} "
        f"{result.target} that are missing ({bottleneck.share:.0%})."
    )
    if bottleneck.next_stage is None or bottleneck.next_lost is None:
        return f"{first} Nothing else is lost."
    next_cause = {
        "retrieval": f"retrieval by {make_printable(bottleneck.next_stage)}",
        "approximation": f"the approximation by {make_printable(bottleneck.next_stage)}",
        "depth": f"the depth of {make_printable(bottleneck.next_stage)}",
        "cut": f"what {make_printable(bottleneck.next_stage)} takes out",
        "order": f"the order of {make_printable(bottleneck.next_stage)}",
    }[str(bottleneck.next_why)]
    conclusion = (
        "show that it is less" if bottleneck.significant else "cannot show which of the two is larger"
    )
    ends = format_interval(bottleneck.low, bottleneck.high)
    return (
        f"{first} Next is {next_cause}, {bottleneck.next_lost:.4f}; these queries {conclusion} (difference "
        f"{bottleneck.lost - bottleneck.next_lost:+.4f}, {result.level:.0%} interval {ends})."
    )


_CAUSES = {
    "retrieval": "its first {depth} lack relevant documents",
    "approximation": "its approximate search misses relevant documents",
    "depth": "it does not look below its first candidates",
    "cut": "takes relevant documents out",
    "order": "its order of the candidates",
}


def stages_document(result: Pipeline) -> Document:
    """A sentence on the bottleneck, the chart, every table, warnings, notes."""
    tables = [Table(heading, grid) for heading, grid in grids(result)]
    chart = Chart("rankgate.decisions.pipelines.charts.stage_chart:draw_stages", result)
    columns = ("stage", "metric", "mean", "n")
    rows = PlainRows(columns, list(result.means.select(*columns).iter_rows()))
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
    """The stages in order, the judgments and the convention."""
    names = " → ".join(map(make_printable, result.stages))
    return (
        f"{names}, by judgments {make_printable(result.qrels)}, convention {result.convention['name']} "
        f"({result.convention['hash']})"
    )


def grids(result: Pipeline) -> list[tuple[str, Grid]]:
    """Every table with its heading, without empty tables."""
    ceiling = (
        f"the ceiling: {result.target} of the first {count_noun(result.depth, 'document')}, or those that a "
        "reranker may order, in their best order (best there is: "
        f"{format_decimal(result.best)})"
    )
    tables = [
        ("", stage_table(result)),
        ("latency in milliseconds, and queries that were answered", latency_grid(result)),
        (f"each step against {_compared_with(result)}", step_grid(result)),
        (ceiling, ceiling_grid(result)),
        (f"where {result.target} is lost", loss_grid(result)),
        ("relevant documents, over all queries", document_grid(result)),
        (f"labels of the first {count_noun(result.k, 'document')}", label_grid(result)),
    ]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def stage_table(result: Pipeline) -> Grid:
    """The mean of each metric after each stage."""
    metrics = result.means["metric"].unique(maintain_order=True).to_list()
    mean = {(row["stage"], row["metric"]): row["mean"] for row in _rows(result.means)}
    rows = [
        (make_printable(stage), *(format_decimal(mean[stage, metric]) for metric in metrics))
        for stage in result.stages
    ]
    return Grid(("stage", *metrics), tuple(rows))


def latency_grid(result: Pipeline) -> Grid:
    """The latency of each stage alone, and of the pipeline to its end."""
    names = ("stage", "does", "ok", "zero", "failed", "p50", "p95", "total_p50", "total_p95")
    grid = LATENCY.grid(result.latency, *names)
    rows = [
        (*cells[:5], *(format_bounds(*row_bounds(row, name), format_milliseconds) for name in names[5:]))
        for cells, row in zip(grid.rows, _rows(result.latency), strict=True)
    ]
    return replace(grid, rows=tuple(rows))


def step_grid(result: Pipeline) -> Grid:
    """The change by each stage, with its interval and p-value."""
    rows = [
        (
            make_printable(row["stage"]),
            row["metric"],
            format_signed(row["delta"]),
            format_interval(row["low"], row["high"]),
            format_p_value(row["p_value"]),
            f"{row['wins']}/{row['ties']}/{row['losses']}",
        )
        for row in _rows(result.steps)
    ]
    header = ("stage", "metric", "delta", f"{result.level:.0%} interval", "p", "won/tied/\nlost")
    return Grid(header, tuple(rows), frozenset({0, 1}), keys=2)


def ceiling_grid(result: Pipeline) -> Grid:
    """The ceiling of each stage's candidates in their best order, and the share that is reached."""
    names = ("stage", "kind", "documents", "value", "ceiling", "realised")
    return CEILINGS.grid(result.ceilings, *names, headers={"value": result.target})


def loss_grid(result: Pipeline) -> Grid:
    """The parts that add up to the loss of the whole pipeline."""
    rows = [
        (
            make_printable(row["stage"]),
            _CAUSES[row["why"]].format(depth=result.depth),
            format_decimal(row["lost"]),
            _percent(row["share"]),
        )
        for row in _rows(result.losses)
    ]
    return Grid(("stage", "why", "lost", "share"), tuple(rows), frozenset({0, 1}))


def document_grid(result: Pipeline) -> Grid:
    """The relevant documents that each stage has, adds and loses, among the first documents."""
    cutoffs = result.moves["k"].unique(maintain_order=True).to_list()
    moves_of_stage = {(row["k"], row["stage"]): row for row in _rows(result.moves)}
    rows = []
    for stage in result.stages:
        cells = [moves_of_stage[k, stage][name] for k in cutoffs for name in ("relevant", "gained", "lost")]
        rows.append((make_printable(stage), *(UNDEFINED if c is None else f"{c:,}" for c in cells)))
    headings = [f"{word}\nfirst {k}" for k in cutoffs for word in ("found,", "gained,", "lost,")]
    return Grid(("stage", *headings), tuple(rows))


def label_grid(result: Pipeline) -> Grid:
    """The share of each label among the first documents."""
    names = result.mix["label"].unique(maintain_order=True).to_list()
    share = {(row["stage"], row["label"]): row["share"] for row in _rows(result.mix)}
    rows = [
        (make_printable(stage), *(_percent(share[stage, name]) for name in names)) for stage in result.stages
    ]
    return Grid(("stage", *map(make_printable, names)), tuple(rows))


def notes(result: Pipeline) -> str:
    """Notes on the basis of the figures."""
    latency_note = (
        " Latency to here: that of the stage plus that of its slowest input, as branches run at the same "
        "time; fusion is timed for all queries together."
    )
    errors = result.steps["mc_error"] if len(result.steps) else ()
    method = describe_method(result.interval, result.test, result.resamples, result.seed, errors)
    return (
        f"Means are over queries; the ceiling is over the {result.queries} that have a value at every stage. "
        "Relevant is a grade above 0; unjudged documents count as not relevant, in the ceiling too. A stage "
        "reranks if all of its first "
        f"{count_noun(result.depth, 'document')} are among those of the stage before. "
        f"{method[0].upper()}{method[1:]}, "
        f"{format_correction(result.correction)}.{latency_note if len(result.latency) else ''}"
    )


def _compared_with(result: Pipeline) -> str:
    return "its last input" if len(result.latency) else "the stage before"


def _rows(table: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - a frame
    rows: list[dict[str, Any]] = table.to_dicts()
    return rows


def _percent(share: float | None) -> str:
    return UNDEFINED if share is None else f"{share:.1%}"
