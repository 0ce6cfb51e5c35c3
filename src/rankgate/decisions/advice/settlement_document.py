"""Render a settlement: state of the comparison, and the cost of settling it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document_model import Document, Grid, PlainRows, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import (
    count_noun,
    format_interval,
    format_number,
    format_query_count,
    format_signed,
)
from rankgate.decisions.advice.settlement import BATCH

if TYPE_CHECKING:
    from rankgate.decisions.advice.settlement import Settlement


_ACTIONS = {
    "documents": "documents, by people",
    "queries": "queries, by people",
    "model": "documents, by the model",
}
_SHOWN_DOCUMENTS = 5  # documents of a batch that are shown


def settlement_document(result: Settlement) -> Document:
    """The state, the interval, the actions with their costs, and the drawn documents."""
    return made(
        _headline(result),
        Table("", _estimate_grid(result)),
        Table("what would settle it alone", _action_grid(result)),
        Table("what to judge next", _batch_grid(result)),
        Warnings.from_notices(result.notices),
        *_model_sentence(result),
        _next_sentence(result),
        *_error_rate(result),
        rows=PlainRows(tuple(result.sample.columns), list(result.sample.iter_rows())),
    )


def _headline(result: Settlement) -> str:
    baseline, candidate = make_printable(result.baseline), make_printable(result.candidate)
    verdict = {
        "better": f"{candidate} is better than {baseline}",
        "worse": f"{candidate} is worse than {baseline}",
        "not-worse": f"{candidate} is not worse than {baseline}",
        "open": f"{candidate} against {baseline} is not settled",
    }[result.state]
    margin_text = f" by more than {format_number(result.margin, 4)}" if result.margin else ""
    return f"{verdict}{margin_text if result.state != 'open' else ''}: {result.metric}"


def _estimate_grid(result: Settlement) -> Grid:
    row = (
        result.metric,
        format_signed(result.delta),
        format_interval(result.low, result.high),
        f"{result.judged:,} of {result.documents:,}",
        f"{result.opened:,} of {result.queries:,}",
        f"{result.look} of {result.looks}",
    )
    header = (
        "metric",
        "delta",
        f"{result.level:.1%} interval",
        "documents\npeople judged",
        "queries\npeople judged",
        "looks",
    )
    return Grid(header, (row,))


def _action_grid(result: Settlement) -> Grid:
    rows = tuple(
        (
            _ACTIONS[row["action"]],
            format_query_count(row["count"]),
            format_number(row["price"], 2),
            format_number(row["cost"], 2),
            format_number(row["gain"], 5),
            "next" if row["chosen"] else "",
        )
        for row in result.actions.iter_rows(named=True)
    )
    header = ("action", "count", "price", "cost", "gain per\nprice", "")
    return Grid(header, rows, frozenset({0, 5}))


def _batch_grid(result: Settlement) -> Grid:
    names = ("query_id", "doc_id", "who", "inclusion", "gain")
    return BATCH.grid(result.batch.head(_SHOWN_DOCUMENTS), *names)


def _model_sentence(result: Settlement) -> tuple[str, ...]:
    """A sentence on the value of the model's judgments."""
    if result.correlation is None or result.worth is None:
        return ()
    return (
        (
            f"The correlation of people's and the model's differences by query is {result.correlation:.2f}: "
            f"judgments of a query by the model are worthwhile up to a price of {result.worth:.2f}."
        ),
    )


def _error_rate(result: Settlement) -> tuple[str, ...]:
    """A sentence on the chance of a false verdict over all looks; empty before people judged."""
    if result.delta is None:
        return ()
    return (
        (
            "If the systems do not differ, the chance that a look before the last wrongly finds a difference "
            "is at most 1 - level (5% at the default level); one of all looks, with the last, does in about "
            "7% of simulated comparisons, and in at most 1 - level² (9.75%). A level of 0.975 keeps 5% over "
            "all looks."
        ),
    )


def _next_sentence(result: Settlement) -> str:
    if result.state != "open":
        return "Nothing more has to be judged."
    documents_for_model = len(result.batch) - result.new
    if documents_for_model and not result.new:
        return (
            f"The model judges next: {count_noun(documents_for_model, 'document')}. Run next again with all "
            "its judgments."
        )
    if not result.new:
        return "No further documents were drawn."
    return (
        f"{count_noun(result.new, 'document was', 'documents were')} drawn, the last batch of the sample. A "
        "document's chance is proportional to how much its grade can move the difference; compare, gate and "
        "next take the sample with people's judgments of all documents that were drawn. The gain is how much "
        "the chance that the difference is settled grows."
    )
