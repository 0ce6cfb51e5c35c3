"""Folders of part files, in which Spark, DuckDB and warehouses write a table."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import field, replace
from typing import TYPE_CHECKING

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.table_rows import RowLocation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    import polars as pl

    from rankgate.data.streams.source import InputFile


_MIN_ROWS = 1 << 18  # rows to collect from small files for one frame, at least
_LOG_FOLDERS = {"_delta_log": "Delta", ".hoodie": "Hudi"}
_UNCOMMITTED_FOLDER = "_temporary"  # Spark writes here before it commits


def is_folder(input_file: InputFile) -> bool:
    """True if a path is a folder."""
    return input_file.content is None and input_file.path is not None and input_file.path.is_dir()


def list_part_files(folder: InputFile) -> tuple[InputFile, ...]:
    """The files of one table in the order of their names, without empty files.

    Names that begin with ``_`` or ``.``, such as ``_SUCCESS``, are not part files.

    Args:
        folder: the folder of the files.

    Raises:
        InputError: there are no such files, the folder has folders in it, the table has a log of
            its valid files, or files are still being written.
    """
    assert folder.path is not None
    paths = sorted(folder.path.iterdir(), key=lambda path: path.name)
    names = {path.name for path in paths}
    for log, name in _LOG_FOLDERS.items():
        if log in names:
            problem = f"a {name} table, where a log lists the valid files; read it with Spark."
            raise InputError(problem, source=folder.label, code="is-a-folder")
    if _UNCOMMITTED_FOLDER in names:
        problem = f"it has a folder {_UNCOMMITTED_FOLDER}: it is still being written, or the job failed."
        raise InputError(problem, source=folder.label, code="unfinished-folder")
    visible_paths = [path for path in paths if not path.name.startswith(("_", "."))]
    if folders := [path.name for path in visible_paths if path.is_dir()]:
        folder_kind = "partitions" if "=" in folders[0] else "folders"
        problem = (
            f"a folder with {folder_kind} such as {folders[0]}, where a file or a folder of part files is "
            "needed; name one of them, or write the table without partitions."
        )
        raise InputError(problem, source=folder.label, code="is-a-folder")
    if not visible_paths:
        problem = "a folder without files, where a file or a folder of part files is needed."
        raise InputError(problem, source=folder.label, code="is-a-folder")
    parts = [replace(folder, path=path) for path in visible_paths]
    if sum(path.stat().st_size for path in visible_paths) > folder.most:
        raise folder.too_large()
    return tuple(part_file for part_file in parts if not _is_empty(part_file)) or tuple(parts[:1])


def refuse_other_columns(columns: Collection[str], first: Collection[str], part_file: InputFile) -> None:
    """Check that a part file has the columns of the first one.

    Raises:
        InputError: it has other columns.
    """
    names = ", ".join(sorted({*columns} ^ {*first}))
    if names:
        problem = f"not the columns of the first file of the folder: {names} is in one of them."
        raise InputError(problem, source=part_file.label, code="columns-differ")


def _is_empty(part_file: InputFile) -> bool:
    """True if a text file is empty because a task had no rows to write."""
    assert part_file.path is not None
    return part_file.path.suffix not in {".parquet", ".pq"} and not part_file.head(1)


@dataclass(frozen=True)
class PartRows:
    """The locations of the rows of part files, which are read in order.

    Attributes:
        label: the folder.
    """

    label: str
    _places: list[RowLocation] = field(default_factory=list)
    _starts: list[int] = field(default_factory=list)

    @property
    def location(self) -> RowLocation:
        """The location of a row; rows are counted over all files."""
        return RowLocation(self.label, self._line, self._file)

    def together(self, parts: Iterable[tuple[RowLocation, Iterable[pl.DataFrame]]]) -> Iterator[pl.DataFrame]:
        """The rows of part files; rows of small files are joined in one frame.

        Args:
            parts: the location of the rows of each file, and the rows.
        """
        import polars as pl

        self._places.clear()
        self._starts.clear()
        first_row, size = 0, 0
        small_frames: list[pl.DataFrame] = []
        for location, frames in parts:
            self._places.append(location)
            self._starts.append(first_row)
            for frame in frames:
                first_row, size = first_row + len(frame), size + len(frame)
                small_frames.append(frame)
                if size >= _MIN_ROWS:
                    yield pl.concat(small_frames, how="diagonal_relaxed", rechunk=False)
                    small_frames, size = [], 0
        if size:
            yield pl.concat(small_frames, how="diagonal_relaxed", rechunk=False)

    def _find_part(self, row: int) -> tuple[RowLocation, int]:
        number = bisect_right(self._starts, row) - 1
        return self._places[number], row - self._starts[number]

    def _line(self, row: int) -> int | None:
        location, row_in_part = self._find_part(row)
        return location.line(row_in_part)

    def _file(self, row: int) -> str:
        location, row_in_part = self._find_part(row)
        return location.file(row_in_part)
