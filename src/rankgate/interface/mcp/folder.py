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


@dataclass(frozen=True)
class Folder:
    """The files of one folder, up to a size.

    Attributes:
        root: the folder, without links in its own path.
        largest: bytes of a file; a larger one is refused.
    """

    root: Path
    largest: int

    def file(self, words: str) -> str:
        """A file to be read, as an absolute path; ``FORMAT:PATH`` keeps its format.

        Raises:
            UsageError: a path that leads out of the folder.
            InputError: no such file; one that is too large.
        """
        name, rest = registry.prefixed(words)
        path = self._inside(str(rest))
        if not path.is_file():
            raise InputError("there is no such file in the folder.", source=words, code="no-file")
        for each in path.parent.glob(f"{glob.escape(path.name)}*"):  # FILE.query and the like
            self._inside(str(each))
        if path.stat().st_size > self.largest:
            problem = f"it is larger than {self.largest:,} bytes; start with a larger --max-bytes."
            raise InputError(problem, source=words, code="file-too-large")
        return f"{name}:{path}" if name else str(path)

    def settings(self, words: str) -> str:
        """A TOML file whose texts lead nowhere else: a policy, a convention, a collection.

        Raises:
            UsageError, InputError: as `file`; a file that is no TOML; one that names a file
                outside of the folder.
        """
        path = self.file(words)
        try:
            values = tomllib.loads(Path(path).read_text("utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"not TOML: {error}.", source=words, code="invalid-syntax") from None
        for text in _texts(values):
            named = Path(path).parent / registry.prefixed(text)[1]
            if "\0" in text or not named.resolve().is_relative_to(self.root):
                raise _outside(f"{words} names {text!r}")
        return path

    def target(self, words: str) -> Path:
        """A new file to be written.

        Raises:
            UsageError: a path that leads out of the folder; a file that is there already.
        """
        path = self._inside(words)
        if path.exists():
            raise UsageError(f"{words} is there already; choose another name.", code="file-exists")
        return path

    def _inside(self, words: str) -> Path:
        if not words or "\0" in words or words == "-":
            raise UsageError("name a file of the folder.", code="invalid-path")
        path = (self.root / words).resolve()
        if not path.is_relative_to(self.root):
            raise _outside(words)
        return path


def folder_of(path: Path, largest: int) -> Folder:
    """A folder that is there.

    Raises:
        UsageError: it is none.
    """
    if not path.is_dir():
        raise UsageError(f"{path} is no folder.", code="no-folder")
    return Folder(path.resolve(), largest)


def _outside(words: str) -> UsageError:
    return UsageError(
        f"{words}: only files of the folder that the server was started for can be used.",
        code="outside-folder",
    )


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 - what TOML holds
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from _texts(each)
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
