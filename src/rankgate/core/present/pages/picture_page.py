"""A picture as one interactive page that loads nothing."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from rankgate.core.present.charts.chart_parts import load_converter
from rankgate.core.present.charts.chart_style import dark_css
from rankgate.core.present.charts.picture import narrow_spec
from rankgate.core.present.document_model import Grid
from rankgate.core.present.number_formats import count_noun
from rankgate.core.present.pages.page_parts import STYLE, escape_html, folded_html, grid_html, whole_page

if TYPE_CHECKING:
    from rankgate.core.present.charts.picture import Picture
    from rankgate.core.value_types import Json


_SCRIPT = re.compile(r'<script type="text/javascript">(.*?)</script>', re.DOTALL)
_MAX_ROWS = 2000  # rows of the table below
_STYLE = (
    "#picture{display:block!important;overflow-x:auto;margin:1rem 0}"
    "#picture svg{background-color:transparent!important;overflow:visible}"
    "@media(max-width:40rem){#picture svg{max-width:max(100%,22rem);height:auto}}"
)


def picture_page(picture: Picture) -> str:
    """The complete page: the drawing, the script that makes it interactive, and its figures.

    Without scripts the page still shows the drawing and the figures. All data stay text.
    """
    spec = picture.spec()
    del spec["title"]  # the page has the title as text, which fits every screen
    specs = f"[{_spec_json(spec)},{_spec_json(narrow_spec(spec, fluid=picture.fluid))}]"
    script = f"{_vega_scripts()}\n{_DRAW % specs}"
    introduction = f'<p>{escape_html(picture.about)}</p><p class="dim">{escape_html(picture.stamp)}</p>'
    drawing = f'<div id="picture" tabindex="0">{picture.svg(words=False)}</div>'
    body = f"<h1>{escape_html(picture.title)}</h1>{introduction}\n{drawing}\n{_figures_html(picture)}"
    style = STYLE + _STYLE + dark_css("#picture ")
    return whole_page(escape_html(picture.title), body, script, style, loose=True)


_DRAW = """const specs=%s, phone=matchMedia("(max-width:40rem)");
const ways={renderer:"svg",actions:false,ast:true};
const draw=()=>vegaEmbed("#picture",specs[phone.matches?1:0],ways);
phone.addEventListener("change",draw);
draw();"""


def _spec_json(spec: dict[str, Json]) -> str:
    """A specification inside a script; no text in it can end the script."""
    return json.dumps(spec, sort_keys=True, ensure_ascii=False).replace("<", "\\u003c")


def _vega_scripts() -> str:
    """Vega, Vega-Lite and Vega-Embed, as the converter bundles them."""
    empty = {"data": {"values": []}, "mark": "point"}
    bundle_html: str = load_converter().vegalite_to_html(empty, bundle=True, renderer="svg")
    match = _SCRIPT.search(bundle_html)
    if match is None:
        message = "the converter's page has no script"
        raise AssertionError(message)
    return match[1]


def _figures_html(picture: Picture) -> str:
    header = tuple(dict.fromkeys(name for row in picture.rows for name in row))
    rows = tuple(tuple(_cell_text(row.get(name)) for name in header) for row in picture.rows[:_MAX_ROWS])
    hidden_count = len(picture.rows) - len(rows)
    note = f"<p>{count_noun(hidden_count, 'row')} more in the picture's JSON.</p>" if hidden_count else ""
    table = grid_html(Grid(header, rows, frozenset(range(len(header)))), label="figures")
    return folded_html("Figures", f"{table}{note}")


def _cell_text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
