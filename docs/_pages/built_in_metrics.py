"""Where the built-in metrics are, by name, so that a command loads only the metrics that it names."""

from __future__ import annotations

import json
import pkgutil
from importlib import import_module
from pathlib import Path

from rankgate.measurement.metrics import preference_metrics, stratified_samples
from rankgate.measurement.metrics.metric_catalogue import CATALOGUE, FAMILIES
from rankgate.measurement.metrics.metric_declaration import Metric

_PACKAGE = "rankgate.measurement.metrics"
FILE = Path(__file__).parents[2] / "src/rankgate/measurement/metrics/built_in.json"


def page() -> str:
    """The module and the attribute of each name and alias, as JSON."""
    modules = ["preference_metrics", "stratified_samples"]
    for family in FAMILIES:
        path = import_module(f"{_PACKAGE}.{family}").__path__
        modules += [f"{family}.{module.name}" for module in pkgutil.iter_modules(path)]
    homes = {
        value.name: f"{module}:{attribute}"
        for module in modules
        for attribute, value in vars(import_module(f"{_PACKAGE}.{module}")).items()
        if isinstance(value, Metric)
    }
    metrics = (*CATALOGUE, *preference_metrics.PREFERENCE_METRICS, *stratified_samples.SAMPLE_METRICS)
    names = {name: homes[metric.name] for metric in metrics for name in (metric.name, *metric.aliases)}
    return json.dumps(names, ensure_ascii=False, indent=1) + "\n"
