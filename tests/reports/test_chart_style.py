"""Distinct colours, names that fit, labels that keep their distance."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.present.charts import chart_style
from rankgate.core.present.charts.chart_layers import find_label_spots, heat_map, needs_white
from rankgate.core.present.charts.chart_style import (
    DARK,
    PAPER,
    SYSTEMS,
    grade_colour,
    separate_positions,
    shorten_names,
)
from rankgate.core.present.charts.chart_views import HeatMap
from rankgate.core.present.document_model import shorten_name


def _luminance(shade):
    parts = [int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one, two):
    high, low = sorted((_luminance(one), _luminance(two)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("ground", [PAPER, DARK[PAPER]])
@pytest.mark.parametrize("shade", SYSTEMS)
def test_systems_stand_out_from_either_ground(shade, ground):
    assert _contrast(shade, ground) >= 3  # WCAG 2.2, 1.4.11


# what is left of linear red, green and blue without one kind of cones: Machado, Oliveira and
# Fernandes 2009, table of severity 1.0
CONES = {
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
TO_XYZ = (
    (0.4124564, 0.3575761, 0.1804375),
    (0.2126729, 0.7151522, 0.0721750),
    (0.0193339, 0.1191920, 0.9503041),
)
WHITE = np.array((0.95047, 1, 1.08883))


def _seen(shade, cones):
    """CIE L*a*b* of a colour as it is seen."""
    plain = np.array([int(shade[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(plain <= 0.04045, plain / 12.92, ((plain + 0.055) / 1.055) ** 2.4)
    x, y, z = np.cbrt(np.array(TO_XYZ) @ np.clip(np.array(cones) @ linear, 0, 1) / WHITE)
    return np.array((116 * y - 16, 500 * (x - y), 200 * (y - z)))


DARK_GRADES = tuple(pairwise(DARK[shade] for shade in chart_style.GRADES))


def test_grades_are_an_ordinal_scale_of_lightness():
    light = [_luminance(shade) for shade in chart_style.GRADES]
    dark = [_luminance(DARK[shade]) for shade in chart_style.GRADES]
    assert light == sorted(light, reverse=True)  # the best is furthest from the ground
    assert dark == sorted(dark)


@pytest.mark.parametrize("kind", CONES)
def test_colours_stay_apart_without_one_kind_of_cones(kind):
    pairs = [(*two, 15) for two in (*combinations(SYSTEMS, 2), *pairwise(chart_style.GRADES), *DARK_GRADES)]
    for first_colour, second_colour, min_distance in (*pairs, (chart_style.BLUE, chart_style.RED, 60)):
        distance = np.linalg.norm(_seen(first_colour, CONES[kind]) - _seen(second_colour, CONES[kind]))
        assert distance >= min_distance, (first_colour, second_colour, distance)


@pytest.mark.parametrize(("ink", "ground"), [(chart_style.INK, PAPER), (chart_style.DIM, PAPER)])
def test_words_can_be_read_on_either_ground(ink, ground):
    assert _contrast(ink, ground) >= 4.5  # WCAG 2.2, 1.4.3
    assert _contrast(DARK[ink], DARK[ground]) >= 4.5


@pytest.mark.parametrize(("shades", "domain"), [(chart_style.SHARES, (0, 1)), (chart_style.SIGNED, (-1, 1))])
def test_words_in_cells_can_be_read(shades, domain):
    for value in np.linspace(*domain, 101):
        position = np.interp(value, np.linspace(*domain, len(shades)), range(len(shades)))
        parts = [[int(shade[i : i + 2], 16) for shade in shades] for i in (1, 3, 5)]
        mixed = [round(float(np.interp(position, range(len(shades)), channel))) for channel in parts]
        ground = "#" + "".join(f"{channel:02x}" for channel in mixed)
        text_colour = chart_style.ON_DEEP if needs_white(value, domain, shades) else chart_style.ON_PALE
        assert _contrast(text_colour, ground) >= 4.5, (value, ground)


def test_grades_get_colours_in_their_order():
    assert grade_colour(None, 3) == chart_style.LINE
    assert [grade_colour(g, 4) for g in range(5)] == list(chart_style.GRADES)
    assert grade_colour(-2, 3) == grade_colour(0, 3) == chart_style.GRADES[0]
    assert grade_colour(5, 0) == chart_style.GRADES[0]


# words


@given(st.lists(st.floats(0, 1), max_size=12), st.floats(0.01, 0.2))
def test_labels_keep_their_distance_and_their_order(places, gap):
    if gap * (len(places) - 1) > 1:
        return
    moved = separate_positions(places, gap, 0, 1)
    sorted_positions = sorted(moved)
    assert all(0 - 1e-9 <= position <= 1 + 1e-9 for position in moved)
    assert all(b - a >= gap - 1e-9 for a, b in pairwise(sorted_positions))
    for i, first in enumerate(places):
        for j, second in enumerate(places):
            if first < second:
                assert moved[i] < moved[j]


def test_labels_that_have_room_stay():
    assert separate_positions([0.1, 0.5, 0.9], 0.1, 0, 1) == [0.1, 0.5, 0.9]
    assert separate_positions([], 0.1, 0, 1) == []


@given(st.text(max_size=60), st.integers(5, 40))
def test_short_names_fit_in_one_line(name, most):
    result = shorten_name(name, most)
    assert len(result) <= most
    assert result.isprintable()


@given(st.lists(st.text("ab", min_size=1, max_size=12), max_size=8))
def test_short_names_stay_apart(names):
    assert len(set(shorten_names(names, 5))) == len(names)


def test_a_name_above_its_point_is_centred():
    """Two letters, 12.6 points wide, fit between two dots; three do not, and go below."""
    points = [(50.0, 50.0), (50.0 - 11.5, 39.0), (50.0 + 11.5, 39.0), (66.0, 50.0), (34.0, 50.0)]
    assert find_label_spots(points, ["ab"], (100, 100)) == [2]
    assert find_label_spots(points, ["abc"], (100, 100)) == [3]


@pytest.mark.parametrize(
    ("shades", "domain"), [(["#ffffff", "#000000"], [0, 3]), (["#ff0000", "#ffffff", "#0000ff"], [0, 1.5, 3])]
)
def test_shades_of_a_heat_map_are_of_the_ends_and_the_middle(shades, domain):
    heat = HeatMap("cells", domain=(0, 3), shades=shades)
    chart = heat_map([{"row": "a", "column": "b", "value": 1.0}], heat)
    colours = [layer["encoding"]["color"] for layer in chart.to_dict()["layer"]]
    (scale,) = (colour["scale"] for colour in colours if "scale" in colour)
    assert (scale["domain"], scale["range"]) == (domain, shades)
