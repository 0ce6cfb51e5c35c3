"""Built-in metrics by name; each is loaded at its first use.

`metric_catalogue.CATALOGUE` and similar lists for preferences and samples have all metrics; a command
that names a metric loads only the module of that metric. ``built_in.json`` says which module that is;
`docs/_pages/built_in_metrics.py` writes the file from the metrics, and a test proves that it matches
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib import import_module
from pkgutil import get_data
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankgate.measurement.metrics.metric_declaration import Metric

MODULE_OF_METRIC: Mapping[str, str] = json.loads(get_data(__package__, "built_in.json") or b"")
"""Names and aliases in the order of listing, and in which module of this package the metric is."""


def find_built_in(name: str) -> Metric | None:
    """The built-in metric for a name or an alias, written as in its declaration.

    >>> find_built_in("MAP").name
    'AP'
    """
    if name not in MODULE_OF_METRIC:
        return None
    module, _, attribute = MODULE_OF_METRIC[name].partition(":")
    metric: Metric = getattr(import_module(f"rankgate.measurement.metrics.{module}"), attribute)
    return metric
