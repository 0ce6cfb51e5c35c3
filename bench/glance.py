"""The one table of the page about speed: every command next to a plain program or a peer.

python bench/glance.py     writes it again from results.json and growth.json
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import page

FOLDER = Path(__file__).parent
GROWTH = FOLDER / "growth.json"
RESULTS = FOLDER / "results.json"
_EVALUATED = ("50 x 1,000", "6,980 x 1,000", "1,000,000 x 100")
_OURS = "rankgate eval"
_FLOOR = "C program"


def write() -> None:
    """Write the table into the page."""
    lines = ["| command | data | CPU s | MB | plain program, CPU s | ratio |"]
    lines += ["| --- | --- | ---: | ---: | ---: | ---: |"]
    evaluations = json.loads(RESULTS.read_text())["rows"]
    for row in [*_evaluations(evaluations), *map(_growth, json.loads(GROWTH.read_text()))]:
        command, data, seconds, memory, plain, other = row
        ratio = f"{seconds / other:.1f}"
        cells = [command, data, f"{seconds:.2f}", f"{memory / 1e6:,.0f}", f"{plain} {other:.2f}", ratio]
        lines.append(f"| {' | '.join(cells)} |")
    page.replace("glance", "\n".join(lines) + "\n")


_Row = tuple[str, str, float, int, str, float]


def _evaluations(rows: list[dict[str, Any]]) -> list[_Row]:
    """The newest figures of eval where the program in C was measured with it."""
    by_contestant = {(row["circumstances"], row["title"], row["contestant"]): row for row in rows}
    table = []
    for title in _EVALUATED:
        measured = sorted(where for where, size, name in by_contestant if (size, name) == (title, _FLOOR))
        if measured:
            evaluated, floor = (by_contestant[measured[-1], title, name] for name in (_OURS, _FLOOR))
            cells = (evaluated["cpu"], evaluated["memory"], "C", floor["cpu"])
            table.append(("eval, 5 metrics", title, *cells))
    return table


def _growth(row: dict[str, Any]) -> _Row:
    language = "DuckDB" if row["title"].startswith("online") else "SQLite" * ("store" in row["title"])
    data = f"{row['sizes'][-1]:,} {row['axis']}"
    return row["title"], data, row["seconds"][-1], row["memory"], language or "NumPy", row["plain_seconds"]


if __name__ == "__main__":
    write()
