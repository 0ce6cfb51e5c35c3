"""Templates, and the files that pages load."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, is_dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.extras import require
from rankgate.core.present.pages.page import PICTURES
from rankgate.core.present.pages.script import SCRIPT
from rankgate.core.present.pages.style import STYLE
from rankgate.workspace.web.shown_commands import shown_command

if TYPE_CHECKING:
    from jinja2 import Environment

_HERE = Path(__file__).parent
_MEDIA = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


class OpenObject(dict[str, Any]):
    """An object of JSON whose names are not fixed: one that is missing is None on a page."""

    def __missing__(self, key: str) -> None:
        """Nothing is known by this name."""


@cache
def assets() -> Mapping[str, tuple[bytes, str]]:
    """Every file that pages load, with its type, by name."""
    found = {
        each.name: each.read_text(encoding="utf-8")
        for each in sorted((_HERE / "static").iterdir())
        if each.suffix in _MEDIA
    }
    found["rankgate.css"] = STYLE + PICTURES + found["rankgate.css"]
    found["tables.js"] = SCRIPT
    return {name: (text.encode(), _MEDIA[Path(name).suffix]) for name, text in found.items()}


@cache
def versioned(name: str) -> str:
    """The path of a file with a part of its hash, so that browsers keep it."""
    return f"/assets/{name}?v={sha256(assets()[name][0]).hexdigest()[:12]}"


@cache
def _environment() -> Environment:
    require("pages need Jinja2", "jinja2")
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: visible(value) if type(value) is str else value,
    )
    found.filters |= {"grade": _grade, "moment": _moment, "share": _share, "figure": _figure}
    found.globals |= {"asset": versioned, "command": shown_command}
    return found


def rendered(template: str, **values: Any) -> str:
    """A template with its values; every word is escaped."""
    return _environment().get_template(template).render(values)


def plain(value: Any) -> bytes:
    """Data as JSON."""
    return json.dumps(value, ensure_ascii=False, default=_json).encode()


def _json(value: Any) -> Any:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value)


def visible(text: str) -> str:
    """A text in which nothing is invisible or turns the order of what follows."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t\u00a0" else "\ufffd" for c in text)


def _grade(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _moment(value: datetime | None) -> str:
    from markupsafe import Markup

    if value is None:
        return ""
    return Markup(f'<time datetime="{value.isoformat()}">{value:%Y-%m-%d %H:%M} UTC</time>')  # noqa: S704 - a time has no markup


def _figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _share(value: float) -> str:
    return f"{value:.0%}"
