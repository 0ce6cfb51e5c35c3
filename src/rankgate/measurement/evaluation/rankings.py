"""Rankings and training data by ids or by numbers, for scoring."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data import Run, read_run
from rankgate.data.adapters import read_rankings as rankings_of_object
from rankgate.data.foreign_frames import named_runs
from rankgate.data.id_match import IdRules
from rankgate.data.logs.large_logs import UserItems, pack_pairs, read_user_items
from rankgate.data.memory.matrices import MatrixInput, Padded, is_source, make_source, nonzero_pairs
from rankgate.data.table_rows import no_rows_error
from rankgate.measurement.scoring.alignment.top_documents import distinct_names
from rankgate.measurement.scoring.matrix_source import SeenItems
from rankgate.measurement.scoring.run_sources import RunSource, measure

if TYPE_CHECKING:
    from rankgate.data.input_types import RunLike, RunsLike
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
    from rankgate.measurement.scoring.scoring_plan import Measurement, Plan, Source


_PAIR = ["query_id", "doc_id"]


@dataclass
class TrainingData:
    """Training data, by ids or by numbers.

    Attributes:
        given: a path, a frame, or a matrix in which every non-zero cell is an interaction.
        ids: the spellings of ids that make them fit.
    """

    given: Any
    ids: IdRules = field(default_factory=IdRules)

    @cached_property
    def source(self) -> MatrixInput | None:
        """The matrix, if the data is a matrix."""
        return make_source(self.given, "train") if is_source(self.given) else None

    @cached_property
    def items_of_users(self) -> UserItems:
        """The items of each user.

        Raises:
            InputError: the log cannot be read.
        """
        if self.source is None:
            log = read_user_items(self.given)
            users, items = self.ids.respelled("query", log.users), self.ids.respelled("doc", log.items)
            return replace(log, users=users, items=items)
        owner, item = nonzero_pairs(self.source)
        users, items = self.source.users.names, self.source.items.names
        return UserItems.from_keys(users, items, pack_pairs(owner, item))

    def read(self) -> None:
        """Read the data now, so that its errors are reported before the computation.

        Raises:
            InputError: see `met`.
        """
        if self.source is None:
            self.items_of_users  # noqa: B018 - kept from here on

    def items_of_run(self, run: MatrixInput) -> SeenItems:
        """The seen items by number in a run."""
        return SeenItems.from_pairs(self.source or self.items_of_users, run)

    def without(self, run: Run) -> Run:
        """A run by ids without the items of training."""
        return restrict_run(run, self.items_of_users, inside=False)


def restrict_run(run: Run, pairs: pl.DataFrame | UserItems | None, *, inside: bool) -> Run:
    """Keep only some pairs of a run, or remove them; None leaves the run unchanged."""
    if pairs is None:
        return run
    unique_pairs = pairs.select(_PAIR).unique() if isinstance(pairs, pl.DataFrame) else None

    def pieces() -> Iterator[pl.DataFrame]:
        for frame in run.pieces():
            if isinstance(pairs, UserItems):
                is_in_training = pairs.has(frame["query_id"], frame["doc_id"])
                yield frame.filter(pl.Series(is_in_training == inside))
                continue
            assert unique_pairs is not None
            join_type = "semi" if inside else "anti"
            yield frame.join(unique_pairs, on=_PAIR, how=join_type, maintain_order="left")  # type: ignore[arg-type]

    return replace(run, pieces=pieces, rankings=None)


Rankings: TypeAlias = Run | MatrixInput
"""A run, by ids or by numbers."""


def measure_run(
    judgments: JudgmentIndex,
    run: Rankings,
    plan: Plan,
    train: TrainingData | None = None,
    *,
    strict: bool = True,
) -> tuple[Measurement, Source]:
    """Measure a plan on the rankings of one run, without items that users had in training.

    Args:
        judgments: the judgments that the run is measured against.
        run: a run by ids or by numbers.
        plan: the plan.
        train: the training data whose items are removed from the rankings.
        strict: True if missing rankings or judgments are an error.

    Returns:
        the measurement, and the source that it was taken from.

    Raises:
        InputError, DuplicateError: the run has an error, or matrices have different sizes.
    """
    if isinstance(run, MatrixInput):
        _refuse_size_mismatch(judgments, run)
        if strict and judgments.query_ids.is_empty():
            raise no_rows_error("grade", judgments.name)
        if strict and not run.users.size:
            raise no_rows_error("score", run.name)
        from rankgate.measurement.scoring.matrix_source import MatrixSource

        matrix = MatrixSource(run, judgments, train.items_of_run(run) if train else None)
        try:
            return measure(replace(plan, duplicates=matrix.duplicates), matrix), matrix
        except DuplicateError:
            if {mode.duplicates for mode in plan.ways} == {"error"}:
                raise
    source = RunSource(run_by_ids(run, train), judgments)
    return measure(plan, source), source


def _refuse_size_mismatch(judgments: JudgmentIndex, run: MatrixInput) -> None:
    """Check that rows without names, which are users by position, belong to the same users."""
    truth = judgments.given
    if not isinstance(truth, MatrixInput):
        return
    pairs = [("rows", truth.users, run.users, "query_ids")]
    if not isinstance(truth, Padded) and not isinstance(run, Padded):
        pairs.append(("columns", truth.items, run.items, "doc_ids"))
    for word, judged_ids, run_ids, name in pairs:
        if judged_ids.given is None and run_ids.given is None and judged_ids.size != run_ids.size:
            problem = (
                f"{run_ids.size} {word}, where {truth.name} has {judged_ids.size}; make them equal, or give "
                f"their ids with {name}."
            )
            raise InputError(problem, source=run.name, code="wrong-shape")


def run_by_ids(run: Rankings, train: TrainingData | None = None) -> Run:
    """A run by ids, without items that users had in training."""
    run_by_ids = read_run(run)
    return run_by_ids if train is None else train.without(run_by_ids)


def read_rankings(run: RunLike, name: str) -> Rankings:
    """Read a run; a matrix is returned as a matrix.

    Raises:
        InputError: a file cannot be read (the message has file and line), or an array of whole
            numbers could be scores or items.
    """
    run = rankings_of_object(run, "run")
    if not is_source(run):
        return read_run(run, name)
    dtype = str(getattr(run, "dtype", "")).rpartition(".")[2]  # from torch: torch.int64
    if dtype.startswith(("int", "uint")) and not hasattr(run, "tocoo"):
        problem = (
            "an array of whole numbers could hold scores or items; use rankgate.Lists(array) for the items "
            "of each user, or rankgate.Matrix(array) for scores."
        )
        raise InputError(problem, source=name, code="ambiguous-input")
    return make_source(run, name)


def read_named_runs(runs: RunsLike) -> list[Run]:
    """One run, several runs, or ``{name: run}``, each under its own name."""
    return [read_run(run) for run in read_named_rankings(runs)]


def read_named_rankings(runs: RunsLike) -> list[Rankings]:
    """Like `read_named_runs`, but a matrix stays a matrix."""
    named_inputs = named_runs(runs)
    rankings = [
        read_rankings(run, f"run{number}" if name is None else name)
        for number, (name, run) in enumerate(named_inputs, 1)
    ]
    names = [name or run.name for run, (name, _) in zip(rankings, named_inputs, strict=True)]
    names = distinct_names(names, [run for _, run in named_inputs])
    return [replace(run, name=name) for run, name in zip(rankings, names, strict=True)]
