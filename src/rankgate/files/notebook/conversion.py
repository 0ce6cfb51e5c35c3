"""The verb ``convert``, whose result shows itself as a table."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.files.convert import Conversion as Told
from rankgate.files.convert import convert as converted
from rankgate.files.documents import conversion
from rankgate.present.forms import as_html

if TYPE_CHECKING:
    from pathlib import Path
    from typing import BinaryIO


@dataclass(frozen=True)
class Conversion(Told):
    """What was read and written, and what could not be carried; shows itself as a table."""

    def _repr_html_(self) -> str:
        head = f"{self.source} ({self.from_format}) to {self.target} ({self.to_format})"
        return as_html.paragraph(head) + as_html.table(conversion.losses(self))


def convert(
    source: Any,  # noqa: ANN401 - a path, or a table with as_
    target: str | Path | BinaryIO,
    *,
    from_: str | None = None,
    to: str | None = None,
    as_: str | None = None,
) -> Conversion:
    r"""Write what a file holds in another format; tell what could not be carried.

    Args:
        source: a path (``-`` is standard input), judgments or a run that were read; or a frame
            or a dict of dicts together with ``as_``.
        target: a path, which may end in ``.gz`` or ``.zst``, or a stream of bytes.
        from_: the format of the source; found by looking into it if not given.
        to: the format of the target; by its suffix if not given.
        as_: the one part to carry: ``qrels``, ``run``, ``ratings``, ``queries``, ``documents``
            or ``values``.

    Raises:
        InputError: the source cannot be read, or holds no such part.
        UsageError: no such format, or it writes no such part; a target that cannot be written.

    >>> import io
    >>> out = io.BytesIO()
    >>> told = convert({"7": {"a": 2}}, out, to="trec", as_="qrels")
    >>> out.getvalue(), told.losses
    (b'7 0 a 2\n', ())
    """
    result = converted(source, target, from_=from_, to=to, as_=as_)
    return Conversion(**{each.name: getattr(result, each.name) for each in fields(result)})
