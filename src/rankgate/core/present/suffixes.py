"""The output form that a file's suffix names: one rule for every command and for Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from rankgate.core.errors import UsageError
from rankgate.core.target import suffix_of

SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "text": (".txt",),
    "json": (".json",),
    "csv": (".csv",),
    "markdown": (".md", ".markdown"),
    "latex": (".tex",),
    "html": (".html", ".htm"),
    "pdf": (".pdf",),
    "svg": (".svg",),
    "png": (".png",),
    "xlsx": (".xlsx",),
    "parquet": (".parquet",),
    "jsonl": (".jsonl", ".ndjson"),
    "trec": (".txt", ".qrels", ".qrel", ".trec"),
    "junit": (".xml",),
    "policy": (".toml",),
}
"""The suffixes of each form, its usual one first; a form without one is named by ``--format``."""


def has_known_suffix(path: str | Path) -> bool:
    """True if a name has the suffix of an output form, so that it is not a folder."""
    return any(suffix_of(path) in suffixes for suffixes in SUFFIXES.values())


def check_suffix(path: str | None, form: str) -> None:
    """Check that a file of one form does not end as a file of another.

    Raises:
        UsageError: another suffix.
    """
    if path is not None and suffix_of(path):
        find_form(path, (form,))


def find_form(path: str | Path, forms: Sequence[str], hint: str = "") -> str:
    """The form among `forms` that a file's suffix names; a compression suffix is skipped.

    Args:
        path: the file.
        forms: what can be written, by the names of `SUFFIXES`.
        hint: what an error says after the suffixes.

    Raises:
        UsageError: another suffix, or none.

    >>> find_form("means.csv.gz", ["json", "csv"])
    'csv'
    """
    suffix = suffix_of(path)
    for form in forms:
        if suffix in SUFFIXES.get(form, ()):
            return form
    suffixes = [SUFFIXES[form][0] for form in forms if form in SUFFIXES]
    expected = suffixes[0] if len(suffixes) == 1 else f"one of {', '.join(suffixes)}"
    reason = f"cannot be written as '{suffix}'" if suffix else "has no suffix"
    raise UsageError(
        f"{path}: {reason}; let the name end in {expected}{hint}.", code="unknown-format"
    )
