"""Options of the commands that compare systems query by query."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console.declared_options import collected
from rankgate.core.console.sections import TEST, SectionOption
from rankgate.core.errors import UsageError
from rankgate.decisions.comparison.inference import Test
from rankgate.measurement.evaluation.scored_system import DEPTH

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.decisions.comparison.scores.systems import ReportedScores

    Command = Callable[..., Any]

test = collected("test", Test, section=TEST)
"""The options of `Test`; the command gets one."""

depth = click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=DEPTH,
    show_default=True,
    help="The depth to which lists are compared.",
)


def loss(help_text: str) -> Callable[[Command], Command]:
    """``--margin`` of a loss that does not matter, 0 by default; it becomes that of ``test``."""

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def with_margin(*args: Any, test: Test, margin: float, **options: Any) -> Any:
            return function(*args, test=replace(test, margin=margin or None), **options)

        named = click.option(
            "--margin",
            type=click.FloatRange(min=0),
            default=0.0,
            show_default=True,
            help=help_text,
            cls=SectionOption,
            section=TEST,
        )
        return named(with_margin)

    return decorate


def scores(function: Command) -> Command:
    """``--scores`` and ``--direction``: values of another tool instead of judgments and runs."""
    tables = click.option(
        "--scores",
        "scores",
        type=click.Path(),
        multiple=True,
        metavar="SCORES",
        help="Values of each query that another tool computed, instead of judgments and runs: "
        "files of trec_eval -q, ir_measures, pytrec_eval, ranx, rankgate eval (on Spark too), or "
        "tables with a column for each system; the arguments are then names of systems. May be "
        "given several times.",
    )
    directions = click.option(
        "--direction",
        "directions",
        multiple=True,
        metavar="METRIC=WORD",
        help="Which values are better, higher or lower, of a metric in --scores that rankgate "
        "does not know. May be given several times.",
    )
    return tables(directions(function))


def named_systems(*systems: str) -> Callable[[Command], Command]:
    """With ``--scores`` the arguments are names of systems, QRELS among them.

    Args:
        systems: the arguments that are systems; the last one may take several.
    """

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def with_names(*args: Any, qrels: Any, scores: tuple[str, ...], **options: Any) -> Any:
            if scores:
                words = [qrels]
                for name in systems:
                    value = options[name]
                    words += value if isinstance(value, tuple) else [value]
                names = [word for word in words if word is not None]
                several = isinstance(options[systems[-1]], tuple)
                if not several and len(names) not in (0, len(systems)):
                    raise UsageError(
                        "with --scores name the baseline and the candidate, or neither.",
                        code="missing-input",
                    )
                for name in systems:
                    if isinstance(options[name], tuple):
                        options[name] = tuple(names)
                    else:
                        options[name], names = (names[0] if names else None), names[1:]
                qrels = None
            return function(*args, qrels=qrels, scores=scores, **options)

        return with_names

    return decorate


def reported(function: Command) -> Command:
    """The command gets reported scores as ``collection``, where ``--scores`` gives them."""

    @functools.wraps(function)
    def with_scores(
        *args: Any, collection: Collection, scores: tuple[str, ...], directions: tuple[str, ...],
        **options: Any,
    ) -> Any:  # fmt: skip
        measured: Collection | ReportedScores = collection
        if scores:
            measured = _scores(collection, scores, directions)
        elif directions:
            raise UsageError(
                "--direction is for --scores; give them too.", code="conflicting-options"
            )
        return function(*args, collection=measured, **options)

    return with_scores


def _scores(
    collection: Collection, tables: tuple[str, ...], directions: tuple[str, ...]
) -> ReportedScores:
    """The values of files, with the tags and the sample that options state.

    Raises:
        UsageError: an option of a collection that values do not take.
    """
    from rankgate.core.console.pairs import pairs
    from rankgate.decisions.comparison.scores.systems import read_scores

    others = set(collection.stated()) - {"tags", "sample", "columns"}
    if others:
        raise UsageError(
            f"{', '.join(sorted(others))}: scores are values that are computed already; leave it "
            "out, or give judgments and runs.",
            code="conflicting-options",
        )
    return read_scores(
        *tables,
        directions=pairs(directions, "--direction", str),
        tags=collection.tags,
        sample=collection.sample,
    )
