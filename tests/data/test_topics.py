"""Topics of test collections."""

from __future__ import annotations

import pytest

from rankgate.core.errors import InputError
from rankgate.data import contents_of
from rankgate.data.formats.registry import detect_format
from rankgate.data.streams.source import InputFile, open_source
from support.wording import raises

TREC = b"""<top>

<num> Number: 401
<title> foreign minorities, Germany

<desc> Description:
What language and cultural
differences?

<narr> Narrative:
A &amp; B
</top>
<top>
<num> Number: 402 <title> behavioral genetics
</top>
"""
XML = b"""<?xml version="1.0"?>
<!-- <topic number="9"> -->
<topics><topic number="1"><query>obama</query><question>who?</question>
<subtopic number="1">one</subtopic><subtopic number="2">two</subtopic></topic></topics>
"""
SMART = b".I 001\n.W\nwhat similarity\nlaws .\n.I 004\n.W\nwhat problems .\n"
LINES = b"156493\tdo goldfish grow\n\n1110199\t what is wifi \n"


def read(content):
    return contents_of(InputFile(None, content), "topics")


def test_elements_without_end_tags():
    rows = read(TREC).queries.to_dicts()
    assert rows[0] == {
        "query_id": "401",
        "text": "foreign minorities, Germany",
        "description": "What language and cultural differences?",
        "narrative": "A & B",
    }
    assert rows[1]["text"] == "behavioral genetics"


def test_elements_with_attributes():
    (row,) = read(XML).queries.to_dicts()
    assert row["query_id"] == "1"
    assert row["text"] == "obama"
    assert (row["question"], row["subtopic"]) == ("who?", "one\ntwo")


def test_smart_and_lines():
    assert read(SMART).queries.rows() == [("001", "what similarity laws ."), ("004", "what problems .")]
    assert read(LINES).queries.rows() == [("156493", "do goldfish grow"), ("1110199", "what is wifi")]


@pytest.mark.parametrize("content", [TREC, XML, SMART, LINES])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_they_are_known(content, mark):
    for ends in (content, content.replace(b"\n", b"\r\n")):
        input_file = InputFile(None, mark + ends)
        assert detect_format(input_file)[0].name == "topics"
        assert contents_of(input_file).queries.equals(read(content).queries)


@pytest.mark.parametrize("content", [b"1\tQ0\td1\t1\t2.5\tx\n", b"1\td1\n2\td2\n", b"1 0 d 1\n"])
def test_runs_and_judgments_are_none(content):
    assert detect_format(InputFile(None, content))[0].name == "trec"


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"", "no-queries"),
        (b"<top><title> x </top>", "empty-value"),
        (b"1\ta b\n\n1\tc d\n", "duplicate-query"),
        (b"1\ta b\nc\n", "invalid-syntax"),
        (b"1\ta b\n\xff", "not-utf8"),
    ],
)
def test_what_is_wrong(content, code):
    with raises(code, InputError):
        read(content)


FILES = {
    "cranfield/cran.qry.xml": 225,
    "cranfield/smart/cran.qry": 225,
    "cacm/topics.cacm.txt": 64,
    "trec-covid-r1/topics.covid-round1.xml": 30,
    "qrels-pack/topics.msmarco-passage.dev-subset.txt.gz": 6980,
    "web-diversity-2009-2010/2009/wt2009.topics.xml": 50,
    "web-diversity-2009-2010/2010/wt2010.topics.xml": 50,
}


@pytest.mark.parametrize("file", FILES)
def test_real_topics(shared, file):
    input_file = open_source(shared / file)
    assert detect_format(input_file)[0].name == "topics"
    table = contents_of(input_file).queries
    assert len(table) == FILES[file]
    assert not (table["text"] == "").any()
