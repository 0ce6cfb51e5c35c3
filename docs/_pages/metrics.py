"""A page for each metric, from its description; and the list of them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from _pages.behaviour import panels, shown
from _pages.drawing import figure
from _pages.formulas import typeset
from _pages.words import MADE, code, prose, table, toctree
from rankgate.measurement.evaluation import metric_details as documents
from rankgate.measurement.evaluation.metric_details import metric_details
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE
from rankgate.measurement.metrics.preference_metrics import PREFERENCE_METRICS
from rankgate.measurement.metrics.sequences.sequence_catalogue import SEQUENCE_METRICS
from rankgate.measurement.metrics.stratified_samples import SAMPLE_METRICS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rankgate.measurement.evaluation.metric_details import MetricDetails
    from rankgate.measurement.metrics.metric_declaration import Metric

_FAMILIES = {
    "Of rankings": (CATALOGUE, "Judgments and a run; one value a query, then their mean."),
    "Of rankings that should serve several subtopics": (
        FACET_METRICS,
        (
            "Judgments by subtopic, as of TREC's diversity tasks; a column subtopic_weight has the weight of "
            "each subtopic in its query."
        ),
    ),
    "Of preferences": (
        PREFERENCE_METRICS,
        "Which of two documents is better; grades count as preferences for higher ones.",
    ),
    "Of samples": (
        SAMPLE_METRICS,
        "Judgments of a sample with the columns stratum and inclusion; grade -1 was not drawn.",
    ),
    "Of lists, beyond accuracy": (
        LIST_METRICS,
        "What is shown, to whom, how evenly, how new; see [recommenders](../../recommenders.md).",
    ),
    "Of rankings that belong together": (
        SEQUENCE_METRICS,
        (
            "Contexts of [language models](../../retrieval-for-models.md), calls of "
            "[agents](../../agents.md): every document counts, judged or not."
        ),
    ),
}
_CAPTION = {
    "rankings": "Computed by the metric itself as {name}, by the convention trec.",
    "lists": "Computed by the metric itself as {name}, on 60 synthetic users and 200 items with long-tailed "
    "popularity.",
}


def pages() -> Iterator[tuple[str, str]]:
    """Every page by its place below ``reference/metrics``."""
    all_metrics = [metric for family, _ in _FAMILIES.values() for metric in family]
    yield "index.md", _index()
    for metric in all_metrics:
        yield f"{metric.name}.md", _page(metric, metric_details(metric.name))


def _index() -> str:
    parts = [MADE, "# Metrics\n"]
    total = sum(len(family) for family, _ in _FAMILIES.values())
    parts.append(
        f"All {total}, each from its description in the code. [Which one when?](../which-metric.md) · "
        "[Conventions side by side](../side-by-side.md) · [A metric of your own](../../custom-metrics.md)\n"
    )
    for title, (family, description) in _FAMILIES.items():
        rows = [
            (f"[{metric.name}]({metric.name}.md)", prose(metric.title), prose(metric.blind_to))
            for metric in family
        ]
        parts += [f"## {title}\n", f"{description}\n", table(("metric", "measures", "is blind to"), rows)]
    parts.append(toctree(m.name for family, _ in _FAMILIES.values() for m in family))
    return "\n".join(parts)


def _page(metric: Metric, description: MetricDetails) -> str:
    chart_panels = panels(metric)
    kind = "lists" if description.needs or metric in LIST_METRICS else "rankings"
    caption = _CAPTION[kind].format(name=shown(metric))
    parts = [
        MADE,
        f"# {description.name}\n",
        f"```{{index}} {', '.join(f'! {name}' for name in _search_names(description))}\n```\n",
        f"{prose(description.title)}\n",
        typeset(description.formula),
        _facts(description),
        "## What it sees, and what it does not\n",
        f"Sees\n: {prose(description.sees)}\n" if description.sees else "",
        f"Blind to\n: {prose(description.blind_to)}\n" if description.blind_to else "",
        "## How it behaves\n" if chart_panels else "",
        figure(chart_panels, caption) if chart_panels else "",
        _parameters(description),
        _conventions(description.conventions),
        f"On the terminal: `rankgate metrics {description.name}`.\n",
    ]
    return "\n".join(block for block in parts if block)


def _facts(description: MetricDetails) -> str:
    result = {
        "written": code(description.written_name),
        "values": prose(description.value_text),
        "needs besides judgments and runs": prose("; ".join(description.needs)),
        "also called": ", ".join(map(code, description.aliases)),
        "trec_eval's name": ", ".join(map(code, description.trec)),
        "source": prose(description.source),
    }
    return table(("", ""), [(label, text) for label, text in result.items() if text])


def _parameters(description: MetricDetails) -> str:
    if not description.parameters:
        return ""
    rows = [
        (
            code(parameter.name),
            "required" if parameter.required else code(parameter.default),
            prose(parameter.permitted)
            + (f", written @{parameter.name}" if parameter.name == description.at else ""),
        )
        for parameter in description.parameters
    ]
    return "## Parameters\n\n" + table(("parameter", "by default", "may be"), rows)


def _choice(bound: str) -> str:
    return bound if bound == documents.USUAL_TEXT else code(bound)


def _conventions(conventions: Mapping[str, Mapping[str, Any]]) -> str:
    if not conventions:
        return ""
    if any("called" in settings for settings in conventions.values()):
        rows = [
            (f"[{name}](../conventions/{name}.md)", _choice(bound), prose(tool_name))
            for name, bound, tool_name in documents.tools(conventions)
        ]
        header = ("tool", "binds", "calls it")
        return "## Whose variant is which\n\n" + table(header, rows)
    rows = [
        (_choice(bound), *empty, ", ".join(f"[{name}](../conventions/{name}.md)" for name in names))
        for (bound, *empty), names in documents.group_by_treatment(conventions).items()
    ]
    header = ("parameters", "nothing relevant", "empty list", "conventions")
    return (
        "## Under each convention\n\nParameters that it binds, and what a query counts without a relevant "
        "document or with an empty list, if the metric has no value there. Ties, missing queries and all "
        "else are [side by side](../side-by-side.md).\n\n" + table(header, rows)
    )


def _search_names(description: MetricDetails) -> list[str]:
    """The name and the aliases, with blanks too where they have underscores."""
    names = [description.name, *description.aliases]
    return list(dict.fromkeys([*names, *(name.replace("_", " ") for name in names)]))
