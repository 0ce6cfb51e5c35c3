"""Pages that are elsewhere in the repository, with their links turned to where the site is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
_LINK = re.compile(r"(\]\()(?!https?:|#)([^)#\s]+)((?:#[^)]*)?\))")


def places() -> dict[Path, str]:
    """Every such page by its file, with its place below ``mirrored``."""
    page_paths = {
        page: f"examples/{page.parent.name}.md" for page in sorted(ROOT.glob("examples/*/README.md"))
    }
    page_paths |= {
        page: f"examples/plugin-{page.parent.name}.md"
        for page in sorted(ROOT.glob("examples/plugins/*/README.md"))
    }
    return page_paths | {
        ROOT / "CHANGELOG.md": "changelog.md",
        ROOT / "CONTRIBUTING.md": "contributing.md",
        ROOT / "SECURITY.md": "security.md",
    }


def pages() -> Iterator[tuple[str, str]]:
    """Every page by its place below ``mirrored``."""
    for page, relative_path in places().items():
        yield (relative_path, turned(page.read_text(), page.parent, "../" * relative_path.count("/") + ".."))


def turned(text: str, folder: Path, docs: str) -> str:
    """A page's text with links to files of the repository as they are from the site.

    Args:
        text: Markdown.
        folder: where the page is.
        docs: the way from the page's place on the site to ``docs``.
    """
    mirrored_urls = {
        page.resolve(): f"{docs}/mirrored/{relative_path}" for page, relative_path in places().items()
    }

    def target(found: re.Match[str]) -> str:
        file = (folder / found[2]).resolve()
        if file in mirrored_urls:
            return found[1] + mirrored_urls[file] + found[3]
        if not file.exists() or (folder.resolve() == file.parent and folder == ROOT / "docs"):
            return found[0]
        if file.is_relative_to(ROOT / "docs"):
            docs_path = file.relative_to(ROOT / "docs").as_posix()
            docs_path = f"{docs_path}/index.md" if file.is_dir() else docs_path
            return f"{found[1]}{docs}/{docs_path}{found[3]}"
        return f"{found[1]}{docs}/../{file.relative_to(ROOT).as_posix()}{found[3]}"

    return _LINK.sub(target, text)
