"""The description that a package index shows: the README, its links absolute."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from hatchling.metadata.plugin.interface import MetadataHookInterface

PAGES = "https://github.com/rankgate/rankgate/blob/main/"
IMAGES = "https://raw.githubusercontent.com/rankgate/rankgate/main/"
_LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!https?://|#)([^)]+)\)")


def absolute(text: str) -> str:
    """Markdown whose links to files of the project lead to its repository."""
    return _LINK.sub(lambda m: f"{m[1]}[{m[2]}]({IMAGES if m[1] else PAGES}{m[3]})", text)


class ReadmeHook(MetadataHookInterface):
    """Hatchling asks it for the fields that pyproject.toml calls dynamic."""

    def update(self, metadata: dict[str, Any]) -> None:
        """Set the description."""
        text = (Path(self.root) / "README.md").read_text("utf-8")
        metadata["readme"] = {"content-type": "text/markdown", "text": absolute(text)}
