"""Files of a resolution: judgments in TREC's format, their origin, and pairs to rate again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present import csv_form, write_results
from rankgate.core.present.column_texts import column_texts, rows_as_json
from rankgate.judging.resolution.resolution import format_exact
from rankgate.judging.trec_lines import trec_lines

if TYPE_CHECKING:
    from rankgate.judging.resolution.resolution import ResolvedJudgments


def trec(result: ResolvedJudgments) -> str:
    """The judgments in TREC's format.

    Raises:
        UsageError: an id is not possible in this format.
    """
    table = result.to_polars()
    return trec_lines(table, column_texts(table["grade"], format_exact), "add --format csv")


def origin_json(result: ResolvedJudgments) -> str:
    """The origin of the judgments as JSON, for a file next to the judgments."""
    fields = {
        "schema_version": result.schema_version,
        "ratings": result.name,
        "made_by": dict(result.made_by),
        "counts": dict(result.counts),
        "unresolved": None,
    }
    hash_field = {"sha256": result.qrels.sha256} if result.qrels else {}
    # JSON texts have no line breaks, so this matches the field and not a text
    return write_results.to_json(fields | hash_field).replace(
        '\n  "unresolved": null', f'\n  "unresolved": {rows_as_json(result.unresolved, 2)}'
    )


def as_pool(result: ResolvedJudgments) -> str:
    """The pairs without a judgment as a pool for further rating (CSV)."""
    rows = result.unresolved.select("query_id", "doc_id", "why").rows()
    return csv_form.guarded_csv(("query", "document", "why"), rows)
