"""Long answers are cut, and errors quote the beginning of long arguments."""

from rankgate.interface.mcp.mcp_answers import MAX_QUOTED, Page, answer_of, error_text

LONGEST = "a" * MAX_QUOTED
LONGER = f"{LONGEST}b"


def test_only_longer_arguments_are_cut():
    assert error_text(f"no file {LONGEST!r}.", {"run": LONGEST}) == f"no file {LONGEST!r}."
    assert error_text(f"no metric {LONGER!r}.", {"metrics": [{"name": LONGER}]}) == f"no metric '{LONGEST}…'."


def test_an_argument_is_found_as_it_is_quoted():
    text = "\n" * MAX_QUOTED + "b"
    assert error_text(f"no text {text!r}.", {"text": text}) == f"no text '{repr(text)[1:-1][:MAX_QUOTED]}…'."


def test_a_long_error_is_cut():
    assert len(error_text("a" * 999, {})) == 999
    assert error_text("a" * 2000, {}) == "a" * 1000 + "…"


def test_the_text_takes_a_quarter_of_an_answer():
    """It is sent twice, as the text of the answer and in its object."""
    answer = answer_of({"text": "a" * 50_000, "result": {}}, Page(10, 0, 20_000))
    assert answer == {
        "text": "a" * 5_000 + "…",
        "result": {},
        "shortened": {"text": 50_000},
        "next_offset": None,
    }
    short = {"text": "a" * 5_000, "result": {"b": [1]}}
    assert answer_of(short, Page(10, 0, 20_000)) == {**short, "shortened": {}, "next_offset": None}
