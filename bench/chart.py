"""The chart of the page about speed: medians of one workload, a bar for each tool.

python bench/chart.py     draws it again from results.json
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from html import escape
from pathlib import Path
from typing import Any

TITLE = "6,980 x 1,000"
TOOLS = ("rankgate eval", "C program", "pytrec_eval-terrier", "ir_measures", "ranx")
FOLDER = Path(__file__).parent
CHART = FOLDER.parent / "docs" / "speed.svg"
_LEFT, _WIDTH, _ROW, _TOP = 150, 640, 34, 52
_STYLE = """
text{font:14px Arial,Helvetica,sans-serif;fill:#1b1f24}.note{font-size:12px;fill:#57606a}
rect{fill:#7d8590}.ours{fill:#1f77c4}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.note{fill:#9aa4af}}
"""


def draw(rows: Iterable[Mapping[str, Any]]) -> str | None:
    """The newest figures of all tools together, as SVG; None if they were never measured together.

    Args:
        rows: rows of ``results.json``, the newest first.
    """
    medians: dict[str, float] = {}
    for row in rows:
        if row["title"] == TITLE and row["contestant"] in TOOLS:
            if row["contestant"] == TOOLS[0]:
                medians = {}
            medians[row["contestant"]] = row["median"]
            if len(medians) == len(TOOLS):
                break
    if len(medians) < len(TOOLS):
        return None
    scale = (_WIDTH - _LEFT - 70) / max(medians.values())
    bars = [_bar(index, name, medians[name], scale) for index, name in enumerate(TOOLS)]
    figures = ", ".join(f"{name} {medians[name]:.1f} s" for name in TOOLS)
    height = _TOP + _ROW * len(TOOLS)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img" '
        f'aria-label="{escape(figures)}"><style>{_STYLE}</style>'
        '<text x="0" y="18">Seconds from two files to five metrics</text>'
        '<text class="note" x="0" y="38">6,980 queries, 1,000 documents each, two cores; median</text>'
        f"{''.join(bars)}</svg>\n"
    )


def write(rows: Iterable[Mapping[str, Any]]) -> None:
    """Write the chart; it stays where the tools were never measured together."""
    if chart := draw(rows):
        CHART.write_text(chart)


def _bar(index: int, name: str, seconds: float, scale: float) -> str:
    y = _TOP + _ROW * index
    width, style = seconds * scale, "ours" if index == 0 else "peer"
    return (
        f'<text x="{_LEFT - 10}" y="{y + 18}" text-anchor="end">{escape(name)}</text>'
        f'<rect class="{style}" x="{_LEFT}" y="{y + 2}" width="{width:.1f}" height="22"/>'
        f'<text x="{_LEFT + width + 8:.1f}" y="{y + 18}">{seconds:.1f}</text>'
    )


if __name__ == "__main__":
    write(json.loads((FOLDER / "results.json").read_text())["rows"])
