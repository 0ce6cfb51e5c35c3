"""Tables of docs/installation.md, between markers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs" / "installation.md"


def write(name: str, header: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Put a table between the markers of a name."""
    page = PAGE.read_text()
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    before, found, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise SystemExit(f"{PAGE} has no place for {name}")
    lines = ["| " + " | ".join(row) + " |" for row in (header, ["---"] * len(header), *rows)]
    PAGE.write_text(f"{before}{begin}\n" + "\n".join(lines) + f"\n\n{end}{after}")
