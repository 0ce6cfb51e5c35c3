"""A narrow terminal: text is as wide as it is, and no command fails."""

import sys

import pytest

from rankgate.core.present.document_model import Grid
from rankgate.core.present.text_tables import paragraph_table
from rankgate.interface.cli import COMMANDS


@pytest.fixture
def narrow(monkeypatch):
    monkeypatch.setattr(type(sys.stdout), "isatty", lambda _: True)
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "dumb")


@pytest.mark.usefixtures("narrow")
@pytest.mark.parametrize(
    "words",
    [
        "metrics RR",
        "metrics",
        "conventions",
        "conventions show trec",
        "conventions axes",
        "formats",
        "formats trec",
        "policy",
        "advise",
        "eval Q R -m RR",
        "compare Q R R2 -m RR",
        "explain Q R --query 1 -m RR",
        "describe Q R",
        "validate Q R",
        "holes Q R R2 -m RR@10",
        "stages Q R R2 -m nDCG@10",
        "blindspots Q R R2 -m RR",
        "gate Q R R2",
        *(f"{name} --help" for name in COMMANDS),
    ],
)
def test_forty_columns(run, small, tmp_path, words):
    (tmp_path / "two.run").write_text(small[1].read_text().replace("1 Q0 a 1 9", "1 Q0 a 1 5"))
    files = {"Q": small[0], "R": small[1], "R2": tmp_path / "two.run"}
    result = run(*(files.get(word, word) for word in words.split()))
    assert result.code in {0, 1, 2, 3}, result.err
    assert "\x1b" not in result.out + result.err


@pytest.mark.parametrize("width", [39, 41])
def test_paragraphs_of_a_list_are_as_wide_as_the_terminal(width):
    """Letters and blanks behind four blanks fill an odd width."""
    grid = Grid(("name", "kind", "text"), (("a measure", "per query", "a " * 100),))
    assert max(map(len, paragraph_table(grid, width).splitlines())) == width
