"""Pages as people see them, to be looked at before a release: ``python docs/_seen/make.py``.

Writes the rendered text of the pages with the most words in them, at 80 and at 160 columns, plain
and coloured (``.ansi``, for ``less -R``), and the console sessions of the manual and of
``examples``. A test holds that they are fresh.
"""

from __future__ import annotations

import sys
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.console.terminal_output import colour_text
from rankgate.core.present.write_results import render_result
from rankgate.measurement.evaluation.convention_details import axes, convention_details, conventions
from rankgate.measurement.evaluation.metric_details import metric_details, metrics
from rankgate.measurement.explanation.reconcile import bridge, find_reported, reconcile_metrics

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

sys.path.insert(0, str(HERE.parent))

import played  # noqa: E402 - in this folder
from _pages import built_in_metrics, checks, described_commands, formats, listed_names, topics  # noqa: E402 - in the folder above

EXAMPLES = HERE.parents[1] / "examples"
EXAMPLE = EXAMPLES / "product-search"
WIDTHS = (80, 160)


def pages() -> Iterator[tuple[Path, str]]:
    """Every page with its text, but those of the manual, whose commands are run."""
    data = EXAMPLE / "qrels.txt", EXAMPLE / "bm25.run"
    results = {
        "reconcile": reconcile_metrics(*data, "nDCG@10"),
        "reconcile-from-to": bridge(*data, "nDCG@10", "trec", "rre"),
        "reconcile-value": find_reported(*data, "nDCG@10", "0.52"),
        "conventions": conventions(),
        "conventions-show-trec": convention_details("trec"),
        "conventions-show-searchtweak": convention_details("searchtweak"),
        "conventions-axes": axes(),
        "metrics-nDCG": metric_details("nDCG"),
        "metrics": metrics(),
    }
    for width in WIDTHS:
        texts = {name: render_result(result, "text", width) for name, result in results.items()}
        for name, text in texts.items():
            yield HERE / f"{name}.{width}.txt", text
            yield HERE / f"{name}.{width}.ansi", colour_text(text)
    yield HERE.parent / "formats.md", formats.page()
    yield HERE.parent / "validate.md", checks.page()
    yield topics.FILE, topics.page()
    yield built_in_metrics.FILE, built_in_metrics.page()
    yield listed_names.FILE, listed_names.page()
    yield described_commands.FILE, described_commands.page()


def sessions(pages: Iterable[Path]) -> Iterator[tuple[Path, str]]:
    """Pages of the manual with what their commands and their Python print."""
    for page in pages:
        with played.workplace(page):
            text = played.played(page)
            yield page, played.computed(text, page.name) if ">>> " in text else text


def main() -> int:
    """Write what is not fresh."""
    for path, text in chain(pages(), sessions(played.pages())):  # sessions of the pages written
        if not path.exists() or path.read_text() != text:
            path.write_text(text)
            sys.stdout.write(f"{path.name}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
