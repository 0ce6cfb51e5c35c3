"""A server of models, and files that a model rates."""

import json

import pytest

from rankgate.judging.llm.judge import Judge
from rankgate.judging.llm.rate import LLMRating
from support.model_server import model_server

KEY = "sk-very/secret+0123456789"


@pytest.fixture
def server():
    """The server, running."""
    with model_server() as running_server:
        yield running_server


@pytest.fixture
def key(monkeypatch):
    """A secret in an environment variable."""
    monkeypatch.setenv("RANKGATE_TEST_KEY", KEY)
    return KEY


@pytest.fixture
def files(tmp_path):
    """Makes a pool of n documents of two queries, with texts."""

    def make(n):
        pairs = [(f"q{i % 2}", f"d{i}") for i in range(n)]
        pool, queries, documents = (tmp_path / f"{name}.csv" for name in ("pool", "q", "docs"))
        pool.write_text("query,document\n" + "".join(f"{q},{d}\n" for q, d in pairs))
        queries.write_text("query_id,text\nq0,jaguar speed\nq1,black holes\n")
        rows = "".join(f'{d},Title {d},"the text of {d}, ä"\n' for _, d in pairs)
        documents.write_text("doc_id,title,text\n" + rows)
        return pool, queries, documents, tmp_path / "llm.jsonl"

    return make


def rows_of(place):
    """The rows of a file of ratings."""
    return [json.loads(line) for line in place.read_text(encoding="utf-8").splitlines()]


@pytest.fixture
def rows():
    """Reads the rows of a file of ratings."""
    return rows_of


@pytest.fixture
def rate(server, files):
    """Has a model rate n documents; with the judge's fields as keywords."""

    def call(n, *, scale="graded", rater="", **judge):
        pool, queries, documents, out = files(n)
        protocol = judge.get("protocol", "openai")
        base = server.url + ("/v1" if protocol == "openai" else "")
        settings = {"url": base, "backoff": 0.01, "retries": 2, "timeout": 60.0, **judge}
        with LLMRating(
            pool, out, Judge("m", **settings), queries=queries, documents=documents, scale=scale, rater=rater
        ) as work:
            return work.run(), out

    return call
