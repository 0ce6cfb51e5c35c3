"""Options of a collection and of runs, the same in every command that takes judgments."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console.sections import COLLECTION, RUNS, SectionOption
from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
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
            stated = {name: options.pop(name) for name in _NAMES}
            ranked = {name: options.pop(name) for name in _RUN_NAMES}
            collection = _collection(qrels, stated)
            if any(ranked.values()):
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
    from rankgate.data.collection import UNKNOWN, Collection, Items, Predicted

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
    stated["candidates"] = stated.pop("candidate_items")  # compare has candidates of its own
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
    from dataclasses import replace

    opened: dict[str, list[Run]] = {}
    for name, value in arguments.items():
        several = value if isinstance(value, list | tuple) else [value]
        opened[name] = [collection.run(run) for run in several if run is not None]
    systems = [run.name for runs in opened.values() for run in runs]
    earlier = {name: paths[-1] for name, paths in _by_system("--earlier", stated, systems).items()}
    repeats = _by_system("--repeat", stated, systems)
    for name, runs in opened.items():
        opened[name] = [
            replace(
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


def _by_system(
    flag: str, stated: dict[str, tuple[str, ...]], systems: Sequence[str]
) -> dict[str, list[str]]:
    """The paths of an option by system; those without a name are of every system, under ``""``.

    Raises:
        UsageError: a name that no run has; two paths of every system for ``--earlier``.
    """
    paths: dict[str, list[str]] = {}
    for text in stated[flag.removeprefix("--") if flag == "--earlier" else "repeats"]:
        name, equals, path = text.partition("=")
        if not equals or Path(text).exists():
            name, path = "", text
        elif name not in systems:
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


def _option(*flags: str, section: str = COLLECTION, **attributes: Any) -> Callable[..., Any]:
    return click.option(*flags, cls=SectionOption, section=section, **attributes)


_COLLECTION_OPTIONS = (
    _option(
        "--columns",
        metavar="NAME=COLUMN,...",
        help="The columns of CSV and TSV files that have no usual name, as in "
        "query=search_term,doc=sku,grade=final_rating.",
    ),
    _option(
        "--grades",
        multiple=True,
        metavar="LABEL=GRADE,...",
        help="The grade of each label of judgments, as in Exact=3,Partial=1.",
    ),
    _option(
        "--tags",
        type=click.Path(),
        metavar="FILE",
        help="A table with query_id and columns of tags (head or tail, intent, cluster); a file of "
        "features, whose tag feature_7 is the quarter of the queries by the mean of feature 7; or "
        "ids:PATTERN, a regular expression whose named groups are tags of the ids that fit.",
    ),
    _option(
        "--sample",
        type=click.Path(),
        metavar="random|FILE",
        help="How the judged queries were drawn: random (each had the same chance), or a table "
        "with query_id and query_inclusion (its chance), query_stratum or weight (how much it "
        "counts), such as a pool's; figures are then those of the queries drawn from.",
    ),
    _option(
        "--predicted",
        type=click.Path(),
        metavar="QRELS",
        help="A model's judgments of all queries; those of people, of a sample of the queries, "
        "correct its bias.",
    ),
    _option(
        "--predicted-saw",
        type=click.Path(),
        metavar="QRELS|none|unknown",
        help="People's judgments that this model saw, as examples or in training; their queries "
        "are left out, as the model is not corrected by them.  [default: unknown]",
    ),
    _option(
        "--training",
        "--train",
        type=click.Path(),
        metavar="FILE",
        help="The training log of the systems.",
    ),
    _option(
        "--items", type=click.Path(), metavar="FILE", help="A table of items: item_id and columns."
    ),
    _option(
        "--feature",
        "features",
        multiple=True,
        metavar="COLUMN",
        help="Item columns with numbers (features). May be given several times.",
    ),
    _option(
        "--category",
        metavar="COLUMN",
        help="The item column with categories; several are separated by bars.",
    ),
    _option(
        "--group", metavar="COLUMN", help="The item column with groups, for fairness of exposure."
    ),
    _option(
        "--length", metavar="COLUMN", help="The item column with lengths of passages in tokens."
    ),
    _option(
        "--document",
        metavar="COLUMN",
        help="The item column with the document that each passage is a part of.",
    ),
    _option(
        "--users", type=click.Path(), metavar="FILE", help="A table of users: user_id and columns."
    ),
    _option(
        "--candidates",
        "candidate_items",
        type=click.Path(),
        metavar="FILE",
        help="The items that may be recommended, as rankgate split writes them.",
    ),
    _option(
        "--reference",
        "--obvious",
        type=click.Path(),
        metavar="RUN",
        help="The run of a simple system to compare with, such as the most popular items.",
    ),
    _option(
        "--sequences",
        metavar="FILE",
        help="Which rankings belong together (sessions, variations of a topic): query_id, sequence "
        "and perhaps position; or ids:PATTERN with these names as groups.",
    ),
    _option(
        "--drop-seen",
        is_flag=True,
        help="Remove items that the user had in training from the lists.",
    ),
    _option(
        "--judged-users-only",
        is_flag=True,
        help="Compute list metrics over users with judgments only, not over all users.",
    ),
)

_RUN_OPTIONS = (
    _option(
        "--earlier",
        section=RUNS,
        multiple=True,
        metavar="[NAME=]RUN",
        help="Earlier recommendations, of the system NAME or of every system. "
        "May be given several times.",
    ),
    _option(
        "--repeat",
        "--drawn",
        "repeats",
        section=RUNS,
        multiple=True,
        metavar="[NAME=]RUN",
        help="Another run of a randomised system, for EEL, EED and EER. "
        "May be given several times.",
    ),
)

_ITEM_NAMES = ("features", "category", "group", "length", "document")


def _names(options: Iterable[Callable[..., Any]]) -> tuple[str, ...]:
    """The names of the parameters that options make."""

    def nothing() -> None: ...

    for option in options:
        option(nothing)
    return tuple(param.name for param in nothing.__click_params__)  # type: ignore[attr-defined]


_NAMES, _RUN_NAMES = _names(_COLLECTION_OPTIONS), _names(_RUN_OPTIONS)
