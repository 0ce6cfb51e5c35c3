"""Stages as one page: the bottleneck in a sentence, the picture, every table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.pipelines.documents import stages
from rankgate.present.as_text import WIDTH
from rankgate.present.charts import inline
from rankgate.present.html_parts import document, of_grid, paragraph, points, safe
from rankgate.present.page_style import STYLE

if TYPE_CHECKING:
    from rankgate.pipelines.stages import Pipeline


FORMS = ("text", "json", "markdown", "html", "csv", "latex")
"""The forms of ``report.stages``, and the page."""


def render(told: Pipeline, form: str, width: int = WIDTH) -> str:
    """The stages in one of `FORMS`."""
    return page(told) if form == "html" else stages.render(told, form, width)


def page(told: Pipeline) -> str:
    """The whole page, which asks for nothing from elsewhere.

    The picture is there where the extra ``plots`` is; the tables have its figures all the same.
    """
    title = stages.title(told)
    parts = [
        f"<header><h1>{safe(' → '.join(told.stages))}</h1>",
        f'<p class="lead">{safe(stages.sentence(told))}</p>',
        f'<p class="dim">{safe(title)}</p></header>',
        inline.figure("stages", told),
    ]
    for heading, grid in stages.grids(told):
        name = heading or "means after each stage"
        parts += [f"<h2>{safe(name[0].upper() + name[1:])}</h2>", of_grid(grid, label=name)]
    parts += [points(told.warnings), paragraph(stages.notes(told))]
    body = "\n".join(part for part in parts if part)
    return document(safe(title), body, "", STYLE + inline.STYLE)
