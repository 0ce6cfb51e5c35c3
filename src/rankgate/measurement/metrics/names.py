"""The names of metrics, written and read: ``parse(str(metric)) == metric``.

The canonical grammar is ``NAME[(k=v,…)][@n]``, as in ``nDCG(gain='exp')@10``.
Also read: trec_eval's spellings, those of ir_measures where they differ, and the
common names that are declared as aliases, in any case. Installed packages are
asked for a name that nothing here has.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from rankgate.core.declare import Added
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.built_in import HOMES, built_in

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric

    Named = Callable[[str], Metric | None]
    Names = Mapping[str, Metric]

DEFAULT_METRICS = ("nDCG@10", "AP", "RR", "R@100", "P@10")
"""The metrics when none is named."""

_GRAMMAR = re.compile(
    r"(?P<name>\w[\w-]*)\s*(?:\((?P<inside>.*)\))?\s*(?:@\s*(?P<at>[^@()\s]+))?", re.DOTALL
)
_FORMS = {"log2": "linear", "exp-log2": "exp"}
"""The values of ``dcg`` in ir_measures, as gains."""


def _fold(name: str) -> str:
    """A name without case, hyphens and underscores."""
    return name.casefold().replace("-", "").replace("_", "")


@cache
def _loose() -> dict[str, Metric]:
    """Every built-in metric by its folded names, those of trec_eval too."""
    from rankgate.measurement.metrics import trec

    exact = ((name, metric) for name in HOMES if (metric := built_in(name)))
    # trec_eval's names are first, so that a canonical name spelled alike goes before them
    return {_fold(name): metric for name, metric in (*trec.NAMED.items(), *exact)}


def is_built_in(text: str) -> bool:
    """True for a name of a built-in metric as it is declared, with parameters or a cutoff."""
    match = _GRAMMAR.fullmatch(text.strip())
    return match is not None and match["name"] in HOMES


def parse(text: str, extra: Sequence[Metric] = ()) -> Metric:
    """The one metric that a name names.

    Args:
        text: the name.
        extra: additional metrics that are known.

    Raises:
        UsageError: an unknown name, a parameter that does not fit, or several metrics.
    """
    text = text.strip()
    exact = _canonical(text, _by_exact_name(extra))
    if exact:
        return exact
    metrics = _read(text, extra)
    if len(metrics) > 1:
        words = f"{text!r} names {len(metrics)} metrics; name one, such as {metrics[0][0]}."
        raise UsageError(words, code="several-metrics")
    return metrics[0][1]


def parse_all(text: str, extra: Sequence[Metric] = ()) -> list[tuple[str, Metric]]:
    """The metrics that a name names, each with its label as the user would write it.

    Canonical names keep their text as the label; ``P.5,10`` gives ``P.5`` and
    ``P.10``; a bare family of trec_eval, such as ``P``, gives its usual cutoffs.

    Args:
        text: the name.
        extra: additional metrics that are known.

    Raises:
        UsageError: an unknown name, a parameter that does not fit, or a cutoff that is missing.
    """
    text = text.strip()
    exact = _canonical(text, _by_exact_name(extra))
    metrics = [(text, exact)] if exact and not exact.missing else _read(text, extra, exact)
    for _, metric in metrics:
        if metric.missing:
            raise UsageError(metric.incomplete(), code="incomplete-metric")
    return metrics


def known(extra: Iterable[Metric]) -> None:
    """Check that metrics from elsewhere take no built-in name.

    Raises:
        UsageError: the metric that does.
    """
    for metric in extra:
        taken = [name for name in (metric.name, *metric.aliases) if _fold(name) in _loose()]
        if taken:
            ours = _loose()[_fold(taken[0])].name
            raise UsageError(
                f"{taken[0]} is already a name of {ours}; choose another name.",
                code="metric-name-taken",
            )


def _by_exact_name(extra: Sequence[Metric]) -> Named:
    """The metric of a name as it is declared: an additional one, or a built-in one."""
    additional = _exact(extra)
    return lambda name: additional.get(name) or built_in(name)


def _exact(extra: Iterable[Metric]) -> dict[str, Metric]:
    extra = tuple(extra)
    known(extra)
    return {name: metric for metric in extra for name in (metric.name, *metric.aliases)}


def _read(
    text: str, extra: Sequence[Metric], otherwise: Metric | None = None
) -> list[tuple[str, Metric]]:
    """By trec_eval's spelling, or in any case, or from a plug-in, or the error that helps."""
    from rankgate.measurement.metrics import trec

    spelled = trec.read(text) if otherwise is None or text in trec.NAMED else None
    if spelled is not None:
        return spelled
    names = _loose() | _folded(extra)
    metric = otherwise or _canonical(text, names.get, folded=True)
    if metric is None:
        # only now: to look through all that is installed takes longer than all the rest
        more = of_plugins()
        names |= _folded(more.by_name.values())
        metric = _canonical(text, names.get, folded=True)
        if metric is None:
            raise more.unknown(_unknown(text, names), "unknown-metric")
    return [(text, metric)]


def of_plugins() -> Added[Metric]:
    """The metrics of plug-ins under names that no built-in one has in any spelling."""
    from rankgate.measurement.metrics.plugins import installed

    more = installed()
    free, problems = {}, list(more.problems)
    for name, metric in more.by_name.items():
        try:
            known([metric])
        except UsageError as error:
            problems.append(f"A plug-in: {error}")
        else:
            free[name] = metric
    return Added(free, tuple(problems))


def _folded(extra: Iterable[Metric]) -> dict[str, Metric]:
    return {_fold(name): metric for name, metric in _exact(extra).items()}


def _canonical(text: str, named: Named, *, folded: bool = False) -> Metric | None:
    """The metric of a text in the canonical grammar; None if nothing has its name."""
    match = _GRAMMAR.fullmatch(text)
    name = match["name"] if match else ""
    metric = named(_fold(name) if folded else name)
    if match is None or metric is None:
        return None
    given = _arguments(match["inside"] or "", text)
    metric = _of_ir_measures(metric, given)
    metric = metric(**_translated(given, metric)) if given else metric
    return metric if match["at"] is None else metric @ _number(match["at"], text)


def _arguments(inside: str, text: str) -> dict[str, object]:
    """The keyword arguments between the parentheses, plain literals all."""
    try:
        call = ast.parse(f"f({inside})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError  # noqa: TRY301 one refusal for all that is not k=v
        given = {str(word.arg or 1 / 0): ast.literal_eval(word.value) for word in call.keywords}
        names = [word.arg for word in call.keywords]
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        raise UsageError(
            f"{text}: what is in parentheses must be parameters, such as (gain='exp',rel=2).",
            code="invalid-parameter",
        ) from None
    if twice := [name for name in given if names.count(name) > 1]:
        raise UsageError(f"{text}: {twice[0]} is given twice.", code="invalid-parameter")
    return given


def _of_ir_measures(metric: Metric, given: dict[str, object]) -> Metric:
    """The metric that a name of ir_measures is with these parameters; takes out what it said."""
    if metric.name == "NumRet" and "rel" in given:
        return built_in("NumRelRet") or metric
    if metric.name in {"SetP", "SetRelP"} and isinstance(given.get("relative"), bool):
        return built_in("SetRelP" if given.pop("relative") else "SetP") or metric
    return metric


def _translated(given: Mapping[str, object], metric: Metric) -> dict[str, object]:
    """Parameters by our names where ir_measures has others."""
    words = dict(given)
    if "dcg" in words:
        form = words.pop("dcg")
        if form != "log2" or "gain" in metric.parameters:  # its only discount has no other form
            words["gain"] = _FORMS.get(str(form), form)
    if isinstance(words.get("normalize"), bool) and metric.name == "Compat":
        words["best"] = "ideal" if words.pop("normalize") else "endless"
    for theirs, ours in (("gains", "gain"), ("max_rel", "max_grade"), ("min_rel", "min_grade")):
        if theirs in words:
            words[ours] = words.pop(theirs)
    if "beta" in words and "beta" not in metric.parameters and "p" in metric.parameters:
        words["p"] = words.pop("beta")  # NRBP of ndeval
    return words


def _number(word: str, text: str) -> float:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    raise UsageError(f"{text}: {word!r} after @ is not a number.", code="invalid-cutoff")


def _of_lists(name: str) -> str | None:
    """What a name names among the metrics on lists, which are not loaded before."""
    from rankgate.measurement.metrics.lists import LIST_METRICS

    words = ((word, each.name) for each in LIST_METRICS for word in (each.name, *each.aliases))
    return next((found for word, found in words if _fold(word) == _fold(name)), None)


def _of_tasks(name: str) -> str | None:
    """The metric on sequences that has a name; None if there is none."""
    from rankgate.measurement.metrics.sequences.catalogue import SEQUENCE_METRICS

    words = ((word, each.name) for each in SEQUENCE_METRICS for word in (each.name, *each.aliases))
    return next((found for word, found in words if _fold(word) == _fold(name)), None)


def _unknown(text: str, names: Names) -> str:
    """The sentence for a name that nobody knows, with the nearest that somebody does."""
    name = (re.match(r"[\w-]*", text) or [""])[0]
    if _fold(name) in names:
        return f"{text!r} cannot be read; metrics are written NAME(parameter=value)@cutoff."
    if (of_lists := _of_lists(name)) is not None:
        return f"{of_lists} is about lists as a whole; `rankgate scorecard` has it."
    if (of_tasks := _of_tasks(name)) is not None:
        return f"{of_tasks} is about whole tasks; `rankgate eval`, `compare` and `gate` have it."
    near = get_close_matches(_fold(name), names, n=3, cutoff=0.7)
    metrics = list(dict.fromkeys(names[word].name for word in near))
    hint = f"did you mean {' or '.join(metrics)}?" if metrics else "see `rankgate metrics`."
    return f"unknown metric {name or text!r}; {hint}"
