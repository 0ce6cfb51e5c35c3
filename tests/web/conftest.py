"""One server for all tests of a module, with a project, its people and a batch."""

from dataclasses import dataclass

import polars as pl
import pytest

from rankgate.data.qrels import GRADED
from rankgate.store.material import projects, queries_documents
from rankgate.store.people import sign_in, users
from rankgate.store.rating import batches
from rankgate.store.store import Store
from support.demos import demo_history  # noqa: F401 - a fixture
from support.serving import PASSWORD, Visitor, quick_passwords, served  # noqa: F401 - a fixture

ROLES = ("admin", "manager", "rater", "viewer")


@dataclass
class Team:
    """A server and its store; ``visitor`` signs in as somebody."""

    store: Store
    address: str

    def visitor(self, name):
        visitor = Visitor(self.address)
        answer = visitor.sign_in(name)
        assert answer.status == 303, answer.data
        return visitor

    def store_project(self, name):
        """The number of a project."""
        with self.store.read() as connection:
            return projects.get_by_name(connection, name).id

    def project(self, name, *, pairs=4, strategy="2", **more):
        """Another project; each user has the role in their name."""
        with self.store.write() as connection:
            project = projects.add(connection, name, title=f"Project {name}", scale=GRADED)
            rows = [("q1", f"d{i}") for i in range(pairs)]
            queries_documents.add_queries(
                connection, project.id, pl.DataFrame({"query_id": ["q1"], "text": ["a bike"]})
            )
            texts = {"doc_id": [d for _, d in rows], "title": [f"bike {d}" for _, d in rows]}
            queries_documents.add_documents(connection, project.id, pl.DataFrame(texts))
            batch = batches.add_batch(connection, project.id, "first", strategy=strategy, **more)
            table = pl.DataFrame(rows, schema=["query_id", "doc_id"], orient="row")
            batches.add_pairs(connection, batch, table)
            for role in ROLES:
                user = users.get_by_name(connection, role)
                users.grant(connection, project.id, user.id, role)
        return project


@pytest.fixture(scope="module")
def team(tmp_path_factory, new_file):
    path = tmp_path_factory.mktemp("team") / "judging.db"
    with new_file(path) as store:
        hashed = sign_in.password_hash(PASSWORD)
        with store.write() as connection:
            users.add(connection, "root", hashed, admin=True)
            for name in (*ROLES, "stranger"):
                users.add(connection, name, hashed)
        with served(store, per_minute=1_000_000) as address:
            new_team = Team(store, address)
            new_team.project("shop")
            yield new_team
