"""The verbs ``resolve``, ``agree``, ``sheets`` and ``collect``, shown in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.judging.agreement import agree as agree_service
from rankgate.judging.agreement import document as agreement
from rankgate.judging.resolution import document as resolution
from rankgate.judging.resolution import resolve as resolve_service
from rankgate.judging.sheets import document as collected
from rankgate.judging.sheets import sheets as sheets_service
from rankgate.present import as_html
from rankgate.reports.notebook.picture import Picture, pictured
from rankgate.reports.notebook.reporting import Reported

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import polars as pl

    from rankgate.data import Qrels
    from rankgate.judging.scales import Transformer


@dataclass(frozen=True)
class Resolved(resolve_service.Resolved):
    """Judgments made of ratings; shows what became of them."""

    @property
    def qrels(self) -> Qrels | None:
        """The judgments, ready for ``evaluate``; None where no pair was resolved."""
        return self.resolution.qrels

    def _repr_html_(self) -> str:
        return "".join(map(as_html.paragraph, resolution.summary(self, 1000).splitlines()))


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


def resolve(
    ratings: Any,  # noqa: ANN401 - a path, a frame, ratings
    rule: str = "majority",
    parameters: Mapping[str, Any] | Sequence[str] = (),
    *,
    transform: str | Path | Transformer | None = None,
    scale: str | None = None,
    slots: int | None = None,
    sample: Any = None,  # noqa: ANN401 - a pool, a path or a frame
    rest: Any = None,  # noqa: ANN401 - as judgments
    from_: str | None = None,
) -> Resolved:
    """Make judgments of ratings: at most one grade per query and document, by a stated rule.

    Args:
        ratings: a path, a frame with ``query_id``, ``doc_id``, ``rater`` and ``grade``, or
            ratings.
        rule: majority, mean, median, top-three, latest, adjudicated or dawid-skene.
        parameters: of the rule, as a mapping or as words: ``["adjudicator=ann"]``.
        transform: what grades become first: the name of a transformer such as
            ``graded-to-binary``, a file with one ``from: to`` a line, or a transformer.
        scale: the grades that are possible; others are refused.
        slots: how many grades a pair takes, the first ones.
        sample: the sampled pool that was rated; its strata and chances go into the judgments.
        rest: the pool's documents that were not drawn, graded −1; they are added.
        from_: the name of the file's format.

    Raises:
        InputError: ratings that cannot be read, a grade that is not on the scale.
        UsageError: an unknown rule, parameter, transformer or scale.

    >>> import polars as pl
    >>> said = pl.DataFrame({"query_id": ["q"] * 3, "doc_id": ["d"] * 3,
    ...                      "rater": ["ann", "bob", "cyd"], "grade": [1, 0, 1]})
    >>> resolve(said).qrels.table.rows()
    [('q', 'd', 1.0)]
    """
    told = resolve_service.resolve(
        ratings, rule, parameters, transform=transform, scale=scale, slots=slots, sample=sample,
        rest=rest, from_=from_,
    )  # fmt: skip
    return Resolved(**{each.name: getattr(told, each.name) for each in fields(told)})


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


def sheets(
    pool: Any,  # noqa: ANN401 - a pool, a path or a frame
    raters: Sequence[str],
    *,
    scale: str = "graded",
    per_document: int = 1,
    overlap: float = 0.0,
    queries: str | Path | pl.DataFrame | None = None,
    documents: str | Path | pl.DataFrame | None = None,
    guideline: str = "",
    seed: int = 0,
) -> sheets_service.Sheets:
    """Deal a pool out to raters: one sheet each, blind, in an order of its own.

    Args:
        pool: what to judge.
        raters: their names.
        scale: the grades that are possible: a name, a range, a list.
        per_document: how many raters each document gets.
        overlap: the share of documents that get one more, to measure agreement.
        queries: texts of the queries.
        documents: fields of the documents.
        guideline: the version of the guideline that they follow.
        seed: of who gets what, in which order.

    Raises:
        InputError: files that cannot be read, a document without text.
        UsageError: raters, shares or a scale that cannot be.
    """
    return sheets_service.sheets(
        pool, raters, scale=scale, per_document=per_document, overlap=overlap, queries=queries,
        documents=documents, guideline=guideline, seed=seed,
    )  # fmt: skip


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
