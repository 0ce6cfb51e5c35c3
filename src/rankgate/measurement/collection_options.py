"""Options of a collection and of runs, the same in every command that takes judgments."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console.sections import COLLECTION, RUNS, SectionOption
from rankgate.core.declare.signature import documented
from rankgate.core.errors import UsageError
from rankgate.data.collection import CANDIDATES, SELECTIONS, UNKNOWN, Collection, Items, Predicted

if TYPE_CHECKING:
    from rankgate.data.run import Run

    Command = Callable[..., Any]


def of_collection(*runs: str) -> Callable[[Command], Command]:
    """The options of a collection and of runs; the command gets ``collection``.

    QRELS is judgments, a TOML file with ``[collection]``, or a folder with ``collection.toml``;
    what an option states goes before what the file states.

    Args:
        runs: the arguments of the command that are runs; those that an option describes are opened
            and carry it.
    """

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def with_collection(*args: Any, qrels: Any, **options: Any) -> Any:
            stated = {name: options.pop(name) for name in COLLECTION_NAMES}
            ranked = {name: options.pop(name) for name in _RUN_NAMES}
            collection = _collection(qrels, stated)
            if any(ranked.values()):
                _refuse_replaced(ranked, options.get("output"))
                options |= _described(collection, {name: options[name] for name in runs}, ranked)
            return function(*args, collection=collection, **options)

        for option in reversed((*_COLLECTION_OPTIONS, *_RUN_OPTIONS)):
            with_collection = option(with_collection)
        return with_collection

    return decorate


def _collection(qrels: Any, stated: dict[str, Any]) -> Collection:
    """The collection of QRELS with what options state.

    Raises:
        UsageError: --predicted-saw without --predicted; a grade that is not LABEL=NUMBER.
    """
    items = Items(stated.pop("items"), **{name: stated.pop(name) for name in _ITEM_NAMES})
    predicted, saw = stated.pop("predicted"), stated.pop("predicted_saw")
    if predicted is None and saw is not None:
        raise UsageError(
            "--predicted-saw says what the model of --predicted saw; give its judgments too, or "
            "leave it out.",
            code="missing-input",
        )
    model = None if predicted is None else Predicted(predicted, saw or UNKNOWN)
    grades = _grades(stated.pop("grades"))
    stated["candidates"] = stated.pop(CANDIDATES)
    if isinstance(qrels, tuple) and len(qrels) == 1:
        qrels = qrels[0]
    options = Collection(items=items, predicted=model, grades=grades, **stated)
    return options.filled(Collection.of(qrels))


def _grades(texts: Sequence[str]) -> dict[str, float]:
    """The grade of each label."""
    from rankgate.core.console.pairs import pairs

    return pairs([text for several in texts for text in several.split(",")], "--grades", float)


def _described(
    collection: Collection, arguments: dict[str, Any], stated: dict[str, tuple[str, ...]]
) -> dict[str, Any]:
    """The arguments that are runs, each with what options state of it.

    Raises:
        UsageError: an option names a system that no run is called.
    """
    opened: dict[str, list[Run]] = {}
    for name, value in arguments.items():
        several = value if isinstance(value, list | tuple) else [value]
        opened[name] = [collection.run(run) for run in several if run is not None]
    systems = [run.name for runs in opened.values() for run in runs]
    earlier = {name: paths[-1] for name, paths in _by_system("--earlier", stated, systems).items()}
    repeats = _by_system("--repeat", stated, systems)
    for name, runs in opened.items():
        opened[name] = [
            dataclasses.replace(
                run,
                earlier=earlier.get(run.name, earlier.get("")),
                repeats=tuple(repeats.get(run.name, repeats.get("", ()))),
            )
            for run in runs
        ]
    return {
        name: opened[name] if isinstance(value, list | tuple) else next(iter(opened[name]), None)
        for name, value in arguments.items()
    }


def _refuse_replaced(stated: dict[str, tuple[str, ...]], output: str | None) -> None:
    """Check that the output replaces no run of an option; errors as of ``refuse_clashes``."""
    from rankgate.core.console.places import inputs, refuse_clashes

    paths = [_named(text)[1] for texts in stated.values() for text in texts]
    refuse_clashes((*inputs(), *paths), output)


def _named(text: str) -> tuple[str, str]:
    """The system and the path of ``[NAME=]RUN``; no name is of every system."""
    name, equals, path = text.partition("=")
    return (name, path) if equals and not Path(text).exists() else ("", text)


def _by_system(
    flag: str, stated: dict[str, tuple[str, ...]], systems: Sequence[str]
) -> dict[str, list[str]]:
    """The paths of an option by system; those without a name are of every system, under ``""``.

    Raises:
        UsageError: a name that no run has; two paths of every system for ``--earlier``.
    """
    paths: dict[str, list[str]] = {}
    for text in stated[flag.removeprefix("--") if flag == "--earlier" else "repeats"]:
        name, path = _named(text)
        if name and name not in systems:
            raise UsageError(
                f"{flag} {text}: no system is called {name!r}; the systems are "
                f"{', '.join(systems)}.",
                code="unknown-choice",
            )
        paths.setdefault(name, []).append(path)
    if flag == "--earlier" and len(paths.get("", ())) > 1:
        raise UsageError(
            f"{flag} {paths[''][1]}: name the system, as in NAME={paths[''][1]}.",
            code="invalid-syntax",
        )
    return paths


_FLAGS: Mapping[str, tuple[str, ...]] = {
    "training": ("--training", "--train"),
    "reference": ("--reference", "--obvious"),
    "features": ("--feature", "features"),
    "candidates": ("--candidates", CANDIDATES),
    "earlier": ("--earlier",),
    "repeats": ("--repeat", "--drawn", "repeats"),
}
"""Flags, and the name of the parameter, where they are not those of the field."""

_METAVARS: Mapping[str, str] = {
    "columns": "NAME=COLUMN,...",
    "grades": "LABEL=GRADE,...",
    "sample": "random|FILE",
    "predicted": "QRELS",
    "predicted_saw": "QRELS|none|unknown",
    "reference": "RUN",
    **dict.fromkeys(("features", "category", "group", "length", "document"), "COLUMN"),
    **dict.fromkeys(("earlier", "repeats"), "[NAME=]RUN"),
}
"""How the value of an option is called, where it is not the path of a file."""

_NOT_OPTIONS = frozenset({"judgments", "name", "catalogue"})
"""Fields that are arguments of commands, or that only Python states."""

_SEVERAL = frozenset({"grades", "features", "earlier", "repeats"})
_RUN_HELP = {
    "earlier": "Earlier recommendations, of the system NAME or of every system.",
    "repeats": "Another run of a randomised system, for EEL, EED and EER.",
}


def _options(kind: type, help_of: Mapping[str, str]) -> Iterator[Callable[..., Any]]:
    """The options that the fields of a value are, with what its docstring says of them."""
    for one in dataclasses.fields(kind):
        if one.name == "items":
            yield _option("items", _HELP_OF_ITEMS["table"])
            for name in _ITEM_NAMES:
                yield _option(name, _HELP_OF_ITEMS[name])
        elif one.name == "predicted":
            yield _option("predicted", help_of[one.name])
            yield _option("predicted_saw", _HELP_OF_MODEL["saw"])
        elif one.name not in _NOT_OPTIONS:
            yield _option(one.name, help_of[one.name], is_flag=one.default is False)


def _option(
    name: str, help_: str, *, is_flag: bool = False, section: str = COLLECTION
) -> Callable[..., Any]:
    """The option of one field; what is no name of a column or pairs is the path of a file."""
    several = name in _SEVERAL
    metavar = _METAVARS.get(name)
    of_file = metavar is None or "FILE" in metavar or "QRELS" in metavar or metavar == "RUN"
    attributes: dict[str, Any] = {"is_flag": True} if is_flag else {"metavar": metavar or "FILE"}
    if name == "selection":
        attributes = {"type": click.Choice(SELECTIONS)}
    elif of_file and not is_flag:
        attributes["type"] = click.Path()
    return click.option(
        *_FLAGS.get(name, ("--" + name.replace("_", "-"),)),
        cls=SectionOption,
        section=section,
        multiple=several,
        help=help_.replace("`", "") + " May be given several times." * several,
        **attributes,
    )


_ITEM_NAMES = tuple(
    one.name for one in dataclasses.fields(Items) if one.name not in {"table", *_NOT_OPTIONS}
)
_HELP_OF_ITEMS = documented(Items.__doc__ or "", "Attributes")
_HELP_OF_MODEL = documented(Predicted.__doc__ or "", "Attributes")
_COLLECTION_OPTIONS = tuple(
    _options(Collection, documented(Collection.__doc__ or "", "Attributes"))
)
_RUN_OPTIONS = tuple(_option(name, text, section=RUNS) for name, text in _RUN_HELP.items())


def _names(options: Iterable[Callable[..., Any]]) -> tuple[str, ...]:
    """The names of the parameters that options make."""

    def nothing() -> None: ...

    for option in options:
        option(nothing)
    return tuple(param.name for param in nothing.__click_params__)  # type: ignore[attr-defined]


COLLECTION_NAMES = _names(_COLLECTION_OPTIONS)
"""The parameters that are options of a collection."""

_RUN_NAMES = _names(_RUN_OPTIONS)
