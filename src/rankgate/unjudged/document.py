"""Holes: bounds and estimates of each metric, and what to judge next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.present import as_json
from rankgate.present.as_csv import written
from rankgate.present.as_text import WIDTH, fitted
from rankgate.present.figures import interval, number, signed
from rankgate.present.grid import SOFT, Grid, printable
from rankgate.present.numbers import UNDEFINED, decimal
from rankgate.present.paragraphs import wrapped

if TYPE_CHECKING:
    from rankgate.unjudged.holes import Hidden

FORMS = ("text", "json", "pool")
"""The forms of holes, by the name that ``--format`` takes; a pool is a CSV to be judged."""

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def render(told: Hidden, form: str, width: int = WIDTH, count: int = 10) -> str:
    """The result in one of `FORMS`; so many documents to judge next."""
    if form == "json":
        return as_json.dumped(told.to_dict())
    if form == "pool":
        return pool(told, count)
    title = (
        f"what unjudged documents could make of {printable(told.candidate)} against "
        f"{printable(told.baseline)}, first {told.depth} documents, {len(told.judge_next)} of them "
        f"unjudged, convention {told.convention['name']} ({told.convention['hash']})"
    )
    parts = ["\n".join(wrapped(title, min(width, 100))), fitted(_judged(told), width),
             fitted(_metrics(told), width)]  # fmt: skip
    if len(told.judge_next) and count:
        shown = min(count, len(told.judge_next))
        parts.append(f"judge next (the first {shown} of {len(told.judge_next)})\n"
                     + fitted(_next(told, count), width))  # fmt: skip
    if told.skipped:
        parts.append(f"{', '.join(told.skipped)}: looks deeper than the lists, left out")
    parts.append("\n".join(wrapped(notes(told), min(width, 100))))
    return "\n\n".join(parts) + "\n"


def grids(told: Hidden, count: int = 10) -> tuple[Grid, ...]:
    """Shares judged, figures of each metric, and so many documents to judge next."""
    return (_judged(told), _metrics(told), _next(told, count))


def notes(told: Hidden) -> str:
    """What the figures are of."""
    return _NOTES.format(draws=told.draws, seed=told.seed)


def pool(told: Hidden, count: int) -> str:
    """The documents to judge next as CSV; no cell is taken for a formula."""
    rows = [
        (_cell(row["query_id"]), _cell(row["doc_id"]), _cell(row["why"]))
        for row in told.judge_next.head(count).iter_rows(named=True)
    ]
    return written(("query", "document", "why"), rows)


_NOTES = (
    "worst and best: every unjudged document against the candidate, and for it. condensed: "
    "unjudged documents taken out of the lists. expected: grades drawn {draws} times (seed {seed}) "
    "by what judged documents at such ranks and of the query have, with what is not known about "
    "that, and with odds of relevance that may be half or twice as large. flip: how probably "
    "judging them all changes what the interval says; in parentheses where the candidate's "
    "unjudged documents are better than judged ones like them, and where they are worse."
)


def _judged(told: Hidden) -> Grid:
    shares: dict[int, dict[str, float | None]] = {}
    for row in told.judged.iter_rows(named=True):
        shares.setdefault(row["k"], {})[row["system"]] = row["share"]
    rows = tuple(
        (printable(name), *(decimal(each.get(side)) for each in shares.values()))
        for side, name in (("baseline", told.baseline), ("candidate", told.candidate))
    )
    return Grid(("system", *(f"judged@{k}" for k in shares)), rows)


def _metrics(told: Hidden) -> Grid:
    rows = tuple(
        (row["metric"], signed(row["delta"]), signed(row["worst"]), signed(row["best"]),
         signed(row["condensed"]), signed(row["expected"]), interval(row["low"], row["high"]),
         _flip(row))
        for row in told.metrics.iter_rows(named=True)
    )  # fmt: skip
    head = ("metric", "delta", "worst", "best", f"con{SOFT}\ndensed", "expected", "95% of draws",
            "flip (better,\nworse)")  # fmt: skip
    return Grid(head, rows)


def _flip(row: dict[str, Any]) -> str:
    """The chance of a flip; in parentheses, where the candidate's holes are better, and worse."""
    shares = [row["flip"], row["flip_better"], row["flip_worse"]]
    flip, better, worse = (UNDEFINED if x is None else f"{x:.0%}" for x in shares)
    return flip if flip == better == worse else f"{flip} ({better}, {worse})"


def _next(told: Hidden, count: int) -> Grid:
    rows = tuple(
        (row["query_id"], row["doc_id"], _rank(row["rank_baseline"]), _rank(row["rank_candidate"]),
         number(row["relevant"], 2), f"{row['influence']:.5f}")
        for row in told.judge_next.head(count).iter_rows(named=True)
    )  # fmt: skip
    head = ("query", "document", f"rank in\n{printable(told.baseline)}",
            f"rank in\n{printable(told.candidate)}", "relevant?", "influence")  # fmt: skip
    return Grid(head, rows, frozenset({0, 1}), keys=2)


def _rank(rank: int | None) -> str:
    return UNDEFINED if rank is None else str(rank)


def _cell(word: str) -> str:
    """A cell that a spreadsheet does not run: a blank stands before signs of formulas."""
    return f" {word}" if word.startswith(_FORMULA) else word
