"""Words above a drawing: no two overlap, none leaves it."""

import random

from rankgate.workspace.web.dashboard.trend_chart import place_labels

EDGE = 1000.0
MARKS = [(random.Random(i).uniform(64, 984), "w" * (i % 27 + 1)) for i in range(40)]


def test_words_neither_overlap_nor_leave_the_drawing():
    labels = place_labels(MARKS, EDGE)
    for i, one in enumerate(labels):
        assert 0 <= one.left < one.right <= EDGE
        x = one.left if one.anchor == "start" else one.right
        assert abs(x - MARKS[i][0]) < 1e-9
        for other in labels[:i]:
            assert one.row != other.row or one.right < other.left or other.right < one.left


def test_a_free_line_crosses_no_words():
    labels = place_labels(MARKS, EDGE)
    crossed = 0
    for (x, _), label in zip(MARKS, labels, strict=True):
        below = [each for each in labels if each.row < label.row and each.left < x < each.right]
        crossed += bool(below)
        assert not (label.free and below)
    assert crossed


def test_words_with_room_are_in_the_lowest_row():
    assert [
        each.row for each in place_labels([(100, "one"), (300, "two"), (990, "three")], EDGE)
    ] == [0] * 3
    assert [each.row for each in place_labels([(100, "a longer one"), (120, "two")], EDGE)] == [
        1,
        0,
    ]
