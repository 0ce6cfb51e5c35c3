"""Events that were read from logs, as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from rankgate.online.events.event_log import EventLog


def document(result: EventLog) -> Document:
    """Files, events by kind, ranks, and what could not be read."""
    total = result.files["events"].sum()
    new = result.files["new"].sum()
    files = [
        (
            make_printable(row["file"]),
            f"{row['events']:,}",
            "new" if row["new"] else "as before",
            (row["first"] or "–")[:19],
            (row["last"] or "–")[:19],
        )
        for row in result.files.iter_rows(named=True)
    ]
    counts = [(row["kind"], f"{row['events']:,}") for row in result.counts.iter_rows(named=True)]
    ranks = [
        (make_printable(row["application"]) or "–", str(row["base"]), f"{row['least']}")
        for row in result.ranks.iter_rows(named=True)
    ]
    removed = [f"{name} {value}" for name, value in result.privacy.items() if value != "keep"]
    return made(
        f"{total:,} events in {make_printable(result.folder)}: {len(files):,} files, {new:,} new",
        Table("events", Grid(("kind", "events"), tuple(counts))),
        Table(
            "files",
            Grid(
                ("file", "events", "read", "first (UTC)", "last (UTC)"),
                tuple(files),
                frozenset({0, 2, 3, 4}),
            ),
        ),
        Table(
            "ranks",
            Grid(
                ("application", "ranks are\ncounted from", "lowest rank\nin the log"), tuple(ranks)
            ),
        ),
        Warnings(tuple(notice.text for notice in result.notices)),
        *(
            [f"Left out or hashed: {', '.join(removed)}; other attributes are left out."]
            if removed
            else []
        ),
    )
