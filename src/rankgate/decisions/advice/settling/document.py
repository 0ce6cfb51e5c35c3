"""Whether a comparison is settled, and what would settle it at which cost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import interval, number, signed, whole
from rankgate.core.present.grid import Grid, printable

if TYPE_CHECKING:
    from rankgate.decisions.advice.settling.settlement import Settlement

_ACTIONS = {
    "documents": "documents, by people",
    "queries": "queries, by people",
    "model": "documents, by the model",
}
_FIRST = 5  # documents of a batch that are shown


def document(result: Settlement) -> Document:
    """The state, the interval, the actions with their costs, and what was drawn."""
    return made(
        _headline(result),
        Table("", _figures(result)),
        Table("what would settle it alone", _actions(result)),
        Table("what to judge next", _first(result)),
        Warnings(tuple(notice.text for notice in result.notices)),
        *_model(result),
        _next(result),
        *_error_rate(result),
        rows=PlainRows(tuple(result.sample.columns), list(result.sample.iter_rows())),
    )


def _headline(result: Settlement) -> str:
    base, other = printable(result.baseline), printable(result.candidate)
    words = {
        "better": f"{other} is better than {base}",
        "worse": f"{other} is worse than {base}",
        "not-worse": f"{other} is not worse than {base}",
        "open": f"{other} against {base} is not settled",
    }[result.state]
    by = f" by more than {number(result.margin, 4)}" if result.margin else ""
    return f"{words}{by if result.state != 'open' else ''}: {result.metric}"


def _figures(result: Settlement) -> Grid:
    row = (
        result.metric, signed(result.delta), interval(result.low, result.high),
        f"{result.judged:,} of {result.documents:,}", f"{result.opened:,} of {result.queries:,}",
        f"{result.look} of {result.looks}",
    )  # fmt: skip
    head = ("metric", "delta", f"{result.level:.1%} interval", "documents\npeople judged",
            "queries\npeople judged", "looks")  # fmt: skip
    return Grid(head, (row,))


def _actions(result: Settlement) -> Grid:
    rows = tuple(
        (_ACTIONS[row["action"]], whole(row["count"]), number(row["price"], 2),
         number(row["cost"], 2), number(row["gain"], 5), "next" if row["chosen"] else "")
        for row in result.actions.iter_rows(named=True)
    )  # fmt: skip
    head = ("action", "count", "price", "cost", "gain per\nprice", "")
    return Grid(head, rows, frozenset({0, 5}))


def _first(result: Settlement) -> Grid:
    rows = tuple(
        (printable(row["query_id"]), printable(row["doc_id"]), row["who"],
         number(row["inclusion"], 3), number(row["gain"], 5))
        for row in result.batch.head(_FIRST).iter_rows(named=True)
    )  # fmt: skip
    head = ("query", "document", "by", "chance", "gain per\nprice")
    return Grid(head, rows, frozenset({0, 1, 2}))


def _model(result: Settlement) -> tuple[str, ...]:
    """What the model's judgments are worth."""
    if result.correlation is None or result.worth is None:
        return ()
    return (
        (
            f"By query, people's and the model's differences have the correlation "
            f"{result.correlation:.2f}: the model's judgments of a query pay up to a price of "
            f"{result.worth:.2f}."
        ),
    )


def _error_rate(result: Settlement) -> tuple[str, ...]:
    """The chance of a false verdict over all looks; nothing before people judged."""
    if result.delta is None:
        return ()
    return (
        (
            "Where the systems do not differ, one of the looks before the last settles that they "
            "do with a chance of at most 1 - level (5% at the default level); one of all looks, "
            "with the last, does in about 7% of simulated comparisons, and in at most 1 - level² "
            "(9.75%). A level of 0.975 keeps 5% over all looks."
        ),
    )


def _next(result: Settlement) -> str:
    if result.state != "open":
        return "Nothing more has to be judged."
    calls = len(result.batch) - result.new
    if calls and not result.new:
        return f"The model judges next: {calls:,} documents. Run next again with all its judgments."
    if not result.new:
        return "No further documents were drawn."
    return (
        f"{result.new:,} documents were drawn, the last batch of the sample. A document's chance "
        "is proportional to how much its grade can move the difference; compare, gate and next "
        "take the sample with people's judgments of all documents that were drawn. The gain is how "
        "much the chance that the difference is settled grows."
    )
