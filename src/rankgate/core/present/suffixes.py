"""Which form a file's suffix names: one rule for every command and for Python."""

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
    "jsonl": (".jsonl", ".ndjson"),
    "trec": (".txt", ".qrels", ".qrel", ".trec"),
    "junit": (".xml",),
    "policy": (".toml",),
}
"""The suffixes of each form, its usual one first; a form without one is named by ``--format``."""


def is_known(path: str | Path) -> bool:
    """Whether a name ends as that of a file of some form, so that no folder is meant."""
    return any(suffix_of(path) in each for each in SUFFIXES.values())


def refuse_other_suffix(path: str | None, form: str) -> None:
    """Check that a file of one form does not end as a file of another.

    Raises:
        UsageError: another suffix.
    """
    if path is not None and suffix_of(path):
        form_of(path, (form,))


def form_of(path: str | Path, forms: Sequence[str], hint: str = "") -> str:
    """The form among `forms` that a file's suffix names; a suffix of a compression is passed over.

    Args:
        path: the file.
        forms: what can be written, by the names of `SUFFIXES`.
        hint: what an error says after the suffixes.

    Raises:
        UsageError: another suffix, or none.

    >>> form_of("means.csv.gz", ["json", "csv"])
    'csv'
    """
    suffix = suffix_of(path)
    for form in forms:
        if suffix in SUFFIXES.get(form, ()):
            return form
    known = [SUFFIXES[form][0] for form in forms if form in SUFFIXES]
    ends = known[0] if len(known) == 1 else f"one of {', '.join(known)}"
    named = f"cannot be written as '{suffix}'" if suffix else "has no suffix"
    raise UsageError(f"{path}: {named}; let the name end in {ends}{hint}.", code="unknown-format")
