"""Options of metrics and conventions, which commands, requests and assistants' tools share."""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console.declared_options import option
from rankgate.core.console.option_types import CONVENTION, METRIC, RenamedOption
from rankgate.core.declare import Parameter, declared_parameter
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.presets import chosen_convention

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command, Decorator

_SHARED = {
    shared.name: shared
    for shared in (
        Parameter("metrics", "texts", "A metric such as nDCG@10, AP(rel=2) or P.5,10", repeatable=True),
        Parameter("metric", "text", "The metric, such as nDCG@10.", required=True),
        Parameter("convention", "text", "Compute metrics as this tool does, such as trec9", "trec"),
    )
}
"""Options that all verbs share; in Python metrics and conventions may be objects, too."""

_OWN_CONVENTION = replace(
    _SHARED["convention"], help=f"{_SHARED['convention'].help}, or by your own FILE.toml"
)


def verb_parameter(verb: Command, name: str, *, reads_files: bool = True) -> Parameter:
    """The parameter of a verb in the form of user input; verbs share the parameters declared here.

    Args:
        verb: the function.
        name: the name of the parameter.
        reads_files: True if a convention may be given as a file.
    """
    declared = declared_parameter(verb, name)
    if name not in _SHARED:
        return declared
    shared = _OWN_CONVENTION if name == "convention" and reads_files else _SHARED[name]
    return replace(shared, default=declared.default, required=declared.required)


def metrics_option(
    help_text: str, default: tuple[str, ...] = (), *, shown: bool = False, kind: Any = METRIC
) -> Decorator:
    """``-m``, which may be given several times, with the command's own help."""
    return click.option(
        "-m",
        "--metric",
        "metrics",
        multiple=True,
        metavar="METRIC",
        default=default,
        show_default=shown,
        type=kind,
        help=help_text,
    )


metrics = metrics_option(
    f"{_SHARED['metrics'].help}; may be given several times. Without it: {', '.join(DEFAULT_METRICS)}.",
    DEFAULT_METRICS,
)
metric = option(_SHARED["metric"], "-m", metavar="METRIC")
override = click.option(
    "--override",
    "overrides",
    cls=RenamedOption,
    multiple=True,
    metavar="AXIS=VALUE",
    help="Change one axis of the convention, such as ties=doc_id_asc, nDCG.gain=exp or "
    "RR.without_relevant=none; may be given several times (see rankgate conventions axes).",
)


_METRICS_FILE = Parameter(
    "metrics_from",
    "path",
    "Load metrics that FILE.py declares with @rankgate.metric. This runs the file: name only one that you "
    "trust.",
)


def metrics_from(function: Command) -> Command:
    """``--metrics-from``: metrics of this file can be named while the command runs."""

    @functools.wraps(function)
    def with_metrics(*args: Any, metrics_from: str | None, **options: Any) -> object:
        if metrics_from is not None:
            from rankgate.core.declare.registries import using
            from rankgate.measurement.metrics.custom import from_file
            from rankgate.measurement.metrics.metric_name_parser import check_new_names as refuse_taken_names

            metrics = from_file(metrics_from)
            refuse_taken_names(metrics)
            click.get_current_context().with_resource(using(*metrics))
        return function(*args, **options)

    return option(_METRICS_FILE, metavar="FILE.py")(with_metrics)


def convention(function: Command) -> Command:
    """``--convention`` and ``--override``; the command gets the resulting convention."""

    @functools.wraps(function)
    def with_convention(*args: Any, convention: str, overrides: tuple[str, ...], **options: Any) -> object:
        used_convention = chosen_convention(convention, overrides)
        return function(*args, convention=used_convention, **options)

    declared = replace(_OWN_CONVENTION, help=f"{_OWN_CONVENTION.help}.")
    return option(declared, metavar="NAME", kind=CONVENTION)(override(with_convention))
