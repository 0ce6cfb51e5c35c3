"""Judgments in the form that each run needs: by ids, or by numbers where a run is a matrix."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgate.data import Run, read_qrels, read_run
from rankgate.data.memory.matrices import Padded, Source, is_source, source_of
from rankgate.errors import DuplicateError, InputError
from rankgate.scoring import score
from rankgate.scoring.index import Index

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rankgate.data import Qrels, Scores
    from rankgate.evaluation.training import Train
    from rankgate.metrics.declare import Metric
    from rankgate.scoring import Convention
    from rankgate.scoring.coded import Coded

Rankings: TypeAlias = Run | Source
"""A run, by ids or by numbers."""


@dataclass
class Judged:
    """Judgments, laid out when they are first needed.

    Attributes:
        given: as they were read.
    """

    given: Qrels | Source

    @classmethod
    def of(cls, qrels: Any, *, subtopics: bool = False) -> Judged:  # noqa: ANN401
        """Read them; arguments as of `read_qrels`.

        Raises:
            InputError: what is wrong, with file and line.
        """
        if is_source(qrels):
            return cls(source_of(qrels, "qrels"))
        return cls(read_qrels(qrels, subtopics=subtopics))

    @property
    def name(self) -> str:
        """What the judgments are called."""
        return self.given.name

    @cached_property
    def by_subtopic(self) -> Qrels:
        """The judgments by ids, by subtopic if they are so."""
        return read_qrels(self.given, subtopics=True)

    @cached_property
    def qrels(self) -> Qrels:
        """The judgments by ids, one grade a document."""
        return self.by_subtopic.by_document()

    @cached_property
    def index(self) -> Index:
        """The same laid out."""
        return Index.of(self.qrels)

    @cached_property
    def coded(self) -> Coded:
        """The same by numbers."""
        from rankgate.scoring.coded import Coded  # noqa: PLC0415 - of matrices only

        if isinstance(self.given, Source):
            return Coded.of(self.given)
        return Coded.of_index(self.index)

    @property
    def query_ids(self) -> pl.Series:
        """The judged queries, in byte order."""
        return (self.coded if isinstance(self.given, Source) else self.index).query_ids

    def score(
        self,
        run: Rankings,
        metrics: Sequence[tuple[str, Metric]],
        how: Convention,
        train: Train | None = None,
        *,
        strict: bool = True,
    ) -> Scores:
        """The values of one run; what users had in training leaves it.

        Raises:
            InputError, DuplicateError: as of ``scoring.score``; matrices of different sizes.
        """
        if isinstance(run, Source):
            from rankgate.scoring.by_number import score_by_number  # noqa: PLC0415 - as above

            self._refuse_unlike(run)
            if strict and self.query_ids.is_empty():
                raise InputError(
                    "there are no judgments in it.", source=self.name, code="no-judgments"
                )
            if strict and not run.users.size:
                raise InputError(
                    "there are no rankings in it.", source=run.name, code="no-rankings"
                )
            seen = train.seen(run) if train else None
            try:
                return score_by_number(self.coded, run, metrics, how, seen, strict=strict)
            except DuplicateError:
                rules = {how.duplicates, *(how.for_metric(each).duplicates for _, each in metrics)}
                if rules == {"error"}:
                    raise
        return score(self.index, by_ids(run, train), metrics, how, strict=strict)

    def _refuse_unlike(self, run: Source) -> None:
        """Rows that are users by their place must be of the same users."""
        truth = self.given
        if not isinstance(truth, Source):
            return
        pairs = [("rows", truth.users, run.users, "query_ids")]
        if not isinstance(truth, Padded) and not isinstance(run, Padded):
            pairs.append(("columns", truth.items, run.items, "doc_ids"))
        for word, ours, theirs, name in pairs:
            if ours.given is None and theirs.given is None and ours.size != theirs.size:
                problem = (
                    f"{theirs.size} {word}, where {truth.name} has {ours.size}; give both alike, "
                    f"or say whose they are with {name}."
                )
                raise InputError(problem, source=run.name, code="wrong-shape")


def by_ids(run: Rankings, train: Train | None = None) -> Run:
    """A run by ids, without what users had in training."""
    found = read_run(run)
    return found if train is None else train.without(found)


def rankings_of(run: Any, name: str) -> Rankings:  # noqa: ANN401 - a path, a frame, an array
    """A run, which stays a matrix where it is one.

    Raises:
        InputError: what is wrong, with file and line; an array of whole numbers, which could be
            scores or items.
    """
    if not is_source(run):
        return read_run(run, name)
    dtype = str(getattr(run, "dtype", "")).rpartition(".")[2]  # of torch: torch.int64
    if dtype.startswith(("int", "uint")) and not hasattr(run, "tocoo"):
        problem = (
            "an array of whole numbers could hold scores or items; say rankgate.Lists(array) for "
            "the items of each user, or rankgate.Matrix(array) for scores."
        )
        raise InputError(problem, source=name, code="ambiguous-input")
    return source_of(run, name)
