"""Write and read the names of metrics: ``parse(str(metric)) == metric``.

The canonical grammar is ``NAME[(k=v,…)][@n]``, as in ``nDCG(gain='exp')@10``.
These are also read: trec_eval's spellings, different spellings of ir_measures, the common names
that are declared as aliases, in upper or lower case, and ``_at_10`` for ``@10``. Installed packages
are searched for other names.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import TYPE_CHECKING

from rankgate.core.declare import PluginObjects
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.built_in import MODULE_OF_METRIC, find_built_in

if TYPE_CHECKING:
    from rankgate.measurement.metrics.metric_declaration import Metric

    Named = Callable[[str], Metric | None]
    Names = Mapping[str, Metric]


DEFAULT_METRICS = ("nDCG@10", "AP", "RR", "R@100", "P@10")
"""The metrics when none is named."""

DEFAULT_METRIC = DEFAULT_METRICS[0]
"""The metric where one is needed and none is named."""

_GRAMMAR = re.compile(r"(?P<name>\w[\w-]*)\s*(?:\((?P<inside>.*)\))?\s*(?:@\s*(?P<at>[^@()\s]+))?", re.DOTALL)
_AT = re.compile(r"[_-]at[_-](?=\d+$)")
_FORMS = {"log2": "linear", "exp-log2": "exp"}
"""The values of ``dcg`` in ir_measures, as gains."""


def _fold(name: str) -> str:
    """A name without case, hyphens and underscores."""
    return name.casefold().replace("-", "").replace("_", "")


@cache
def _metrics_by_folded_name() -> dict[str, Metric]:
    """Every built-in metric by its folded names, including those of trec_eval."""
    from rankgate.measurement.metrics import metric_catalogue

    exact = ((name, metric) for name in MODULE_OF_METRIC if (metric := find_built_in(name)))
    # trec_eval's names come first, so that an equal canonical name replaces them
    return {_fold(name): metric for name, metric in (*metric_catalogue.METRICS_BY_TREC_NAME.items(), *exact)}


def is_built_in(text: str) -> bool:
    """True for a name of a built-in metric as in its declaration, with parameters or a cutoff."""
    match = _GRAMMAR.fullmatch(text.strip())
    return match is not None and match["name"] in MODULE_OF_METRIC


def parse(text: str, extra: Sequence[Metric] = ()) -> Metric:
    """The one metric that a name names.

    Args:
        text: the name.
        extra: additional metrics that are known.

    Raises:
        UsageError: an unknown name, a parameter that does not fit, or several metrics.
    """
    text = str(text).strip()
    exact = _canonical(text, _by_exact_name(extra))
    if exact:
        return exact
    metrics = _find_metrics(text, extra)
    if len(metrics) > 1:
        message = f"{text!r} names {len(metrics)} metrics; name one, such as {metrics[0][0]}."
        raise UsageError(message, code="several-metrics")
    return metrics[0][1]


def parse_all(text: str, extra: Sequence[Metric] = ()) -> list[tuple[str, Metric]]:
    """The metrics with a name, each with its label in the form of user input.

    Canonical names keep their text as the label; ``P.5,10`` gives ``P.5`` and
    ``P.10``; a bare family of trec_eval, such as ``P``, gives its usual cutoffs.

    Args:
        text: the name.
        extra: additional metrics that can be named.

    Raises:
        UsageError: the name is unknown, a parameter does not fit, or a cutoff is missing.
    """
    text = str(text).strip()
    exact = _canonical(text, _by_exact_name(extra))
    metrics = [(text, exact)] if exact and not exact.missing else _find_metrics(text, extra, exact)
    for _, metric in metrics:
        if metric.missing:
            raise UsageError(metric.incomplete(), code="incomplete-metric")
    return metrics


def name_of_measure(metric: object) -> object:
    """The name of an ir_measures measure or of its replacement here; other values unchanged."""
    measures = {"ir_measures", "rankgate"}
    is_measure = any(
        base.__name__ == "Measure" and base.__module__.partition(".")[0] in measures
        for base in type(metric).__mro__
    )
    return str(metric) if is_measure else metric


def check_new_names(extra: Iterable[Metric]) -> None:
    """Check that other metrics do not use names of built-in metrics.

    Raises:
        UsageError: a metric has the name of a built-in metric.
    """
    for metric in extra:
        taken_names = [
            name for name in (metric.name, *metric.aliases) if _fold(name) in _metrics_by_folded_name()
        ]
        if taken_names:
            built_in_name = _metrics_by_folded_name()[_fold(taken_names[0])].name
            raise UsageError(
                f"{taken_names[0]} is already a name of {built_in_name}; choose another name.",
                code="metric-name-taken",
            )


def _by_exact_name(extra: Sequence[Metric]) -> Named:
    """The metric with a declared name: an additional metric or a built-in one."""
    additional = _metrics_by_name(extra)
    return lambda name: additional.get(name) or find_built_in(name)


def _metrics_by_name(extra: Iterable[Metric]) -> dict[str, Metric]:
    extra = tuple(extra)
    check_new_names(extra)
    return {name: metric for metric in extra for name in (metric.name, *metric.aliases)}


def _find_metrics(
    text: str, extra: Sequence[Metric], otherwise: Metric | None = None
) -> list[tuple[str, Metric]]:
    """Find metrics by trec_eval's spelling, in any case, or in plug-ins; else raise an error."""
    from rankgate.measurement.metrics import metric_catalogue

    may_be_trec = text in metric_catalogue.METRICS_BY_TREC_NAME or (
        otherwise is None and not _AT.search(text)
    )
    trec_metrics = metric_catalogue.parse_trec_name(text) if may_be_trec else None
    if trec_metrics is not None:
        return trec_metrics
    names = _metrics_by_folded_name() | _metrics_by_folded(extra)
    metric = otherwise or _canonical(text, names.get, folded=True)
    if metric is None:
        # done last, because a search of all installed packages takes longer than everything else
        plugins = of_plugins()
        names |= _metrics_by_folded(plugins.by_name.values())
        metric = _canonical(text, names.get, folded=True)
        if metric is None:
            raise plugins.unknown(_unknown_message(text, names), "unknown-metric")
    return [(text, metric)]


def of_plugins() -> PluginObjects[Metric]:
    """The metrics of plug-ins whose names differ from all spellings of built-in metrics."""
    from rankgate.measurement.metrics.custom import load_plugin_metrics

    plugins = load_plugin_metrics()
    accepted, problems = {}, list(plugins.problems)
    for name, metric in plugins.by_name.items():
        try:
            check_new_names([metric])
        except UsageError as error:
            problems.append(f"A plug-in: {error}")
        else:
            accepted[name] = metric
    return PluginObjects(accepted, tuple(problems))


def _metrics_by_folded(extra: Iterable[Metric]) -> dict[str, Metric]:
    return {_fold(name): metric for name, metric in _metrics_by_name(extra).items()}


def _canonical(text: str, find_metric: Named, *, folded: bool = False) -> Metric | None:
    """The metric for a text in the canonical grammar; None if the name is unknown."""
    match = _GRAMMAR.fullmatch(_AT.sub("@", text))
    name = match["name"] if match else ""
    metric = find_metric(_fold(name) if folded else name)
    if match is None or metric is None:
        return None
    arguments = _arguments(match["inside"] or "", text)
    metric = _of_ir_measures(metric, arguments)
    metric = metric(**_translate_arguments(arguments, metric)) if arguments else metric
    return metric if match["at"] is None else metric @ _number(match["at"], text)


def _arguments(arguments_text: str, text: str) -> dict[str, object]:
    """The keyword arguments in parentheses; all values must be literals."""
    try:
        call = ast.parse(f"f({arguments_text})", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError  # noqa: TRY301 one refusal for all that is not k=v
        arguments = {str(word.arg or 1 / 0): ast.literal_eval(word.value) for word in call.keywords}
        names = [word.arg for word in call.keywords]
    except (SyntaxError, ValueError, TypeError, ArithmeticError, RecursionError, MemoryError):
        raise UsageError(
            f"{text}: the text in parentheses must be parameters, such as (gain='exp',rel=2).",
            code="invalid-parameter",
        ) from None
    if repeated := [name for name in arguments if names.count(name) > 1]:
        raise UsageError(f"{text}: {repeated[0]} is given twice.", code="invalid-parameter")
    return arguments


def _of_ir_measures(metric: Metric, arguments: dict[str, object]) -> Metric:
    """The metric for a name and arguments of ir_measures; removes the arguments that it used."""
    if metric.name == "NumRet" and "rel" in arguments:
        return find_built_in("NumRelRet") or metric
    if metric.name in {"SetP", "SetRelP"} and isinstance(arguments.get("relative"), bool):
        return find_built_in("SetRelP" if arguments.pop("relative") else "SetP") or metric
    return metric


def _translate_arguments(arguments: Mapping[str, object], metric: Metric) -> dict[str, object]:
    """Rename parameters of ir_measures to those of rankgate."""
    parameters = dict(arguments)
    if "dcg" in parameters:
        form = parameters.pop("dcg")
        if form != "log2" or "gain" in metric.parameters:  # its only discount has no other form
            parameters["gain"] = _FORMS.get(str(form), form)
    if isinstance(parameters.get("normalize"), bool) and metric.name == "Compat":
        parameters["best"] = "ideal" if parameters.pop("normalize") else "endless"
    for foreign_name, own_name in (("gains", "gain"), ("max_rel", "max_grade"), ("min_rel", "min_grade")):
        if foreign_name in parameters:
            parameters[own_name] = parameters.pop(foreign_name)
    if "beta" in parameters and "beta" not in metric.parameters and "p" in metric.parameters:
        parameters["p"] = parameters.pop("beta")  # NRBP of ndeval
    return parameters


def _number(word: str, text: str) -> float:
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    raise UsageError(f"{text}: {word!r} after @ is not a number.", code="invalid-cutoff")


def _list_metric_name(name: str) -> str | None:
    """The metric on lists with a name, or None. Loads these metrics."""
    from rankgate.measurement.metrics.lists import LIST_METRICS

    names = ((word, metric.name) for metric in LIST_METRICS for word in (metric.name, *metric.aliases))
    return next((metric_name for word, metric_name in names if _fold(word) == _fold(name)), None)


def _sequence_metric_name(name: str) -> str | None:
    """The metric on sequences with a name, or None."""
    from rankgate.measurement.metrics.sequences.sequence_catalogue import SEQUENCE_METRICS

    names = ((word, metric.name) for metric in SEQUENCE_METRICS for word in (metric.name, *metric.aliases))
    return next((metric_name for word, metric_name in names if _fold(word) == _fold(name)), None)


def _unknown_message(text: str, names: Names) -> str:
    """The message for an unknown name, with the nearest known names."""
    name = (re.match(r"[\w-]*", text) or [""])[0]
    if _fold(name) in names:
        return f"{text!r} cannot be read; metrics are written NAME(parameter=value)@cutoff."
    if (of_lists := _list_metric_name(name)) is not None:
        return f"{of_lists} is about lists as a whole; `rankgate scorecard` has it."
    if (of_tasks := _sequence_metric_name(name)) is not None:
        return f"{of_tasks} is about whole tasks; `rankgate eval`, `compare` and `gate` have it."
    matches = get_close_matches(_fold(name), names, n=3, cutoff=0.7)
    metrics = list(dict.fromkeys(names[word].name for word in matches))
    hint = f"did you mean {' or '.join(metrics)}?" if metrics else "see `rankgate metrics`."
    return f"unknown metric {name or text!r}; {hint}"
