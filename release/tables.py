"""Tables of docs/installation.md, between markers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "installation.md"


def write(name: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Put a table between the markers of a name."""
    page = PAGE.read_text()
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    text_before, begin_found, remaining = page.partition(begin)
    _, closed, text_after = remaining.partition(end)
    if not (begin_found and closed):
        raise SystemExit(f"{PAGE} has no place for {name}")
    lines = ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]
    PAGE.write_text(f"{text_before}{begin}\n" + "\n".join(lines) + f"\n\n{end}{text_after}")
