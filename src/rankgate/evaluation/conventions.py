"""The named conventions, and what each chooses on every axis."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from rankgate.metrics.catalogue import by_name
from rankgate.scoring import CONVENTIONS, Convention, convention
from rankgate.scoring.axes import axes
from rankgate.scoring.differences import written

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rankgate.metrics.declare import Metric

SCHEMA_VERSION = 1

_EVERY = "*"


@dataclass(frozen=True)
class AxisChoice:
    """What a convention chooses on one axis.

    Attributes:
        axis: its name: ``ties``; ``nDCG.gain`` of a metric's parameter; ``RR@.ties`` where a
            single metric is treated otherwise.
        value: the choice, as words.
        usual: whether it is what a convention chooses that says nothing.
        about: what the axis decides.
    """

    axis: str
    value: str
    usual: bool
    about: str


@dataclass(frozen=True)
class ConventionFacts:
    """One convention in full.

    Attributes:
        name: the tool, or the user's own name.
        title: what it reproduces.
        source: where the choices can be read or were measured.
        defects: what the tool does beside that is not reproduced.
        hash: of the choices.
        choices: every axis.
        parameters: the parameters of metrics that it binds.
        special: what it chooses otherwise for single metrics.
        spellings: the tool's own names of metrics, and what they are here.
    """

    name: str
    title: str
    source: str
    defects: tuple[str, ...]
    hash: str
    choices: tuple[AxisChoice, ...]
    parameters: tuple[AxisChoice, ...]
    special: tuple[AxisChoice, ...]
    spellings: Mapping[str, str]

    @classmethod
    def of(cls, how: Convention) -> ConventionFacts:
        """The facts of a convention."""
        return cls(
            name=how.name,
            title=how.title,
            source=how.source,
            defects=tuple(how.defects),
            hash=how.hash,
            choices=tuple(_choices(how)),
            parameters=tuple(_parameters(how)),
            special=tuple(_special(how)),
            spellings=dict(how.spellings),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}


@dataclass(frozen=True)
class AxisFacts:
    """One axis, and what each convention chooses on it.

    Attributes:
        name: as ``--set`` takes it.
        about: what it decides.
        takes: what it may be.
        default: what it is where a convention says nothing.
        each: whether it can be set for single metrics.
        chosen: the names of the conventions by choice.
    """

    name: str
    about: str
    takes: str
    default: str
    each: bool
    chosen: Mapping[str, tuple[str, ...]]

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return asdict(self)


def conventions() -> tuple[ConventionFacts, ...]:
    """Every named convention."""
    return tuple(map(ConventionFacts.of, CONVENTIONS.values()))


def convention_facts(name: str | Convention) -> ConventionFacts:
    """One convention, by its name or from the TOML file of that name.

    Raises:
        UsageError: an unknown name; the nearest is in the message.
        InputError: a file that does not say a convention.
    """
    return ConventionFacts.of(convention(name))


def axis_facts() -> tuple[AxisFacts, ...]:
    """Every axis, then every parameter of a metric on which the conventions differ."""
    hows = list(CONVENTIONS.values())
    plain = [
        AxisFacts(
            name=axis.name,
            about=axis.help,
            takes=axis.takes,
            default=written(axis.default),
            each=axis.each,
            chosen=_sorted((how.name, written(getattr(how, axis.name))) for how in hows),
        )
        for axis in axes().values()
    ]
    return (*plain, *_parameter_facts(hows))


def _choices(how: Convention) -> list[AxisChoice]:
    return [
        AxisChoice(
            axis.name,
            written(getattr(how, axis.name)),
            written(getattr(how, axis.name)) == written(axis.default),
            axis.help,
        )
        for axis in axes().values()
    ]


def _parameters(how: Convention) -> list[AxisChoice]:
    found = []
    for name, bound in how.parameters.items():
        metric = by_name.get(name)
        for key, value in bound.items():
            usual = metric is not None and written(_default(metric, key)) == written(value)
            label = key if name == _EVERY else f"{name}.{key}"
            about = "every metric that has it" if name == _EVERY else ""
            found.append(AxisChoice(label, written(value), usual, about))
    return found


def _special(how: Convention) -> list[AxisChoice]:
    found = []
    for name, chosen in how.special.items():
        for key, value in chosen.items():
            axis = axes().get(key)
            about = axis.help if axis else ""
            if isinstance(value, dict) and not axis:
                value = {k: v for each in value.values() for k, v in each.items()}  # noqa: PLW2901
            found.append(AxisChoice(f"{name}.{key}", written(value), usual=False, about=about))
    return found


def _parameter_facts(hows: list[Convention]) -> list[AxisFacts]:
    """Parameters that some convention binds: for all metrics at once, or for one."""
    every = {key for how in hows for key in how.parameters.get(_EVERY, {})}
    found = []
    for key in sorted(every):
        metric = next(each for each in by_name.values() if key in each.parameters)
        values = [(how.name, _bound(how, _EVERY, metric, key)) for how in hows]
        about = f"a parameter of every metric that has it, such as {metric.name}"
        found.append(_parameter_fact(key, about, metric, values))
    for metric in by_name.values():
        about = f"a parameter of {metric.name}; `rankgate metrics {metric.name}` has the formula"
        for key in metric.parameters:
            if any(key in how.parameters.get(metric.name, {}) for how in hows):
                values = [(how.name, _bound(how, metric.name, metric, key)) for how in hows]
                found.append(_parameter_fact(f"{metric.name}.{key}", about, metric, values))
    return found


def _parameter_fact(
    name: str, about: str, metric: Metric, values: list[tuple[str, str]]
) -> AxisFacts:
    declared = metric.parameters[name.rpartition(".")[2]]
    words = {"int": "a whole number", "float": "a number", "bool": "true or false"}
    return AxisFacts(
        name=name,
        about=about,
        takes=" or ".join(declared.choices) or words.get(declared.kind, "a value"),
        default="required" if declared.required else written(declared.default),
        each=True,
        chosen=_sorted(values),
    )


def _bound(how: Convention, name: str, metric: Metric, key: str) -> str:
    """What a convention binds for one metric, else for every metric, else the default."""
    every = how.parameters.get(_EVERY, {})
    bound = {**every, **how.parameters.get(name, {})}
    return written(bound.get(key, _default(metric, key)))


def _default(metric: Metric, key: str) -> object:
    declared = metric.parameters.get(key)
    return declared.default if declared else None


def _sorted(values: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Names by value, the most usual value first."""
    found: dict[str, list[str]] = {}
    for name, value in values:
        found.setdefault(value, []).append(name)
    return {value: tuple(found[value]) for value in sorted(found, key=lambda v: -len(found[v]))}
