"""TREC files: qrels and runs, fields between blanks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.data import trec_qrels, trec_run
from rankgate.data.contents import Contents
from rankgate.data.format import Format
from rankgate.data.lines import first_fields

if TYPE_CHECKING:
    from rankgate.data.source import Source

_QRELS, _RUN, _EITHER, _RANKED = 4, 6, 3, 2  # fields in a line
_TOLD = {_QRELS: ", as judgments have", _RUN: ", as a run has", _EITHER: "", _RANKED: ""}
_LOOKED_AT = 1000


def sniff(head: bytes, name: str) -> str | None:  # noqa: ARG001 - what every format is asked
    """The number of fields in the first line."""
    for text in head.removeprefix(b"\xef\xbb\xbf").split(b"\n"):
        content = text.strip()
        if content and not content.startswith(b"#"):
            width = len(content.split())
            told = f"the first line has {width} fields between blanks"
            return f"{told}{_TOLD[width]}" if width in _TOLD else None
    return None


def read(source: Source) -> Contents:
    """Judgments from 4 fields, a run from 6 or 2; 3 are judgments if all numbers are whole.

    Raises:
        InputError: as of the two readers.
    """
    width = len(first_fields(source))
    if width == _QRELS or (width == _EITHER and _whole(source)):
        return Contents(qrels=trec_qrels.read(source))
    return Contents(runs=(trec_run.read(source),))


def _whole(source: Source) -> bool:
    """Whether the third fields of the first lines are whole numbers."""
    lines = [line.split() for line in source.head().splitlines()[:_LOOKED_AT]]
    thirds = [fields[2].decode(errors="replace") for fields in lines if len(fields) == _EITHER]
    return all(third.lstrip("+-").isdigit() for third in thirds)


FORMAT = Format(
    name="trec",
    title="TREC qrels and runs",
    suffixes=(".trec", ".qrels", ".run", ".txt"),
    sniff=sniff,
    read=read,
    read_qrels=trec_qrels.read,
    read_run=trec_run.read,
    holds=("qrels", "runs"),
    loses="ids with blanks; texts, raters, scales",
    streams=True,
    detail="",
)
