"""Details of one format: recognition, reading, writing and limits."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.data.formats import registry

if TYPE_CHECKING:
    from rankgate.data.formats.format import Format


@dataclass(frozen=True)
class FormatDetails(Result):
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

    kind: ClassVar[str] = "format"
    document_from: ClassVar[str] = "rankgate.data.files.documents.formats:details"

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

    @classmethod
    def of(cls, format_: Format) -> FormatDetails:
        """The details of a format of the registry."""
        return cls(
            name=format_.name,
            title=format_.title,
            suffixes=format_.suffixes,
            begins=next(
                (tuple(kinds.split()) for name, _, kinds in registry.TABLE if name == format_.name),
                (),
            ),
            holds=tuple(name for name in format_.holds if name != "extra"),
            reads=True,
            writes=format_.write is not None,
            streams=format_.streams and format_.write is not None,
            detection=" ".join((format_.sniff.__doc__ or "").split("\n\n", 1)[0].split()),
            loses=format_.loses,
            detail=format_.detail,
        )


def format_details(name: str) -> FormatDetails:
    """One format.

    Raises:
        UsageError: no format has the name; the nearest ones are in the message.
    """
    return FormatDetails.of(registry.find_format(name))
