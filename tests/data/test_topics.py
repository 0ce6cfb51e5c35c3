"""Topics of real test collections; small files of topics are in tests/door."""

from __future__ import annotations

import pytest

from rankgate.data import contents_of
from rankgate.data.formats.registry import detect_format
from rankgate.data.streams.source import open_source

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
