"""A server killed while a model rates continues at its next start, without repeats."""

import polars as pl
import pytest

from rankgate.data.qrels import GRADED
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import sign_in, users
from rankgate.store.rating import batches
from rankgate.store.store import Store
from rankgate.store.store_integrity import check
from support.model_server import model_server
from support.serving import Visitor, started
from support.stored_answers import list_ratings
from support.waiting import PATIENCE, until

pytestmark = [pytest.mark.slow, pytest.mark.separate]  # tests/store kills a job without a server
DOCS = 30


def prepared(url, tmp_path):
    """A store with a batch; the token of its admin."""
    with Store.create(url, blobs=f"{tmp_path}/blobs") as store, store.write() as connection:
        root = users.add(connection, "root", admin=True)
        project = projects.add(connection, "shop", scale=GRADED)
        names = [f"d{i}" for i in range(DOCS)]
        queries_documents.add_queries(
            connection, project.id, pl.DataFrame({"query_id": ["q"], "text": ["a bike"]})
        )
        texts = {"doc_id": names, "title": [f"the text of {doc_name}" for doc_name in names]}
        queries_documents.add_documents(connection, project.id, pl.DataFrame(texts))
        batch = batches.add_batch(connection, project.id, "first")
        pairs = {"query_id": ["q"] * DOCS, "doc_id": names}
        batches.add_pairs(connection, batch, pl.DataFrame(pairs))
        return sign_in.issue_token(connection, root.id, "t", ["admin"])[1]


def test_a_job_goes_on_after_a_kill(url, tmp_path):
    secret = prepared(url, tmp_path)
    with model_server() as server:
        config = f'[local]\nurl = "{server.url}/v1"\nconcurrency = 2\n'
        (tmp_path / "llm.toml").write_text(config)
        option = ("--llm", str(tmp_path / "llm.toml"))
        server.delay = 0.1
        with started(url, *option, first=False) as (process, address, _):
            job_request = {"endpoint": "local", "model": "m", "batch": "first"}
            job = Visitor(address, secret).post("/projects/shop/models", **job_request).json()["job"]
            until(lambda: sum(server.asked.values()) >= 8)
            process.kill()
            process.wait(PATIENCE)
        server.settle()
        asked_before = sum(server.asked.values())
        with Store.open(url) as store, store.read() as connection:
            rated_documents = {rating.document for rating in list_ratings(connection, 1)}
        assert len(rated_documents) >= asked_before - 2
        server.delay = 0.0
        with started(url, *option, first=False) as (_, address, _):
            visitor = Visitor(address, secret)
            path = f"/projects/shop/models/jobs/{job}.json"
            state = until(lambda: not (now := visitor.get(path).json()["job"])["under_way"] and now)
        assert (state["state"], state["done"]) == ("done", DOCS)
        request_count = sum(server.asked.values())
        assert request_count == asked_before + DOCS - len(rated_documents)
        # what was under way is counted, though nobody read its answer
        assert request_count <= state["requests"] <= request_count + 2
    with Store.open(url) as store:
        with store.read() as connection:
            assert len(list_ratings(connection, 1)) == DOCS
        assert check(store) == ()
