"""The names that shells complete, by kind, without loading the named objects.

Names of metrics, conventions, formats, engines and KPIs are in ``names.json``, which
``docs/_pages/listed_names.py`` writes. Names in files come from the files on the command line;
unreadable and large files give no names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from importlib import resources
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.errors import RankgateError

if TYPE_CHECKING:
    import click

Names = Iterable[tuple[str, str]]
"""Names with what they are, or an empty text."""

_MAX_BYTES = 16 << 20  # bytes of a file that are searched for names


def _names_of_kind(kind: str, ctx: click.Context) -> Names:  # noqa: ARG001 - all kinds take the context
    text = resources.files(__package__).joinpath("names.json").read_text("utf-8")
    return list(json.loads(text)[kind].items())


def _readable_files(ctx: click.Context, name: str) -> list[str]:
    """The files of a parameter that are small enough."""
    value = ctx.params.get(name) or ()
    paths = value if isinstance(value, tuple) else (value,)
    return [path for path in paths if Path(path).is_file() and Path(path).stat().st_size <= _MAX_BYTES]


def _names_or_empty(read: Callable[[], Iterable[str]]) -> Names:
    try:
        return [(name, "") for name in read()]
    except (RankgateError, OSError, ValueError, ImportError):
        return []


def _baselines(ctx: click.Context) -> Names:  # noqa: ARG001 - all kinds take the context
    return [(path.stem, "saved baseline") for path in sorted(Path("rankgate/baselines").glob("*.json"))]


def _systems(ctx: click.Context) -> Names:
    """The systems in the tables of ``--scores``."""
    tables = _readable_files(ctx, "scores")
    if not tables:
        return []

    def read() -> list[str]:
        from rankgate.decisions.comparison.reported_systems import ReportedTables
        from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS

        reported = ReportedTables(tuple(tables))
        try:
            systems = reported.compared().systems
        except RankgateError:  # a table with a column for each system holds the metric of its name
            metrics = (ctx.params.get("metrics") or DEFAULT_METRICS)[:1]
            systems = reported.compared(metrics=metrics).systems
        return [system.name for system in systems]

    values = (value if isinstance(value, tuple) else (value,) for value in ctx.params.values())
    used_values = set(chain.from_iterable(values))
    return [(name, title) for name, title in _names_or_empty(read) if name not in used_values]


def _baselines_and_systems(ctx: click.Context) -> Names:
    return _systems(ctx) if ctx.params.get("scores") else _baselines(ctx)


def _query_ids(ctx: click.Context) -> Names:
    """The query ids in the judgments QRELS."""
    paths = _readable_files(ctx, "qrels")
    if not paths:
        return []

    def read() -> list[str]:
        from rankgate.data.read import read_qrels

        return list(map(str, read_qrels(paths[0]).table["query_id"].unique(maintain_order=True)))

    return _names_or_empty(read)


def _tags(ctx: click.Context) -> Names:
    """The columns of the table ``--tags``."""
    paths = _readable_files(ctx, "tags")
    if not paths:
        return []

    def read() -> list[str]:
        with Path(paths[0]).open(encoding="utf-8") as lines:
            columns = lines.readline().strip().replace("\t", ",").split(",")
        return [column for column in columns if column != "query_id"]

    return _names_or_empty(read)


def _recorded_values(field: str, ctx: click.Context) -> Names:
    """The values of a field of the figures in the folder of records."""
    folder = ctx.params.get("from_") or os.environ.get("RANKGATE_HISTORY")
    if not folder or not Path(folder).is_dir():
        return []

    def read() -> Iterable[str]:
        records = (json.loads(path.read_text("utf-8")) for path in Path(folder).glob("*.json"))
        return sorted({str(value[field]) for record in records for value in record["values"]})

    return _names_or_empty(read)


NAMES: Mapping[str, Callable[[click.Context], Names]] = {
    "metrics": partial(_names_of_kind, "metrics"),
    "kpis": partial(_names_of_kind, "kpis"),
    "conventions": partial(_names_of_kind, "conventions"),
    "formats": partial(_names_of_kind, "formats"),
    "engines": partial(_names_of_kind, "engines"),
    "rating_metrics": partial(_names_of_kind, "rating_metrics"),
    "baselines": _baselines,
    "systems": _systems,
    "baselines_and_systems": _baselines_and_systems,
    "query_ids": _query_ids,
    "tags": _tags,
    "recorded_metrics": partial(_recorded_values, "metric"),
    "recorded_systems": partial(_recorded_values, "system"),
}
"""The names that a shell offers, by kind, given what is on the command line so far."""
