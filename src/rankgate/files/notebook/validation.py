"""The verb ``validate``, whose result shows itself as a table."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from rankgate.files import validate as service
from rankgate.files.documents import validation as report
from rankgate.present import as_html


@dataclass(frozen=True)
class Validation(service.Validation):
    """What was found in some files; shows itself as a table."""

    def _repr_html_(self) -> str:
        found = as_html.table(report.problems(self)) if self.problems else ""
        return found + as_html.paragraph(report.verdict(self))


def validate(
    files: Any,  # noqa: ANN401 - a path, judgments, a run, a frame, or a list of these
    against: Any = None,  # noqa: ANN401 - as one of the files
    *,
    from_: str | None = None,
    as_: str | None = None,
    scale: str | None = None,
) -> Validation:
    """Look for everything that is wrong, or strange, with judgments and runs.

    Args:
        files: a path, judgments, a run, a frame, a dict of dicts with ``as_``; or a list of these.
        against: judgments that the runs are to be scored by.
        from_: the format of the files; found by looking into them if not given.
        as_: ``qrels`` or ``run``, where it could be either.
        scale: the grades that are possible: ``0..3``, ``0,1,10,100``, or a name.

    Raises:
        UsageError: no file, no such format, part or scale; what is wrong with a file is told in
            the result.

    >>> told = validate({"7": {"a": 1.0, "b": 1.0}}, {"7": {"a": 100, "b": 0}}, as_="run")
    >>> [(each.severity, each.check) for each in told.problems]
    [('warning', 'all-tied'), ('note', 'ties'), ('warning', 'huge-grade')]
    >>> told.valid
    True
    """
    told = service.validate(files, against, from_=from_, as_=as_, scale=scale)
    return Validation(**{each.name: getattr(told, each.name) for each in fields(told)})
