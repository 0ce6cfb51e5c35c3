"""Stores in both databases, for real."""

import polars as pl
import pytest

from rankgate.data.qrels import parse_scale
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import users
from rankgate.store.rating import batches


@pytest.fixture
def store(new_store):
    return new_store


PAIRS = pl.DataFrame(
    [(f"q{i}", f"d{j}") for i in range(4) for j in range(5)], schema=["query_id", "doc_id"], orient="row"
)


class Shop:
    """A project with queries, documents, two raters, and a batch."""

    def __init__(self, store, **batch):
        self.store = store
        with store.write() as connection:
            self.project = projects.add(connection, "shop", scale=parse_scale("graded")).id
            texts = {"query_id": ["q0", "q1"], "text": ["red shoes", "hat"], "lang": ["en", "de"]}
            queries_documents.add_queries(connection, self.project, pl.DataFrame(texts))
            fields = {"doc_id": ["d0", "d1"], "title": ["Red", "Hat"], "url": ["https://a.b", None]}
            queries_documents.add_documents(connection, self.project, pl.DataFrame(fields))
            self.batch = batches.add_batch(connection, self.project, "first", **batch)
            self.added = batches.add_pairs(connection, self.batch, PAIRS)
            self.people = [users.add(connection, name) for name in ("ann", "bob", "cid", "dan")]
            self.raters = [users.rater_of_user(connection, person.id).id for person in self.people]


@pytest.fixture
def shop(store):
    return Shop(store)
