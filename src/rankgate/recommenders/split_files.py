"""Write a split to files: training set, test set, judgments, candidates.

A log of any size can be split into files: it is sorted on disk and split by ranges of users.
"""

from __future__ import annotations

import glob
import json
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import new_folder, replace_file
from rankgate.data.logs.large_logs import ROWS_PER_RANGE, sort_log
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.read_logs import open_log, read_interactions
from rankgate.data.logs.splits import SplitPlan, sample
from rankgate.data.spark_tables import SparkTable
from rankgate.recommenders.split import FoldCount, Split, warnings_of
from rankgate.recommenders.split_parts import check_kinds, fold_masks_of, no_judgments_error, split_parts
from rankgate.recommenders.splitting import candidates_label, counted_rows, negative_count, split

if TYPE_CHECKING:
    from rankgate.data.logs.interactions import Interactions, LogLike, Unit
    from rankgate.data.logs.large_logs import SortedLog
    from rankgate.data.logs.splits import SplitMethodName
    from rankgate.recommenders.split import Fold
    from rankgate.recommenders.split_parts import FoldMasks
    from rankgate.recommenders.splitting import EqualRows


SUFFIXES = ("csv", "parquet")
"""The formats of the parts."""


@dataclass(frozen=True, eq=False)
class FoldTables:
    """The tables of one fold, read when they are written.

    Attributes:
        logs: the interactions of each part.
        qrels: judgments by name.
        candidates: sampled candidates by the name of their table; empty if none were drawn.
    """

    logs: Mapping[str, pl.LazyFrame]
    qrels: Mapping[str, pl.LazyFrame]
    candidates: Mapping[str, pl.LazyFrame]

    @classmethod
    def from_fold(cls, fold: Fold) -> FoldTables:
        """The tables of a fold in memory."""
        parts = {
            "train": fold.train,
            "validation": fold.validation,
            "fold-in": fold.fold_in,
            "test": fold.test,
        }
        judged = [qrels for qrels in (fold.tuning, fold.judgments) if qrels is not None]
        if not judged:
            problem = "this split has figures only; split the log again for its tables."
            raise UsageError(problem, code="no-table")
        candidate_sample = fold.sample
        return cls(
            {name: log.table.lazy() for name, log in parts.items() if log is not None},
            {qrels.name: qrels.table.lazy() for qrels in judged},
            {candidate_sample.name: candidate_sample.marked.lazy()} if candidate_sample else {},
        )


def write_split(result: Split, folder: str | Path, format_name: str = "csv") -> tuple[str, ...]:
    """Write every part: interactions, judgments (as CSV), and candidates if they were drawn.

    A split of several folds gets one folder per fold, from 1; ``split.json`` describes the split.

    Args:
        result: the split.
        folder: the target folder, which is created if it does not exist.
        format_name: ``csv`` or ``parquet``, for the interactions and candidates.

    Returns:
        the names of the files, in the order of writing.

    Raises:
        UsageError: the format is unknown, or the folder cannot be created.
    """
    with folder_for(folder, format_name) as top:
        return write_tables(result, [FoldTables.from_fold(fold) for fold in result.folds], top, format_name)


def folder_for(folder: str | Path, format_name: str) -> AbstractContextManager[Path]:
    """The folder of the parts, by `new_folder`.

    Raises:
        UsageError: the format is unknown, or the folder cannot be created.
    """
    if format_name not in SUFFIXES:
        raise UsageError(
            f"parts are written as {' or '.join(SUFFIXES)}, not as '{format_name}'.", code="unknown-format"
        )
    return new_folder(folder)


def write_tables(result: Split, folds: list[FoldTables], top: Path, format_name: str) -> tuple[str, ...]:
    """Write the tables of every fold, and the figures; return the names of the files."""
    names = []
    for number, tables in enumerate(folds, 1):
        fold_folder = top / str(number) if len(folds) > 1 else top
        with new_folder(fold_folder):
            file_names = [
                *(
                    _write_table(
                        readable_interactions(table, result.unit, whole=_is_whole(table, "at")),
                        fold_folder,
                        name,
                        format_name,
                    )
                    for name, table in tables.logs.items()
                ),
                *(
                    _write_table(
                        readable_judgments(table, whole=_is_whole(table, "grade")),
                        fold_folder,
                        f"{name}.qrels",
                        "csv",
                    )
                    for name, table in tables.qrels.items()
                ),
                *(
                    _write_table(table, fold_folder, name, format_name)
                    for name, table in tables.candidates.items()
                ),
            ]
        names += [str((fold_folder / name).relative_to(top)) for name in file_names]
    with replace_file(top / "split.json") as stream:
        stream.write(json.dumps(result.to_dict(), ensure_ascii=False, indent=2).encode() + b"\n")
    return (*names, "split.json")


def readable_interactions(table: pl.LazyFrame, unit: str, *, whole: bool) -> pl.LazyFrame:
    """The interactions without empty columns, with readable times.

    Args:
        table: the columns of `Interactions`.
        unit: the unit of times.
        whole: True if all times are whole numbers of seconds, or of positions.
    """
    if unit == "none":
        return table.drop("at")
    times = pl.col("at")
    if unit in {"order", "place"}:
        return table.with_columns(times // 1_000_000 if whole else times / 1e6)
    form = "%Y-%m-%dT%H:%M:%SZ" if whole else "%Y-%m-%dT%H:%M:%S%.6fZ"
    return table.with_columns(times.cast(pl.Datetime("us")).dt.strftime(form))


def readable_judgments(table: pl.LazyFrame, *, whole: bool) -> pl.LazyFrame:
    """The judgments with readable grades.

    Args:
        table: the columns of `Qrels`.
        whole: True if all grades are whole numbers.
    """
    return table.with_columns(pl.col("grade").cast(pl.Int64)) if whole else table


def _is_whole(table: pl.LazyFrame, name: str) -> bool:
    """True if all numbers of a column are whole; times are in millionths of a unit."""
    holds = pl.col(name) % (1_000_000 if name == "at" else 1) == 0
    return bool(table.select(holds.all()).collect(engine="streaming").item())


def _write_table(table: pl.LazyFrame, folder: Path, name: str, suffix: str) -> str:
    with replace_file(folder / f"{name}.{suffix}") as stream:
        table.sink_parquet(stream) if suffix == "parquet" else table.sink_csv(stream)
    return f"{name}.{suffix}"


def split_into(
    log: LogLike | SparkTable,
    plan: SplitMethodName | SplitPlan = "global",
    rule: Truth | None = None,
    *,
    folder: str | Path | None = None,
    to: str = "csv",
    candidates: str = "unseen",
    negatives: int = 99,
    columns: Mapping[str, str] | None = None,
    from_: str | None = None,
    time_unit: Unit | None = None,
    equal_rows: EqualRows | None = None,
    test: LogLike | None = None,
    rows: int = ROWS_PER_RANGE,
) -> tuple[Split, tuple[str, ...]]:
    """Split a log as `split` does, and write the parts as `written` does, in bounded memory.

    Besides some whole users, memory holds the users and times of the log as numbers, twelve bytes
    a row; the disk of the folder holds the log twice during the split.

    Args:
        log: a path (``-`` is standard input), a frame, or a table on Spark, which is split there.
        plan: the split.
        rule: the rule by which interactions become judgments.
        folder: the target of the parts; None for the figures alone.
        to: ``csv`` or ``parquet``, of the interactions and candidates.
        candidates: as of `split`, like the next.
        negatives: the number of items drawn for each user with ``sampled``.
        columns: our column -> the log's.
        from_: the name of the log's format.
        time_unit: the unit of times that are numbers.
        equal_rows: as of `split`.
        test: as of `split`; with it, for a k-core, and for sessions at gaps, memory holds the whole log.
        rows: the number of rows that are split at once.

    Returns:
        the figures, and the names of the files.

    Raises:
        InputError, UsageError: as `split` and `written`.
    """
    plan = SplitPlan.of(plan)
    if isinstance(log, SparkTable) or test is not None or plan.core or plan.gap:
        if isinstance(log, SparkTable):
            log = SparkTable(log.source, from_ or log.format)
        else:
            log = read_interactions(
                log, columns, from_=from_, unit=time_unit, same=counted_rows(equal_rows, rule)
            )
        figures = split(
            log,
            plan,
            rule,
            candidates=candidates,
            negatives=negatives,
            columns=columns,
            time_unit=time_unit,
            equal_rows=equal_rows,
            test=test,
        )
        return figures, () if folder is None else figures.write(folder, to)
    plan, rule = SplitPlan.of(plan), rule or Truth()
    number = negative_count(candidates, negatives)
    raw = open_log(log, columns, from_=from_, unit=time_unit)
    with (
        nullcontext() if folder is None else folder_for(folder, to) as top,
        TemporaryDirectory(prefix=".split-", dir=top) as work,
    ):
        result = sort_log(raw, Path(work), counted_rows(equal_rows, rule), rows)
        plan = plan.dated(result.unit)
        settings = _SplitSettings(plan, rule, candidates != "all", number)
        folds = _folds(result, settings, None if top is None else Path(work))
        fold_figures = tuple(fold.count.figures() for fold in folds)
        figures = Split(
            result.name,
            result.unit,
            result.repeated,
            plan,
            rule,
            candidates_label(candidates, number),
            fold_figures,
            warnings_of(plan, candidates, fold_figures, rule),
        )
        if top is None:
            return figures, ()
        return figures, write_tables(figures, [fold.tables() for fold in folds], top, to)


@dataclass(frozen=True)
class _SplitSettings:
    """The settings of a split."""

    plan: SplitPlan
    rule: Truth
    unseen: bool
    negatives: int | None


def _folds(result: SortedLog, settings: _SplitSettings, folder: Path | None) -> list[_GrowingFold]:
    """Fill every fold; its tables are stored in a folder of their own if `folder` is given."""
    check_kinds(settings.rule, result.kinds)
    folds = []
    for number, fold_masks in enumerate(
        fold_masks_of(result.narrow(items=settings.plan.way == "cold-items"), settings.plan)
    ):
        fold_folder = None if folder is None else folder / str(number)
        if fold_folder is not None:
            fold_folder.mkdir()
        folds.append(_GrowingFold(fold_masks, result, settings, fold_folder))
    begin = 0
    for log in result:
        for fold in folds:
            fold.add(log, begin)
        begin += len(log.table)
    if any(fold.lacking for fold in folds):
        raise no_judgments_error(settings.rule, result.place.label)
    return folds


class _GrowingFold:
    """A fold that grows by ranges of whole users: its figures, and its tables on disk.

    Attributes:
        count: the figures.
        lacking: the parts that have no judgments yet.
    """

    def __init__(
        self, fold_masks: FoldMasks, result: SortedLog, settings: _SplitSettings, folder: Path | None
    ) -> None:
        self.count = FoldCount(settings.plan, result.unit)
        self.lacking = {"test"} if fold_masks.validation is None else {"test", "validation"}
        self._chosen, self._asked, self._items = fold_masks, settings, result.items
        self._random = np.random.default_rng(settings.plan.seed)
        self._files: dict[str, dict[str, list[Path]]] = {
            "logs": {},
            "qrels": {"validation": []},
            "candidates": {},
        }
        self._folder = folder

    def add(self, log: Interactions, begin: int) -> None:
        """Add more whole users; their first row is row `begin` of the complete log."""
        settings = self._asked
        chunk_masks = self._chosen.rows(slice(begin, begin + len(log.table)))
        fold_parts = split_parts(log, chunk_masks, settings.rule, unseen=settings.unseen)
        candidate_sample = None
        if fold_parts.judgments is not None and settings.negatives is not None:
            candidate_sample = sample(
                fold_parts.judgments.table,
                log.table,
                settings.negatives,
                settings.plan.seed,
                items=self._items,
                random=self._random,
            )
        self.count.add(fold_parts, candidate_sample)
        for name, part_log in fold_parts.logs.items():
            self._keep("logs", name, part_log.table)
        mark = "" if settings.negatives is None else f".sampled-{settings.negatives}"
        for name, qrels in (("validation", fold_parts.tuning), ("test", fold_parts.judgments)):
            if qrels is not None:
                self.lacking.discard(name)
                self._keep("qrels", f"{name}{mark * (name == 'test')}", qrels.table)
        if candidate_sample:
            self._keep("candidates", candidate_sample.name, candidate_sample.marked)

    def tables(self) -> FoldTables:
        """Read the tables of the stored files."""
        return FoldTables(
            **{
                kind: {
                    name: pl.scan_ipc([glob.escape(str(file)) for file in files])
                    for name, files in files_by_name.items()
                    if files
                }
                for kind, files_by_name in self._files.items()
            }
        )

    def _keep(self, kind: str, name: str, table: pl.DataFrame) -> None:
        if self._folder is not None:
            files = self._files[kind].setdefault(name, [])
            files.append(self._folder / f"{kind}-{name}-{len(files)}.arrow")
            table.write_ipc(files[-1], compression="lz4")
