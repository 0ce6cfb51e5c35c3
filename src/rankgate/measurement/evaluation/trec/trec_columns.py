"""Output columns of trec_eval, and its relstring.

The relstring of trec_eval shows the grades of the first documents, one character each. A kernel
returns numbers, so characters are encoded as digits of numbers that a float holds exactly, with
several ranks in each number.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import partial
from types import MappingProxyType
from typing import Literal

import numpy as np

from rankgate.core.arrays import Floats  # noqa: TC001 - read at run time
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.evaluation.trec.trec_words import Relevance, atof, atol
from rankgate.measurement.metrics.judged_block import Judged, total
from rankgate.measurement.metrics.metric_catalogue import CUTS, METRICS_BY_TREC_NAME
from rankgate.measurement.metrics.metric_declaration import Metric
from rankgate.measurement.metrics.preference_metrics import PrefsCompat
from rankgate.measurement.metrics.ranking.average_precision import IPrec

_SIGNS = "-0123456789>."
"""The sign of each digit: not in the pool, grades 0 to 9, higher, in the pool and unjudged."""

_RANKS = 14  # ranks in one number: 13 to the power of 14 is below 2 to the power of 53
_HIGHEST = 9


def relevance_digits(judged: Judged, *, start: int) -> Floats:
    """The grades at the ranks after ``start``, the first as the lowest digit to base 13.

    Returns:
        ``(T,)``, whole numbers.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> relevance_digits(block([[2, None, 0]]), start=0)  # 3 + 0 · 13 + 1 · 13²
    array([172.])
    """
    position = np.where(judged.rank > start, judged.rank - start - 1.0, _RANKS)
    digit = np.where(judged.grade < 0, len(_SIGNS) - 1, np.minimum(np.floor(judged.grade), _HIGHEST + 1) + 1)
    place_value = float(len(_SIGNS)) ** np.minimum(position, _RANKS)
    return total(np.where(position < _RANKS, digit * place_value, 0))


_DIGITS = Metric("relstring", relevance_digits, at=None, high=None)


def relstring_metrics(length: int) -> tuple[Metric, ...]:
    """The metrics that are needed for relstrings of this length."""
    return tuple(_DIGITS(start=start) for start in range(0, length, _RANKS))


def relstrings(digits: Sequence[Floats], lengths: Sequence[int]) -> list[str]:
    """The relstring of each query.

    Args:
        digits: the values of the `relstring_metrics`, ``(T,)`` each.
        lengths: the number of documents to show for each query.
    """
    texts = [""] * len(lengths)
    for number in digits:
        digits_left = number.astype(np.int64)
        for _ in range(_RANKS):
            digits_left, digit = np.divmod(digits_left, len(_SIGNS))
            texts = [text + _SIGNS[d] for text, d in zip(texts, digit.tolist(), strict=True)]
    return [text[:length] for text, length in zip(texts, lengths, strict=True)]


Kind = Literal["number", "count", "relstring", "runid"]

ORDER = (
    "runid",
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "map",
    "gm_map",
    "Rprec",
    "bpref",
    "recip_rank",
    "iprec_at_recall",
    "P",
    "relstring",
    "recall",
    "infAP",
    "gm_bpref",
    "Rprec_mult",
    "utility",
    "11pt_avg",
    "binG",
    "G",
    "ndcg",
    "ndcg_rel",
    "Rndcg",
    "ndcg_cut",
    "map_cut",
    "relative_P",
    "success",
    "set_P",
    "set_relative_P",
    "set_recall",
    "set_map",
    "set_F",
    "num_nonrel_judged_ret",
    "prefs_num_prefs_poss",
    "prefs_num_prefs_ful",
    "prefs_num_prefs_ful_ret",
    "prefs_simp",
    "prefs_pair",
    "prefs_avgjg",
    "prefs_avgjg_Rnonrel",
    "prefs_simp_ret",
    "prefs_pair_ret",
    "prefs_avgjg_ret",
    "prefs_avgjg_Rnonrel_ret",
    "prefs_simp_imp",
    "prefs_pair_imp",
    "prefs_avgjg_imp",
    "map_avgjg",
    "P_avgjg",
    "Rprec_mult_avgjg",
    "yaap",
    "rbp",
    "rbp_resid",
    "unj",
    "prefs_compat",
)
"""Every name, in the order of the output; the last is not one of trec_eval."""

SINCE_10 = frozenset({"rbp", "rbp_resid", "unj"})
"""The names that trec_eval 9 does not have."""

_OTHER_FORMAT = re.compile("^prefs|_avgjg$")
_PREFERENCES = tuple(name for name in ORDER[:-1] if name.startswith("prefs"))

NICKNAMES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "official": ORDER[: ORDER.index("P") + 1],
        "set": (
            *("runid", "num_q", "num_ret", "num_rel", "num_rel_ret", "utility"),
            *("set_P", "set_relative_P", "set_recall", "set_map", "set_F"),
        ),
        "all_trec": tuple(n for n in ORDER if n != "yaap" and not _OTHER_FORMAT.search(n)),
        "all_prefs": ("runid", "num_q", *_PREFERENCES),
        "prefs": ("runid", "num_q", *_PREFERENCES[: _PREFERENCES.index("prefs_avgjg") + 1]),
        "qrels_jg": ("runid", "num_q", "map_avgjg", "P_avgjg", "Rprec_mult_avgjg"),
    }
)
"""Names of groups."""

RELEVANCE: Mapping[Relevance, frozenset[str]] = MappingProxyType(
    {
        "qrels": frozenset(NICKNAMES["all_trec"]) | {"yaap"},
        "prefs": frozenset((*NICKNAMES["all_prefs"], "prefs_compat")),
        "qrels_prefs": frozenset((*NICKNAMES["all_prefs"], "prefs_compat")),
        "qrels_jg": frozenset(NICKNAMES["qrels_jg"]),
    }
)
"""The formats of judgments, and the names that each has values for."""

CUT_NAMES = frozenset(CUTS)
"""The names that print a line for each cutoff."""

_METRIC_BY_NAME = {**METRICS_BY_TREC_NAME, PrefsCompat.name: PrefsCompat}
_SUMMARY_ONLY = frozenset({"runid", "num_q", "gm_map", "gm_bpref"})
_COUNTS = frozenset(
    {"num_q", "num_ret", "num_rel", "num_rel_ret", "num_nonrel_judged_ret", *_PREFERENCES[:3]}
)
_SHARES = frozenset({"iprec_at_recall", "Rprec_mult", "Rprec_mult_avgjg"})
_GAINS = frozenset({"ndcg", "ndcg_rel", "Rndcg", "G"})
_UTILITY = ("found", "noise", "missed", "avoided")
_LONGEST = 10_000  # documents in a relstring


@dataclass(frozen=True)
class Column:
    """A line of each query's block, of the summary, or of both.

    Attributes:
        name: trec_eval's name of the metric, without parameters.
        label: the printed label, with parameters.
        kind: the print format of the value.
        metrics: the metrics to compute: none for ``runid``, the parts of a ``relstring``, and
            several metrics if the value is their mean.
        length: the number of documents in a ``relstring``.
        prefix: the text before the label: ``Z`` for z-scores.
    """

    name: str
    label: str
    kind: Kind = "number"
    metrics: tuple[Metric, ...] = ()
    length: int = 0
    prefix: str = ""

    @property
    def per_query(self) -> bool:
        """True if the blocks of queries contain this line."""
        return self.name not in _SUMMARY_ONLY

    @property
    def in_summary(self) -> bool:
        """True if the summary contains this line."""
        return self.kind != "relstring"


def parse_columns(
    requested: Sequence[str],
    *,
    level: int = 1,
    documents: int = 0,
    te9: bool = False,
    relevance: Relevance = "qrels",
) -> tuple[Column, ...]:
    """The columns for the names after ``-m``, in trec_eval's order.

    Parameters follow a dot, as in ``P.5,10``. If a name is given twice with parameters, the first
    ones count, as in trec_eval.

    Args:
        requested: names of metrics and of groups of metrics.
        level: the smallest grade that counts as relevant.
        documents: the number of documents in the collection, for ``utility``.
        te9: True to accept only names of trec_eval 9.
        relevance: the format of the judgments; only names with values for this format are accepted.

    Raises:
        UsageError: trec_eval does not have the name, parameters cannot be read, or the name needs
            another format.
    """
    parameters_of: dict[str, str] = {}
    for word in requested:
        name, dot, parameters = word.partition(".")
        if dot and not parameters:
            raise UsageError(
                f"-m {word}: nothing follows the dot; give parameters or no dot.", code="unknown-measure"
            )
        for member in NICKNAMES.get(name, (name,)):
            if not (te9 and member in SINCE_10):
                parameters_of[member] = parameters_of.get(member, "") or (
                    parameters if member == name else ""
                )
            elif member == name:
                raise UsageError(
                    f"-m {word}: trec_eval 9 has no {name}; leave out --te9.", code="unknown-measure"
                )
    unknown = next((name for name in parameters_of if name not in ORDER), None)
    if unknown is not None:
        raise _unknown(unknown)
    refused = next((n for n in ORDER if n in parameters_of and n not in RELEVANCE[relevance]), None)
    if refused is not None:
        formats = " or ".join(f"-R {name}" for name, supported in RELEVANCE.items() if refused in supported)
        raise UsageError(
            f"-m {refused}: has no value with -R {relevance}; it needs {formats}.", code="unsupported-metric"
        )
    result: list[Column] = []
    for name in ORDER:
        if name in parameters_of:
            bind = partial(_bind_options, level=level, documents=documents)
            result += _columns(name, parameters_of[name], bind)
    return tuple(result)


def _unknown(name: str) -> UsageError:
    near = get_close_matches(name, (*NICKNAMES, *ORDER), n=1, cutoff=0.6)
    nicknames = ", ".join(NICKNAMES)
    hint = f"did you mean {near[0]}?" if near else f"there are {nicknames}, map, P, ndcg_cut and more."
    return UsageError(f"-m {name}: trec_eval has no metric of that name; {hint}", code="unknown-measure")


def _bind_options(metric: Metric, *, level: int, documents: int) -> Metric:
    """Bind the options to a metric, if the metric accepts them."""
    options = {"rel": level, "documents": documents}
    metric_parameters = metric.parameters  # the level has no effect on gains, and so none on RBP
    return metric(
        **{
            name: value
            for name, value in options.items()
            if name in metric_parameters and not metric_parameters[name].only_with
        }
    )


def _columns(name: str, written: str, bind: Callable[[Metric], Metric]) -> list[Column]:
    """The columns of a name with the parameters after its dot."""
    if name == "runid":
        return [Column(name, name, "runid")]
    if name == "relstring":
        return [_relstring(written)]
    kind: Kind = "count" if name in _COUNTS else "number"
    by_group = name.removesuffix("_avgjg") if name in RELEVANCE["qrels_jg"] else name
    metric = bind(_METRIC_BY_NAME[by_group])
    if by_group in CUTS:
        cuts = _cuts(name, written or ",".join(CUTS[by_group]))
        template = "{}_{:.2f}" if name in _SHARES else "{}_{}"
        return [Column(name, template.format(name, cutoff), kind, (metric @ cutoff,)) for cutoff in cuts]
    special = _special_metrics(name, written, metric) if written else None
    if special is None:  # other names accept parameters and ignore them
        return [Column(name, name, kind, (metric,))]
    return [Column(name, f"{name}_{written}", kind, special)]


def _special_metrics(name: str, written: str, metric: Metric) -> tuple[Metric, ...] | None:
    """The metrics of a name with its own parameters; None for other names."""
    if name in _GAINS:
        pairs = _pairs(name, written)
        gain = {atol(level): atof(value) for level, value in pairs}
        return (metric(gain=gain, levels="truncated"),)
    if name in ("rbp", "rbp_resid", "prefs_compat"):
        bound = dict(_pairs(name, written))
        if set(bound) - {"p"}:
            raise UsageError(
                f"-m {name}.{written}: only p can be set, as in {name}.p=0.5.", code="invalid-parameter"
            )
        return (metric(p=atof(bound["p"])),)
    values = [atof(text) for text in written.split(",")]
    if name == "set_F":  # its parameter is the square of beta
        if values[0] < 0:
            raise UsageError(
                f"-m set_F.{written}: the parameter, beta squared, is below 0.", code="invalid-parameter"
            )
        return (metric(beta=values[0] ** 0.5),)
    if name == "utility":
        if len(values) != len(_UTILITY):
            raise UsageError(
                f"-m utility.{written}: give four numbers, as in utility.1,-1,0,0.", code="wrong-coefficients"
            )
        return (metric(**dict(zip(_UTILITY, values, strict=True))),)
    if name == "11pt_avg":
        rel = dict(metric.given)["rel"]
        return tuple(IPrec(rel=rel) @ point for point in _cuts("iprec_at_recall", written))
    return None


def _cuts(name: str, written: str) -> list[float]:
    parse_cutoff: Callable[[str], float] = atof if name in _SHARES else atol
    cuts = sorted(parse_cutoff(text) for text in written.split(","))
    if name not in _SHARES and cuts[0] <= 0:
        raise UsageError(
            f"-m {name}.{written}: a cutoff is a whole number of 1 or more.", code="invalid-cutoff"
        )
    if len(set(cuts)) < len(cuts):
        raise UsageError(f"-m {name}.{written}: a cutoff is given twice.", code="invalid-cutoff")
    return cuts


def _pairs(name: str, written: str) -> list[tuple[str, str]]:
    parts = [text.split("=") for text in written.split(",")]
    if any(len(pair) != 2 for pair in parts):  # a pair
        example = "p=0.5" if "p" in _METRIC_BY_NAME[name].parameters else "1=3,2=9"
        raise UsageError(
            f"-m {name}.{written}: give pairs, as in {name}.{example}.", code="invalid-parameter"
        )
    return [(left, right) for left, right in parts]


def _relstring(written: str) -> Column:
    length = int(atof(written.partition(",")[0])) if written else 10
    if length > _LONGEST:
        raise UsageError(
            f"-m relstring.{written}: at most {_LONGEST} documents can be shown.", code="out-of-range"
        )
    label = f"relstring_{written}" if written else "relstring"
    return Column("relstring", label, "relstring", relstring_metrics(length), max(length, 0))
