"""The lists that users were shown, as a run for which ranking metrics can be computed.

The result of ``lists`` comes first.
"""

from __future__ import annotations

from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rankgate.core.declare import Count
from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.layout import NOTICES, Sentence
from rankgate.data import Run, read_run
from rankgate.data.files.conversion import choose_format, write_run
from rankgate.online.events.diagnosis import diagnose_events, spoiled_notice
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.log_database import Database

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class ShownLists(Result):
    """A run of the lists that users were shown.

    Attributes:
        name: the name of the run.
        choose: the list of a query with several that counts.
        variant: the variant of the searches; empty for all.
        searches: with words and a list.
        queries: the queries of the run.
        documents: rows of the run.
        several: queries with more than one list.
        faults: codes of what the log doctor found that makes lists wrong.
        output: the file of the run, or None.
        run: the run; None in a result that was read from JSON.
    """

    kind = "shown_lists"
    main_table = "run.table"
    csv_table = None
    label = "Lists that users were shown"
    order = 63
    headline_text = "{queries:n list} with {documents:n document}, from {searches:n search}{variant_text}"
    layout = (NOTICES, Sentence("Written to {output}.", "output"))
    notice_texts = (
        spoiled_notice("spoiled-lists", "lists"),
        NoticeText(
            "several-lists",
            "{several:,} of {queries:n query} had more than one list; the run has the {choose} one",
            "several",
        ),
    )

    name: str
    choose: str
    variant: str
    searches: int
    queries: int
    documents: int
    several: int
    faults: tuple[str, ...] = ()
    output: str | None = None
    run: Run | None = field(default=None, compare=False, repr=False, metadata={"stored": False})

    @property
    def variant_text(self) -> str:
        """The variant of the searches, as the end of a sentence."""
        return f" of variant {self.variant}" if self.variant else ""


Choice = Literal["frequent", "latest", "average"]
"""The list of a query with several: the most frequent, the latest, or documents in the order of
their mean reciprocal rank."""

_SEARCHES = (
    'SELECT query_event_id, max(query) AS query, min("at") AS "at", max(variant) AS variant FROM events '
    "WHERE query_event_id IS NOT NULL GROUP BY 1"
)
_RANKS = (
    "SELECT query_event_id, doc_id, min(rank) AS rank FROM events WHERE kind = 'impression' AND rank IS NOT "
    "NULL AND doc_id IS NOT NULL AND query_event_id IS NOT NULL GROUP BY 1, 2"
)


def lists(
    events: EventsLike,
    *,
    choose: Choice = "frequent",
    variant: str | None = None,
    ranks: Count = 100,
    name: str = "shown",
    output: str | Path | None = None,
    to: str | None = None,
) -> ShownLists:
    """Make a run of the lists that users were shown.

    The ids of queries are their words, as in the judgments of ``judgments``, so that the run can be
    evaluated with them.

    Args:
        events: the log: a folder of events, a table of them, files of logs, or ``Events``.
        choose: the list of a query that had several: the most frequent one, the latest one, or
            documents in the order of their mean reciprocal rank (average).
        variant: only searches of this variant.
        ranks: the number of ranks of each list that count.
        name: the name of the run.
        output: a file for the run.
        to: the format of the run; by default from the suffix of its name.

    Raises:
        InputError: a log that cannot be read; no search with words and a list.
        MissingExtraError: DuckDB is not installed.
    """
    with Events.of(events).open() as log:
        base = log.base
        faults = diagnose_events(base, log.manifest).blocking(("impressions", "ranks"))
        _create_tables(base, variant, ranks)
        searches = base.first_value("SELECT count(DISTINCT query_event_id) FROM shown_ranks") or 0
        if not searches:
            problem = "no search has words and a list of results with ranks"
            problem += f" in variant {variant!r}." if variant else "."
            raise InputError(problem, code="no-impressions")
        queries_with_several = base.first_value(
            "SELECT count(*) FROM (SELECT query FROM shown_lists GROUP BY 1 HAVING count(*) > 1)"
        )
        rows = (
            _average_lists(base)
            if choose == "average"
            else _one_list_per_query(base, latest=choose == "latest")
        )
    run = read_run(rows, name)
    if output is not None:
        write_run(run, str(output), choose_format(output, to, "runs"))
    return ShownLists(
        name,
        choose,
        variant or "",
        int(searches),
        rows["query_id"].n_unique(),
        len(rows),
        int(queries_with_several or 0),
        tuple(fault.code for fault in faults),
        None if output is None else str(output),
        run,
    )


def _create_tables(base: Database, variant: str | None, ranks: int) -> None:
    """Make ``shown_ranks`` (a row for each result) and ``shown_lists`` (for each list)."""
    base.run(
        f'CREATE TEMP TABLE shown_ranks AS SELECT s.query, s."at", r.* FROM ({_RANKS}) r JOIN ({_SEARCHES}) '
        f"s USING (query_event_id) WHERE s.query IS NOT NULL AND r.rank <= {ranks} AND ($1 IS NULL OR "
        "s.variant = $1)",
        (variant,),
    )
    base.run(
        'CREATE TEMP TABLE shown_lists AS SELECT query, docs, count(*) AS times, max("at") AS latest FROM '
        '(SELECT query, query_event_id, max("at") AS "at", list(doc_id ORDER BY rank, doc_id) AS docs FROM '
        "shown_ranks GROUP BY 1, 2) GROUP BY 1, 2"
    )


def _one_list_per_query(base: Database, *, latest: bool) -> pl.DataFrame:
    """The rows of the selected list of each query."""
    order = "latest DESC, times DESC" if latest else "times DESC, latest DESC"
    return base.rows(
        "SELECT query AS query_id, docs[place] AS doc_id, 1.0 / place AS score FROM (SELECT *, "
        "unnest(range(1, len(docs) + 1)) AS place FROM (SELECT * FROM shown_lists QUALIFY row_number() OVER "
        f"(PARTITION BY query ORDER BY {order} NULLS LAST, docs) = 1)) ORDER BY query, place"
    )


def _average_lists(base: Database) -> pl.DataFrame:
    """The documents of each query by mean 1 / rank over its searches, 0 if not shown."""
    return base.rows(
        "SELECT query AS query_id, doc_id, exact_sum(1.0 / rank) / max(searches) AS score FROM shown_ranks "
        "JOIN (SELECT query, count(DISTINCT query_event_id) AS searches FROM shown_ranks GROUP BY 1) USING "
        "(query) GROUP BY 1, 2 ORDER BY 1, 3 DESC, 2"
    )
