"""Charts of click models."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import concat_panels, inline_data, panel_title
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, GREY

if TYPE_CHECKING:
    from rankgate.online.clicks.click_judgments import ClickJudgments

_SIZE = {"width": 300, "height": 240}
_ROW_HEIGHT = 24  # points a model


def models(result: ClickJudgments) -> Picture:
    """Models by how well they predict held-out clicks, and the perplexity of the best by rank."""
    if result.models.is_empty():
        raise UsageError("no models were compared.", code="nothing-to-draw")
    rows = result.models.select("model", "log_likelihood", "perplexity").to_dicts()
    alt = load_altair()
    order = [row["model"] for row in rows]
    colour = alt.condition(alt.datum.model == result.model, alt.value(BLUE), alt.value(GREY))
    bars = (
        alt.Chart(inline_data(rows))
        .mark_point(filled=True, size=60)
        .encode(
            y=alt.Y("model:N", sort=order, title=None),
            x=alt.X(
                "log_likelihood:Q", title="log-likelihood a search", scale=alt.Scale(zero=False)
            ),
            color=colour,
            tooltip=["model:N", "log_likelihood:Q", "perplexity:Q"],
        )
    )
    rank_rows = result.by_rank.filter(
        pl.col("model") == (result.model if result.model in order else order[0])
    ).to_dicts()
    lines = (
        alt.Chart(inline_data(rank_rows))
        .mark_line(color=BLUE, point={"color": BLUE})
        .encode(
            x=alt.X("rank:O", title="rank"),
            y=alt.Y("perplexity:Q", title="perplexity", scale=alt.Scale(zero=False)),
            tooltip=["rank:O", "perplexity:Q"],
        )
    )
    size = {**_SIZE, "height": max(_ROW_HEIGHT * len(rows), 80)}
    panels = [
        bars.properties(**size, **panel_title("held-out searches")),
        lines.properties(
            **_SIZE, **panel_title(f"{rank_rows[0]['model']} by rank" if rank_rows else "")
        ),
    ]
    return Picture(
        "click-models",
        "Which click model predicts best",
        "Further right predicts clicks of searches better that the model has not seen. A "
        "perplexity of 1 is perfect, 2 is no better than a coin.",
        f"{result.searches:,} searches",
        {"name": "click models", "hash": ""},
        (*rows, *rank_rows),
        concat_panels(panels, 2),
    )


def curves(result: ClickJudgments) -> Picture:
    """Parameters that all documents share by rank, with intervals."""
    rows = result.curves.to_dicts()
    if not rows:
        raise UsageError("the model has no shared parameters.", code="nothing-to-draw")
    alt = load_altair()
    names = result.curves["name"].unique(maintain_order=True).to_list()
    panels = []
    for name in names:
        base = alt.Chart(inline_data([row for row in rows if row["name"] == name])).encode(
            x=alt.X("place:Q", title="rank", axis=alt.Axis(tickMinStep=1))
        )
        y = alt.Y("low:Q", title=name, scale=alt.Scale(zero=True))
        band = base.mark_area(color=BLUE, opacity=0.2).encode(y=y, y2="high:Q")
        line = base.mark_line(color=BLUE, point={"color": BLUE}).encode(
            y="value:Q", tooltip=["place:Q", "value:Q", "low:Q", "high:Q"]
        )
        panels.append((band + line).properties(**_SIZE, **panel_title(name)))
    return Picture(
        "click-curves",
        f"What documents share in {result.model}",
        "Parameters by rank with 95 % intervals (bootstrap over sessions). Examination is how "
        "often a rank is looked at, relative to the first.",
        f"{result.searches:,} searches",
        {"name": "click models", "hash": ""},
        tuple(rows),
        concat_panels(panels, 2),
    )
