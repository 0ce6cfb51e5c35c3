"""A picture as SVG, PNG, PDF or a specification, and its variant for narrow screens."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.core.output_files import find_form, save_file
from rankgate.core.present.charts.chart_parts import load_converter
from rankgate.core.present.charts.chart_style import THEMES, chart_config, dark_css, dark_spec
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.lazy_names import load_name

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject


PHONE = 350
"""The width of a chart on a phone, in points."""

_MIN_PANEL_WIDTH = 150  # smallest width of a panel
_WIDTH = re.compile(r'<svg[^>]* width="([0-9.]+)"')


def narrow_spec(spec: dict[str, Json], *, fluid: bool) -> dict[str, Json]:
    """The same chart for a phone, with all data.

    Args:
        spec: a Vega-Lite specification.
        fluid: True if panels can be made narrower.
    """
    stacked_spec = {**spec, "columns": 1} if "concat" in spec else spec
    if not fluid:
        return stacked_spec
    match = _WIDTH.search(load_converter().vegalite_to_svg(stacked_spec))
    excess = float(match[1]) - PHONE if match else 0.0
    return dict(_narrow_panels(stacked_spec, excess)) if excess > 0 else stacked_spec


def _narrow_panels(spec: object, excess: float) -> Any:
    """Make every panel narrower by this amount, but not narrower than the smallest width."""
    if isinstance(spec, list):
        return [_narrow_panels(child, excess) for child in spec]
    if not isinstance(spec, dict):
        return spec
    width = spec.get("width")
    if isinstance(width, int | float) and width > _MIN_PANEL_WIDTH and "height" in spec:
        target = max(_MIN_PANEL_WIDTH, width - excess)
        return {**_move_marks(spec, width, width - target), "width": target}
    unchanged_keys = ("data", "datasets", "config")
    return {
        key: child if key in unchanged_keys else _narrow_panels(child, excess) for key, child in spec.items()
    }


def _move_marks(spec: object, width: float, shift: float) -> Any:
    """Move the marks at or beyond the right edge of a panel with the edge."""
    if isinstance(spec, list):
        return [_move_marks(child, width, shift) for child in spec]
    if not isinstance(spec, dict):
        return spec
    moved_spec = {}
    for key, child in spec.items():
        if key in {"data", "datasets"}:
            moved_spec[key] = child
        elif key in {"x", "x2"} and isinstance(child, dict) and _is_beyond(child, width):
            moved_spec[key] = {**child, "value": child["value"] - shift}
        elif key == "width" and child == width:
            moved_spec[key] = width - shift
        else:
            moved_spec[key] = _move_marks(child, width, shift)
    return moved_spec


def _is_beyond(channel: dict[str, Json], width: float) -> bool:
    value = channel.get("value")
    return isinstance(value, int | float) and value >= width


FORMS = ("svg", "png", "pdf", "html", "json")
"""The file formats of a picture."""

_HASH = 12
_COLUMNS = 100
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_OWN_IDS = re.compile(r'(id="|url\(#)(clip|gradient_?)(\d+)')


@dataclass(frozen=True)
class Picture:
    """One chart with its texts and its figures.

    Attributes:
        kind: the name of its kind.
        title: its title.
        about: instructions for reading it, in a sentence or two.
        n: the basis of the figures, as in ``30 queries``.
        convention: the name and hash of the convention, or a text that replaces them.
        rows: the figures of the chart as plain values; `hash` is computed from them.
        chart: the chart of Altair, without title and style.
        fluid: True if the panels can be made narrower because no name in them has a fixed position.
    """

    kind: str
    title: str
    about: str
    n: str
    convention: JsonObject
    rows: tuple[Mapping[str, Any], ...]
    chart: Any
    fluid: bool = True

    @property
    def hash(self) -> str:
        """The hash of the figures: pictures with equal hashes show the same figures."""
        figures_json = json.dumps(self.rows, sort_keys=True, ensure_ascii=False)
        return sha256(figures_json.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]

    @property
    def stamp(self) -> str:
        """The origin of the picture: number of queries, convention, hash of the figures."""
        name, digest = self.convention.get("name", ""), self.convention.get("hash", "")
        rules = f"convention {name}{f' ({digest})' if digest else ''}" if name else ""
        return " · ".join(part for part in (self.n, rules, f"data {self.hash}") if part)

    def spec(self, theme: str = "light") -> dict[str, Json]:
        """The complete Vega-Lite specification: data, text and style."""
        heading = {
            "text": shorten_name(self.title, _COLUMNS),
            "subtitle": [*textwrap.wrap(self.about, _COLUMNS), self.stamp],
        }
        # tests validate every kind of chart, which takes longer than all the rest
        spec: dict[str, Json] = self.chart.to_dict(validate=False)
        spec |= {"title": heading, "config": chart_config()}
        return spec if theme == THEMES[0] else dict(dark_spec(spec))

    def to_altair(self, theme: str = "light") -> Any:
        """The chart with title and style as an Altair chart, for further changes.

        ``chart`` has no title and no style, and can be joined with other charts by ``|`` and ``&``.

        Args:
            theme: light or dark.
        """
        import altair as alt

        return alt.Chart.from_dict(self.spec(theme))

    def json(self, theme: str = "light") -> str:
        """The specification as JSON."""
        json_text = json.dumps(self.spec(theme), sort_keys=True, ensure_ascii=False, indent=1)
        return json_text + "\n"

    def svg(self, theme: str = "auto", *, words: bool = True) -> str:
        """The picture as SVG; ``auto`` is light or dark, as the reader prefers.

        Args:
            theme: light, dark or auto.
            words: True to add the title and the instructions for reading.
        """
        spec = self.spec("light" if theme == "auto" else theme)
        if not words:
            del spec["title"]
        svg: str = _without_controls(load_converter().vegalite_to_svg(spec))
        new_ids: dict[str, str] = {}
        svg = _OWN_IDS.sub(
            lambda match: match[1] + new_ids.setdefault(match[2] + match[3], f"rg{self.hash}-{len(new_ids)}"),
            svg,
        )
        style = f"<style>{dark_css('.rankgate ')}</style>" if theme == "auto" else ""
        svg = svg.replace('class="marks"', 'class="marks rankgate" role="img"', 1).replace(
            ">", f"><title>{_escape_title(self.title)}</title>{style}", 1
        )
        return _NOT_XML.sub("�", svg)

    def png(self, theme: str = "light", scale: float = 2.0) -> bytes:
        """The picture as PNG, at this multiple of the size in points."""
        image: bytes = load_converter().vegalite_to_png(self.spec(theme), scale=scale)
        return image

    def pdf(self, theme: str = "light") -> bytes:
        """The picture as a PDF page of its own size, with text as text."""
        page: bytes = load_converter().vegalite_to_pdf(self.spec(theme))
        return page

    def html(self) -> str:
        """An interactive HTML page that needs no network."""
        page: str = load_name("rankgate.core.present.pages.picture_page:picture_page")(self)
        return page

    def save(self, path: str | Path, theme: str = "", scale: float = 2.0) -> Path:
        """Write the picture as SVG, PNG, PDF, HTML or JSON, by the suffix; return the path.

        Args:
            path: the file.
            theme: light or dark; empty follows the reader's setting if the form can, else light.
            scale: the resolution of PNG: pixels per point.

        Raises:
            UsageError: the suffix is not one of these.
            MissingExtraError: the converter is not installed.
        """
        save_file(path, self.written(find_form(path, FORMS), theme, scale))
        return Path(path)

    def written(self, form: str, theme: str = "", scale: float = 2.0) -> str | bytes:
        """The picture in one of `FORMS`."""
        if form == "png":
            return self.png(theme or "light", scale)
        if form == "pdf":
            return self.pdf(theme or "light")
        if form == "html":
            return self.html()
        if form == "json":
            return self.json(theme or "light")
        return self.svg(theme or "auto") + "\n"

    def __repr__(self) -> str:
        """The kind, the title and the subject, for a prompt; a notebook shows the picture."""
        return f"<Picture {self.kind}: {' '.join(self.title.split())} · {self.stamp}>"

    def _repr_svg_(self) -> str:
        return self.svg()


def _without_controls(svg: str) -> str:
    """An SVG without control or direction characters in its text, for any data."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in svg)


def _escape_title(text: str) -> str:
    return shorten_name(text, _COLUMNS).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
