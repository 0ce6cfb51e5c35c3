"""Rankings in the form that scoring needs: by ids, or by numbers where a run is a matrix."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data import Run, read_run
from rankgate.data.dataframes import by_system
from rankgate.data.memory.matrices import MatrixInput, Padded, is_source, source_of
from rankgate.data.read import is_ranking
from rankgate.measurement.scoring.run_names import distinct_names
from rankgate.measurement.scoring.sources import RunSource, measured

if TYPE_CHECKING:
    from rankgate.data.inputs import RunLike, RunsLike
    from rankgate.measurement.evaluation.training import Train
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.plan import Measurement, Plan, Source

Rankings: TypeAlias = Run | MatrixInput
"""A run, by ids or by numbers."""


def measured_run(
    judgments: JudgmentIndex,
    run: Rankings,
    plan: Plan,
    train: Train | None = None,
    *,
    strict: bool = True,
) -> tuple[Measurement, Source]:
    """What a plan measures on the rankings of one run, from which what users had leaves.

    Args:
        judgments: what the run is measured against.
        run: by ids or by numbers.
        plan: what is measured.
        train: what users had in training, where that leaves their rankings.
        strict: whether it is an error that there are no rankings or judgments.

    Returns:
        the measurement, and the source that it was taken from.

    Raises:
        InputError, DuplicateError: what is wrong with the run; matrices of different sizes.
    """
    if isinstance(run, MatrixInput):
        _refuse_unlike(judgments, run)
        if strict and judgments.query_ids.is_empty():
            raise InputError("no judgments found.", source=judgments.name, code="no-judgments")
        if strict and not run.users.size:
            raise InputError("there are no rankings in it.", source=run.name, code="no-rankings")
    own_ids = any(way.alignment.own_id == "dropped" for way in plan.ways)
    if isinstance(run, MatrixInput) and run.users.given is None:
        own_ids = False  # the number of a row is not the id of a document
    if isinstance(run, MatrixInput) and not own_ids:
        from rankgate.measurement.scoring.matrix_source import MatrixSource

        matrix = MatrixSource(run, judgments, train.seen(run) if train else None)
        try:
            return measured(replace(plan, duplicates=matrix.duplicates), matrix), matrix
        except DuplicateError:
            if {way.duplicates for way in plan.ways} == {"error"}:
                raise
    source = RunSource(by_ids(run, train), judgments)
    return measured(plan, source), source


def _refuse_unlike(judgments: JudgmentIndex, run: MatrixInput) -> None:
    """Rows that are users by their place must be of the same users."""
    truth = judgments.given
    if not isinstance(truth, MatrixInput):
        return
    pairs = [("rows", truth.users, run.users, "query_ids")]
    if not isinstance(truth, Padded) and not isinstance(run, Padded):
        pairs.append(("columns", truth.items, run.items, "doc_ids"))
    for word, ours, theirs, name in pairs:
        if ours.given is None and theirs.given is None and ours.size != theirs.size:
            problem = (
                f"{theirs.size} {word}, where {truth.name} has {ours.size}; make them equal, "
                f"or say whose they are with {name}."
            )
            raise InputError(problem, source=run.name, code="wrong-shape")


def by_ids(run: Rankings, train: Train | None = None) -> Run:
    """A run by ids, without what users had in training."""
    found = read_run(run)
    return found if train is None else train.without(found)


def rankings_of(run: RunLike, name: str) -> Rankings:
    """A run, which stays a matrix where it is one.

    Raises:
        InputError: what is wrong, with file and line; an array of whole numbers, which could be
            scores or items.
    """
    if isinstance(run, str | Path):
        return read_run(run, name)
    from rankgate.data.memory.libraries import from_library

    run = from_library(run)
    if not is_source(run):
        return read_run(run, name)
    dtype = str(getattr(run, "dtype", "")).rpartition(".")[2]  # of torch: torch.int64
    if dtype.startswith(("int", "uint")) and not hasattr(run, "tocoo"):
        problem = (
            "an array of whole numbers could hold scores or items; use rankgate.Lists(array) for "
            "the items of each user, or rankgate.Matrix(array) for scores."
        )
        raise InputError(problem, source=name, code="ambiguous-input")
    return source_of(run, name)


def named_runs(runs: RunsLike) -> list[Run]:
    """One run, several, or ``{name: run}``, each under its own name."""
    return [read_run(run) for run in named_rankings(runs)]


def named_rankings(runs: RunsLike) -> list[Rankings]:
    """As `named_runs`, but what is a matrix stays so."""
    runs = by_system(runs) or runs
    if isinstance(runs, Mapping) and not is_ranking(runs):
        by_name: Mapping[str, Any] = runs
        return [replace(rankings_of(run, name), name=name) for name, run in by_name.items()]
    several: list[Any] = [*runs] if isinstance(runs, list | tuple) else [runs]
    if len(several) > 1 and not all(isinstance(run, str | Path) for run in several):
        from rankgate.data.memory.libraries import is_pair

        several = [runs] if is_pair(runs) else several
    named = [rankings_of(run, f"run{i}") for i, run in enumerate(several, 1)]
    names = distinct_names([run.name for run in named], several)
    return [replace(run, name=name) for run, name in zip(named, names, strict=True)]
