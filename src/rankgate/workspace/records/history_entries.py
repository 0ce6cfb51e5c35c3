"""Change-points, breaks and annotations of a history as labelled paragraphs."""

from __future__ import annotations

from typing import Any

from rankgate.core.present.document_model import Entry, make_printable
from rankgate.workspace.records.record_columns import format_day, format_minute, format_revision

_TOLERANCE = 1e-12


def annotation_entry(row: dict[str, Any]) -> Entry:
    """An annotation with its time."""
    revision = f" {format_revision(row['revision'])}" if row["revision"] else ""
    text = f"{row['kind']}{revision}: {make_printable(row['text'])}"
    return Entry(format_minute(row["at"]), (text,))


def change_entry(row: dict[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    """The time of a change-point, its label, and its lines of text."""
    direction = "better" if row["gain"] > 0 else "worse"
    revision = f", revision {format_revision(row['revision'])}" if row["revision"] else ""
    detection_note = "" if row["found_at"] == row["at"] else f"; found on {format_day(row['found_at'])}"
    return (
        row["at"],
        f"{format_day(row['at'])} {direction}",
        (
            (
                f"{make_printable(row['system'])}: {row['before']:.4f} to {row['after']:.4f}, "
                f"{row['delta']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}], p "
                f"{row['p_value']:.2g}{revision}{detection_note}"
            ),
        ),
    )


def break_entry(row: dict[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    """The time of a break, its label, and its lines of text."""
    lines = [
        (
            f"{make_printable(row['system'])}: other {row['reasons']}; {row['before']:.4f} to "
            f"{row['after']:.4f}, {row['delta']:+.4f}"
        )
    ]
    if row["judgments"] is not None:
        cause = "convention" if row["reasons"] == "convention" else "judgments"
        queries = f", {row['queries']:+.4f} other queries" if abs(row["queries"]) > _TOLERANCE else ""
        bounds = "" if row["low"] is None else f" [{row['low']:+.4f}, {row['high']:+.4f}]"
        lines.append(f"{row['judgments']:+.4f} the {cause}{queries}, {row['rest']:+.4f}{bounds} the system")
    return row["at"], f"{format_day(row['at'])} break", tuple(lines)
