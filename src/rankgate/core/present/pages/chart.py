"""A picture as one page that asks for nothing from elsewhere: it can be pointed at, and read."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

from rankgate.core.present.charts.backend import converter
from rankgate.core.present.charts.narrow import narrow
from rankgate.core.present.charts.style import swaps
from rankgate.core.present.grid import Grid
from rankgate.core.present.pages.parts import folded, of_grid, safe, whole_page
from rankgate.core.present.pages.style import STYLE

if TYPE_CHECKING:
    from rankgate.core.present.charts.picture import Picture

_SCRIPT = re.compile(r'<script type="text/javascript">(.*?)</script>', re.DOTALL)
_MOST = 2000  # rows of the table below
_STYLE = (
    "#picture{display:block!important;overflow-x:auto;margin:1rem 0}"
    "#picture svg{background-color:transparent!important;overflow:visible}"
    "@media(max-width:40rem){#picture svg{max-width:max(100%,22rem);height:auto}}"
)


def page(picture: Picture) -> str:
    """The whole page: the drawing, what draws it anew so that it answers, and its figures.

    Without scripts the drawing and the figures are there all the same. Everything that is in
    the data stays text.
    """
    wide = picture.spec()
    del wide["title"]  # the page has it as text, which fits every screen
    specs = f"[{_plain(wide)},{_plain(narrow(wide, fluid=picture.fluid))}]"
    script = f"{_library()}\n{_DRAW % specs}"
    words = f'<p>{safe(picture.about)}</p><p class="dim">{safe(picture.stamp)}</p>'
    drawn = f'<div id="picture" tabindex="0">{picture.svg(words=False)}</div>'
    body = f"<h1>{safe(picture.title)}</h1>{words}\n{drawn}\n{_figures(picture)}"
    style = STYLE + _STYLE + swaps("#picture ")
    return whole_page(safe(picture.title), body, script, style, loose=True)


_DRAW = """const specs=%s, phone=matchMedia("(max-width:40rem)");
const ways={renderer:"svg",actions:false,ast:true};
const draw=()=>vegaEmbed("#picture",specs[phone.matches?1:0],ways);
phone.addEventListener("change",draw);
draw();"""


def _plain(spec: dict[str, Any]) -> str:
    """A specification inside a script, which no word in it can end."""
    return json.dumps(spec, sort_keys=True, ensure_ascii=False).replace("<", "\\u003c")


def _library() -> str:
    """Vega, Vega-Lite and what embeds them, as the converter bundles them."""
    empty = {"data": {"values": []}, "mark": "point"}
    bundled: str = converter().vegalite_to_html(empty, bundle=True, renderer="svg")
    found = _SCRIPT.search(bundled)
    if found is None:
        message = "the converter's page has no script"
        raise AssertionError(message)
    return found[1]


def _figures(picture: Picture) -> str:
    head = tuple(dict.fromkeys(name for row in picture.rows for name in row))
    rows = tuple(tuple(_word(row.get(name)) for name in head) for row in picture.rows[:_MOST])
    left = len(picture.rows) - len(rows)
    more = f"<p>{left} rows more in the picture's JSON.</p>" if left else ""
    inside = of_grid(Grid(head, rows, frozenset(range(len(head)))), label="figures")
    return folded("Figures", f"{inside}{more}")


def _word(value: Any) -> str:
    if value is None:
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else str(value)
