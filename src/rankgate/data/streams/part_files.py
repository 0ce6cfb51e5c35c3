"""Folders of part files, as Spark, DuckDB and warehouses write one table."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field, replace
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.place import Place

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import polars as pl

    from rankgate.data.streams.source import InputFile

_ROWS = 1 << 18  # that frames of small files are put together to, at least
_LOGS = {"_delta_log": "Delta", ".hoodie": "Hudi"}
_UNFINISHED = "_temporary"  # where Spark writes before it commits


def is_folder(place: InputFile) -> bool:
    """Whether a place is a folder."""
    return place.content is None and place.path is not None and place.path.is_dir()


def part_files(folder: InputFile) -> tuple[InputFile, ...]:
    """The files of one table, in the order of their names; those without a byte are left out.

    Names that begin with ``_`` or ``.`` are no part files, as ``_SUCCESS``.

    Args:
        folder: where they are.

    Raises:
        InputError: no such files, folders in the folder, a table whose log says which files
            count, or files that are still being written.
    """
    assert folder.path is not None
    inside = sorted(folder.path.iterdir(), key=lambda each: each.name)
    names = {each.name for each in inside}
    for log, name in _LOGS.items():
        if log in names:
            problem = f"a {name} table, whose log says which files count; read it with Spark."
            raise InputError(problem, source=folder.label, code="is-a-folder")
    if _UNFINISHED in names:
        problem = f"it has a folder {_UNFINISHED}: it is still being written, or the job failed."
        raise InputError(problem, source=folder.label, code="unfinished-folder")
    shown = [each for each in inside if not each.name.startswith(("_", "."))]
    if folders := [each.name for each in shown if each.is_dir()]:
        what = "partitions" if "=" in folders[0] else "folders"
        problem = (
            f"a folder with {what} such as {folders[0]}, where a file or a folder of part files is "
            "needed; name one of them, or write the table without partitions."
        )
        raise InputError(problem, source=folder.label, code="is-a-folder")
    if not shown:
        problem = "a folder without files, where a file or a folder of part files is needed."
        raise InputError(problem, source=folder.label, code="is-a-folder")
    parts = [replace(folder, path=each) for each in shown]
    if sum(each.stat().st_size for each in shown) > folder.most:
        raise folder.too_large()
    return tuple(part for part in parts if not _is_empty(part)) or tuple(parts[:1])


def refuse_other_columns(columns: Collection[str], first: Collection[str], part: InputFile) -> None:
    """Check that a part file has the columns of the first one.

    Raises:
        InputError: it has others.
    """
    names = ", ".join(sorted({*columns} ^ {*first}))
    if names:
        problem = f"not the columns of the first file of the folder: {names} is in one of them."
        raise InputError(problem, source=part.label, code="columns-differ")


def _is_empty(part: InputFile) -> bool:
    """Whether a file of text has nothing in it, as where a task had no rows to write."""
    assert part.path is not None
    return part.path.suffix not in {".parquet", ".pq"} and not part.head(1)


@dataclass(frozen=True)
class PartRows:
    """Where the rows of part files are, which are read one after another.

    Attributes:
        label: the folder.
    """

    label: str
    _places: list[Place] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    @property
    def place(self) -> Place:
        """Where a row is that was read; rows are counted over all files."""
        return Place(self.label, self._line, self._file)

    def together(
        self, parts: Iterable[tuple[Place, Iterable[pl.DataFrame]]]
    ) -> Iterator[pl.DataFrame]:
        """The rows of part files; those of small files in one frame.

        Args:
            parts: where the rows of each file are, and the rows.
        """
        import polars as pl

        self._places.clear()
        self._starts.clear()
        first, size = 0, 0
        kept: list[pl.DataFrame] = []
        for place, frames in parts:
            self._places.append(place)
            self._starts.append(first)
            for frame in frames:
                first, size = first + len(frame), size + len(frame)
                kept.append(frame)
                if size >= _ROWS:
                    yield pl.concat(kept, how="diagonal_relaxed", rechunk=False)
                    kept, size = [], 0
        if size:
            yield pl.concat(kept, how="diagonal_relaxed", rechunk=False)

    def _part(self, row: int) -> tuple[Place, int]:
        number = bisect_right(self._starts, row) - 1
        return self._places[number], row - self._starts[number]

    def _line(self, row: int) -> int | None:
        place, own = self._part(row)
        return place.line(own)

    def _file(self, row: int) -> str:
        place, own = self._part(row)
        return place.file(own)
