"""The verbs ``resolve``, ``agree``, ``sheets`` and ``collect``, shown in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.judging.agreement import agree as agree_service
from rankgate.judging.agreement import document as agreement
from rankgate.judging.sheets import document as collected
from rankgate.judging.sheets import sheets as sheets_service
from rankgate.present import as_html
from rankgate.reports.notebook.picture import Picture, pictured
from rankgate.reports.notebook.reporting import Reported

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path



@dataclass(frozen=True)
class Agreed(agree_service.Agreed, Reported):
    """The agreement of raters; shows alarms, then tables."""

    def plot(self, kind: str = "agreement") -> Picture:
        """A picture of how far raters agree, two by two.

        Raises:
            UsageError: no such picture of this result, or nothing to draw.
            MissingExtraError: the extra ``plots`` is not installed.
        """
        return pictured(kind, {"agreement": lambda: self})

    def _repr_html_(self) -> str:
        alarms = [as_html.paragraph(each.what) for each in self.alarms]
        tables = [
            as_html.paragraph(heading) + as_html.table(grid)
            for heading, grid in agreement.grids(self)
        ]
        return "".join([*alarms, *tables])


@dataclass(frozen=True)
class Collected(sheets_service.Collected):
    """Ratings from sheets that came back; shows what was left empty."""

    def _repr_html_(self) -> str:
        return "".join(map(as_html.paragraph, collected.summary(self, 1000).splitlines()))


def agree(
    ratings: Any,  # noqa: ANN401 - a path, a frame, ratings
    *,
    scale: str | None = None,
    resamples: int = 2000,
    seed: int = 0,
    from_: str | None = None,
) -> Agreed:
    """Measure how far raters agree, and say what looks wrong.

    Args:
        ratings: a path, a frame, or ratings.
        scale: the grades that were possible: a name, a range or a list.
        resamples: replicates of the bootstrap over pairs.
        seed: of the bootstrap.
        from_: the name of the file's format.

    Raises:
        InputError: ratings that cannot be read; none has a grade.
        UsageError: no such scale or format.
    """
    told = agree_service.agree(ratings, scale=scale, resamples=resamples, seed=seed, from_=from_)
    return Agreed(**{each.name: getattr(told, each.name) for each in fields(told)})


def collect(
    paths: Sequence[str | Path],
    *,
    pool: Any = None,  # noqa: ANN401 - a pool, a path or a frame
    scale: str | None = None,
    rater: str | None = None,
) -> Collected:
    """Read sheets that came back; find all that came back wrong.

    Args:
        paths: CSV or XLSX files.
        pool: what was to be rated; without it, rows are verified by their column check alone.
        scale: the grades that are possible, if it should not be the sheets' own.
        rater: who filled them, where they do not say so.

    Raises:
        InputError: whatever came back wrong, with file and line.
        DuplicateError: one rater rates a document twice.
        UsageError: no sheet, or no such scale.
    """
    told = sheets_service.collect(paths, pool=pool, scale=scale, rater=rater)
    return Collected(**{each.name: getattr(told, each.name) for each in fields(told)})
