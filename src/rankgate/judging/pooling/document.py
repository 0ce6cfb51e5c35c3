"""Pools as the CSV that says what to judge and why, as unsampled judgments, and in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.errors import UsageError
from rankgate.files.checks.declare import counted
from rankgate.present import as_csv, as_json
from rankgate.present.as_text import WIDTH
from rankgate.present.grid import printable
from rankgate.present.paragraphs import wrapped

if TYPE_CHECKING:
    from rankgate.judging.pooling.pool import Pool

FORMS = ("csv", "json")
"""The forms of a pool, by the name that ``--format`` takes."""

HEAD = ("query", "document", "why", "best_rank", "systems", "stratum", "inclusion",
        "query_inclusion", "batch")  # fmt: skip
BLIND = ("query", "document", "batch")
"""The columns of a pool, and those that say nothing of systems and ranks."""


def render(told: Pool, form: str, *, blind: bool = False) -> str:
    """The pool in one of `FORMS`; blind, without what systems made of it."""
    if form == "json":
        return as_json.dumped(told.to_dict())
    head = BLIND if blind else HEAD
    columns = ["query_id", "doc_id", *head[2:]]
    return as_csv.written(head, told.table.select(columns).iter_rows())


def rest(told: Pool) -> str:
    """The pool's documents that were not drawn, graded −1, as estimates from samples need them.

    Raises:
        UsageError: an id that TREC's form cannot hold.
    """
    for query, document in told.rest.iter_rows():
        if len(query.split()) != 1 or len(document.split()) != 1:
            raise UsageError(
                f"{printable(query)!r}, {printable(document)!r}: TREC's form has no ids with "
                "blanks; take the rest from --format json.",
                code="invalid-id",
            )
    return "".join(f"{query} 0 {document} -1\n" for query, document in told.rest.iter_rows())


def summary(told: Pool, width: int = WIDTH) -> str:
    """A few lines for the person who ran the command."""
    counts, made = told.counts, told.made_by
    first = (
        f"pool of {counted(len(told.systems), 'run')}, depth {made['depth']}: "
        f"{counts['pool']} documents; "
        f"{counts['judged']} of them judged already; {counts['to_judge']} to judge, of "
        f"{counts['queries']} queries, by {made['order']}, seed {made['seed']}"
    )
    lines = [first]
    if counts["sampled"] < counts["pool"]:
        lines.append(
            f"sampled {counts['sampled']} by strata {made['strata']}; weigh each by 1/inclusion"
        )
    if "query_sampling" in made:
        lines.append(f"queries drawn: {made['queries']}, {made['query_sampling']}")
    return "\n".join(part for line in lines for part in wrapped(line, width)) + "\n"
