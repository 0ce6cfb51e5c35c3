"""The axes of a convention: their meanings, types and permitted values.

Read from the declaration of ``Convention`` itself, which is their only source.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any, get_type_hints

from rankgate.core.declare import Parameter, Range
from rankgate.core.declare.signature import make_parameter, parse_docstring_section
from rankgate.core.frozen import dataclass
from rankgate.measurement.scoring.convention import DESCRIPTIVE_FIELDS, Alignment, Convention

KINDS = (
    *("nothing", "no_judgments", "without_relevant", "nothing_retrieved", "nothing_judged"),
    *("no_hit", "zero"),
)
"""The kinds of empty that ``forced`` knows, in the order in which they are tried."""

_CONTAINERS = frozenset({"parameters", "special"})  # containers of other choices
_RUN_WIDE = frozenset({"unknown"})  # one choice for the whole run
_RANGES = {"digits": Range(0), "depth": Range(1)}


@dataclass(frozen=True)
class Axis(Parameter):
    """One choice of a convention.

    Attributes:
        each: True if it can differ from metric to metric.
    """

    each: bool = True


def parse_number(value: object) -> float | None:
    """Parse a number, NaN or none; raise ValueError for anything else."""
    number: float | None = _NUMBER.parse(value)
    return number


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
                axis_field.name,
                hints[axis_field.name],
                axis_field.default,
                help_of.get(axis_field.name, ""),
            )
            for axis_field in fields(Convention)
            if axis_field.name not in DESCRIPTIVE_FIELDS | _CONTAINERS
        }
    )


def _axis(name: str, hint: object, default: object, help_: str) -> Axis:
    axis_parameter = make_parameter(name, hint, default, help_=help_)
    if axis_parameter.kind == "gain":  # a mapping: here of kinds of empty
        axis_parameter = replace(
            axis_parameter, kind="map", default={}, choices=KINDS, optional=False
        )
    limits = _RANGES.get(name, Range(finite=False))
    return Axis(**{**vars(axis_parameter), "range": limits}, each=name not in _RUN_WIDE)


def _field_descriptions(declared: type) -> dict[str, str]:
    """The descriptions of fields under ``Attributes`` in the docstring of a class."""
    descriptions = parse_docstring_section(declared.__doc__ or "", "Attributes")
    return {
        name: text.replace("``", "").replace("None", "none") for name, text in descriptions.items()
    }
