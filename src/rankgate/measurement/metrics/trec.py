"""trec_eval's spellings: ``ndcg_cut_5,10``, ``P.5,10``, ``rbp.p=0.5``, ``set_F.2``."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.catalogue import CATALOGUE
from rankgate.measurement.metrics.preferences import PREFERENCE_METRICS

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric

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

_BOUND: Mapping[str, Mapping[str, object]] = {
    "rbp": {"gain": "scaled", "p": 0.9},
    "rbp_resid": {"p": 0.9, "tail": "holes"},
    **{
        f"prefs_{name}_{short}": {"over": over}
        for name in ("simp", "pair", "avgjg", "avgjg_Rnonrel", "num_prefs_ful")
        for short, over in (("ret", "retrieved"), ("imp", "implied"))
    },
}
"""What a name says besides the metric."""

_UTILITY = ("found", "noise", "missed", "avoided")


NAMED: Mapping[str, Metric] = {
    name: metric(**_BOUND.get(name, {}))
    for metric in (*CATALOGUE, *PREFERENCE_METRICS)
    for name in metric.trec
}
"""The metric of each name that trec_eval has."""


def read(text: str) -> list[tuple[str, Metric]] | None:
    """The metrics that a trec_eval spelling names, each with its label; None if it is not one.

    The label keeps the separator that was written: ``P.5,10`` gives ``P.5`` and
    ``P.10``. A bare family name gives its usual cutoffs: ``P`` gives ``P_5`` to ``P_1000``.

    Raises:
        UsageError: the name is trec_eval's, but what follows it cannot be read.
    """
    for name in sorted(NAMED, key=len, reverse=True):  # rbp_resid goes before rbp
        metric = NAMED[name]
        if text == name:
            cuts = CUTS.get(name)
            return _family(f"{name}_", metric, cuts, text) if cuts else [(text, metric)]
        head, rest = text[: len(name) + 1], text[len(name) + 1 :]
        if rest and head in (f"{name}_", f"{name}."):
            if name in CUTS:
                return _family(head, metric, rest.split(","), text)
            bound = _bound(name, metric, rest, text)
            if bound is not None:
                return [(text, bound)]
    return None


def _family(head: str, metric: Metric, cuts: Sequence[str], text: str) -> list[tuple[str, Metric]]:
    """One metric a cutoff, labelled with what is before the cutoffs and its own."""
    whole = metric.at == "cutoff"
    return [(head + cut, metric @ _number(cut, text, whole=whole)) for cut in cuts]


def _bound(name: str, metric: Metric, rest: str, text: str) -> Metric | None:
    """The metric with what is after its name; None where that name takes nothing."""
    if name == "set_F":  # trec_eval's parameter is the square of beta
        square = _number(rest, text)
        if square < 0:
            raise UsageError(
                f"{text}: the parameter of set_F is beta squared, 0 or more.",
                code="invalid-parameter",
            )
        return metric(beta=math.sqrt(square))
    if name == "utility":
        numbers = [_number(part, text) for part in rest.split(",")]
        if len(numbers) != len(_UTILITY):
            raise UsageError(
                f"{text}: utility takes four numbers, such as utility.1,-1,0,0.",
                code="invalid-parameter",
            )
        return metric(**dict(zip(_UTILITY, numbers, strict=True)))
    if "p" in metric.parameters:
        return metric(p=_number(rest.removeprefix("p="), text))
    if "gain" in metric.parameters and "=" in rest:
        pairs = [part.partition("=")[::2] for part in rest.split(",")]
        return metric(gain={_number(level, text): _number(gain, text) for level, gain in pairs})
    return None


def _number(word: str, text: str, *, whole: bool = False) -> float:
    try:
        return int(word) if whole else float(word)
    except ValueError:
        raise UsageError(
            f"{text}: {word!r} is not a {'whole ' * whole}number.", code="invalid-parameter"
        ) from None
