"""Metrics from elsewhere: a file that the user names, and plug-ins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rankgate.core import declare
from rankgate.core.declare.plugin_files import run
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.built_in import built_in
from rankgate.measurement.metrics.declare import Metric

GROUP = "rankgate.metrics"
"""The entry points under which a package names its metrics."""


def from_file(path: str | Path | None) -> tuple[Metric, ...]:
    """The metrics that a Python file declares; the file is run.

    Args:
        path: the file; without one there is no metric.

    Raises:
        UsageError: a file that cannot be read or fails, or that declares no metric.
    """
    if path is None:
        return ()
    found = _declared(run(path).values(), str(path))
    if not found:
        raise UsageError(
            f"{path}: declares no metric; put @rankgate.metric before a function.",
            code="invalid-plugin",
        )
    return found


def installed(taken: Mapping[str, Metric] | None = None) -> declare.Added[Metric]:
    """The metrics of plug-ins, by name, and what is wrong with others.

    Args:
        taken: metrics by the names that no plug-in may use; without them the catalogue.
    """
    if taken is None:
        from rankgate.measurement.metrics.catalogue import by_name

        taken = by_name
    return declare.added(GROUP, Metric, taken, lambda metric: replace(metric, given=()))


def _declared(values: Iterable[object], owner: str) -> tuple[Metric, ...]:
    """The metrics among some values that are not built in, each once, nothing bound."""
    found: dict[str, Metric] = {}
    for value in values:
        if not isinstance(value, Metric):
            continue
        ours = built_in(value.name)
        if ours is not None and ours.kernel is value.kernel:
            continue
        metric = replace(value, given=())
        if found.setdefault(metric.name, metric) != metric:
            raise UsageError(
                f"{owner}: there are two metrics {metric.name}; rename one.",
                code="metric-name-taken",
            )
    return tuple(found.values())
