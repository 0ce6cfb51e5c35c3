"""Facts about formats: how each is recognised, what it reads, writes and cannot hold."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rankgate.data.formats import registry

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format


@dataclass(frozen=True)
class FormatFacts:
    """What is known of a format.

    Attributes:
        name: as ``--from`` and ``--to`` take it.
        title: what it is, in a few words.
        suffixes: how the names of its files end.
        begins: what its files begin with: ``binary``, ``json``, ``labels``, ``comma``,
            ``header`` or ``text``.
        holds: the parts that it can hold: qrels, runs, ratings, queries, documents, values.
        reads: whether it is read; always.
        writes: whether it is written.
        streams: whether a run is written while it is read.
        detection: how a file is known to be of it, in a sentence.
        loses: what it cannot hold.
        detail: what it is read from and written to, and its traps.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    begins: tuple[str, ...]
    holds: tuple[str, ...]
    reads: bool
    writes: bool
    streams: bool
    detection: str
    loses: str
    detail: str

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def format_facts(name: str | None = None) -> tuple[FormatFacts, ...]:
    """All formats, those that are tried first before others; or the one of a name.

    Raises:
        UsageError: no format has the name; the nearest ones are in the message.
    """
    begins = {known: tuple(kinds.split()) for known, _, kinds in registry.TABLE}
    found = registry.FORMATS if name is None else (registry.named(name),)
    return tuple(_facts(each, begins[each.name]) for each in found)


def _facts(found: Format, begins: tuple[str, ...]) -> FormatFacts:
    detection = " ".join((found.sniff.__doc__ or "").split("\n\n", 1)[0].split())
    return FormatFacts(
        name=found.name,
        title=found.title,
        suffixes=found.suffixes,
        begins=begins,
        holds=tuple(part for part in found.holds if part != "extra"),
        reads=True,
        writes=found.write is not None,
        streams=found.streams and found.write is not None,
        detection=detection,
        loses=found.loses,
        detail=found.detail,
    )
