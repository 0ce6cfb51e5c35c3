"""Write a starting folder: the result of ``init``."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.document import Code, PlainRows, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid
from rankgate.core.present.result import Result
from rankgate.interface.cli.start.kinds import KINDS, find_kind

if TYPE_CHECKING:
    from rankgate.core.present.document import Document

_README = "what the folder holds, and five commands"
_TEXT_COLUMNS = frozenset(range(3))


@dataclass(frozen=True)
class StartedFile:
    """A file of a starting folder.

    Attributes:
        path: from the folder.
        status: whether it was written, or was there before and is as it was; missing is a sample
            that would not fit the data that were there.
        purpose: what it is for.
    """

    path: str
    status: Literal["written", "kept", "missing"]
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
        ci: the service whose files run the gate; empty where the kind has none.
    """

    kind: ClassVar[str] = "started_folder"
    document_from: ClassVar[str] = "rankgate.interface.cli.start.started_folder:document"

    folder: str
    user: str
    reason: str
    files: tuple[StartedFile, ...]
    commands: tuple[str, ...]
    ci: str = ""


def document(result: StartedFolder) -> Document:
    """Every file with what it is for, then the commands."""
    rows = tuple((file.path, file.status, file.purpose) for file in result.files)
    return made(
        f"A folder for {KINDS[result.user].title} ({result.reason})",
        Table("", Grid(("file", "", "what it is"), rows, _TEXT_COLUMNS), prose=True),
        _missing_files_advice(result),
        "Next, as README.md explains:",
        Code("\n".join(result.commands)),
        rows=PlainRows(("file", "status", "purpose"), rows),
    )


def _missing_files_advice(result: StartedFolder) -> str:
    """Advice about samples that were not written; empty if there are none."""
    missing_paths = [file.path for file in result.files if file.status == "missing"]
    if not missing_paths:
        return ""
    return (
        "Some of the data were here, and samples would not fit them. Make the missing files "
        f"({', '.join(missing_paths)}) of your own data, or name your files in the commands."
    )


def init(
    folder: str | Path = ".", user: str | None = None, *, ci: str | None = None
) -> StartedFolder:
    """Write a starting folder; files that are there stay as they are.

    Where some of the data are there, no samples are written: they would not fit.

    Args:
        folder: where; made if it is missing.
        user: search, recommender, trec or online; by the files in the folder if not given.
        ci: github or gitlab; by the repository of the folder if not given.

    Raises:
        UsageError: there is no such kind of user; a service of CI for a kind without a gate.
    """
    root = Path(folder)
    name, reason = (user, "as asked for") if user else detect_kind(root)
    start_kind = find_kind(name)
    if ci is not None and not start_kind.baseline:
        problem = f"a folder for {start_kind.title} has no files of CI; leave out --ci."
        raise UsageError(problem, code="conflicting-options")
    service = ci or detect_ci(root)
    explained = {"README.md": _README, **start_kind.files(service)}
    samples = start_kind.samples()
    has_own_data = any((root / path).exists() for path in samples)
    files = []
    for path, text in start_kind.contents(service).items():
        target = root / path
        status: Literal["written", "kept", "missing"] = "written"
        if target.exists():
            status = "kept"
        elif has_own_data and path in samples:
            status = "missing"
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, encoding="utf-8", newline="\n")
        files.append(StartedFile(path, status, explained[path]))
    change = () if root.resolve() == Path.cwd() else (f"cd {shlex.quote(str(folder))}",)
    commands = (*change, *(command for command, _ in start_kind.commands))
    return StartedFolder(
        str(folder), name, reason, tuple(files), commands, service if start_kind.baseline else ""
    )


def detect_ci(folder: Path) -> str:
    """The service of CI that the repository of a folder is on: GitLab by its file or its remote."""
    absolute = folder.resolve()
    for root in (absolute, *absolute.parents):
        config = root / ".git" / "config"
        if (root / ".gitlab-ci.yml").is_file():
            return "gitlab"
        if config.is_file():
            text = config.read_text(encoding="utf-8", errors="replace")
            return "gitlab" if "gitlab" in text.lower() else "github"
    return "github"


def detect_kind(folder: Path) -> tuple[str, str]:
    """The kind of user that the files of a folder speak of, with the reason."""
    for name, sign, reason in _kind_signs(folder):
        if sign:
            return name, reason
    return "search", "nothing in the folder says otherwise; --kind chooses another"


def _kind_signs(folder: Path) -> Iterator[tuple[str, bool, str]]:
    """Names of files and first lines, the most particular first."""
    names = [path.name.lower() for path in folder.iterdir()] if folder.is_dir() else []
    yield "online", any("event" in name or "click" in name for name in names), "it has a log"
    first_lines = [_first_line(path) for path in folder.glob("*.csv")] if folder.is_dir() else []
    users = any("user" in first_line and "item" in first_line for first_line in first_lines)
    yield "recommender", users, "a table has users and items"
    trec = any(name.endswith((".qrels", ".trec", ".topics")) for name in names)
    yield "trec", trec, "it has files of TREC"


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline(10_000).lower()
