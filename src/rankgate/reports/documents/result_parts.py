"""The part of a report that tells of one result, from its JSON form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.present.document import Bars, Points, Section, Table
from rankgate.present.grid import Grid
from rankgate.present.numbers import column, decimal
from rankgate.reports.documents.result_tables import is_table, pairs, table, word

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rankgate.present.document import Block

    Told = Mapping[str, Any]

TITLES = {
    "admission": "May {judge} stand beside people?",
    "evaluation": "Values of {runs}",
    "scorecard": "Scorecard of {systems}",
    "stages": "Stages: {stages}",
    "tradeoff": "What each system is good at",
    "blindspots": "What metrics do not see",
    "holes": "What unjudged documents could hide",
    "planned": "What so many queries show",
    "ranks": "Judgments and grades by rank",
    "agreement": "Agreement of raters in {ratings}",
    "resolution": "Judgments made of {ratings}",
    "reusability": "What runs lose outside the pool",
    "pool": "What to judge next",
    "explanation": "{metric} of {run} for query {query_id}",
    "reconciliation": "{metric} of {run} under all conventions",
    "bridge": "{metric} of {run}: the way between two conventions",
    "finding": "Who gives {metric} = {reported} for {run}",
    "advice": "Which metrics to decide by",
    "split": "How the log was split",
    "validation": "What is wrong with files",
    "description": "What files are",
    "baseline": "Saved baseline {name}",
}
"""What a part is called, with words of the result; other results are called as their file is."""

_LEFT_OUT = {"schema_version", "convention", "warnings", "alarms", "usual"}
_CAUTIONS = ("warnings", "alarms", "cautions")


def section(name: str, kind: str, told: Told, anchor: str) -> Section:
    """What a result says: cautions, tables, then everything else that is known of it.

    Args:
        name: of its file.
        kind: of `KINDS` in ``services.results``.
        told: its JSON form.
        anchor: its name in links.
    """
    names = {key: _named(value) for key, value in told.items()}
    title = TITLES[kind].format_map(names) if kind in TITLES else name
    said = _SAID.get(kind)
    blocks = [*_cautions(told), *(said(told) if said else _every(told))]
    return Section(anchor, title, tuple(blocks), kind.capitalize() or name)


def _named(value: Any) -> str:  # noqa: ANN401 - of JSON
    """What a title says of a value: the names that it has."""
    if isinstance(value, dict):
        return str(value.get("name", word(value)))
    if isinstance(value, list):
        names = [str(each.get("name", "")) if isinstance(each, dict) else str(each)
                 for each in value]  # fmt: skip
        return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")  # noqa: PLR2004
    return str(value)


def _cautions(told: Told) -> list[Block]:
    found = [each for name in _CAUTIONS for each in told.get(name) or ()]
    lines = [each["what"] if isinstance(each, dict) and "what" in each else word(each)
             for each in found]  # fmt: skip
    return [Points(tuple(lines))] if lines else []


def _every(told: Told) -> list[Block]:
    """Tables, lists of words, and what is left in one that is folded."""
    level = told.get("level") if isinstance(told.get("level"), float) else None
    blocks: list[Block] = []
    facts: dict[str, Any] = {}
    for name, value in told.items():
        heading = name.replace("_", " ")
        if name in _LEFT_OUT or value in (None, [], {}):
            continue
        if is_table(value):
            if name not in _CAUTIONS:
                blocks.append(table(heading, value, level=level))
        elif isinstance(value, dict) and value and all(isinstance(x, dict) for x in value.values()):
            rows = [{"name": key, **each} for key, each in value.items()]
            blocks.append(table(heading, rows, level=level))
        elif isinstance(value, dict) and len(value) > 1 and name not in {"qrels", "hashes"}:
            blocks.append(pairs(heading, value))
        else:
            facts[name] = value
    return [*blocks, *([pairs("everything else", facts)] if facts else [])]


def _evaluation(told: Told) -> list[Block]:
    """A row a run, then a row a query."""
    runs = told["runs"]
    metrics = list(runs[0]["mean"])
    columns = {"run": [run["name"] for run in runs]}
    columns |= {metric: column([run["mean"][metric] for run in runs]) for metric in metrics}
    counts = list(runs[0].get("counts", {}))
    shown = [name for name in counts if any(run["counts"].get(name) for run in runs)]
    blocks: list[Block] = [Table("means", Grid.of(columns))]
    if shown:
        rows = [
            {"run": run["name"], **{name: run["counts"][name] for name in shown}} for run in runs
        ]
        blocks.append(table("what the means are of", rows))
    for metric in metrics if "per_query" in runs[0] else ():
        queries = dict.fromkeys(query for run in runs for query in run["per_query"][metric])
        values = tuple(
            (query, *(decimal(run["per_query"][metric].get(query)) for run in runs))
            for query in list(queries)[:500]
        )
        head = ("query", *(run["name"] for run in runs))
        blocks.append(
            Table(f"{metric}, query by query", Grid(head, values), find=True, folded=True)
        )
    return blocks


def _advice(told: Told) -> list[Block]:
    """A row a metric, what to decide by first."""
    rows = [
        {"use": choice["role"], "metric": choice["metric"], "why": choice["reasons"],
         "sees": choice["sees"], "blind to": choice["blind_to"]}
        for choice in (*told["choices"], *told["avoided"])
    ]  # fmt: skip
    rest = {name: told[name] for name in ("answers", "facts", "sources")}
    return [table("", rows), *(pairs(name, each) for name, each in rest.items())]


def _blindspots(told: Told) -> list[Block]:
    """What was seen of the change, the profile as changes by metrics, and what follows."""
    metrics = list(dict.fromkeys(row["metric"] for row in told["profile"]))
    rows: dict[str, dict[str, Any]] = {}
    for row in told["profile"]:
        rows.setdefault(row["change"], {"change": row["change"], "lists": row["altered"]})
        share = row["unmoved"]
        rows[row["change"]][row["metric"]] = "–" if share is None else f"{share:.0%}"
    lines = [
        *([f"The smallest set that sees what can be seen: {word(told['suggested'])}."]
          if told["suggested"] else []),
        *([f"No metric tried sees: {word(told['unseen'])}."] if told["unseen"] else []),
    ]  # fmt: skip
    heading = "share of the changed lists for which a metric does not move"
    seen: list[Block] = (
        [table("what metrics saw of the change", told["seen"])] if told["seen"] else []
    )
    return [
        *seen,
        *([table(heading, list(rows.values()))] if metrics else []),
        Points(tuple(lines)),
    ]


def _explanation(told: Told) -> list[Block]:
    """The value, then the documents that make it."""
    value = f"{told['metric']} = {decimal(told['value'])}"
    parts = [told.get(name) for name in ("summed", "norm")]
    if all(parts):
        terms = [f"{part['name'] or 'norm'} {decimal(part['value'])}" for part in parts if part]
        value += f" = {' / '.join(terms)}"
    gains = [row["contribution"] for row in told["rows"] if row.get("contribution")]
    drawn: list[Block] = []
    if gains and min(gains) > 0:
        words = "what each document adds, by rank"
        drawn = [Bars(tuple(gains), words)] if gains == sorted(gains, reverse=True) else []
    return [
        value, told["formula"], *drawn, table("the ranking", told["rows"]),
        *([table("the best order there is", told["ideal"])] if told["ideal"] else []),
        pairs("parameters", told["parameters"]),
    ]  # fmt: skip


def _stages(told: Told) -> list[Block]:
    found = told["bottleneck"]
    lead = (
        f"The bottleneck now is {found['stage']} ({found['why']}): it costs {found['lost']:.4f} "
        f"{told['target']}, {found['share']:.0%} of what is missing."
        if found
        else f"Nothing is lost: the last stage has the best {told['target']} there is."
    )
    rest = {name: value for name, value in told.items() if name not in {"bottleneck", "stages"}}
    return [lead, *_every(rest)]


def _baseline(told: Told) -> list[Block]:
    """What it is of; its values and lists are for the gate."""
    return _every({name: value for name, value in told.items() if name != "queries"})


_SAID: Mapping[str, Callable[[Told], list[Block]]] = {
    "evaluation": _evaluation,
    "advice": _advice,
    "blindspots": _blindspots,
    "explanation": _explanation,
    "stages": _stages,
    "baseline": _baseline,
}
"""How kinds are told that are not told well by their tables in order."""
