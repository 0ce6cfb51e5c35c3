"""Documents and charts of ``holes``, chart of calibration, and document of a total error.

The document of holes shows bounds, estimates, and the documents to judge next; the chart shows the
possible changes of a difference by unjudged documents. The chart of calibration plots predicted
against measured shares. The document of a total error shows intervals, sources, and the repetitions
to add first.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_parts import (
    concat_panels,
    inline_data,
    load_altair,
    panel_title,
    rule_line,
    signed_axis,
)
from rankgate.core.present.charts.chart_style import BLUE, DIM, GREY, INK, count_queries, shorten_name
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.csv_form import guarded_csv
from rankgate.core.present.document_model import (
    SOFT,
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
    format_decimal,
    format_interval,
    format_signed,
)
from rankgate.data.collection import SETTLED
from rankgate.decisions.unjudged.holes import JUDGE_NEXT
from rankgate.decisions.unjudged.total_error import HOLES, METRICS

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.value_types import Json
    from rankgate.decisions.unjudged.calibration import Calibration
    from rankgate.decisions.unjudged.holes import HoleAnalysis
    from rankgate.decisions.unjudged.total_error import TotalError


_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def holes_document(result: HoleAnalysis, count: int = 10) -> Document:
    """Judged shares, figures of each metric, and the first `count` documents to judge next."""
    title = (
        f"what unjudged documents could make of {make_printable(result.candidate)} against "
        f"{make_printable(result.baseline)}, first {count_noun(result.depth, 'document')}, "
        f"{len(result.judge_next)} of them unjudged, convention {result.convention['name']} "
        f"({result.convention['hash']})"
    )
    shown_count = min(count, len(result.judge_next))
    skipped_note = f"{', '.join(result.skipped)}: looks deeper than the lists, left out"
    return made(
        title,
        Warnings.from_notices(result.notices),
        Chart("rankgate.decisions.unjudged.unjudged_documents:draw_holes", result),
        Table("", _judged_grid(result)),
        Table("", _metric_grid(result)),
        Table(
            "where judged documents were chosen at random, or pooled from other systems", _flip_grid(result)
        ),
        *(
            Table(f"{tag}: figures of each value", _slice_grid(result, tag))
            for tag in result.slices["tag"].unique(maintain_order=True).to_list()
        ),
        Table(
            f"judge next (the first {shown_count} of {len(result.judge_next)})",
            _judge_next_grid(result, count),
        ),
        skipped_note if result.skipped else "",
        _NOTES.format(draws=result.draws, seed=result.seed, selection=_SELECTION[result.selection]),
    )


def calibration_document(result: Calibration) -> Document:
    """Predictions in bins of a tenth, with the share of each bin that came true."""
    title = (
        f"hidden judgments guessed: {make_printable(result.candidate)} against "
        f"{make_printable(result.baseline)}, {result.metric}, {count_noun(result.queries, 'query')}"
    )
    tables = [
        Table(
            f"{subject}: Brier score {format_decimal(result.brier[name][0])}, of the mean alone "
            f"{format_decimal(result.brier[name][1])}",
            _bin_grid(table),
        )
        for name, subject, table in (
            ("relevance", f"relevant, {count_noun(result.documents, 'document')}", result.relevance),
            ("flips", f"flips, {count_noun(result.experiments, 'trial')}", result.flips),
        )
    ]
    return made(
        title, Chart("rankgate.decisions.unjudged.unjudged_documents:draw_calibration", result), *tables
    )


def _bin_grid(table: pl.DataFrame) -> Grid:
    rows = [
        (
            f"{row['low']:.0%} to {row['high']:.0%}",
            f"{row['n']:,}",
            format_decimal(row["predicted"]),
            format_decimal(row["measured"]),
            format_interval(row["measured_low"], row["measured_high"]),
        )
        for row in table.iter_rows(named=True)
    ]
    header = ("predicted", "n", "mean prediction", "came true", "95% interval")
    return Grid(header, tuple(rows))


def pool_csv(result: HoleAnalysis, count: int) -> str:
    """The documents to judge next as CSV, safe from formulas in spreadsheets."""
    rows = [
        (_cell(row["query_id"]), _cell(row["doc_id"]), _cell(row["why"]))
        for row in result.judge_next.head(count).iter_rows(named=True)
    ]
    return guarded_csv(("query", "document", "why"), rows)


_NOTES = (
    "worst and best: every unjudged document against the candidate, and for it. condensed: unjudged "
    "documents taken out of the lists. expected: grades drawn {draws} times (seed {seed}) from a model of "
    "the judged documents at such ranks and of the query, with its uncertainty. "
    "{selection} flip: the probability that judging them all changes the conclusion of the interval. In "
    "studies on data that it was not fitted on, predictions of 1, 12, 30, 51, 70 and 95% came true in 0, 10, "
    "24, 41, 74 and 94% of the cases."
)


_SELECTION = {
    "unknown": "Half of the draws take judged documents as chosen at random, half as pooled from other "
    "systems, so that unjudged ones are worse.",
    "random": "Judged documents are taken as chosen at random.",
    "pooled": "Judged documents are taken as pooled from other systems, so that unjudged ones are worse.",
    **{name: f"{text[0].upper()}{text[1:]}." for name, text in SETTLED.items()},
}


def _judged_grid(result: HoleAnalysis) -> Grid:
    shares_by_cutoff: dict[int, dict[str, float | None]] = {}
    for row in result.judged.iter_rows(named=True):
        shares_by_cutoff.setdefault(row["k"], {})[row["system"]] = row["share"]
    rows = tuple(
        (make_printable(name), *(format_decimal(shares.get(side)) for shares in shares_by_cutoff.values()))
        for side, name in (("baseline", result.baseline), ("candidate", result.candidate))
    )
    return Grid(("system", *(f"judged@{k}" for k in shares_by_cutoff)), rows)


def _metric_grid(result: HoleAnalysis) -> Grid:
    rows = tuple(
        (
            row["metric"],
            format_signed(row["delta"]),
            format_signed(row["worst"]),
            format_signed(row["best"]),
            format_signed(row["condensed"]),
            format_signed(row["expected"]),
            format_interval(row["low"], row["high"]),
            _percent(row["flip"]),
        )
        for row in result.metrics.iter_rows(named=True)
    )
    header = ("metric", "delta", "worst", "best", f"con{SOFT}\ndensed", "expected", "95% of draws", "flip")
    return Grid(header, rows)


def _slice_grid(result: HoleAnalysis, tag: str) -> Grid:
    rows = tuple(
        (
            row["value"],
            row["metric"],
            f"{row['n']:,}",
            format_signed(row["delta"]),
            format_signed(row["worst"]),
            format_signed(row["best"]),
            format_signed(row["expected"]),
            format_interval(row["low"], row["high"]),
            _percent(row["flip"]),
        )
        for row in result.slices.iter_rows(named=True)
        if row["tag"] == tag
    )
    figures = ("delta", "worst", "best", "expected", "95% of draws", "flip")
    return Grid((tag, "metric", "n", *figures), rows, frozenset({0, 1}), keys=2)


def _flip_grid(result: HoleAnalysis) -> Grid:
    """The chance of a flip if judgments are missing at random, and if they are not."""
    rows = tuple(
        (row["metric"], *(_percent(row[name]) for name in ("flip", "flip_random", "flip_pooled")))
        for row in result.metrics.iter_rows(named=True)
        if row["flip"]
    )
    return Grid(("metric", "flip", "if random", "if pooled"), rows)


def _percent(share: float | None) -> str:
    return UNDEFINED if share is None else f"{share:.0%}"


def _judge_next_grid(result: HoleAnalysis, count: int) -> Grid:
    names = ("query_id", "doc_id", "rank_baseline", "rank_candidate", "relevant", "influence")
    headers = {
        f"rank_{side}": f"rank in\n{make_printable(name)}"
        for side, name in (("baseline", result.baseline), ("candidate", result.candidate))
    }
    return JUDGE_NEXT.grid(result.judge_next.head(count), *names, headers=headers, keys=2)


def _cell(text: str) -> str:
    """A cell that a spreadsheet does not evaluate: signs of formulas get a space before them."""
    return f" {text}" if text.startswith(_FORMULA) else text


_ROW, _WIDTH = 34, 420
_FIGURES = ("metric", "n", "delta", "worst", "best", "expected", "low", "high", "flip")


def draw_holes(result: HoleAnalysis) -> Picture:
    """A line for each metric: as measured, as estimated, and the two ends.

    Raises:
        UsageError: no query has a value on both sides.
    """
    rows = [
        {name: row[name] for name in _FIGURES} for row in result.metrics.iter_rows(named=True) if row["n"]
    ]
    if not rows:
        raise UsageError(
            "no query has a value of both systems; there is no difference to draw.", code="nothing-to-draw"
        )
    return Picture(
        "holes",
        f"What unjudged documents could change: {shorten_name(result.candidate)} against "
        f"{shorten_name(result.baseline)}",
        f"Mean differences. Thin line: the range that grades of the unjudged documents among the first "
        f"{result.depth} can give. Thick line: 95% interval of the estimate; ring: the estimate. Tick: the "
        "measured difference. Flip: the probability that judging these documents changes the conclusion of "
        "the interval.",
        count_queries(*(row["n"] for row in rows)),
        result.convention,
        tuple(rows),
        _chart(rows),
    )


def _chart(rows: list[dict[str, Json]]) -> Any:
    alt = load_altair()
    labelled_rows = [row | {"words": _label(row)} for row in rows]
    y = alt.Y(
        "metric:N",
        sort=[row["metric"] for row in rows],
        title=None,
        axis=alt.Axis(domain=False, ticks=False, grid=False, labelPadding=8),
    )
    base = alt.Chart(inline_data(labelled_rows)).encode(y=y)
    x = alt.X("worst:Q", title="mean difference", axis=signed_axis())
    layers = [
        rule_line("worst", 0, along="x"),
        base.mark_rule(color=GREY, strokeWidth=1.5).encode(x=x, x2="best:Q"),
        base.mark_rule(color=BLUE, strokeWidth=7, opacity=0.55).encode(x="low:Q", x2="high:Q"),
        base.mark_point(size=70, strokeWidth=2, color=BLUE, opacity=1).encode(
            x="expected:Q", tooltip=[f"{name}:{'N' if name == 'metric' else 'Q'}" for name in _FIGURES]
        ),
        base.mark_tick(color=INK, thickness=2.5, size=20).encode(x="delta:Q"),
        base.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N"),
    ]
    return alt.layer(*layers).properties(width=_WIDTH, height=max(_ROW * len(rows), 50))


def _label(row: dict[str, Any]) -> str:
    flip = "" if row["flip"] is None else f"  flip {row['flip']:.0%}"
    return f"{format_signed(row['delta'])}{flip}"


_SIDE = 320


def draw_calibration(result: Calibration) -> Picture:
    """A square for the relevance of hidden documents, and one for flips of the comparison."""
    titled_tables = [
        (name, title, getattr(result, name).to_dicts())
        for name, title in (
            ("relevance", f"relevant: {count_noun(result.documents, 'document')}"),
            ("flips", f"flips of {result.metric}: {count_noun(result.experiments, 'trial')}"),
        )
    ]
    panels = [(name, title, rows) for name, title, rows in titled_tables if rows]
    return Picture(
        "calibration",
        f"Predictions for hidden judgments: {shorten_name(result.candidate)} against "
        f"{shorten_name(result.baseline)}",
        "Judgments were hidden and predicted. Across: the predicted probability; up: the observed share, "
        "with its 95% interval and the number of cases. On the diagonal, predictions are right. A flip: with "
        "all judgments the interval of the difference leads to another conclusion; trials share queries, so "
        "their intervals are too narrow.",
        count_queries(result.queries),
        result.convention,
        tuple({"what": name, **row} for name, _, rows in panels for row in rows),
        concat_panels([_panel(rows, f"{title}{_brier(result, name)}") for name, title, rows in panels]),
    )


def _brier(result: Calibration, name: str) -> str:
    score, mean = result.brier[name]
    return "" if math.isnan(score) else f"; Brier {score:.3f} (mean alone {mean:.3f})"


def _panel(rows: list[dict[str, Any]], title: str) -> Any:
    alt = load_altair()
    scale = alt.Scale(domain=[0, 1], nice=False)
    axis = alt.Axis(format=".0%", tickCount=6)
    x = alt.X("predicted:Q", title="predicted", scale=scale, axis=axis)
    y = alt.Y("measured:Q", title="observed", scale=scale, axis=axis)
    line = (
        alt.Chart(inline_data([{"predicted": end, "measured": end} for end in (0, 1)]))
        .mark_line(color=GREY, strokeDash=[4, 3], strokeWidth=1)
        .encode(x=x, y=y)
    )
    base = alt.Chart(inline_data([row | {"count": f"{row['n']:,}"} for row in rows])).encode(x=x)
    bars = base.mark_rule(strokeWidth=2, color=BLUE, opacity=0.6).encode(
        y=alt.Y("measured_low:Q", scale=scale), y2="measured_high:Q"
    )
    points = base.mark_point(filled=True, size=70, color=BLUE, opacity=1).encode(
        y=y, tooltip=["n:Q", "predicted:Q", "measured:Q", "measured_low:Q", "measured_high:Q"]
    )
    counts = base.mark_text(align="left", dx=7, dy=8, color=DIM, fontSize=10).encode(y=y, text="count:N")
    return alt.layer(line, bars, points, counts).properties(width=_SIDE, height=_SIDE, **panel_title(title))


_MIN_SHARE = 0.005  # smaller shares are hidden


def total_error_document(result: TotalError) -> Document:
    """Both intervals of each metric, the sources of its error, and the repetitions to add first."""
    facets = ", ".join(f"{levels:,} {name}" for name, levels in result.facets.items())
    metrics = result.metrics["metric"].to_list()
    return made(
        f"{make_printable(result.candidate)} against {make_printable(result.baseline)}: {facets}",
        Table("", _interval_grid(result)),
        *(Table(f"{metric}: sources of the error", _source_grid(result, metric)) for metric in metrics),
        Table("the input that lowers the error most", _next_grid(result)),
        Warnings.from_notices(result.notices),
        "The total interval is for other queries, judgments and snapshots like these; that of queries alone "
        "takes the judgments and snapshots for the only ones there are. Shares are of the variance of the "
        "difference; a product of two is their joint effect, such as a judge that is strict with some "
        "queries.",
        rows=PlainRows(tuple(result.metrics.columns), list(result.metrics.iter_rows())),
    )


def _interval_grid(result: TotalError) -> Grid:
    level = f"{result.level:.0%}"
    return METRICS.grid(
        result.metrics,
        "metric",
        "baseline",
        "candidate",
        "delta",
        ("low", "high"),
        ("naive_low", "naive_high"),
        headers={
            "baseline": make_printable(result.baseline),
            "candidate": make_printable(result.candidate),
            "low": f"{level} interval,\ntotal",
            "naive_low": f"{level} interval,\nqueries alone",
        },
    )


def _source_grid(result: TotalError, metric: str) -> Grid:
    rows = tuple(
        (row["source"], "" if row["levels"] is None else f"{row['levels']:,}", f"{row['share']:.1%}")
        for row in result.sources.iter_rows(named=True)
        if row["metric"] == metric and row["share"] >= _MIN_SHARE
    )
    return Grid(("source", "levels", "share"), rows)


def _next_grid(result: TotalError) -> Grid:
    rows = tuple(
        (
            row["metric"],
            f"judge all {HOLES}" if row["facet"] == HOLES else f"{row['levels']:,} {row['facet']}",
            format_decimal(row["error"]),
            f"{row['less']:.1%}",
        )
        for row in result.next.iter_rows(named=True)
        if row["less"] >= _MIN_SHARE
    )
    return Grid(("metric", "with", "standard\nerror", "less"), rows, frozenset({0, 1}))
