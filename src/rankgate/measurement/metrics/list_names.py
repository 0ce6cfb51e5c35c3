"""The names of metrics on lists, read in the grammar of all metrics."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.metric_declaration import LISTS
from rankgate.measurement.metrics.metric_name_parser import parse

if TYPE_CHECKING:
    from rankgate.measurement.metrics.lists.list_metric import ListMetric


def parse_list(text: str) -> ListMetric | None:
    """The metric on lists with a name; None if there is none.

    Raises:
        UsageError: a parameter does not fit.

    >>> str(parse_list("gini(divisor='n-1')@10"))
    "Gini(divisor='n-1')@10"
    >>> parse_list("nDCG@10")
    """
    name = text.strip().partition("(")[0].partition("@")[0]
    if _fold(name) not in _KNOWN:
        return None
    metric = parse(text, LIST_METRICS)
    if metric.view != LISTS:
        raise UsageError(f"{text} is not a metric on lists.", code="unknown-metric")
    return cast("ListMetric", metric)


def _fold(name: str) -> str:
    return name.casefold().replace("-", "").replace("_", "")


_KNOWN = {_fold(name) for metric in LIST_METRICS for name in (metric.name, *metric.aliases)}
