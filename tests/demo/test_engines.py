"""The two engines: their results and order."""

import sqlite3
from contextlib import closing

import pytest

from rankgate.core.errors import InputError
from rankgate.interface.demo import demo_engines
from rankgate.interface.demo.demo_engines import Docstring
from support.wording import raises

DOCUMENTS = [
    Docstring("shop.merge", "merge(a, b)", "Merge two things.", "shop"),
    Docstring("shop.TemporaryShop", "TemporaryShop()", "Closes itself.", "shop"),
    Docstring("shop.b", "b", "Sell a thing.\n\nMerged with nothing.", "shop"),
    Docstring("shop.c", "c", "The same words.", "shop"),
    Docstring("shop.d", "d", "The same words.", "shop"),
    Docstring("shop.e", "e", "Something else entirely.", "shop"),
    Docstring("shop.f", "f", "Not this either, please.", "shop"),
]


@pytest.fixture
def index():
    with closing(sqlite3.connect(":memory:")) as connection:
        demo_engines.index_documents(DOCUMENTS, connection)
        yield connection


def found(engine, index, text, depth=demo_engines.DEPTH):
    return [doc_id for doc_id, _ in engine.rank(index, text, depth)]


def test_only_the_new_engine_stems(index):
    assert found(demo_engines.OLD, index, "merging") == []
    assert found(demo_engines.NEW, index, "merging") == ["shop.merge", "shop.b"]


def test_only_the_new_engine_reads_words_run_together(index):
    assert found(demo_engines.OLD, index, "temporary") == []
    assert found(demo_engines.NEW, index, "temporary") == ["shop.TemporaryShop"]


def test_only_the_new_engine_passes_over_stop_words(index):
    assert found(demo_engines.OLD, index, "the merge") == ["shop.merge", "shop.d", "shop.c"]
    assert found(demo_engines.NEW, index, "the merge") == ["shop.merge", "shop.b"]
    assert found(demo_engines.NEW, index, "the") == ["shop.d", "shop.c"]


@pytest.mark.parametrize("engine", demo_engines.ENGINES, ids=lambda engine: engine.name)
def test_equal_scores_stand_by_doc_id_as_an_evaluation_reads_them(engine, index):
    (first, high), (second, low) = engine.rank(index, "same words")
    assert (first, second) == ("shop.d", "shop.c")
    assert high == low > 0


def test_the_depth_is_a_limit(index):
    assert found(demo_engines.OLD, index, "shop", depth=2) == found(demo_engines.OLD, index, "shop")[:2]


@pytest.mark.parametrize("text", ['merge" OR "', "merge*", "NOT merge", "name:merge", "merge-a)("])
def test_the_syntax_of_fts5_is_plain_text_in_a_query(text, index):
    assert "shop.merge" in found(demo_engines.OLD, index, text)


def test_a_query_without_a_word_is_refused(index):
    with raises("empty-query", InputError):
        demo_engines.OLD.rank(index, "?!")
