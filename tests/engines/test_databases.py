"""A real PostgreSQL server and a real index of Tantivy."""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager
from pathlib import Path

import pytest

from rankgate.engines.take import snapshot
from support.wording import raises

from .conftest import DOCS, QUERIES

PROGRAMS = sorted(Path("/usr/lib/postgresql").glob("*/bin"))


def as_postgres(*words):
    """A command as the user of the server, which refuses root."""
    return ["runuser", "-u", "postgres", "--", *words] if os.geteuid() == 0 else list(words)


@contextmanager
def running(folder):
    """A server of its own, that listens on a socket in a folder only."""
    tools = PROGRAMS[-1]
    data = folder / "data"
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres")
    begin = [str(tools / "initdb"), "-D", str(data), "-A", "scram-sha-256", "--no-sync"]
    (folder / "password").write_text("s3cret-word")
    begin += ["-U", "shop", f"--pwfile={folder / 'password'}"]
    subprocess.run(as_postgres(*begin), check=True, capture_output=True)
    options = f"-c listen_addresses= -c unix_socket_directories={folder} -c fsync=off"
    control = [str(tools / "pg_ctl"), "-D", str(data), "-w", "-l", str(folder / "log")]
    subprocess.run(as_postgres(*control, "-o", options, "start"), check=True, capture_output=True)
    try:
        yield f"host={folder} user=shop dbname=postgres password=${{SHOP_PASSWORD}}"
    finally:
        subprocess.run(as_postgres(*control, "-m", "immediate", "stop"), check=True,
                       capture_output=True)  # fmt: skip


@pytest.fixture(scope="module")
def postgresql():
    psycopg = pytest.importorskip("psycopg")
    if not PROGRAMS:
        pytest.skip("PostgreSQL's server is not installed")
    # a path of a socket is short, and its folder can be entered by the server's user
    with tempfile.TemporaryDirectory(prefix="rankgate-pg-") as folder:
        Path(folder).chmod(0o755)
        with running(Path(folder)) as dsn:
            with psycopg.connect(dsn.replace("${SHOP_PASSWORD}", "s3cret-word")) as connection:
                connection.execute("CREATE TABLE docs (id text, body text)")
                connection.cursor().executemany(
                    "INSERT INTO docs VALUES (%s, %s)", list(DOCS.items())
                )
            yield dsn


RANKED = """
SELECT id, %(weight)s * ts_rank(to_tsvector('simple', body), query) AS score, body AS text
FROM docs, to_tsquery('simple', replace(%(query)s, ' ', ' | ')) AS query
WHERE to_tsvector('simple', body) @@ query ORDER BY score DESC, id LIMIT %(depth)s
"""


def engine(folder, dsn, sql=RANKED):
    file = folder / "pg.toml"
    file.write_text(
        f'[engine]\nkind = "postgresql"\ndsn = "{dsn}"\nsql = """{sql}"""\ndepth = 7\n'
        "timeout = 0.5\n[engine.parameters]\nweight = 2.0\n"
        "[snapshot]\nretries = 1\nbackoff = 0.01\n"
    )
    return file


def test_postgresql_ranks_by_a_statement(postgresql, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret-word")
    result = snapshot(engine(tmp_path, postgresql), QUERIES, tmp_path / "pg.run")
    assert result.states["ok"] == len(QUERIES)
    assert result.facts.version.startswith("postgresql 1")
    import psycopg

    with psycopg.connect(postgresql.replace("${SHOP_PASSWORD}", "s3cret-word")) as connection:
        values = {"query": QUERIES["q1"], "depth": 7, "weight": 2.0}
        theirs = connection.execute(RANKED, values).fetchall()
    ours = result.run.table.filter(result.run.table["query_id"] == "q1")
    assert ours.select("doc_id", "score").rows() == [row[:2] for row in theirs]
    assert "s3cret-word" not in "".join(
        file.read_text() for file in tmp_path.iterdir() if file.suffix != ".toml"
    )


@pytest.mark.parametrize(
    ("sql", "state", "word"),
    [
        ("SELECT id, pg_sleep(3) FROM docs WHERE %(query)s <> ''", "failed", "no answer within"),
        ("SELECT id, 1 / 0 FROM docs WHERE %(query)s <> ''", "failed", "division by zero"),
        ("SELECT none FROM docs WHERE %(query)s <> ''", "not_run", "does not exist"),
        ("DELETE FROM docs WHERE body = %(query)s", "failed", "read-only"),
    ],
)
def test_statements_that_fail(postgresql, tmp_path, monkeypatch, sql, state, word):
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret-word")
    result = snapshot(engine(tmp_path, postgresql, sql), {"q": "red"})
    assert result.queries["state"].to_list() == [state]
    assert word in (result.queries["error"][0] or result.problem)


def test_a_name_without_a_value(tmp_path):
    sql = "SELECT id, %(boost)s FROM docs WHERE body = %(query)s"
    with raises("unknown-parameter"):
        snapshot(engine(tmp_path, "host=nowhere", sql), {"q": "red"})


def test_a_wrong_password(postgresql, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", "wrong-word")
    result = snapshot(engine(tmp_path, postgresql), {"q": "red"})
    assert not result.finished
    assert "authentication failed" in result.problem
    assert "wrong-word" not in result.problem


@pytest.fixture
def index(tmp_path):
    tantivy = pytest.importorskip("tantivy")
    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    schema.add_text_field("body", stored=True)
    (tmp_path / "index").mkdir()
    made = tantivy.Index(schema.build(), path=str(tmp_path / "index"))
    writer = made.writer()
    for doc_id, body in DOCS.items():
        writer.add_document(tantivy.Document(id=doc_id, body=body))
    writer.commit()
    writer.wait_merging_threads()
    file = tmp_path / "t.toml"
    file.write_text(
        '[engine]\nkind = "tantivy"\nindex = "index"\nid = "id"\nsearch = ["body"]\ndepth = 5\n'
        '[engine.boosts]\nbody = "{{boost}}"\n[engine.parameters]\nboost = 1.0\n'
        '[engine.fields]\ntext = "body"\n'
    )
    return file


def test_tantivy_ranks(index):
    result = snapshot(index, QUERIES)
    assert result.states["ok"] == len(QUERIES)
    assert result.facts.documents == len(DOCS)
    first = result.run.table.filter(result.run.table["query_id"] == "q7")
    assert first["doc_id"][0] == "d7"  # the only one with number7
    assert (first["score"].diff().drop_nulls() <= 0).all()
    twice = snapshot(index, QUERIES, parameters={"boost": 2.0}).run.table
    assert twice["score"].to_list() == pytest.approx([2 * s for s in result.run.table["score"]])


def test_an_index_that_is_not_there(index):
    index.write_text(index.read_text().replace('"index"', '"nowhere"', 1))
    with raises("cannot-read"):
        snapshot(index, QUERIES)
