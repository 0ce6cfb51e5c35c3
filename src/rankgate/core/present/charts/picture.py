"""A picture: its words, its figures and its chart, as SVG, PNG, PDF or a specification."""

from __future__ import annotations

import json
import re
import textwrap
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from rankgate.core.frozen import dataclass
from rankgate.core.present.charts.backend import converter
from rankgate.core.present.charts.style import THEMES, config, on_dark, swaps
from rankgate.core.present.charts.words import short
from rankgate.core.present.resolve import resolved
from rankgate.core.present.saving import save
from rankgate.core.present.suffixes import form_of

FORMS = ("svg", "png", "pdf", "html", "json")
"""What a picture can be written as."""

_HASH = 12
_COLUMNS = 100
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_OWN_IDS = re.compile(r'(id="|url\(#)(clip|gradient)(\d+)')


@dataclass(frozen=True)
class Picture:
    """One chart with what it says and what it was made of.

    Attributes:
        kind: the name of its kind.
        title: what it shows.
        about: how to read it, in a sentence or two.
        n: what the figures are of, as in ``30 queries``.
        convention: the convention's name and hash, or what replaces them.
        rows: the figures that are drawn, plain values; `hash` is of these.
        chart: Altair's, without title and style.
        fluid: whether its panels can be made narrower, as no name in them has a fixed place.
    """

    kind: str
    title: str
    about: str
    n: str
    convention: Mapping[str, Any]
    rows: tuple[Mapping[str, Any], ...]
    chart: Any
    fluid: bool = True

    @property
    def hash(self) -> str:
        """Of the figures: two pictures with the same one show the same."""
        picture = json.dumps(self.rows, sort_keys=True, ensure_ascii=False)
        return sha256(picture.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]

    @property
    def stamp(self) -> str:
        """What the picture is of: how many, by which convention, from which figures."""
        name, digest = self.convention.get("name", ""), self.convention.get("hash", "")
        rules = f"convention {name}{f' ({digest})' if digest else ''}" if name else ""
        return " · ".join(each for each in (self.n, rules, f"data {self.hash}") if each)

    def spec(self, theme: str = "light") -> dict[str, Any]:
        """The Vega-Lite specification, whole: data, words and style."""
        words = {
            "text": short(self.title, _COLUMNS),
            "subtitle": [*textwrap.wrap(self.about, _COLUMNS), self.stamp],
        }
        picture: dict[str, Any] = self.chart.to_dict()
        picture |= {"title": words, "config": config()}
        return picture if theme == THEMES[0] else dict(on_dark(picture))

    def json(self, theme: str = "light") -> str:
        """The specification as JSON."""
        picture = json.dumps(self.spec(theme), sort_keys=True, ensure_ascii=False, indent=1)
        return picture + "\n"

    def svg(self, theme: str = "auto", *, words: bool = True) -> str:
        """An SVG; ``auto`` is light or dark as its reader prefers.

        Args:
            theme: light, dark or auto.
            words: with the title and how to read it.
        """
        spec = self.spec("light" if theme == "auto" else theme)
        if not words:
            del spec["title"]
        drawn: str = _visible(converter().vegalite_to_svg(spec))
        places: dict[str, str] = {}
        drawn = _OWN_IDS.sub(
            lambda found: found[1] + places.setdefault(found[3], f"rg{self.hash}-{len(places)}"),
            drawn,
        )
        style = f"<style>{swaps('.rankgate ')}</style>" if theme == "auto" else ""
        drawn = drawn.replace('class="marks"', 'class="marks rankgate" role="img"', 1).replace(
            ">", f"><title>{_escaped(self.title)}</title>{style}", 1
        )
        return _NOT_XML.sub("�", drawn)

    def png(self, theme: str = "light", scale: float = 2.0) -> bytes:
        """A PNG of so many times the size in points."""
        drawn: bytes = converter().vegalite_to_png(self.spec(theme), scale=scale)
        return drawn

    def pdf(self, theme: str = "light") -> bytes:
        """A page of its size, with its words as words."""
        drawn: bytes = converter().vegalite_to_pdf(self.spec(theme))
        return drawn

    def html(self) -> str:
        """A page that answers to the pointer and needs no network."""
        made: str = resolved("rankgate.core.present.pages.chart:page")(self)
        return made

    def save(self, path: str | Path, theme: str = "", scale: float = 2.0) -> Path:
        """Write it to a file: SVG, PNG, PDF, HTML or JSON, as the name ends; return the path.

        Args:
            path: the file.
            theme: light or dark; empty is as the reader prefers where the form can, else light.
            scale: the resolution of PNG: pixels per point.

        Raises:
            UsageError: another suffix.
            MissingExtraError: the converter is not installed.
        """
        save(path, self.written(form_of(path, FORMS), theme, scale))
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

    def _repr_svg_(self) -> str:
        return self.svg()


def _visible(svg: str) -> str:
    """An SVG whose text holds no control or direction characters, for any data."""
    return "".join(c if c.isprintable() or c in "\n\t" else "�" for c in svg)


def _escaped(text: str) -> str:
    return short(text, _COLUMNS).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
