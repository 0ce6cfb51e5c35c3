"""Every built-in metric in the order of listing, and trec_eval's spellings of metric names."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import chain
from types import MappingProxyType

from rankgate.core.declare import find_declared
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.built_in import MODULE_OF_METRIC
from rankgate.measurement.metrics.metric_declaration import Metric
from rankgate.measurement.metrics.preference_metrics import PREFERENCE_METRICS

FAMILIES = ("graded", "ranking", "browsing")
"""The packages whose modules declare metrics."""

_PLACES = {name: position for position, name in enumerate(MODULE_OF_METRIC)}

CATALOGUE: tuple[Metric, ...] = tuple(
    sorted(
        chain.from_iterable(find_declared(f"{__package__}.{family}", Metric) for family in FAMILIES),
        key=lambda metric: _PLACES.get(metric.name, len(_PLACES)),
    )
)
"""Every metric of the families, in the order of ``built_in.json``; one that it lacks is last."""

by_name: Mapping[str, Metric] = MappingProxyType({metric.name: metric for metric in CATALOGUE})
"""The catalogue by canonical name."""


_RANKS = ("5", "10", "15", "20", "30", "100", "200", "500", "1000")
_TENTHS = tuple(f"{i / 10:.2f}" for i in range(11))
_FIFTHS = tuple(f"{i / 5:.2f}" for i in range(1, 11))

CUTS: Mapping[str, tuple[str, ...]] = {
    "P": _RANKS,
    "recall": _RANKS,
    "ndcg_cut": _RANKS,
    "map_cut": _RANKS,
    "relative_P": _RANKS,
    "success": ("1", "5", "10"),
    "unj": ("5", "10", "20"),
    "Rprec_mult": _FIFTHS,
    "iprec_at_recall": _TENTHS,
}
"""The names that are a family, one metric a cutoff, with the cutoffs of the bare name."""

_IMPLIED_PARAMETERS: Mapping[str, Mapping[str, object]] = {
    "rbp": {"gain": "scaled", "p": 0.9},
    "rbp_resid": {"p": 0.9, "tail": "holes"},
    **{
        f"prefs_{name}_{suffix}": {"over": population}
        for name in ("simp", "pair", "avgjg", "avgjg_Rnonrel", "num_prefs_ful")
        for suffix, population in (("ret", "retrieved"), ("imp", "implied"))
    },
}
"""Parameters that a name of trec_eval implies."""

_UTILITY = ("found", "noise", "missed", "avoided")


METRICS_BY_TREC_NAME: Mapping[str, Metric] = {
    name: metric(**_IMPLIED_PARAMETERS.get(name, {}))
    for metric in (*CATALOGUE, *PREFERENCE_METRICS)
    for name in metric.trec
}
"""The metric of each name that trec_eval has."""


def parse_trec_name(text: str) -> list[tuple[str, Metric]] | None:
    """The metrics for a trec_eval spelling, each with its label; None if it is not a spelling.

    The label keeps the separator of the input: ``P.5,10`` gives ``P.5`` and ``P.10``. A family name
    alone gives its usual cutoffs: ``P`` gives ``P_5`` to ``P_1000``.

    Raises:
        UsageError: the name is trec_eval's, but its parameters cannot be read.
    """
    for name in sorted(METRICS_BY_TREC_NAME, key=len, reverse=True):  # rbp_resid goes before rbp
        metric = METRICS_BY_TREC_NAME[name]
        if text == name:
            cutoffs = CUTS.get(name)
            return _metrics_at_cutoffs(f"{name}_", metric, cutoffs, text) if cutoffs else [(text, metric)]
        prefix, argument = text[: len(name) + 1], text[len(name) + 1 :]
        if argument and prefix in (f"{name}_", f"{name}."):
            if name in CUTS:
                return _metrics_at_cutoffs(prefix, metric, argument.split(","), text)
            bound_metric = _bind_argument(name, metric, argument, text)
            if bound_metric is not None:
                return [(text, bound_metric)]
    return None


def _metrics_at_cutoffs(
    prefix: str, metric: Metric, cutoffs: Sequence[str], text: str
) -> list[tuple[str, Metric]]:
    """A metric for each cutoff, with the prefix and the cutoff as its label."""
    is_rank = metric.at == "cutoff"
    return [(prefix + cutoff, metric @ _number(cutoff, text, whole=is_rank)) for cutoff in cutoffs]


def _bind_argument(name: str, metric: Metric, argument: str, text: str) -> Metric | None:
    """Bind the parameter after the name; None if the name has no parameter."""
    if name == "set_F":  # trec_eval's parameter is the square of beta
        square = _number(argument, text)
        if square < 0:
            raise UsageError(
                f"{text}: the parameter of set_F is beta squared, 0 or more.", code="invalid-parameter"
            )
        return metric(beta=math.sqrt(square))
    if name == "utility":
        numbers = [_number(number_text, text) for number_text in argument.split(",")]
        if len(numbers) != len(_UTILITY):
            raise UsageError(
                f"{text}: utility takes four numbers, such as utility.1,-1,0,0.", code="invalid-parameter"
            )
        return metric(**dict(zip(_UTILITY, numbers, strict=True)))
    if "p" in metric.parameters:
        return metric(p=_number(argument.removeprefix("p="), text))
    if "gain" in metric.parameters and "=" in argument:
        pairs = [pair_text.partition("=")[::2] for pair_text in argument.split(",")]
        return metric(gain={_number(level, text): _number(gain, text) for level, gain in pairs})
    return None


def _number(word: str, text: str, *, whole: bool = False) -> float:
    try:
        return int(word) if whole else float(word)
    except ValueError:
        raise UsageError(
            f"{text}: {word!r} is not a {'whole ' * whole}number.", code="invalid-parameter"
        ) from None
