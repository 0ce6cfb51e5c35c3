"""The deliberate errors of rankgate, one tree, and the extras that optional packages need.

    RankgateError
    ├── InputError        a file or table that cannot be read as what it should be
    │   └── DuplicateError    one (query, document) pair appears twice
    ├── UsageError        the words of a call: an unknown metric, a parameter out of range
    │   └── FunctionError     a user's own function failed or did not return a number
    └── MissingExtraError an optional dependency is not installed

Each message is one sentence with the problem, its location and the remedy. The command line prints
it after ``rankgate:`` and exits with status 2.

Each error carries a `code`, such as ``"unknown-metric"``. Programs and tests use the code, so the
wording of the message may change.

The last part maps optional packages to the extras that install them, and raises the error if a
package is missing. `describe_resource_error` says what the machine lacks.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Mapping


class RankgateError(Exception):
    """Everything rankgate raises on purpose.

    Attributes:
        code: The kind of problem, in kebab case; the same problem has the same code everywhere.
        problem: The message without the place.
        source: The file or table with the problem; may be empty.
        line: The line of `source`, from 1, or None.
    """

    default_code: ClassVar[str] = "error"

    def __init__(self, problem: str, *, code: str = "", source: str = "", line: int | None = None) -> None:
        """Make the message from the problem and its location.

        Args:
            problem: The problem and its remedy.
            code: The kind of problem, in kebab case; by default the code of the class.
            source: The file or table with the problem.
            line: The line of `source`, from 1.
        """
        self.code: str = code or self.default_code
        self.problem = problem
        self.source = source
        self.line = line
        location = f"{source}:{line}: " if line else f"{source}: " if source else ""
        super().__init__(f"{location}{problem}")


class InputError(RankgateError):
    r"""Data that cannot be read; names the file and, where there is one, the line.

    Ends of lines in what is quoted from the data are shown as ``\n``, so that it is one line.

    Attributes:
        suggestions: Lines to copy, printed below the message; may be empty.
    """

    default_code = "input-error"

    def __init__(
        self,
        problem: str,
        *,
        code: str = "",
        source: str = "",
        line: int | None = None,
        suggestions: tuple[str, ...] = (),
    ) -> None:
        super().__init__(_one_line(problem), code=code, source=source, line=line)
        self.suggestions = tuple(map(_one_line, suggestions))

    def __str__(self) -> str:
        """The message, with the lines to copy below it."""
        return "\n  ".join((super().__str__(), *self.suggestions))


def check_schema_version(values: Mapping[str, object], version: int, source: str) -> None:
    """Refuse a file of ours that was written in another schema version.

    Raises:
        InputError: it has a ``schema_version``, and this rankgate reads another one.
    """
    if (file_version := values.get("schema_version", version)) != version:
        problem = (
            f"written in schema version {file_version!r}; this rankgate reads {version}. Use the rankgate "
            "that wrote the file, or write it again."
        )
        raise InputError(problem, source=source, code="unknown-version")


def _one_line(text: str) -> str:
    r"""The text with ends of lines as ``\n``."""
    return text.replace("\n", "\\n").replace("\r", "\\r")


class DuplicateError(InputError):
    """A document that is ranked or judged twice for one query."""

    default_code = "duplicate-document"


class UsageError(RankgateError, ValueError):
    """Words that name nothing, or do not fit together."""

    default_code = "usage-error"


class FunctionError(UsageError):
    """A user's own function that failed or did not return a number; names the metric."""

    default_code = "function-failed"

    def __init__(self, problem: str, row: int | None = None, *, code: str = "") -> None:
        super().__init__(f"{problem}; fix the function.", code=code)
        self.problem = problem
        self.row = row  # position of the query in its block; None if the function got all queries


class MissingExtraError(RankgateError, ImportError):
    """A feature that needs an optional dependency that is not installed; names the extra."""

    default_code = "missing-extra"


def short_repr(value: object, max_length: int = 60) -> str:
    """A value in the form for error messages."""
    text = repr(value)
    return text if len(text) <= max_length else f"{text[: max_length - 1]}…"


EXTRAS = {
    "cbor2": "formats",
    "lz4": "formats",
    "rapidfuzz": "formats",
    "xlsxwriter": "formats",
    "zstandard": "formats",
    "altair": "plots",
    "vl_convert": "plots",
    "pandas": "pandas",
    "pyarrow": "pandas",
    "optuna": "engines",
    "psycopg": "engines",
    "tantivy": "engines",
    "alembic": "serve",
    "apscheduler": "serve",
    "argon2": "serve",
    "authlib": "serve",
    "cryptography": "serve",
    "fsspec": "serve",
    "jinja2": "serve",
    "joserfc": "serve",
    "markdown_it": "serve",
    "multipart": "serve",
    "nh3": "serve",
    "prometheus_client": "serve",
    "pyotp": "serve",
    "segno": "serve",
    "snowballstemmer": "serve",
    "sqlalchemy": "serve",
    "starlette": "serve",
    "uvicorn": "serve",
    "duckdb": "online",
    "ibis": "online",
    "packaging": "online",  # Ibis imports it and does not require it
    "pyarrow_hotfix": "spark",
    "pyspark": "spark",
    "mcp": "mcp",
    "datasketch": "golden",
}
"""Top-level modules that the base does not install, with the extra of pyproject.toml that does."""


def require(purpose: str, *modules: str) -> None:
    """Check that optional packages are installed, before they are imported.

    Args:
        purpose: the feature that needs them, as the first half of the message: ``charts need
            Altair``.
        modules: names of `EXTRAS`.

    Raises:
        MissingExtraError: one is not installed; names its extra.
    """
    for module in modules:
        if not is_installed(module):
            raise MissingExtraError(f"{purpose}; {install_command(module)}.")


def is_installed(module: str) -> bool:
    """True if a module can be imported or is already loaded."""
    return sys.modules.get(module) is not None or find_spec(module) is not None


def install_command(module: str) -> str:
    """The command that installs the extra for a module."""
    return f"pip install 'rankgate[{EXTRAS[module]}]'"


def is_from_module(base: type, module: str) -> bool:
    """True if a class is defined in a package or in one of its modules."""
    return base.__module__ == module or base.__module__.startswith(f"{module}.")


def version_error(value: object, name: str, title: str, package: str, tested: str) -> InputError:
    """The error for an object of a client or library without an attribute that is read."""
    from importlib.metadata import PackageNotFoundError, version  # a tenth of the start of eval

    try:
        installed_version = version(package)
    except PackageNotFoundError:
        installed_version = "of an unknown version"
    names = getattr(type(value), "model_fields", None) or getattr(value, "__dict__", {})
    public = [str(attribute) for attribute in names if not str(attribute).startswith("_")]
    problem = (
        f"{title}: expected a {type(value).__name__} with '{name}', as {package} {tested} has; that of "
        f"{package} {installed_version} has {', '.join(public[:10]) or 'no fields'}. Give "
        "{query: [document, …]} or {query: {document: number}}."
    )
    return InputError(problem, source=package, code="unsupported-version")


NO_MEMORY = "out of memory"
"""The beginning of the error that reports that memory or threads were refused."""

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def replace_controls(text: str) -> str:
    r"""The same text without characters that command a terminal, as names of files and ids can have.

    >>> replace_controls("a\x9b31mb\n")
    'a�31mb\n'
    """
    return _CONTROLS.sub("�", text)


_DISK_FULL_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def describe_resource_error(error: BaseException) -> str | None:
    """Describe an error of the machine or of unreadable input; None for errors of rankgate.

    It needs no further module, file or thread.
    """
    in_text = re.search(r"\(os error (\d+)\)", str(error))  # Polars' errors have no number of their own
    code = getattr(error, "errno", None) or (int(in_text[1]) if in_text else None)
    if isinstance(error, MemoryError) or code == errno.ENOMEM or "can't start new thread" in str(error):
        return f"{NO_MEMORY}; allow more of it (ulimit -v), or split the files."
    if code in {errno.EMFILE, errno.ENFILE} or os.strerror(errno.EMFILE) in str(error):  # also in a panic
        return "too many open files; allow more of them (ulimit -n)."
    if code in _DISK_FULL_ERRORS:
        return f"cannot write: {os.strerror(code)}; make room, or write elsewhere."
    if isinstance(error, OSError) and error.strerror:
        prefix = "" if error.filename is None else f"{error.filename}: "
        return f"{prefix}{error.strerror}; name another file or folder."
    return None
