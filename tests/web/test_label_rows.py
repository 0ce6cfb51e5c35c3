"""Words above a drawing: no two overlap, none leaves it."""

import random

from rankgate.workspace.web.dashboard.trend_chart import place_labels

EDGE = 1000.0
MARKS = [(random.Random(i).uniform(64, 984), "w" * (i % 27 + 1)) for i in range(40)]


def test_words_neither_overlap_nor_leave_the_drawing():
    labels = place_labels(MARKS, EDGE)
    assert len(labels) == len(MARKS)
    for i, label in enumerate(labels):
        assert 0 <= label.left < label.right <= EDGE
        x = label.left if label.anchor == "start" else label.right
        assert abs(x - MARKS[i][0]) < 1e-9
        for previous in labels[:i]:
            assert label.row != previous.row or label.right < previous.left or previous.right < label.left


def test_a_free_line_crosses_no_words():
    labels = place_labels(MARKS, EDGE)
    crossed = 0
    for (x, _), label in zip(MARKS, labels, strict=True):
        labels_below = [
            lower_label
            for lower_label in labels
            if lower_label.row < label.row and lower_label.left < x < lower_label.right
        ]
        crossed += bool(labels_below)
        assert not (label.free and labels_below)
    assert crossed


def test_words_with_room_are_in_the_lowest_row():
    assert [label.row for label in place_labels([(100, "one"), (300, "two"), (990, "three")], EDGE)] == [
        0
    ] * 3
    assert [label.row for label in place_labels([(100, "a longer one"), (120, "two")], EDGE)] == [1, 0]
