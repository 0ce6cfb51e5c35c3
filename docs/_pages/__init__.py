"""The pages of the manual that every build generates from the code."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FOLDERS = ("reference", "mirrored")
"""The folders below ``docs`` that hold nothing else."""


def pages() -> Iterator[tuple[str, str]]:
    """Every made page by its place below ``docs``."""
    from _pages import (
        commands,
        conventions,
        errors,
        gallery,
        metrics,
        mirrored,
        online,
        python,
        result_tables,
        schemas,
        when,
    )

    for folder, room in (
        ("reference/metrics", metrics),
        ("reference", conventions),
        ("reference", when),
        ("reference", gallery),
        ("reference", errors),
        ("reference", schemas),
        ("reference", result_tables),
        ("reference", online),
        ("reference/commands", commands),
        ("reference/python", python),
        ("mirrored", mirrored),
    ):
        for path, text in room.pages():
            yield f"{folder}/{path}", text


def write(docs: Path) -> None:
    """Write pages that changed, and remove pages that are no longer generated."""
    texts = {docs / page_path: text for page_path, text in pages()}
    if len({str(path).lower() for path in texts}) < len(texts):
        raise ValueError("two pages differ in the case of letters only")
    for folder in FOLDERS:
        for old in (docs / folder).rglob("*.*"):
            if old not in texts:
                old.unlink()
    for path, text in texts.items():
        if not path.exists() or path.read_text() != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
