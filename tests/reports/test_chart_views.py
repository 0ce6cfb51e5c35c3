"""Declared charts are drawn from the frames and facts of a result."""

from __future__ import annotations

import json
from types import SimpleNamespace

import polars as pl
import pytest

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_views import (
    Axis,
    ChartView,
    Mark,
    Panel,
    PointNames,
    Reference,
    highlight,
    interval,
)
from rankgate.core.present.charts.draw_chart import draw_chart
from support.wording import raises

FIGURES = pl.DataFrame(
    {
        "metric": ["AP", "AP", "RR", "P@1"],
        "system": ["a", "b", "a", "a"],
        "value": [0.1, 0.4, 0.3, 0.2],
        "low": [0.0, None, 0.2, 0.1],
        "high": [0.2, None, 0.4, 0.3],
    }
)
RESULT = SimpleNamespace(figures=FIGURES, best="b' || true || '", target=None, convention={}, name="{run}")
ROWS = Panel(
    "figures",
    Axis("value", "value of {name}"),
    Axis("system", scale="names"),
    (
        Reference("target"),
        *interval("value"),
        Mark("words", ("{value:.2f} [{low:.2f}, {high:.2f}]", "{value:.2f}")),
    ),
    facet=("metric",),
    title="{metric}",
    colour=highlight(("system", "{best}")),
)


def _view(*panels, about="Read it so."):
    return ChartView("{drawn[metric]:n metric} of {name}", about, "{drawn:n row}", panels, empty="no {name}.")


def _drawn(*panels, result=RESULT):
    return draw_chart(_view(*panels), "figures", result)


def _layers(picture):
    """The layers of each panel, with the data of each layer."""
    spec = picture.chart.to_dict(validate=False)
    data = spec.get("datasets", {})
    for panel in spec.get("concat", [spec]):
        for layer in panel["layer"]:
            source = layer.get("data", panel.get("data", spec.get("data")))
            yield layer, source.get("values", data.get(source.get("name")))


def test_texts_are_filled_and_the_drawn_rows_are_counted():
    picture = _drawn(ROWS)
    assert (picture.title, picture.about, picture.n) == ("3 metrics of {run}", "Read it so.", "4 rows")
    assert list(picture.rows) == FIGURES.to_dicts()
    titles = {layer["encoding"]["x"].get("title") for layer, _ in _layers(picture)}
    assert titles == {"value of {run}", None}


def test_words_beside_rows_leave_out_an_undefined_interval():
    texts = [
        row["words"] for layer, rows in _layers(_drawn(ROWS)) for row in rows if "text" in layer["encoding"]
    ]
    assert texts == ["0.10 [0.00, 0.20]", "0.40", "0.30 [0.20, 0.40]", "0.20 [0.10, 0.30]"]


def test_names_in_data_are_compared_and_never_read_as_an_expression():
    colours = [
        layer["encoding"]["color"] for layer, _ in _layers(_drawn(ROWS)) if "color" in layer["encoding"]
    ]
    assert colours
    assert all(
        colour["condition"][0]["test"] == {"field": "system", "equal": RESULT.best} for colour in colours
    )


def test_panels_above_the_limit_are_left_out_and_counted():
    picture = _drawn(ROWS._replace(most=2))
    assert {row["metric"] for row in picture.rows} == {"AP", "RR"}
    assert picture.about == "Read it so. The first 2 of 3 are drawn."
    assert len(picture.chart.to_dict(validate=False)["concat"]) == 2


def test_a_reference_without_a_value_is_not_drawn():
    without = len(list(_layers(_drawn(ROWS))))
    drawn = list(_layers(_drawn(ROWS, result=SimpleNamespace(**{**vars(RESULT), "target": 0.25}))))
    assert len(drawn) == without + 3  # one for each panel
    assert [rows for layer, rows in drawn if layer["mark"].get("strokeDash")] == 3 * [[{"value": 0.25}]]


def test_no_rows_are_an_error_with_the_text_of_the_chart():
    empty = SimpleNamespace(**{**vars(RESULT), "figures": FIGURES.clear()})
    with raises("nothing-to-draw", UsageError):
        _drawn(ROWS, result=empty)


def test_an_option_that_a_chart_does_not_take_is_an_error():
    with pytest.raises(TypeError):
        draw_chart(_view(ROWS), "figures", RESULT, measure="tau")


def test_names_stand_next_to_their_points():
    points = Panel(
        "figures",
        Axis("value", domain=(0, 1)),
        Axis("high", domain=(0, 1)),
        (Mark("point", "high"), PointNames(lambda row: row["system"] if row["low"] is not None else "")),
        row_filter=pl.col("high").is_not_null(),
        width=300,
        height=300,
    )
    texts = [rows for layer, rows in _layers(_drawn(points)) if "text" in layer["encoding"]]
    assert sorted(row["metric"] for rows in texts for row in rows) == ["AP", "P@1", "RR"]
    json.dumps(_drawn(points).spec())


def test_series_have_the_same_colours_in_all_panels():
    lines = Panel(
        "figures", Axis("low"), Axis("value"), (Mark("line", "value"),), facet=("metric",), series="system"
    )
    scales = [layer["encoding"]["color"]["scale"] for layer, _ in _layers(_drawn(lines))]
    assert all(scale == scales[0] for scale in scales)
    assert scales[0]["domain"] == ["a", "b"]
