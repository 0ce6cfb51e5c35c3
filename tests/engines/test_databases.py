"""A real PostgreSQL server and a real index of Tantivy."""

import pytest

from rankgate.engines.engine import Query
from rankgate.engines.kinds.database_engines import PostgreSql
from rankgate.engines.snapshots.snapshot_verb import snapshot
from support.wording import raises

from .conftest import DOCS, QUERIES
from .test_index_state import begun, changed


@pytest.fixture(scope="module")
def postgresql(postgresql_server):
    with postgresql_server.connect() as connection:
        connection.execute("CREATE TABLE docs (id text, body text)")
        connection.cursor().executemany("INSERT INTO docs VALUES (%s, %s)", list(DOCS.items()))
    yield f"host={postgresql_server.folder} user=shop dbname=postgres password=${{SHOP_PASSWORD}}"
    with postgresql_server.connect() as connection:
        connection.execute("DROP TABLE docs")


RANKED = """
SELECT id, %(weight)s * ts_rank(to_tsvector('simple', body), query) AS score, body AS text
FROM docs, to_tsquery('simple', replace(%(query)s, ' ', ' | ')) AS query
WHERE to_tsvector('simple', body) @@ query ORDER BY score DESC, id LIMIT %(depth)s
"""


def engine(folder, dsn, sql=RANKED, timeout=60):
    file = folder / "pg.toml"
    file.write_text(
        f'[engine]\nkind = "postgresql"\ndsn = "{dsn}"\nsql = """{sql}"""\ndepth = 7\n'
        f"timeout = {timeout}\n[engine.parameters]\nweight = 2.0\n"
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
        database_rows = connection.execute(RANKED, values).fetchall()
    rankgate_rows = result.run.table.filter(result.run.table["query_id"] == "q1")
    served = [(doc_id, pytest.approx(score, rel=1e-5)) for doc_id, score, *_ in database_rows]
    assert rankgate_rows.select("doc_id", "score").rows() == served
    assert "s3cret-word" not in "".join(
        file.read_text() for file in tmp_path.iterdir() if file.suffix != ".toml"
    )


def test_vectors_and_filters_of_postgresql(postgresql, tmp_path, monkeypatch):
    """A dot product with the vector of each query, over documents that its filter lists; no {{query}}."""
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret-word")
    sql = """
    SELECT name, (SELECT sum(a * b) FROM unnest(%(vector)s::float8[], ARRAY[4, 1, seat]) AS t(a, b))
    FROM (VALUES ('low', 1.0), ('high', 3.0), ('none', 9.0)) AS docs(name, seat)
    WHERE %(filter)s->'names' ? name ORDER BY 2 DESC
    """
    file = engine(tmp_path, postgresql, sql)
    file.write_text(file.read_text().replace("weight = 2.0", "vector = []\nfilter = {}"))
    values = {"vector": [1, 0.5, 2], "filter": {"names": ["low", "high"]}}
    taken = snapshot(file, [Query("q1", "a", values), Query("q2", "b", values | {"vector": [1, 0, -1]})])
    assert taken.run.table.rows() == [
        ("q1", "high", 10.5),
        ("q1", "low", 6.5),
        ("q2", "low", 3.0),
        ("q2", "high", 1.0),
    ]


def test_a_table_of_postgresql_that_changes_is_named(postgresql_server, postgresql, tmp_path, monkeypatch):
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret-word")
    file, output = engine(tmp_path, postgresql), tmp_path / "pg.run"
    begun(file, output, monkeypatch)
    with postgresql_server.connect() as connection:
        connection.execute("INSERT INTO docs VALUES ('new', 'red shoe')")
        connection.execute("CREATE INDEX words ON docs (body)")
    result = snapshot(file, QUERIES, output)
    with postgresql_server.connect() as connection:
        connection.execute("DROP INDEX words")
        connection.execute("DELETE FROM docs WHERE id = 'new'")
    changes, codes = changed(result)
    assert changes >= {"documents", "settings"}
    assert "index-changed" in codes
    assert result.facts.documents == len(DOCS)


@pytest.mark.parametrize(
    ("sql", "state", "word"),
    [
        ("SELECT id, pg_sleep(60) FROM docs WHERE %(query)s <> ''", "failed", "no answer within"),
        ("SELECT id, 1 / 0 FROM docs WHERE %(query)s <> ''", "failed", "division by zero"),
        ("SELECT none FROM docs WHERE %(query)s <> ''", "not_run", "does not exist"),
        ("DELETE FROM docs WHERE body = %(query)s", "failed", "read-only"),
    ],
)
def test_statements_that_fail(postgresql, tmp_path, monkeypatch, sql, state, word):
    monkeypatch.setenv("SHOP_PASSWORD", "s3cret-word")
    timeout = 0.5 if "pg_sleep" in sql else 60
    result = snapshot(engine(tmp_path, postgresql, sql, timeout), {"q": "red"})
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
    import tantivy

    schema = tantivy.SchemaBuilder()
    schema.add_text_field("id", stored=True, tokenizer_name="raw")
    schema.add_text_field("body", stored=True)
    (tmp_path / "index").mkdir()
    tantivy_index = tantivy.Index(schema.build(), path=str(tmp_path / "index"))
    writer = tantivy_index.writer()
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
    boosted = snapshot(index, QUERIES, parameters={"boost": 2.0}).run.table
    assert boosted["score"].to_list() == pytest.approx([2 * s for s in result.run.table["score"]])


def test_an_index_that_is_not_there(index):
    index.write_text(index.read_text().replace('"index"', '"nowhere"', 1))
    with raises("cannot-read"):
        snapshot(index, QUERIES)


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ('FATAL: database "shop" does not exist', "fatal"),
        ('FATAL: password authentication failed for user "me"', "fatal"),
        ("connection refused", "again"),
    ],
)
def test_a_server_that_will_not_answer_is_not_asked_again(monkeypatch, message, kind):
    import psycopg

    def refuse(*_, **__):
        raise psycopg.OperationalError(message)

    monkeypatch.setattr(psycopg, "connect", refuse)
    sql = "SELECT id FROM docs WHERE body = %(query)s"
    answer = PostgreSql(dsn="host=here", sql=sql).connect().ask(Query("q", "red"))
    assert (answer.kind, answer.problem) == (kind, f"PostgreSQL: {message}")
