"""The named conventions, the details of one, and the choices on each axis."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.document_model import PlainRows
from rankgate.core.present.layout import FactList, Lines, View, plain_rows
from rankgate.measurement.metrics.metric_catalogue import by_name
from rankgate.measurement.scoring import CONVENTIONS, Convention, convention
from rankgate.measurement.scoring.convention import axes as convention_axes
from rankgate.measurement.scoring.convention import axes as declared_axes
from rankgate.measurement.scoring.convention_overrides import value_text
from rankgate.measurement.scoring.presets import of_plugins

if TYPE_CHECKING:
    import polars as pl

    from rankgate.measurement.metrics.metric_declaration import Metric


EVERY_METRIC = "*"
"""Stands for every metric among the parameters that a convention binds."""


@dataclass(frozen=True)
class AxisChoice:
    """The choice of a convention on one axis.

    Attributes:
        axis: its name: ``ties``; ``nDCG.gain`` of a metric's parameter; ``RR@.ties`` where a
            single metric is treated otherwise.
        value: the choice, as words.
        usual: True if it is the default of conventions.
        about: the decision that the axis stands for.
    """

    axis: str
    value: str
    usual: bool
    about: str


@dataclass(frozen=True)
class ConventionDetails(Result):
    """One convention in full.

    Attributes:
        name: the tool, or the user's own name.
        title: the tool or rule that it reproduces.
        source: the source or measurement of its choices.
        versions: versions of the tool that the choices were checked against; empty where there is
            no tool.
        defects: the behaviour of the tool that is not reproduced.
        hash: the hash of the choices.
        choices: every axis.
        parameters: the parameters of metrics that it binds.
        special: its different choices for single metrics.
        spellings: the tool's own names of metrics, and what they are here.
    """

    kind = "convention"
    headline_text = "{name} ({hash})"
    lead = ("{title}",)
    main_table = "table"
    layout = (
        FactList((("source", "{source}"), ("checked against", "{versions}"), ("defects", Lines("defects")))),
        View("axis_table", "axes", prose=True),
        View("parameter_table", "parameters of metrics", prose=True),
        View("special_table", "single metrics", prose=True),
        View("spelling_table", "its own names of metrics", prose=True),
        "* other than the default",
    )
    notice_texts = (NoticeText("not-reproduced", "{row}", source="defects", subject="{name}"),)

    name: str
    title: str
    source: str
    versions: str
    defects: tuple[str, ...]
    hash: str
    choices: tuple[AxisChoice, ...]
    parameters: tuple[AxisChoice, ...]
    special: tuple[AxisChoice, ...]
    spellings: Mapping[str, str]

    @classmethod
    def from_convention(cls, how: Convention) -> ConventionDetails:
        """The facts of a convention."""
        return cls(
            name=how.name,
            title=how.title,
            source=how.source,
            versions=how.versions,
            defects=tuple(how.defects),
            hash=how.hash,
            choices=tuple(_choices(how)),
            parameters=tuple(_parameters(how)),
            special=tuple(_special(how)),
            spellings=dict(how.spellings),
        )

    @property
    def axis_table(self) -> pl.DataFrame:
        """The choice on every axis."""
        return _choice_table(self.choices, "axis")

    @property
    def parameter_table(self) -> pl.DataFrame:
        """The parameters of metrics that it binds."""
        return _choice_table(self.parameters, "parameter")

    @property
    def special_table(self) -> pl.DataFrame:
        """Its different choices for single metrics."""
        return _choice_table(self.special, "for a single metric")

    @property
    def spelling_table(self) -> pl.DataFrame:
        """The tool's own names of metrics."""
        return _text_table(list(self.spellings.items()), "its own name", "here")

    @property
    def table(self) -> pl.DataFrame:
        """Every choice: ``axis``, ``value``, ``usual``, ``about``."""
        import polars as pl

        all_choices = (*self.choices, *self.parameters, *self.special)
        return pl.DataFrame([vars(choice) for choice in all_choices])

    def csv_rows(self) -> PlainRows:
        """Every choice, as texts."""
        return _text_rows(self.table)


def _text_table(rows: Sequence[tuple[str, ...]], *names: str) -> pl.DataFrame:
    """Rows of texts as a frame."""
    import polars as pl

    return pl.DataFrame(rows, dict.fromkeys(names, pl.String), orient="row")


def _choice_table(choices: Iterable[AxisChoice], header: str) -> pl.DataFrame:
    rows = [
        (f"{choice.axis}{'' if choice.usual else ' *'}", choice.value, choice.about) for choice in choices
    ]
    return _text_table(rows, header, "choice", "what it decides")


def _text_rows(table: pl.DataFrame) -> PlainRows:
    import polars as pl

    return plain_rows(table.cast(pl.String))


def convention_details(name: str | Convention) -> ConventionDetails:
    """One convention, by its name or from the TOML file of that name.

    Raises:
        UsageError: the name is unknown; the message has the nearest name.
        InputError: the file does not define a convention.
    """
    return ConventionDetails.from_convention(convention(name))


def _choices(how: Convention) -> list[AxisChoice]:
    return [
        AxisChoice(
            axis.name,
            value_text(getattr(how, axis.name)),
            value_text(getattr(how, axis.name)) == value_text(axis.default),
            axis.help,
        )
        for axis in convention_axes().values()
    ]


def _parameters(how: Convention) -> list[AxisChoice]:
    choices = []
    for name, bound in how.parameters.items():
        metric = by_name.get(name)
        for key, value in bound.items():
            usual = metric is not None and value_text(default_value(metric, key)) == value_text(value)
            label = key if name == EVERY_METRIC else f"{name}.{key}"
            description = "every metric that has it" if name == EVERY_METRIC else ""
            choices.append(AxisChoice(label, value_text(value), usual, description))
    return choices


def _special(how: Convention) -> list[AxisChoice]:
    choices = []
    for name, axis_values in how.special.items():
        for key, value in axis_values.items():
            axis = convention_axes().get(key)
            description = axis.help if axis else ""
            if isinstance(value, dict) and not axis:
                value = {k: v for table in value.values() for k, v in table.items()}  # noqa: PLW2901
            choices.append(AxisChoice(f"{name}.{key}", value_text(value), usual=False, about=description))
    return choices


def default_value(metric: Metric, key: str) -> object:
    """The default of a metric's parameter."""
    declared = metric.parameters.get(key)
    return declared.default if declared else None


@dataclass(frozen=True)
class Conventions(Result):
    """Every named convention; one of them by its name.

    Attributes:
        conventions: the details of each.
    """

    kind = "conventions"
    headline_text = "{conventions:n convention}"
    main_table = "table"
    layout = (
        View(
            cells=("name", "title"), headers={"name": "convention", "title": "what it reproduces"}, prose=True
        ),
    )

    conventions: tuple[ConventionDetails, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """Their names, in the order of the list."""
        return tuple(details.name for details in self.conventions)

    def __len__(self) -> int:
        """The number of conventions."""
        return len(self.conventions)

    def __iter__(self) -> Iterator[Convention]:
        """Each convention as a value that ``evaluate`` takes."""
        return map(convention, self.names)

    def __getitem__(self, name: str) -> Convention:
        """Return a convention by its name.

        Raises:
            UsageError: the name is unknown; the message has the nearest name.
        """
        return convention(name)

    @property
    def table(self) -> pl.DataFrame:
        """One row per convention: ``name``, ``title``, ``source``, ``hash``."""
        import polars as pl

        rows = [(details.name, details.title, details.source, details.hash) for details in self.conventions]
        return pl.DataFrame(rows, ["name", "title", "source", "hash"], orient="row")


def conventions() -> Conventions:
    """Every named convention, those of plug-ins at the end.

    >>> every = conventions()
    >>> every.names[:2], every["trec"].ties
    (('trec', 'trec9'), 'doc_id_desc')
    """
    all_conventions = (*CONVENTIONS.values(), *of_plugins().by_name.values())
    return Conventions(tuple(map(ConventionDetails.from_convention, all_conventions)))


@dataclass(frozen=True)
class AxisDetails:
    """One axis, with the choice of each convention.

    Attributes:
        name: as ``--override`` takes it.
        about: the decision that it makes.
        takes: its possible values.
        default: its value in a convention that does not set it.
        each: True if it can be set for single metrics.
        chosen: the names of the conventions by choice.
    """

    name: str
    about: str
    takes: str
    default: str
    each: bool
    chosen: Mapping[str, tuple[str, ...]]

    @property
    def summary(self) -> str:
        """Its meaning, its values and its default."""
        default = self.default if self.default == "required" else f"{self.default} by default"
        scope = "for all metrics or for one" if self.each and "." not in self.name else ""
        return "; ".join(text for text in (self.about.rstrip("."), self.takes, default, scope) if text)

    @property
    def names_by_choice(self) -> Mapping[str, str]:
        """The conventions by choice; if most have the first choice, it is shown for "all others"."""
        first, *other_choices = self.chosen
        if not other_choices:
            return {first: "all"}
        values = {value: ", ".join(names) for value, names in self.chosen.items()}
        half = sum(map(len, self.chosen.values())) // 2
        return values | ({first: "all others"} if len(self.chosen[first]) > half else {})


@dataclass(frozen=True)
class Axes(Result):
    """Every axis, then every parameter of a metric on which the conventions differ.

    Attributes:
        axes: the details of each.
    """

    kind = "axes"
    headline_text = "{axes:n axis/axes} of conventions"
    main_table = "table"
    layout = (
        View(
            "summaries",
            "{axis}",
            ("choice", "conventions"),
            headers={"choice": " ", "conventions": " "},
            table_key="axis",
            prose=True,
        ),
    )

    axes: tuple[AxisDetails, ...]

    def __len__(self) -> int:
        """The number of axes."""
        return len(self.axes)

    @property
    def summaries(self) -> pl.DataFrame:
        """A row for each choice: the axis with its meaning, the choice, the conventions as a text."""
        rows = [
            (f"{axis.name}: {axis.summary}", choice, names)
            for axis in self.axes
            for choice, names in axis.names_by_choice.items()
        ]
        return _text_table(rows, "axis", "choice", "conventions")

    def csv_rows(self) -> PlainRows:
        """A row for each choice, with the conventions as a text."""
        rows = [(axis, choice, ", ".join(names)) for axis, choice, names in self.table.rows()]
        return PlainRows(tuple(self.table.columns), rows)

    @property
    def table(self) -> pl.DataFrame:
        """A row for each choice: ``axis``, ``choice``, ``conventions``."""
        import polars as pl

        rows = [
            (axis.name, choice, list(names)) for axis in self.axes for choice, names in axis.chosen.items()
        ]
        return pl.DataFrame(rows, ["axis", "choice", "conventions"], orient="row")


def axes() -> Axes:
    """Every axis, then every parameter of a metric on which the conventions differ."""
    named_conventions = list(CONVENTIONS.values())
    plain = [
        AxisDetails(
            name=axis.name,
            about=axis.help,
            takes=axis.takes,
            default=value_text(axis.default),
            each=axis.each,
            chosen=_group_by_value(
                (convention.name, value_text(getattr(convention, axis.name)))
                for convention in named_conventions
            ),
        )
        for axis in declared_axes().values()
    ]
    return Axes((*plain, *_parameter_axes(named_conventions)))


def _parameter_axes(conventions: list[Convention]) -> list[AxisDetails]:
    """Parameters that at least one convention sets, for all metrics or for a single metric."""
    shared_keys = {
        key for used_convention in conventions for key in used_convention.parameters.get(EVERY_METRIC, {})
    }
    details = []
    for key in sorted(shared_keys):
        metric = next(candidate for candidate in by_name.values() if key in candidate.parameters)
        values = [
            (used_convention.name, _bound_value(used_convention, EVERY_METRIC, metric, key))
            for used_convention in conventions
        ]
        description = f"a parameter of every metric that has it, such as {metric.name}"
        details.append(_parameter_axis(key, description, metric, values))
    for metric in by_name.values():
        description = f"a parameter of {metric.name}; `rankgate metrics {metric.name}` has the formula"
        for key in metric.parameters:
            if any(key in used_convention.parameters.get(metric.name, {}) for used_convention in conventions):
                values = [
                    (used_convention.name, _bound_value(used_convention, metric.name, metric, key))
                    for used_convention in conventions
                ]
                details.append(_parameter_axis(f"{metric.name}.{key}", description, metric, values))
    return details


def _parameter_axis(
    name: str, description: str, metric: Metric, values: list[tuple[str, str]]
) -> AxisDetails:
    declared = metric.parameters[name.rpartition(".")[2]]
    kind_names = {"int": "a whole number", "float": "a number", "bool": "true or false"}
    return AxisDetails(
        name=name,
        about=description,
        takes=" or ".join(declared.choices) or kind_names.get(declared.kind, "a value"),
        default="required" if declared.required else value_text(declared.default),
        each=True,
        chosen=_group_by_value(values),
    )


def _bound_value(how: Convention, name: str, metric: Metric, key: str) -> str:
    """The value that a convention sets for one metric, else for all metrics, else the default."""
    shared_parameters = how.parameters.get(EVERY_METRIC, {})
    bound = {**shared_parameters, **how.parameters.get(name, {})}
    return value_text(bound.get(key, default_value(metric, key)))


def _group_by_value(values: Iterable[tuple[str, str]]) -> dict[str, tuple[str, ...]]:
    """Group names by value, the most frequent value first."""
    names_by_value: dict[str, list[str]] = {}
    for name, value in values:
        names_by_value.setdefault(value, []).append(name)
    return {
        value: tuple(names_by_value[value])
        for value in sorted(names_by_value, key=lambda v: -len(names_by_value[v]))
    }
