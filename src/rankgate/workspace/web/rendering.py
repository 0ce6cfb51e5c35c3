"""Render pages: displayed commands, templates, and guidelines in Markdown.

Pages show rankgate commands in the form of their help; tests run every such command. A guideline in
Markdown becomes HTML without embedded HTML and images, and only with links to the web.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, is_dataclass
from datetime import datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rankgate.core.errors import require
from rankgate.core.present.number_formats import count_noun, count_plural
from rankgate.core.present.pages.page import PICTURES
from rankgate.core.present.pages.page_parts import SCRIPT, STYLE
from rankgate.workspace.web.texts import ENGLISH, read_languages

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from jinja2 import Environment
    from markdown_it import MarkdownIt
    from markupsafe import Markup


_STORE = "--store STORE --project PROJECT"

COMMANDS = {
    "eval": f"rankgate eval QRELS RUN... {_STORE} --record",
    "gate": f"rankgate gate QRELS BASELINE CANDIDATE {_STORE} --record",
    "holes": "rankgate holes QRELS BASELINE CANDIDATE --judge-next 50 --format pool -o pool.csv",
    "pool": "rankgate pool RUN... --qrels QRELS -o pool.csv",
    "rate": "rankgate rate POOL --queries QUERIES --documents DOCUMENTS --llm MODEL -o FILE",
    "record": f"rankgate record RESULT.json... {_STORE}",
    "serve": "rankgate serve --store STORE --llm endpoints.toml",
}
"""The commands by name, with placeholders for the reader's values."""


def command_text(name: str, project: str = "") -> str:
    """A command for display on a page.

    >>> command_text("gate", "shop")
    'rankgate gate QRELS BASELINE CANDIDATE --store STORE --project shop --record'
    """
    return COMMANDS[name].replace("PROJECT", project or "PROJECT")


_FOLDER = Path(__file__).parent
_MEDIA_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}


PageValue: TypeAlias = (
    "str | int | float | bool | datetime | DataclassInstance | Iterable[PageValue] | Mapping[str, PageValue] "
    "| None"
)
"""A value for a page, which `to_json` can write."""

PageData: TypeAlias = "Mapping[str, PageValue]"
"""The data of a page, by name."""

PageRow: TypeAlias = "dict[str, PageValue]"
"""A row of a page, or data that a handler completes."""


class OpenObject(dict[str, Any]):
    """A JSON object in which a missing name is None, for templates."""

    def __missing__(self, key: str) -> None:
        """Return None for a missing key."""


@cache
def read_assets() -> Mapping[str, tuple[bytes, str]]:
    """All files that pages load, with their types, by name."""
    texts = {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted((_FOLDER / "static").iterdir())
        if path.suffix in _MEDIA_TYPES
    }
    texts["rankgate.css"] = STYLE + PICTURES + texts["rankgate.css"]
    texts["tables.js"] = SCRIPT
    return {name: (text.encode(), _MEDIA_TYPES[Path(name).suffix]) for name, text in texts.items()}


@cache
def asset_path(name: str) -> str:
    """The path of a file with a part of its hash, so that browsers can cache it permanently."""
    return f"/assets/{name}?v={sha256(read_assets()[name][0]).hexdigest()[:12]}"


@cache
def _environment() -> Environment:
    require("pages need Jinja2", "jinja2")
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(_FOLDER / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: replace_invisible(value) if type(value) is str else value,
    )
    environment.filters |= {
        "count_noun": count_noun,
        "count_plural": count_plural,
        "grade": _format_grade,
        "moment": _format_moment,
        "share": _format_share,
        "figure": _format_figure,
    }
    environment.globals |= {"asset": asset_path, "command": command_text, "t": read_languages()[ENGLISH]}
    return environment


def render_template(template: str, **values: Any) -> str:
    """Render a template with values; every text is escaped."""
    return _environment().get_template(template).render(values)


def to_json(value: PageValue) -> bytes:
    """Data as a JSON text."""
    return json.dumps(value, ensure_ascii=False, default=_json_default).encode()


def _json_default(value: Any) -> PageValue:
    if isinstance(value, datetime):
        return value.isoformat().replace("+00:00", "Z")
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    return list(value)


def replace_invisible(text: str) -> str:
    """A text without invisible characters and characters that reverse the text order."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t\u00a0" else "\ufffd" for c in text)


def _format_grade(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def _format_moment(value: datetime | None) -> str:
    from markupsafe import Markup

    if value is None:
        return ""
    return Markup(f'<time datetime="{value.isoformat()}">{value:%Y-%m-%d %H:%M} UTC</time>')  # noqa: S704 - a time has no markup


def qr_code(text: str) -> Markup:
    """A text as a QR code in SVG, dark on light."""
    require("QR codes need segno", "segno")
    import segno
    from markupsafe import Markup

    picture = segno.make(text, error="m", micro=False)
    return Markup(picture.svg_inline(scale=5, light="#fff", svgclass="qr", lineclass=None))  # noqa: S704 - paths alone


def _format_figure(value: float | None) -> str:
    return "–" if value is None else f"{value:.4f}"


def _format_share(value: float) -> str:
    return f"{value:.0%}"


@cache
def _parser() -> MarkdownIt:
    require("guidelines need markdown-it", "markdown_it")
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")


def render_guideline(text: str) -> str:
    """The guideline as HTML; any HTML in its text is shown as text."""
    tokens = _parser().parse(replace_invisible(text))
    for token in tokens:
        if token.type.startswith("heading"):  # headings start below those of the page
            token.tag = f"h{min(6, int(token.tag[1]) + 1)}"
    return str(_parser().renderer.render(tokens, _parser().options, {}))
