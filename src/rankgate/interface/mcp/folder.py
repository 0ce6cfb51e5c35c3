"""The folder that an assistant may read: every path leads into it, links and policies too."""

from __future__ import annotations

import glob
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.formats import registry
from rankgate.data.streams.source import split_table


@dataclass(frozen=True)
class Folder:
    """The files of one folder, up to a size.

    Attributes:
        root: the folder, without links in its own path.
        largest: bytes of a file; a larger one is refused.
    """

    root: Path
    largest: int

    def file(self, path_text: str) -> str:
        """A file to be read, as an absolute path; ``FORMAT:PATH`` keeps its format.

        Raises:
            UsageError: a path that leads out of the folder.
            InputError: no such file; one that is too large.
        """
        name, path_part = registry.split_prefix(path_text)
        path, table = split_table(self._inside(str(path_part)))
        path = self._inside(str(path))
        if not path.is_file():
            raise InputError(
                "there is no such file in the folder.", source=path_text, code="no-file"
            )
        for sibling in path.parent.glob(f"{glob.escape(path.name)}*"):  # FILE.query and the like
            self._inside(str(sibling))
        if path.stat().st_size > self.largest:
            problem = f"it is larger than {self.largest:,} bytes; start with a larger --max-bytes."
            raise InputError(problem, source=path_text, code="file-too-large")
        located = f"{path}:{table}" if table else str(path)
        return f"{name}:{located}" if name else located

    def settings(self, path_text: str) -> str:
        """A TOML file whose texts lead nowhere else: a policy, a convention, a collection.

        Raises:
            UsageError, InputError: as `file`; a file that is no TOML; one that names a file
                outside of the folder.
        """
        path = self.file(path_text)
        try:
            values = tomllib.loads(Path(path).read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(
                f"not TOML: {error}.", source=path_text, code="invalid-syntax"
            ) from None
        for text in _texts(values):
            name, path_part = registry.split_prefix(text)
            if "\0" in text or name == "ir_datasets":  # which may download
                raise _outside_error(f"{path_text} names {text!r}")
            named_path = split_table(Path(path).parent / path_part)[0]
            if not named_path.resolve().is_relative_to(self.root):
                raise _outside_error(f"{path_text} names {text!r}")
        return path

    def target(self, path_text: str) -> Path:
        """A new file to be written.

        Raises:
            UsageError: a path that leads out of the folder; a file that is there already.
        """
        path = self._inside(path_text)
        if path.exists():
            raise UsageError(
                f"{path_text} is there already; choose another name.", code="file-exists"
            )
        return path

    def _inside(self, path_text: str) -> Path:
        if not path_text or "\0" in path_text or path_text == "-":
            raise UsageError("name a file of the folder.", code="invalid-path")
        path = (self.root / path_text).resolve()
        if not path.is_relative_to(self.root):
            raise _outside_error(path_text)
        return path


def open_folder(path: Path, largest: int) -> Folder:
    """A folder that is there.

    Raises:
        UsageError: it is not a folder.
    """
    if not path.is_dir():
        raise UsageError(f"{path} is no folder.", code="no-folder")
    return Folder(path.resolve(), largest)


def _outside_error(path_text: str) -> UsageError:
    return UsageError(
        f"{path_text}: only files of the folder that the server was started for can be used.",
        code="outside-folder",
    )


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - what TOML holds
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for member in value.values():
            yield from _texts(member)
    elif isinstance(value, list):
        for member in value:
            yield from _texts(member)
