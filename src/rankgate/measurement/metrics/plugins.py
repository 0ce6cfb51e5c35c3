"""Metrics from elsewhere: a file that the user names, and plug-ins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from rankgate.core import declare
from rankgate.core.declare.plugin_files import run_plugin_file
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.built_in import find_built_in
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
    metrics = _declared_metrics(run_plugin_file(path).values(), str(path))
    if not metrics:
        raise UsageError(
            f"{path}: declares no metric; put @rankgate.metric before a function.",
            code="invalid-plugin",
        )
    return metrics


def load_plugin_metrics(
    reserved: Mapping[str, Metric] | None = None,
) -> declare.PluginObjects[Metric]:
    """The metrics of plug-ins, by name, and the problems of others.

    Args:
        reserved: metrics by the names that no plug-in may use; without them the catalogue.
    """
    if reserved is None:
        from rankgate.measurement.metrics.catalogue import by_name

        reserved = by_name
    return declare.find_plugin_objects(
        GROUP, Metric, reserved, lambda metric: replace(metric, given=())
    )


def _declared_metrics(values: Iterable[object], owner: str) -> tuple[Metric, ...]:
    """The metrics among some values that are not built in, each once, nothing bound."""
    metrics_by_name: dict[str, Metric] = {}
    for value in values:
        if not isinstance(value, Metric):
            continue
        built_in_metric = find_built_in(value.name)
        if built_in_metric is not None and built_in_metric.kernel is value.kernel:
            continue
        metric = replace(value, given=())
        if metrics_by_name.setdefault(metric.name, metric) != metric:
            raise UsageError(
                f"{owner}: there are two metrics {metric.name}; rename one.",
                code="metric-name-taken",
            )
    return tuple(metrics_by_name.values())
