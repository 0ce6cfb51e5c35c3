"""Pictures: each kind draws the figures of its result, and text in data stays text."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from functools import cache

import pytest

from rankgate.core.errors import MissingExtraError, UsageError
from rankgate.core.present.charts.chart_style import DARK, PAPER, dark_spec
from rankgate.core.present.charts.picture import narrow_spec
from rankgate.core.present.pages.picture_page import picture_page
from rankgate.data import read_run
from rankgate.workspace.reports.chart_kinds import CHART_KINDS, find_chart_kind
from rankgate.workspace.reports.chart_results import RESULT_MAKERS, ChartRequest, compute_result
from support.wording import raises

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>&\"'<!--"


def _parsed(svg):
    return ET.fromstring(svg)  # noqa: S314 - drawn by ourselves, and to be found whole


@pytest.fixture(params=CHART_KINDS, ids=lambda chart_kind: chart_kind.name)
def chart_kind(request):
    return request.param


@pytest.fixture(scope="module")
def drawings():
    """Drawings by kind, each made once for any order of tests."""
    return {}


@pytest.fixture
def drawing(chart_kind, results, drawings):
    """The drawing of a kind, for tests that only read it."""
    if chart_kind.name not in drawings:
        drawings[chart_kind.name] = chart_kind.draw(results[chart_kind.needs])
    return drawings[chart_kind.name]


@pytest.fixture(scope="module")
def pictures():
    """Pictures by kind, each made once for any order of tests."""
    return {}


@pytest.fixture
def svg(chart_kind, drawing, pictures):
    """The picture of a kind as SVG."""
    if chart_kind.name not in pictures:
        pictures[chart_kind.name] = drawing.svg()
    return pictures[chart_kind.name]


def test_every_kind_has_its_own_name_and_a_result_that_is_made():
    assert len({kind.name for kind in CHART_KINDS}) == len(CHART_KINDS)
    assert {kind.needs for kind in CHART_KINDS} == set(RESULT_MAKERS)


def test_each_kind_is_drawn_as_svg_with_its_stamp(drawing, svg):
    root = _parsed(svg)
    text = "".join(root.itertext())
    assert drawing.title in text
    assert f"data {drawing.hash}" in text
    assert re.search(r"\d+ (quer|pairs)", drawing.n)
    if drawing.convention:
        assert drawing.convention["hash"] in text
    assert "NaN" not in svg
    assert "undefined" not in svg


@pytest.mark.parametrize("name", ["deltas", "scatter"])
def test_a_panel_that_is_alone_keeps_its_heading(name, results):
    full = results["comparison"].only
    first = full.names[0]
    single_metric = replace(full, metrics=full.metrics.filter(metric=first))
    result = find_chart_kind(name).draw(replace(results["comparison"], comparisons=(single_metric,)))
    text = "".join(_parsed(result.svg()).itertext())
    row = full.metrics.row(0, named=True)
    assert f"{first}: " in text
    assert f"{row['wins']} won, {row['ties']} tied, {row['losses']} lost" in text


def test_the_same_figures_give_the_same_bytes(drawing, svg, chart_kind, results):
    second = chart_kind.draw(results[chart_kind.needs])
    assert svg == second.svg()
    assert drawing.json() == second.json()


def test_a_drawing_gives_the_same_picture_again(results):
    result = find_chart_kind("deltas").draw(results["comparison"])
    assert result.svg() == result.svg()


def test_figures_that_differ_have_another_hash(results):
    result = find_chart_kind("deltas").draw(results["comparison"])
    rows = (*result.rows[:-1], {**result.rows[-1], "delta": result.rows[-1]["delta"] + 1e-12})
    assert replace(result, rows=rows).hash != result.hash


def test_a_specification_asks_for_nothing_from_elsewhere(drawing):
    assert drawing.to_altair().to_dict()["$schema"]  # Altair validates both ways
    places = set(re.findall(r"https?://[^\"]+", json.dumps(drawing.spec())))
    assert places == {url for url in places if "vega.github.io/schema" in url}


def _scales(part):
    """The scales of a specification with a list of values and a list of colours."""
    if isinstance(part, list):
        return [scale for member in part for scale in _scales(member)]
    if not isinstance(part, dict):
        return []
    is_scale = isinstance(part.get("domain"), list) and isinstance(part.get("range"), list)
    return [part] * is_scale + [scale for member in part.values() for scale in _scales(member)]


def test_a_scale_has_a_value_for_each_colour(drawing):
    """Vega leaves out the last ones of the longer list, so that the ends of a scale look alike."""
    scales = _scales(drawing.spec())
    assert [scale for scale in scales if len(scale["domain"]) != len(scale["range"])] == []


def test_dark_changes_colours_and_no_figure(drawing):
    light, dark = drawing.spec("light"), drawing.spec("dark")
    assert dark["config"]["background"] == DARK[PAPER]
    assert light.get("datasets") == dark.get("datasets")
    assert not set(DARK) & set(re.findall(r"#[0-9a-f]{6}", json.dumps(dark["config"])))


def test_data_with_a_colour_for_a_name_keep_it():
    spec = {"data": {"values": [{"query": PAPER}]}, "mark": {"color": PAPER}}
    assert dark_spec(spec) == {"data": spec["data"], "mark": {"color": DARK[PAPER]}}


_RATED = {"agreed", "admitted"}  # of ratings, and of two sets of judgments


@pytest.fixture(scope="module")
def hostile_results(collection):
    """A function from a need to the result of hostile data, which is computed once."""
    qrels = {EVIL + q: {EVIL + d: g for d, g in docs.items()} for q, docs in collection.qrels.items()}
    runs = []
    for i, run in enumerate(collection.runs):
        ranked = {EVIL + q: {EVIL + d: s for d, s in docs.items()} for q, docs in run.items()}
        runs.append(replace(read_run(ranked), name=f"{EVIL}{i}"))

    @cache
    def result_of(need):
        request = ChartRequest(qrels, tuple(runs)[: collection.takes[need]], query=f"{EVIL}q1")
        return compute_result(need, request)

    return result_of


@pytest.mark.parametrize("name", [kind.name for kind in CHART_KINDS if kind.needs not in _RATED])
def test_whatever_stands_in_data_stays_text(name, hostile_results):
    result = find_chart_kind(name).draw(hostile_results(find_chart_kind(name).needs))
    _parsed(result.svg())
    page = picture_page(replace(result, title=f"{result.title} {EVIL}"))
    assert page.count("</script") == page.count("<script") == 1
    begin = page.index("const specs=")  # behind it is what data can reach
    reached = page[: page.index("<script")] + page[begin:]
    assert "alert(1)" in reached
    assert "<img" not in reached
    assert "<script>alert" not in reached
    assert "default-src 'none'" in page


def test_a_page_is_whole_and_its_data_can_be_read_back(results):
    result = find_chart_kind("deltas").draw(results["comparison"])
    page = picture_page(result)
    assert "vegaEmbed" in page
    assert not re.search(r'(src|href)="?https?:', page)
    begin = page.index("const specs=") + len("const specs=")
    (wide_spec, phone), _ = json.JSONDecoder().raw_decode(page[begin:])
    assert wide_spec | {"title": result.spec()["title"]} == result.spec()
    assert phone["datasets" if "datasets" in wide_spec else "config"]
    assert "<summary>Figures</summary>" in page
    assert result.svg(words=False)[:200] in page


def test_png_is_a_png_and_scale_is_its_size(results):
    result = find_chart_kind("stages").draw(results["pipeline"])
    small, large = result.png(scale=1), result.png("dark", scale=2)
    assert small[:8] == large[:8] == b"\x89PNG\r\n\x1a\n"
    widths = [int.from_bytes(image[16:20], "big") for image in (small, large)]
    assert widths[1] == pytest.approx(2 * widths[0], abs=2)


def test_written_gives_each_form(results):
    result = find_chart_kind("deltas").draw(results["comparison"])
    assert result.written("svg").startswith("<svg")
    assert "prefers-color-scheme" in result.written("svg")
    assert "prefers-color-scheme" not in result.written("svg", "dark")
    assert json.loads(result.written("json"))["$schema"].startswith("https://vega.github.io/schema")


def test_bars_of_text_have_every_query_or_both_ends(results, collection):
    result = find_chart_kind("deltas").text(results["comparison"], 80)
    lines = [line for line in result.splitlines() if line.startswith("q")]
    assert len(lines) == len(collection.qrels)
    assert max(map(len, result.splitlines())) <= 80
    assert result.splitlines()[0].startswith("nDCG@10: ")
    with raises("binary-output", UsageError):
        find_chart_kind("scatter").text(results["comparison"], 80)


def test_text_histograms_count_every_query(results, collection):
    result = find_chart_kind("distributions").text(results["evaluation"], 80)
    counts = [int(count) for count in re.findall(r"to +\d\.\d\d +(\d+)", result)]
    assert sum(counts) == 2 * len(collection.qrels)


def test_without_the_extra_one_sentence_says_so(results, monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with raises("missing-extra", MissingExtraError):
        find_chart_kind("deltas").draw(results["comparison"])


def test_a_metric_without_cutoffs_or_levels_gives_no_curve(results):
    for name in ("cutoffs", "precision-recall"):
        with raises("nothing-to-draw", UsageError):
            find_chart_kind(name).draw(results["evaluation"])


@pytest.mark.parametrize("count", [61, 800])
def test_many_queries_are_drawn_too(count):
    qrels = {f"q{i}": {"a": 1} for i in range(count)}
    old = {q: {"b": 2.0, "a": 1.0} for q in qrels}
    new = {q: {"a": 2.0, "b": 1.0} if i % 3 else old[q] for i, q in enumerate(qrels)}
    result = find_chart_kind("deltas").draw(
        compute_result("comparison", ChartRequest(qrels, (old, new), ("RR",)))
    )
    svg = result.svg()
    _parsed(svg)
    assert len(result.rows) == count
    assert len(svg) < 400_000


def test_a_page_has_a_chart_for_phones(results):
    chart = find_chart_kind("forest").draw(results["comparisons"])
    spec = chart.spec()
    phone = narrow_spec(spec, fluid=True)
    assert phone["columns"] == 1
    assert phone["concat"][0]["width"] < spec["concat"][0]["width"]
    moved = spec["concat"][0]["width"] - phone["concat"][0]["width"]
    places = [
        [
            layer["encoding"]["x"]["value"]
            for layer in layout["concat"][0]["layer"]
            if "value" in layer["encoding"].get("x", {})
        ]
        for layout in (spec, phone)
    ]
    assert places[0]
    assert [position - moved for position in places[0]] == places[1]
