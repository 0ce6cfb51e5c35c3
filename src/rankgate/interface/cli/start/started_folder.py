"""Write a starting folder: the result of ``init``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from rankgate.core.frozen import dataclass
from rankgate.core.present.document import Code, PlainRows, Table
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid
from rankgate.core.present.result import Result
from rankgate.interface.cli.start.kinds import KINDS, kind

if TYPE_CHECKING:
    from rankgate.core.present.document import Document

_README = "what the folder holds, and five commands"
_WORDS = frozenset(range(3))


@dataclass(frozen=True)
class StartedFile:
    """A file of a starting folder.

    Attributes:
        path: from the folder.
        status: whether it was written, or was there before and is as it was.
        purpose: what it is for.
    """

    path: str
    status: Literal["written", "kept"]
    purpose: str


@dataclass(frozen=True)
class StartedFolder(Result):
    """What ``init`` wrote.

    Attributes:
        folder: where.
        user: the kind of user.
        reason: why this kind.
        files: every file.
        commands: what to do next.
    """

    kind: ClassVar[str] = "started_folder"
    document_from: ClassVar[str] = "rankgate.interface.cli.start.started_folder:document"

    folder: str
    user: str
    reason: str
    files: tuple[StartedFile, ...]
    commands: tuple[str, ...]


def document(result: StartedFolder) -> Document:
    """Every file with what it is for, then the commands."""
    rows = tuple((each.path, each.status, each.purpose) for each in result.files)
    return made(
        f"A folder for {KINDS[result.user].title} ({result.reason})",
        Table("", Grid(("file", "", "what it is"), rows, _WORDS), prose=True),
        "Next, as README.md explains:",
        Code("\n".join(result.commands)),
        rows=PlainRows(("file", "status", "purpose"), rows),
    )


def init(folder: str | Path = ".", user: str | None = None) -> StartedFolder:
    """Write a starting folder; files that are there stay as they are.

    Args:
        folder: where; made if it is missing.
        user: search, recommender, trec or online; by the files in the folder if not given.

    Raises:
        UsageError: there is no such kind of user.
    """
    place = Path(folder)
    name, reason = (user, "as asked for") if user else detected(place)
    chosen = kind(name)
    explained = {"README.md": _README, **chosen.explained}
    written = []
    for path, text in chosen.contents().items():
        target = place / path
        there = target.exists()
        if not there:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
        written.append(StartedFile(path, "kept" if there else "written", explained[path]))
    commands = tuple(command for command, _ in chosen.commands)
    return StartedFolder(str(folder), name, reason, tuple(written), commands)


def detected(folder: Path) -> tuple[str, str]:
    """The kind of user that the files of a folder speak of, with the reason."""
    for name, sign, words in _signs(folder):
        if sign:
            return name, words
    return "search", "nothing in the folder says otherwise; --kind chooses another"


def _signs(folder: Path) -> Iterator[tuple[str, bool, str]]:
    """Names of files and first lines, the most particular first."""
    names = [each.name.lower() for each in folder.iterdir()] if folder.is_dir() else []
    yield "online", any("event" in name or "click" in name for name in names), "it has a log"
    heads = [_first_line(each) for each in folder.glob("*.csv")] if folder.is_dir() else []
    users = any("user" in head and "item" in head for head in heads)
    yield "recommender", users, "a table has users and items"
    trec = any(name.endswith((".qrels", ".trec", ".topics")) for name in names)
    yield "trec", trec, "it has files of TREC"


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline(10_000).lower()
