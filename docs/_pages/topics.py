"""What pages of the manual are about, for ``rankgate help``: their titles and headings."""

from __future__ import annotations

import json
import re
from pathlib import Path

from _search_words import SEARCH_WORDS

DOCS = Path(__file__).parents[1]
FILE = DOCS.parent / "src/rankgate/interface/cli/pages.json"
_LEFT_OUT = ("decisions", "reference", "mirrored", "_")  # the middle ones are made


def page() -> str:
    """The index as JSON: by path the title and the headings of a page."""
    pages = {}
    for path in sorted(DOCS.rglob("*.md")):
        relative_path = path.relative_to(DOCS)
        if relative_path.parts[0].startswith(_LEFT_OUT):
            continue
        text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.MULTILINE | re.DOTALL)
        title, *topics = re.findall(r"^#+ +(.+?) *$", text, flags=re.MULTILINE) or [relative_path.stem]
        pages[f"docs/{relative_path.as_posix()}"] = {
            "title": _plain(title),
            "topics": [*map(_plain, topics), *SEARCH_WORDS.get(f"{relative_path.with_suffix('')}", ())],
        }
    return json.dumps(pages, ensure_ascii=False, indent=1) + "\n"


def _plain(heading: str) -> str:
    """A heading without marks and targets of links."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", heading)
