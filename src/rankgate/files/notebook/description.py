"""The verb ``describe``, whose result shows itself as tables."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from rankgate.files import describe as service
from rankgate.files.describe import CUTOFF
from rankgate.files.documents import description as report
from rankgate.present import as_html


@dataclass(frozen=True)
class Descriptions(service.Descriptions):
    """What some files are; shows itself as tables."""

    def _repr_html_(self) -> str:
        grids = [*map(report.facts, self.files), report.overlaps(self), report.holes(self)]
        return "".join(as_html.table(grid) for grid in grids if grid.rows)


def describe(
    files: Any,  # noqa: ANN401 - a path, judgments, a run, or a list of these
    *,
    from_: str | None = None,
    as_: str | None = None,
    cutoff: int = CUTOFF,
) -> Descriptions:
    """Tell what files are: format, queries, grades, ties, overlap, hashes.

    Args:
        files: a path, judgments, a run, a table with ``as_``; or a list of these.
        from_: the format of the files; found by looking into them if not given.
        as_: ``qrels`` or ``run``, where it could be either.
        cutoff: how deep runs are looked at for documents without judgments.

    Raises:
        InputError: a file that cannot be read, with its line; ``validate`` tells all that is wrong.
        UsageError: no file, no such format or part.

    >>> told = describe({"7": {"a": 2, "b": 0}}, as_="qrels")
    >>> told.files[0].judgments.grades
    ((0.0, 1), (2.0, 1))
    """
    result = service.describe(files, from_=from_, as_=as_, cutoff=cutoff)
    return Descriptions(**{each.name: getattr(result, each.name) for each in fields(result)})
