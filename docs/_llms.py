"""``llms.txt``: every page of the manual with its title and first sentence, for language models."""

from __future__ import annotations

import re
from fnmatch import filter as matching
from pathlib import Path
from typing import TYPE_CHECKING

from docutils import nodes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sphinx.application import Sphinx

_TREE = re.compile(r"```\{toctree\}\n(?P<options>(?::.*\n)+)\n(?P<pages>[^`]+)```")
_ABOUT = (
    "Evaluate, compare and gate search and recommendation rankings: exact metrics by named conventions, "
    "explanations, comparisons, and decisions by a policy."
)
_RULES = """\
- `rankgate COMMAND --help` and `rankgate COMMAND --format json` are the contract; exit codes: 0 done or pass, 1 a gate failed,
  2 bad input, 3 inconclusive or not complete.
- An inconclusive verdict is not a pass. Its reason names the data that would settle it.
- A metric's value depends on its convention; name it with the number.
"""


def write(app: Sphinx) -> None:
    """Write it next to the pages."""
    lines = ["# rankgate", "", f"> {_ABOUT}", "", _RULES]
    for caption, pages in _sections(app):
        lines += [f"## {caption}", ""]
        lines += [f"- [{_title(app, page)}]({page}.html){_first(app, page)}" for page in pages]
        lines.append("")
    Path(app.outdir, "llms.txt").write_text("\n".join(lines))


def _sections(app: Sphinx) -> Iterator[tuple[str, list[str]]]:
    for toctree in _TREE.finditer(Path(app.srcdir, "index.md").read_text()):
        caption = re.search(r":caption: (.+)", toctree["options"])
        page_names = sorted(app.env.found_docs)
        pages = [page for word in toctree["pages"].split() for page in matching(page_names, word)]
        yield (caption[1] if caption else "Pages"), pages


def _title(app: Sphinx, page: str) -> str:
    return app.env.titles[page].astext()


def _first(app: Sphinx, page: str) -> str:
    for paragraph in app.env.get_doctree(page).findall(nodes.paragraph):
        text = " ".join(paragraph.astext().split())
        sentence = re.match(r".+?[.:](?=\s|$)", text)
        return f": {(sentence[0] if sentence else text).rstrip(':')}"
    return ""
