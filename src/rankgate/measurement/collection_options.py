"""Options of a collection and of runs, the same in every command that takes judgments."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console.declared_options import option, parse_labelled_numbers
from rankgate.core.console.option_types import COLLECTION, RUNS, SectionOption
from rankgate.core.console.shared_options import from_formats
from rankgate.core.declare import Parameter
from rankgate.core.declare.parameter import Kind, parse_docstring_section
from rankgate.core.errors import InputError, RankgateError, UsageError
from rankgate.data.collection import CANDIDATES, SELECTIONS, UNKNOWN, Collection, Items, Predicted
from rankgate.data.collection_fields import field_kinds
from rankgate.measurement.store_options import in_project, project_of, project_tables

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command, Decorator
    from rankgate.data.run import Run
    from rankgate.store.client.remote_project import RemoteProject
    from rankgate.store.stored_project import StoredProject

    Project = StoredProject | RemoteProject


def of_collection(
    *runs: str,
    further: Sequence[str] = (),
    saved: Sequence[str] = (),
    stored: bool = False,
    from_flag: str = "--from",
) -> Decorator:
    """The options of a collection and of runs; the command gets ``collection``.

    QRELS is judgments, a TOML file with ``[collection]``, or a folder with ``collection.toml``;
    options override the file. With ``--project`` QRELS, runs and the tables of options are names in
    a project of a store.

    Args:
        runs: the arguments of the command that are runs; those that an option describes are opened
            and carry it.
        further: other arguments that are runs.
        saved: those of the runs that may be names defined by the command.
        stored: True if the command gets the project too, as ``stored``; None without one.
        from_flag: the option that names the format of files.
    """

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def with_collection(
            *args: Any, store: str | None, project: str | None, qrels: Any = None, **options: Any
        ) -> object:
            collection_options = {name: options.pop(name) for name in _STATED_NAMES}
            run_options = {name: options.pop(name) for name in _RUN_NAMES}
            uses_project = stored or bool(qrels) or any(options[name] for name in runs)
            with project_of(store, project if uses_project else None) as source:
                if source is not None and not options.get("scores"):
                    qrels = _judgments_of(source, qrels)
                    for name in (*runs, *further):
                        kind = "baseline" if name in saved else "run"
                        options[name] = project_tables(source, kind, options[name])
                if stored:
                    options["stored"] = source
                collection = _collection(qrels, collection_options, source)
                files = [options[name] for name in runs]
                try:
                    if any(run_options.values()):
                        _refuse_overwritten(run_options, click.get_current_context().params.get("output"))
                        run_arguments = {name: options[name] for name in runs}
                        options |= _runs_with_options(collection, run_arguments, run_options, source)
                    return function(*args, collection=collection, **options)
                except InputError as error:
                    raise _join_guess_errors(error, collection, files) from None

        command = in_project(COLLECTION)(with_collection)
        command = from_formats("judgments qrels", " ".join(("runs", *runs, *further)), flag=from_flag)(
            command
        )
        for add_option in reversed((*_COLLECTION_OPTIONS, *_RUN_OPTIONS)):
            command = add_option(command)
        return command

    return decorate


def seeds_of(*runs: str) -> Decorator:
    """Add ``--seeds``, which puts the runs of several seeds of a system together.

    Args:
        runs: the arguments of the command that are runs; the last one takes several.
    """

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def with_seeds(*args: Any, collection: Collection, seeds: str | None, **options: Any) -> object:
            if seeds and options.get("scores"):
                raise UsageError(
                    "--seeds is for runs, and --scores has values of systems; leave one of them out.",
                    code="conflicting-options",
                )
            if seeds:
                paths = [options[name] for name in runs[:-1]] + [*options[runs[-1]]]
                systems = _group_seeds([collection.run(path) for path in paths if path is not None], seeds)
                options |= dict(zip(runs[:-1], systems, strict=False))
                options[runs[-1]] = tuple(systems[len(runs) - 1 :])
            return function(*args, collection=collection, **options)

        option = click.option(
            "--seeds",
            metavar="MARK",
            cls=SectionOption,
            section=RUNS,
            help="Runs of a system that was trained with several seeds: the text between the system and the "
            "seed in their names, such as .seed in bpr.seed1.run and bpr.seed2.run. Values are then means "
            "over seeds.",
        )
        return option(with_seeds)

    return decorate


def _group_seeds(runs: Sequence[Run], mark: str) -> list[Run]:
    """The systems of runs; those that differ only behind the mark are seeds of one system.

    Raises:
        UsageError: no run has the mark in its name.
    """
    systems: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        system, separator, _ = run.name.rpartition(mark)
        systems.setdefault((system, separator) if system else (run.name, ""), []).append(run)
    if not any(separator for _, separator in systems):
        raise UsageError(
            f"--seeds {mark}: no run has this text in its name after the name of a system; the runs are "
            f"{', '.join(run.name for run in runs)}.",
            code="unknown-choice",
        )
    return [
        dataclasses.replace(seed_runs[0], name=system, seeds=tuple(seed_runs[1:]))
        for (system, _), seed_runs in systems.items()
    ]


def _judgments_of(project: Project, qrels: object) -> Any:
    """The judgments of the argument QRELS in a project; several sets are found by label.

    Raises:
        UsageError: the project has no such judgments.
    """
    labelled = [text.rpartition("=") for text in qrels] if isinstance(qrels, tuple) else []
    if labelled and all(label for label, _, _ in labelled):
        return {label: project_tables(project, "judgments", name) for label, _, name in labelled}
    return project_tables(project, "judgments", qrels)


def _join_guess_errors(error: InputError, collection: Collection, runs: Sequence[Any]) -> InputError:
    """Join errors about unknown columns of several tables into one line for all files."""
    from rankgate.data.column_guess import GuessError, merge_errors

    if not isinstance(error, GuessError):
        return error
    errors = [error]
    paths = [path for value in runs for path in (value if isinstance(value, tuple) else [value])]
    for path in paths:
        try:
            collection.run(path)
        except RankgateError as run_error:
            errors += [run_error] if isinstance(run_error, GuessError) else []
    try:
        collection.qrels(subtopics=True)
    except RankgateError as run_error:
        errors += [run_error] if isinstance(run_error, GuessError) else []
    return merge_errors(errors)


def _collection(qrels: Any, stated: dict[str, Any], project: Project | None) -> Collection:
    """The collection from QRELS and the tables of the options, based on a project if there is one.

    Raises:
        UsageError: --predicted-saw is given without --predicted, or a grade is not LABEL=NUMBER.
    """
    item_tables = Items(stated.pop("items"), **{name: stated.pop(name) for name in _ITEM_NAMES})
    predicted, saw = stated.pop("predicted"), stated.pop("predicted_saw")
    if predicted is None and saw is not None:
        raise UsageError(
            "--predicted-saw names the queries that the model of --predicted saw; add --predicted, or leave "
            "it out.",
            code="missing-input",
        )
    model = None if predicted is None else Predicted(predicted, saw or UNKNOWN)
    grades = parse_labelled_numbers(stated.pop("grades"), "--grades")
    stated["candidates"] = stated.pop(CANDIDATES)
    if isinstance(qrels, tuple) and len(qrels) == 1:
        qrels = qrels[0]
    options = Collection(items=item_tables, predicted=model, grades=grades, **stated)
    if project is None:
        return options.filled(Collection.of(qrels))
    return project.collection(options.filled(Collection(qrels)), files=True)


def _runs_with_options(
    collection: Collection,
    arguments: dict[str, Any],
    stated: dict[str, tuple[str, ...]],
    project: Project | None,
) -> dict[str, Any]:
    """The arguments that are runs, each with its options.

    Raises:
        UsageError: an option names a system, and no run has that name.
    """
    runs_by_argument: dict[str, list[Run]] = {}
    for name, value in arguments.items():
        run_values = value if isinstance(value, list | tuple) else [value]
        runs_by_argument[name] = [collection.run(run) for run in run_values if run is not None]
    systems = [run.name for runs in runs_by_argument.values() for run in runs]
    locate = _table_finder(project)
    earlier = {
        name: locate("run", paths[-1]) for name, paths in _by_system("--earlier", stated, systems).items()
    }
    repeats = {
        name: [locate("run", path) for path in paths]
        for name, paths in _by_system("--repeat", stated, systems).items()
    }
    for name, runs in runs_by_argument.items():
        runs_by_argument[name] = [
            dataclasses.replace(
                run,
                earlier=earlier.get(run.name, earlier.get("")),
                repeats=tuple(repeats.get(run.name, repeats.get("", ()))),
            )
            for run in runs
        ]
    return {
        name: runs_by_argument[name]
        if isinstance(value, list | tuple)
        else next(iter(runs_by_argument[name]), None)
        for name, value in arguments.items()
    }


def _table_finder(project: Project | None) -> Callable[[str, str], Any]:
    """A function that finds the table of an option: in the project, or as a file."""
    if project is None:
        return lambda _, path: path
    from rankgate.store.project_collection import project_table

    return project_table(project, files=True)


def _refuse_overwritten(stated: dict[str, tuple[str, ...]], output: str | None) -> None:
    """Check that the output does not replace a run; errors as in ``refuse_clashes``."""
    from rankgate.core.console.shared_options import check_paths, input_paths

    paths = [_split_system(text)[1] for texts in stated.values() for text in texts]
    check_paths((*input_paths(), *paths), output)


def _split_system(text: str) -> tuple[str, str]:
    """The system and the path of ``[NAME=]RUN``; an empty name means every system."""
    name, equals, path = text.partition("=")
    return (name, path) if equals and not Path(text).exists() else ("", text)


def _by_system(flag: str, stated: dict[str, tuple[str, ...]], systems: Sequence[str]) -> dict[str, list[str]]:
    """The paths of an option by system; paths without a name are for every system, under ``""``.

    Raises:
        UsageError: no run has the name, or ``--earlier`` has two paths for every system.
    """
    paths: dict[str, list[str]] = {}
    for text in stated[flag.removeprefix("--") if flag == "--earlier" else "repeats"]:
        name, path = _split_system(text)
        if name and name not in systems:
            raise UsageError(
                f"{flag} {text}: unknown system {name!r}; the systems are {', '.join(systems)}.",
                code="unknown-choice",
            )
        paths.setdefault(name, []).append(path)
    if flag == "--earlier" and len(paths.get("", ())) > 1:
        raise UsageError(
            f"{flag} {paths[''][1]}: name the system, as in NAME={paths[''][1]}.", code="invalid-syntax"
        )
    return paths


_FLAGS: Mapping[str, tuple[str, ...]] = {
    "training": ("--training", "--train", "training"),
    "reference": ("--reference", "--obvious", "reference"),
    "features": ("--feature", "features"),
    "candidates": ("--candidates", CANDIDATES),
    "repeats": ("--repeat", "--drawn", "repeats"),
}
"""Flags, and the name of the parameter, where they are not those of the field."""

_METAVARS: Mapping[str, str] = {
    "ids": "SPELLING,...",
    "columns": "NAME=COLUMN,...",
    "grades": "LABEL=GRADE,...",
    "sample": "random|FILE",
    "predicted": "QRELS",
    "predicted_saw": "QRELS|none|unknown|sealed",
    "reference": "RUN",
    **{name: "COLUMN" for name, kind in field_kinds(Items).items() if kind in {"text", "names"}},
    **dict.fromkeys(("earlier", "repeats"), "[NAME=]RUN"),
}
"""The metavar of an option's value, where it is not the path of a file."""

_NOT_OPTIONS = frozenset({"judgments", "name", "catalogue"})
"""Fields that are arguments of commands, or that only Python states."""

_REPEATED_OPTIONS = frozenset({"grades", "features", "earlier", "repeats"})
_RUN_HELP = {
    "earlier": "Earlier recommendations, of the system NAME or of every system.",
    "repeats": "Another run of a randomised system, for EEL, EED and EER.",
}


def _options(kind: type, help_of: Mapping[str, str]) -> Iterator[Decorator]:
    """The options for the fields of a class, with help from its docstring."""
    for field_ in dataclasses.fields(kind):
        if field_.name == "items":
            yield _option("items", _HELP_OF_ITEMS["table"])
            for name in _ITEM_NAMES:
                yield _option(name, _HELP_OF_ITEMS[name])
        elif field_.name == "predicted":
            yield _option("predicted", help_of[field_.name])
            yield _option("predicted_saw", _HELP_OF_MODEL["saw"])
        elif field_.name not in _NOT_OPTIONS:
            yield _option(field_.name, help_of[field_.name], is_flag=field_.default is False)


def _option(name: str, help_: str, *, is_flag: bool = False, section: str = COLLECTION) -> Decorator:
    """The option for one field; a value that is not a column or a pair is the path of a file."""
    is_multiple = name in _REPEATED_OPTIONS
    metavar = _METAVARS.get(name)
    is_choice, default = name == "selection", () if is_multiple else False if is_flag else None
    choices = SELECTIONS if is_choice else ()
    of_file = metavar is None or "FILE" in metavar or "QRELS" in metavar or metavar == "RUN"
    kind: Kind = "choice" if is_choice else "bool" if is_flag else "path" if of_file else "text"
    *flags, argument = _FLAGS.get(name, (name,))
    return option(
        Parameter(argument, kind, help_, default, choices=choices),
        *flags,
        metavar=None if is_choice or is_flag else metavar or "FILE",
        multiple=is_multiple,
        section=section,
    )


_ITEM_NAMES = tuple(
    field_.name for field_ in dataclasses.fields(Items) if field_.name not in {"table", *_NOT_OPTIONS}
)
_HELP_OF_ITEMS = parse_docstring_section(Items.__doc__ or "", "Attributes")
_HELP_OF_MODEL = parse_docstring_section(Predicted.__doc__ or "", "Attributes")
_COLLECTION_OPTIONS = tuple(
    _options(Collection, parse_docstring_section(Collection.__doc__ or "", "Attributes"))
)
_RUN_OPTIONS = tuple(_option(name, text, section=RUNS) for name, text in _RUN_HELP.items())


def _names(options: Iterable[Decorator]) -> tuple[str, ...]:
    """The names of the parameters that options set."""

    def nothing() -> None: ...

    for add_option in options:
        add_option(nothing)
    return tuple(param.name for param in nothing.__click_params__)  # type: ignore[attr-defined]


_STATED_NAMES = _names(_COLLECTION_OPTIONS)

COLLECTION_NAMES = (*_STATED_NAMES, "store", "project")
"""The parameters that are options of a collection."""

_RUN_NAMES = _names(_RUN_OPTIONS)
