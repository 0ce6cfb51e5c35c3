"""A convention: all choices on which tools differ, as a value with named axes.

A convention applies in only three places: the order of rankings (``align``), the defaults of a
metric's parameters, and the mean of values. Kernels do not use it.

After it come the axes of a convention: their meanings, types and permitted values. They are read
from the declaration of ``Convention`` itself, which is their only source.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
import types
from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_type_hints

from rankgate.core.declare import Parameter, Range
from rankgate.core.declare.parameter import make_parameter, parse_docstring_section
from rankgate.core.frozen import dataclass
from rankgate.core.present.lazy_names import load_upper

if TYPE_CHECKING:
    from rankgate.data.run import Duplicates
    from rankgate.measurement.metrics.metric_declaration import Metric


Ties = Literal["doc_id_desc", "doc_id_asc", "file_order"]
Precision = Literal["float64", "float32"]
OwnId = Literal["kept", "dropped"]
Missing = Literal["zero", "leave_out", "error"]
Unknown = Literal["ignore", "zero", "error"]
Unrated = Literal["counted", "left_out"]
Empty = Literal["without_relevant", "nothing_retrieved", "nothing_judged"]


@dataclass(frozen=True)
class Alignment:
    """The rules that form a ranking from rows: the part of a convention before any metric.

    Attributes:
        order: documents are sorted by falling score, or as they are in the file. Matrices, frames
            and dictionaries of scores have no such order: their documents are always sorted by
            falling score, and by their rows where scores are equal.
        ties: the order of documents with equal scores; ids compare by their bytes.
        precision: scores are compared in this type, so that near scores may be equal.
        above: a document counts as retrieved only with a score above this; None is any score.
        absent: a document with exactly this score does not count as retrieved, as in a sparse
            matrix one with 0; None: no such score.
        own_id: a document whose id is that of its query is ``kept``, or ``dropped`` as if it were
            not retrieved, where queries are documents of the collection themselves.
        depth: documents of a ranking that count; None is all.
        judged_only: documents without a grade of 0 or more are taken out before ranks are given.
    """

    order: Literal["score", "file"] = "score"
    ties: Ties = "doc_id_desc"
    precision: Precision = "float64"
    above: float | None = None
    absent: float | None = None
    own_id: OwnId = "kept"
    depth: int | None = None
    judged_only: bool = False

    @property
    def tie_order(self) -> Ties:
        """The order of equal scores; in file order only rows without an order can be tied."""
        return "file_order" if self.order == "file" else self.ties


@dataclass(frozen=True)
class Convention:
    """The rules by which a tool turns judgments and a ranking into a number.

    Attributes:
        name: the tool, or the user's own name.
        title: the tool or rule that it reproduces.
        source: the source or measurement of its choices.
        versions: versions of the tool that the choices were checked against; empty where there is
            no tool.
        defects: the behaviour of the tool that is not reproduced: crashes, lost state, orders that
            change from call to call.
        order, ties, precision, above, absent, own_id, depth, judged_only: as in ``Alignment``.
        duplicates: a document ranked twice for one query is an error, or the first or the last
            row counts, or each does, or the first counts and the others only hold their
            ``place``.
        missing: a judged query that the run lacks counts as an empty ranking, not at all, or is
            an error.
        unknown: a query of the run without judgments is ignored, counts 0, or is an error.
        unrated: a query of the judgments of which no document is rated is ``counted`` as the
            next choices say, or ``left_out`` unless all are so, as a tool does whose files cannot
            name such a query.
        no_relevant: a query without a relevant document is scored as the next choices say, or
            is an error.
        without_relevant: the value where a metric is undefined for lack of relevant documents;
            None leaves the query out of the mean.
        nothing_retrieved: the value of metrics that are undefined for an empty ranking.
        nothing_judged: the value of metrics that are undefined as nothing that counts is judged.
        forced: values that replace the metric's own, by kind of empty, the first that fits:
            ``nothing`` (no judgments and nothing retrieved), ``no_judgments``,
            ``without_relevant``, ``nothing_retrieved``, ``nothing_judged`` (within the cutoff),
            ``no_hit`` (nothing relevant retrieved at any rank), ``zero`` (the value is 0);
            None makes the value undefined, for that reason and not for lack of relevant
            documents.
        no_hits: the mean where no query has a relevant document within the cutoff; None is the
            mean of their values.
        digits: decimals that each value is rounded to before the mean; None keeps all.
        rounding: to the ``nearest``, halves up, to the nearest, halves to the ``even`` digit as
            NumPy has it, or ``down``.
        parameters: defaults of kernel parameters by metric; ``*`` is for every metric that has
            them.
        special: other choices for single metrics, by name; ``RR@`` is RR with a cutoff and
            ``nDCG(gain='exp')`` is nDCG with that parameter. A metric may leave missing queries
            out of its mean where the convention counts them as empty.
        spellings: the tool's own names: a pattern such as ``ndcg@{k}`` and what it is here.
    """

    name: str
    title: str = ""
    source: str = ""
    versions: str = ""
    defects: tuple[str, ...] = ()
    order: Literal["score", "file"] = "score"
    ties: Ties = "doc_id_desc"
    precision: Precision = "float64"
    above: float | None = None
    absent: float | None = None
    own_id: OwnId = "kept"
    depth: int | None = None
    judged_only: bool = False
    duplicates: Duplicates = "error"
    missing: Missing = "zero"
    unknown: Unknown = "ignore"
    unrated: Unrated = "counted"
    no_relevant: Literal["scored", "error"] = "scored"
    without_relevant: float | None = 0.0
    nothing_retrieved: float | None = 0.0
    nothing_judged: float | None = 0.0
    forced: Mapping[str, float | None] = field(default_factory=dict)
    no_hits: float | None = None
    digits: int | None = None
    rounding: Literal["nearest", "even", "down"] = "nearest"
    parameters: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    special: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)

    @property
    def axes(self) -> dict[str, Any]:
        """Every choice, without the words."""
        field_names = (axis_field.name for axis_field in fields(self))
        return {name: getattr(self, name) for name in field_names if name not in DESCRIPTIVE_FIELDS}

    @cached_property
    def hash(self) -> str:
        """Twelve hexadecimal digits of the axes: equal choices, equal hash.

        Axes that came later do not change the hash of conventions that leave them as they are.
        """
        axes = {
            name: value
            for name, value in self.axes.items()
            if name not in _UNHASHED and (name not in _LATER_DEFAULTS or value != _LATER_DEFAULTS[name])
        }
        text = json.dumps(axes, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    @cached_property
    def alignment(self) -> Alignment:
        """The choices that form rankings."""
        return Alignment(
            **{axis_field.name: getattr(self, axis_field.name) for axis_field in fields(Alignment)}
        )

    def to_dict(self) -> dict[str, Any]:
        """Name, hash and axes, as results carry them."""
        axes = json.loads(json.dumps(self.axes).replace("NaN", "null"))
        return {"name": self.name, "hash": self.hash, "axes": axes}

    @property
    def details(self) -> Any:  # noqa: ANN401 - a result, which scoring does not import
        """Every choice with its description, as a displayable result."""
        return load_upper("convention_details")(self)

    def __str__(self) -> str:
        """Format the convention as text of 80 columns."""
        return str(self.details)

    def _repr_html_(self) -> str:
        html: str = self.details._repr_html_()
        return html

    def for_metric(self, metric: Metric) -> Convention:
        """The choices that hold for one metric."""
        choices = dict(self.special.get(metric.name, {}))
        if metric.at is not None and metric.at in dict(metric.given):
            choices |= self.special.get(f"{metric.name}@", {})
        for name, value in metric.given:
            choices |= self.special.get(f"{metric.name}({name}={value!r})", {})
        choices |= {name: value for name, value in metric.given if name == "judged_only"}
        return replace(self, **choices) if choices else self

    def defaults(self, metric: Metric) -> Mapping[str, Any]:
        """The parameters that this convention gives a metric, as its own parameters allow.

        Raises:
            UsageError: a parameter of the metric's own would have no effect.
        """
        return metric.settled({**self.parameters.get("*", {}), **self.parameters.get(metric.name, {})})

    def spelled(self, text: str) -> str | None:
        """Translate one of the tool's own names; None if it is not one of them.

        A name that takes a cutoff, or nothing, may be written as ours are.

        >>> mine = Convention("mine", spellings={"hit@{k}": "Success(rel=2)@{k}"})
        >>> mine.spelled("hit@5"), mine.spelled("Hit(judged_only=True)@5")
        ('Success(rel=2)@5', 'Success(rel=2,judged_only=True)@5')
        """
        for tool_pattern, metric_name in self.spellings.items():
            pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^,()@=]+)", re.escape(tool_pattern))
            if spelling_match := re.fullmatch(pattern, text.strip()):
                return metric_name.format(**spelling_match.groupdict())
        match = _METRIC_NAME.fullmatch(text.strip())
        names = self._tool_names
        if match is None or (name := _match_tool_name(match["name"], names)) is None:
            return None
        bound = match["inside"] or ""
        cutoff = _CUTOFF.search(bound)
        cutoff_text = match["at"] or (cutoff["at"] if cutoff else "")
        metric = names[name].get(bool(cutoff_text)) or next(iter(names[name].values()))
        metric_name, _, inside = metric.rstrip(")").partition("(")
        arguments = ",".join(filter(None, (inside, _CUTOFF.sub("", bound).strip(" ,"))))
        return (
            metric_name + (f"({arguments})" if arguments else "") + (f"@{cutoff_text}" if cutoff_text else "")
        )

    @cached_property
    def _tool_names(self) -> dict[str, dict[bool, str]]:
        """Our metric names by the tool's names, with and without a cutoff."""
        names: dict[str, dict[bool, str]] = {}
        for tool_pattern, metric_name in self.spellings.items():
            match = _TOOL_PATTERN.fullmatch(tool_pattern)
            cutoff = match and (match["at"] or match["argument"])
            if match and (not cutoff or metric_name.endswith(f"@{{{cutoff}}}")):
                metric = metric_name.removesuffix(f"@{{{cutoff}}}").format()
                names.setdefault(match["name"], {})[bool(cutoff)] = metric
        return names

    def has(self, metric: str) -> bool:
        """True if it sets a parameter of a metric, or has a tool's name for the metric.

        >>> Convention("mine", spellings={"hits@{k}": "Success@{k}"}).has("Success")
        True
        """
        metric_names = (name.partition("(")[0].partition("@")[0] for name in self.spellings.values())
        return metric in self.parameters or metric in metric_names

    def empty(self, metric: Metric, kind: Empty) -> float | None:
        """The value of one kind of empty for a metric; None leaves the query out."""
        value: float | None = getattr(self.for_metric(metric), kind)
        return value


_METRIC_NAME = re.compile(r"(?P<name>\w[\w-]*)\s*(?:\((?P<inside>[^()]*)\))?\s*(?:@\s*(?P<at>[^@()\s]+))?")
"""A metric as ours are written, without maps."""

_CUTOFF = re.compile(r"\bcutoff\s*=\s*(?P<at>[^,\s]+)\s*(?:,|$)")

_TOOL_PATTERN = re.compile(r"(?P<name>\w[\w-]*)(?:@\{(?P<at>\w+)\}|\((?:(?:\w+=)?\{(?P<argument>\w+)\})?\))?")
"""A pattern of a tool's name with a cutoff or nothing."""


def _match_tool_name(name: str, names: Iterable[str]) -> str | None:
    """The tool's name that a user wrote; case is ignored, except for canonical names of ours."""
    if name in names:
        return name
    fold = name.casefold()
    tool_name = next((n for n in names if n.casefold() == fold), None)
    if tool_name is None:
        return None
    from rankgate.measurement.metrics.lists import LIST_METRICS
    from rankgate.measurement.metrics.metric_catalogue import by_name

    is_our_metric = name in by_name or any(name == metric.name for metric in LIST_METRICS)
    return None if is_our_metric else tool_name


_LATER_DEFAULTS = {"own_id": "kept"}
"""Axes that came after conventions had been stored by their hash, with what they do by default."""

_UNHASHED = frozenset({"unrated"})
"""Axes that choose queries and change no value: results name their queries, and stored hashes stay."""

DESCRIPTIVE_FIELDS = frozenset({"name", "title", "source", "versions", "defects", "spellings"})
"""The fields of a convention that say something about it and choose nothing."""


KINDS = (
    *("nothing", "no_judgments", "without_relevant", "nothing_retrieved", "nothing_judged"),
    *("no_hit", "zero"),
)
"""The kinds of empty in ``forced``, in the order in which they are tried."""

_CONTAINERS = frozenset({"parameters", "special"})  # containers of other choices
_RUN_WIDE = frozenset({"unknown", "unrated"})  # one choice for the whole run
_RANGES = {"digits": Range(0), "depth": Range(1)}


@dataclass(frozen=True)
class Axis(Parameter):
    """A choice of a convention.

    Attributes:
        each: True if single metrics can have another value.
    """

    each: bool = True


def parse_number(value: object) -> float | None:
    """Parse a number, NaN or none; raise ValueError for other texts."""
    return _NUMBER.parse(value)


_NUMBER = Parameter("forced", "float", range=Range(finite=False), optional=True)


@functools.cache
def axes() -> Mapping[str, Axis]:
    """Every axis by name, in the order of the declaration."""
    from rankgate.data.run import Duplicates

    local_names = {"Duplicates": Duplicates, "Mapping": Mapping, "Any": Any}
    hints = get_type_hints(Convention, localns=local_names)
    help_of = _field_descriptions(Convention) | _field_descriptions(Alignment)
    return types.MappingProxyType(
        {
            axis_field.name: _axis(
                axis_field.name, hints[axis_field.name], axis_field.default, help_of.get(axis_field.name, "")
            )
            for axis_field in fields(Convention)
            if axis_field.name not in DESCRIPTIVE_FIELDS | _CONTAINERS
        }
    )


def _axis(name: str, hint: object, default: object, help_: str) -> Axis:
    axis_parameter = make_parameter(name, hint, default, help_=help_)
    if axis_parameter.kind == "gain":  # here a mapping of kinds of empty
        axis_parameter = replace(axis_parameter, kind="map", default={}, choices=KINDS, optional=False)
    limits = _RANGES.get(name, Range(finite=False))
    return Axis(**{**vars(axis_parameter), "range": limits}, each=name not in _RUN_WIDE)


def _field_descriptions(declared: type) -> dict[str, str]:
    """The descriptions of fields under ``Attributes`` in the docstring of a class."""
    descriptions = parse_docstring_section(declared.__doc__ or "", "Attributes")
    return {name: text.replace("``", "").replace("None", "none") for name, text in descriptions.items()}
