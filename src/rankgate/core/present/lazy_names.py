"""Names that are loaded when they are first used: ``module:function``, and public names.

Packages below do not import the drawing code in this way, and a command loads only the modules that
it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, wraps
from importlib import import_module
from types import FunctionType
from typing import Any

from rankgate.core.errors import UsageError

UPPER_NAMES: dict[str, str] = {}
"""Functions and tables of packages above, which the top of the package (`rankgate`) names.

``completed_names`` has the names that shells complete, by kind, ``write_report`` writes the report
of a result, ``convention_details`` describes a convention,
``path_of_input`` is the path in ``FORMAT:PATH``, ``paths_in_format`` names the format of paths,
``judgments_of_log`` reads a log of interactions as judgments, ``set_power`` is the power of a golden set,
``kinds_of_results`` has the classes of results, ``score_ratings`` scores runs by the ratings of single
raters as a tool does, ``on_spark`` gives tables on Spark for a command's files, ``record`` records a
command's result, ``send_figures`` sends the figures of a result.
"""

ON_SPARK: dict[str, str] = {}
"""By verb, the function that makes its result, or what that is made from, of tables on Spark."""


def load_name(name: str) -> Any:
    """The function with that name.

    Args:
        name: ``module:function``, a constant of the program, never a user's word.
    """
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def load_upper(name: str) -> Any:
    """The function or table of a package above this one, by its name in `UPPER_NAMES`."""
    return load_name(UPPER_NAMES[name])


def lazy_names(
    module: str, homes: Mapping[str, Sequence[str]], values: Mapping[str, str] | None = None
) -> tuple[Callable[[str], Any], Callable[[], list[str]], list[str]]:
    """The ``__getattr__``, ``__dir__`` and ``__all__`` of a module that re-exports names.

    Args:
        module: its own name, for errors.
        homes: the names by the module that defines them; ``"a as b"`` exports its ``a`` as ``b``.
        values: classes among the names by the parameter of functions that takes them: a keyword that
            a function lacks and that is a field of such a class is an error with the line to write.

    >>> get, _, names = lazy_names("here", {"math": ["pi", "tau as full_turn"]})
    >>> names, get("full_turn") / get("pi")
    (['full_turn', 'pi'], 2.0)
    """
    attributes = {}
    for home, names in homes.items():
        for name in names:
            attribute, _, alias = name.partition(" as ")
            attributes[alias or attribute] = (home, attribute)
    public = sorted(attributes)

    @cache  # one object a name, as functions are pickled by name
    def get(name: str) -> Any:  # its own type
        if name not in attributes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        home, attribute = attributes[name]
        value = getattr(import_module(home), attribute)
        if not values or not isinstance(value, FunctionType):
            return value
        classes = {values[parameter]: parameter for parameter in _parameters(value) if parameter in values}
        return _advising(value, f"{module}.{name}", classes, get) if classes else value

    return get, lambda: public, public


def _parameters(function: FunctionType) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _advising(
    function: FunctionType, name: str, classes: Mapping[str, str], get: Callable[[str], Any]
) -> Callable[..., Any]:
    """The function, which says where a keyword belongs that is a field of one of its values."""

    @wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for keyword in keywords.keys() - {*_parameters(function)}:
            for class_name, parameter in classes.items():
                if keyword in get(class_name).__dataclass_fields__:
                    first = "judgments, " if parameter == "collection" else ""
                    value = f"rankgate.{class_name}({first}{keyword}=…)"
                    example = f"{name}({value}, …)" if first else f"{name}(…, {parameter}={value})"
                    raise UsageError(
                        f"{keyword} is a field of {class_name}, not of {name}; write {example}.",
                        code="field-of-value",
                    )
        return function(*arguments, **keywords)

    call.__module__, _, call.__qualname__ = name.rpartition(".")
    return call
