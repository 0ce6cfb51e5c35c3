"""Split a log of any size into files: it is sorted on disk and split in stretches of users."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.logs.candidates import sample
from rankgate.data.logs.reading import opened
from rankgate.data.logs.relevance import Truth
from rankgate.data.logs.sorted_users import ROWS, stretched
from rankgate.data.logs.splits import SplitPlan
from rankgate.recommenders.split import FoldCount, Split, warnings_of
from rankgate.recommenders.split_files import FoldTables, folder_for, saved
from rankgate.recommenders.split_parts import masks, nothing_judged, parts, refuse_unknown_kinds
from rankgate.recommenders.splitting import marked, negatives_of

if TYPE_CHECKING:
    from rankgate.data.logs.clock import Unit
    from rankgate.data.logs.interactions import Interactions, LogLike
    from rankgate.data.logs.sorted_users import Stretches
    from rankgate.data.logs.splits import Way
    from rankgate.recommenders.split_parts import Masks
    from rankgate.recommenders.splitting import EqualRows


def split_into(
    log: LogLike,
    plan: Way | SplitPlan = "global",
    rule: Truth | None = None,
    *,
    folder: str | Path | None = None,
    to: str = "csv",
    candidates: str = "unseen",
    negatives: int = 99,
    columns: Mapping[str, str] | None = None,
    from_: str | None = None,
    time_unit: Unit | None = None,
    equal_rows: EqualRows = "once",
    rows: int = ROWS,
) -> tuple[Split, tuple[str, ...]]:
    """Split a log as `split` does and write the parts as `written` does, in bounded memory.

    Besides some stretches of the log, memory holds its users and times as numbers, twelve bytes a
    row; the disk of the folder holds the log twice while it is split.

    Args:
        log: a path (``-`` is standard input) or a frame.
        plan: how to split.
        rule: how interactions become judgments.
        folder: where the parts go; None is nowhere, for the figures alone.
        to: ``csv`` or ``parquet``, of the interactions and candidates.
        candidates: as of `split`, like what follows.
        negatives: how many items are drawn for each user with ``sampled``.
        columns: our column -> the log's.
        from_: the name of the log's format.
        time_unit: the unit of times that are numbers.
        equal_rows: whether rows that are equal in every column count ``once`` or ``each``.
        rows: of a stretch.

    Returns:
        the figures, and the names of the files.

    Raises:
        InputError, UsageError: as `split` and `written`.
    """
    plan, rule = SplitPlan.of(plan), rule or Truth()
    number = negatives_of(candidates, negatives)
    raw = opened(log, columns, from_=from_, unit=time_unit)
    top = None if folder is None else folder_for(folder, to)
    with TemporaryDirectory(prefix=".split-", dir=top) as work:
        result = stretched(raw, Path(work), equal_rows, rows)
        plan = plan.dated(result.unit)
        asked = _Asked(plan, rule, candidates != "all", number)
        folds = _folds(result, asked, None if top is None else Path(work))
        found = tuple(fold.count.figures() for fold in folds)
        figures = Split(
            result.name,
            result.unit,
            result.repeated,
            plan,
            rule,
            marked(candidates, number),
            found,
            warnings_of(plan, candidates, found),
        )
        if top is None:
            return figures, ()
        return figures, saved(figures, [fold.tables() for fold in folds], top, to)


@dataclass(frozen=True)
class _Asked:
    """What the split is to be."""

    plan: SplitPlan
    rule: Truth
    unseen: bool
    negatives: int | None


def _folds(result: Stretches, asked: _Asked, folder: Path | None) -> list[_Fold]:
    """Every fold, filled; its tables are kept in a folder of their own where one is given."""
    refuse_unknown_kinds(asked.rule, result.kinds)
    folds = []
    for number, chosen in enumerate(
        masks(result.narrow(items=asked.plan.way == "cold-items"), asked.plan)
    ):
        place = None if folder is None else folder / str(number)
        if place is not None:
            place.mkdir()
        folds.append(_Fold(chosen, result, asked, place))
    begin = 0
    for log in result:
        for fold in folds:
            fold.add(log, begin)
        begin += len(log.table)
    if any(fold.lacking for fold in folds):
        raise nothing_judged(asked.rule, result.place.label)
    return folds


class _Fold:
    """One fold as it grows stretch by stretch: its figures, and its tables on disk.

    Attributes:
        count: the figures.
        lacking: the parts of which nothing is judged yet.
    """

    def __init__(
        self, chosen: Masks, result: Stretches, asked: _Asked, folder: Path | None
    ) -> None:
        self.count = FoldCount(asked.plan, result.unit)
        self.lacking = {"test"} if chosen.validation is None else {"test", "validation"}
        self._chosen, self._asked, self._items = chosen, asked, result.items
        self._random = np.random.default_rng(asked.plan.seed)
        self._files: dict[str, dict[str, list[Path]]] = {
            "logs": {},
            "qrels": {"validation": []},
            "candidates": {},
        }
        self._folder = folder

    def add(self, log: Interactions, begin: int) -> None:
        """Take the next stretch, whose first row is that row of the whole log."""
        asked = self._asked
        chosen = self._chosen.rows(slice(begin, begin + len(log.table)))
        made = parts(log, chosen, asked.rule, unseen=asked.unseen)
        drawn = None
        if made.judgments is not None and asked.negatives is not None:
            drawn = sample(
                made.judgments.table,
                log.table,
                asked.negatives,
                asked.plan.seed,
                items=self._items,
                random=self._random,
            )
        self.count.add(made, drawn)
        logs = {"train": made.train, "validation": made.validation, "test": made.test}
        for name, part in logs.items():
            if part is not None:
                self._keep("logs", name, part.table)
        mark = "" if asked.negatives is None else f".sampled-{asked.negatives}"
        for name, qrels in (("validation", made.tuning), ("test", made.judgments)):
            if qrels is not None:
                self.lacking.discard(name)
                self._keep("qrels", f"{name}{mark * (name == 'test')}", qrels.table)
        if drawn:
            self._keep("candidates", drawn.name, drawn.marked)

    def tables(self) -> FoldTables:
        """All that was kept."""
        return FoldTables(
            **{
                kind: {name: pl.scan_ipc(files) for name, files in named.items() if files}
                for kind, named in self._files.items()
            }
        )

    def _keep(self, kind: str, name: str, table: pl.DataFrame) -> None:
        if self._folder is not None:
            files = self._files[kind].setdefault(name, [])
            files.append(self._folder / f"{kind}-{name}-{len(files)}.arrow")
            table.write_ipc(files[-1], compression="lz4")
