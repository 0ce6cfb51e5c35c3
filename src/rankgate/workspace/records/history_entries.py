"""Change-points, breaks and annotations of a history as labelled paragraphs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from rankgate.core.present.document_model import Entry
from rankgate.core.present.layout import Sentence, Texts, fill, sentences
from rankgate.workspace.records.record_columns import format_minute, format_revision

_TOLERANCE = 1e-12
_CHANGE: Texts = (
    "{system}: {before:.4f} to {after:.4f}, {delta:+.4f} [{low:+.4f}, {high:+.4f}], p {p_value:.2g}",
    Sentence(", revision {revision}", "revision"),
    Sentence("; found on {found_at:.10}", "is_late"),
)
_BREAK = "{system}: other {reasons}; {before:.4f} to {after:.4f}, {delta:+.4f}"
_PARTS: Texts = (
    "{judgments:+.4f} the {cause}",
    Sentence(", {queries:+.4f} other queries", "has_other_queries"),
    ", {rest:+.4f}",
    Sentence(" [{low:+.4f}, {high:+.4f}]", "low"),
    " the system",
)


def annotation_entry(row: dict[str, Any]) -> Entry:
    """An annotation with its time."""
    texts = ("{kind}", Sentence(" {revision}", "revision"), ": {text}")
    return Entry(format_minute(row["at"]), (_fill(texts, row),))


def change_entry(row: dict[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    """The time of a change-point, its label, and its lines of text."""
    direction = "better" if row["gain"] > 0 else "worse"
    text = _fill(_CHANGE, {**row, "is_late": row["found_at"] != row["at"]})
    return row["at"], f"{row['at']:.10} {direction}", (text,)


def break_entry(row: dict[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    """The time of a break, its label, and its lines of text."""
    lines = [fill(_BREAK, None, row)]
    if row["judgments"] is not None:
        cause = "convention" if row["reasons"] == "convention" else "judgments"
        has_other_queries = abs(row["queries"]) > _TOLERANCE
        lines.append(_fill(_PARTS, {**row, "cause": cause, "has_other_queries": has_other_queries}))
    return row["at"], f"{row['at']:.10} break", tuple(lines)


def _fill(texts: Texts, row: dict[str, Any]) -> str:
    values = {**row, "revision": format_revision(row.get("revision") or "")}
    return "".join(sentences(texts, SimpleNamespace(**values)))
