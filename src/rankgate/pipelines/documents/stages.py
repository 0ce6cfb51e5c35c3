"""Stages: the bottleneck in a sentence, then metrics, steps, ceilings, documents, labels."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.present import as_csv, as_json, as_latex, as_markdown
from rankgate.present.as_text import WIDTH, fitted, shortened
from rankgate.present.figures import corrected, interval, number, p_value, signed, way
from rankgate.present.grid import Grid, printable
from rankgate.present.numbers import UNDEFINED, decimal
from rankgate.present.paragraphs import wrapped

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgate.pipelines.stages import Pipeline

FORMS = ("text", "json", "markdown", "csv", "latex")
"""The forms of stages, by the name that ``--format`` takes; CSV and LaTeX have the stage table."""

_LONGEST = 18  # of a stage's name in a text, so that the steps stay one table
_LINE = 100
_WHY = {
    "retrieval": "its first {depth} lack relevant documents",
    "cut": "takes relevant documents out",
    "order": "its order of the candidates",
}


def render(told: Pipeline, form: str, width: int = WIDTH) -> str:
    """The stages in one of `FORMS`."""
    if form == "json":
        return as_json.dumped(told.to_dict())
    if form == "csv":
        head = ("stage", "metric", "mean", "n")
        return as_csv.written(head, list(told.means.select(*head).iter_rows()))
    if form == "latex":
        return as_latex.table(stage_table(told)) + "\n"
    table: Callable[[Grid], str]
    table = as_markdown.table if form == "markdown" else lambda grid: fitted(_short(grid), width)
    said = as_markdown.escaped if form == "markdown" else str
    gap = "\n\n" if form == "markdown" else "\n"
    parts = [_paragraph(said(title(told)), width), _paragraph(said(sentence(told)), width)]
    for heading, grid in grids(told):
        top = f"{_paragraph(said(heading), width)}{gap}" if heading else ""
        parts.append(f"{top}{table(grid)}")
    parts += [_paragraph(f"! {said(words)}", width) for words in told.warnings]
    parts.append(_paragraph(said(notes(told)), width))
    return "\n\n".join(parts) + "\n"


def title(told: Pipeline) -> str:
    """Who follows whom, and by which rules."""
    names = " → ".join(map(printable, told.stages))
    return (
        f"{names}, by judgments {printable(told.qrels)}, convention {told.convention['name']} "
        f"({told.convention['hash']})"
    )


def sentence(told: Pipeline) -> str:
    """Which stage is the bottleneck now, and whether the queries tell it from the next."""
    found = told.bottleneck
    if found is None:
        return f"Nothing is lost: the last stage has the best {told.target} there is."
    missing = float(told.losses["lost"].sum())
    name = printable(found.stage)
    why = {
        "retrieval": f"retrieval: the first {told.depth} documents of {name} lack relevant ones",
        "cut": f"{name}: it takes relevant documents out of its candidates",
        "order": f"the order of {name}: the documents are there, and others stand above them",
    }[found.why]
    first = (
        f"The bottleneck now is {why}. That costs {found.lost:.4f} of the {missing:.4f} "
        f"{told.target} that are missing ({found.share:.0%})."
    )
    if found.next_stage is None or found.next_lost is None:
        return f"{first} Nothing else is lost."
    after = {
        "retrieval": f"retrieval by {printable(found.next_stage)}",
        "cut": f"what {printable(found.next_stage)} takes out",
        "order": f"the order of {printable(found.next_stage)}",
    }[str(found.next_why)]
    words = "tell that it is less" if found.told_apart else "cannot tell which of the two is more"
    ends = interval(found.low, found.high)
    return (
        f"{first} Next is {after}, {found.next_lost:.4f}; these queries {words} (difference "
        f"{found.lost - found.next_lost:+.4f}, {told.level:.0%} interval {ends})."
    )


def grids(told: Pipeline) -> list[tuple[str, Grid]]:
    """Every table with its heading, those that say something."""
    ceiling = (
        f"the ceiling: {told.target} of the first {told.depth} documents in their best order "
        f"(best there is: {decimal(told.best)})"
    )
    tables = [
        ("", stage_table(told)),
        ("each step against the stage before", steps(told)),
        (ceiling, ceilings(told)),
        (f"where {told.target} is lost", losses(told)),
        ("relevant documents, over all queries", documents(told)),
        (f"labels of the first {told.k} documents", labels(told)),
    ]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def stage_table(told: Pipeline) -> Grid:
    """The mean of each metric after each stage."""
    metrics = told.means["metric"].unique(maintain_order=True).to_list()
    mean = {(row["stage"], row["metric"]): row["mean"] for row in _rows(told.means)}
    rows = [
        (printable(stage), *(decimal(mean[stage, metric]) for metric in metrics))
        for stage in told.stages
    ]
    return Grid(("stage", *metrics), tuple(rows))


def steps(told: Pipeline) -> Grid:
    """What each stage changes, and how sure that is."""
    rows = [
        (printable(row["stage"]), row["metric"], signed(row["delta"]),
         interval(row["low"], row["high"]), p_value(row["p_value"]),
         f"{row['wins']}/{row['ties']}/{row['losses']}")
        for row in _rows(told.steps)
    ]  # fmt: skip
    head = ("stage", "metric", "delta", f"{told.level:.0%} interval", "p", "won/tied/\nlost")
    return Grid(head, tuple(rows), frozenset({0, 1}), keys=2)


def ceilings(told: Pipeline) -> Grid:
    """How far the best order of each stage's candidates would reach, and how far it reaches."""
    rows = [
        (printable(row["stage"]), row["kind"], number(row["documents"], 1), decimal(row["value"]),
         decimal(row["ceiling"]), _percent(row["realised"]))
        for row in _rows(told.ceilings)
    ]  # fmt: skip
    head = ("stage", "does", "candidates\nper query", told.target, "ceiling", "realised")
    return Grid(head, tuple(rows), frozenset({0, 1}))


def losses(told: Pipeline) -> Grid:
    """The parts that add up to what is missing in the end."""
    rows = [
        (printable(row["stage"]), _WHY[row["why"]].format(depth=told.depth), decimal(row["lost"]),
         _percent(row["share"]))
        for row in _rows(told.losses)
    ]  # fmt: skip
    return Grid(("stage", "why", "lost", "share"), tuple(rows), frozenset({0, 1}))


def documents(told: Pipeline) -> Grid:
    """Relevant documents that each stage has, brings and loses, among the first ones."""
    cutoffs = told.moves["k"].unique(maintain_order=True).to_list()
    found = {(row["k"], row["stage"]): row for row in _rows(told.moves)}
    rows = []
    for stage in told.stages:
        cells = [found[k, stage][name] for k in cutoffs for name in ("relevant", "gained", "lost")]
        rows.append((printable(stage), *(UNDEFINED if c is None else f"{c:,}" for c in cells)))
    head = [f"{word}\nfirst {k}" for k in cutoffs for word in ("found,", "gained,", "lost,")]
    return Grid(("stage", *head), tuple(rows))


def labels(told: Pipeline) -> Grid:
    """The share of each label among the first documents."""
    names = told.mix["label"].unique(maintain_order=True).to_list()
    share = {(row["stage"], row["label"]): row["share"] for row in _rows(told.mix)}
    rows = [
        (printable(stage), *(_percent(share[stage, name]) for name in names))
        for stage in told.stages
    ]
    return Grid(("stage", *map(printable, names)), tuple(rows))


def notes(told: Pipeline) -> str:
    """What the figures are of."""
    errors = told.steps["mc_error"] if len(told.steps) else ()
    drawn = way(told.interval, told.test, told.resamples, told.seed, errors)
    return (
        f"Means are over queries; the ceiling is over the {told.queries} that have a value at every"
        f" stage. Relevant is a grade above 0; unjudged documents count as worthless, in the "
        f"ceiling too. A stage reranks if all of its first {told.depth} "
        f"documents are among those of the stage before. {drawn[0].upper()}{drawn[1:]}, "
        f"{corrected(told.correction)}."
    )


def _rows(table: Any) -> list[dict[str, Any]]:  # noqa: ANN401 - a frame
    rows: list[dict[str, Any]] = table.to_dicts()
    return rows


def _short(grid: Grid) -> Grid:
    rows = tuple((shortened(row[0], _LONGEST), *row[1:]) for row in grid.rows)
    return replace(grid, rows=rows)


def _percent(share: float | None) -> str:
    return UNDEFINED if share is None else f"{share:.1%}"


def _paragraph(text: str, width: int) -> str:
    return "\n".join(wrapped(text, min(width, _LINE)))
