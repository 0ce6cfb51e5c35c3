"""The verb ``rate``: a language model rates a pool; the result shows itself in a notebook."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any

from rankgate.judging.llm import model_ratings as service
from rankgate.judging.llm.model_ratings import Judge, Prices
from rankgate.present import as_html
from rankgate.reports.documents import asked as report

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import polars as pl

__all__ = ["Asked", "Judge", "Prices", "rate"]


@dataclass(frozen=True)
class Asked(service.Asked):
    """What became of a pool; shows how many pairs have a grade, why others have none, the cost."""

    def _repr_html_(self) -> str:
        return "".join(map(as_html.paragraph, report.render(self).splitlines()))


def rate(
    pool: Any,  # noqa: ANN401 - a pool, a path or a frame
    path: str | Path,
    judge: Judge,
    *,
    queries: str | Path | pl.DataFrame,
    documents: str | Path | pl.DataFrame,
    rater: str = "",
    scale: str = "graded",
    guideline: str = "",
    batch: int | None = None,
    on_progress: Callable[[str], None] | None = None,
) -> Asked:
    """Have a language model rate a pool; what was answered is never asked again.

    Every answer is on disk before its thread asks for the next. A failure is a rating without a
    grade, with its reason. ``resolve``, ``agree`` and ``admit`` read the file.

    Args:
        pool: what to judge.
        path: the file of ratings (JSON lines, only added to), which is the cache too.
        judge: the model: ``Judge("model", key_from="API_KEY", prices=Prices(0.5, 1.5),
            ceiling=20)``.
        queries: texts of the queries.
        documents: fields of the documents.
        rater: the name in the ratings; the model's without it.
        scale: the grades that are possible.
        guideline: the version kept with ratings; name and hash of the template without it.
        batch: only this batch of the pool.
        on_progress: told each pair that is kept.

    Raises:
        InputError: files that cannot be read, a query or document without text, a bad template.
        UsageError: options that do not fit; no key; it makes no sense to go on, with what the
            endpoint said.
        MissingExtraError: urllib3 is not installed.
    """
    with service.LLMRating(
        pool, path, judge, queries=queries, documents=documents, rater=rater, scale=scale,
        guideline=guideline, batch=batch,
    ) as work:  # fmt: skip
        told = work.run(on_progress)
    return Asked(**{each.name: getattr(told, each.name) for each in fields(told)})
