"""A dictionary of PostgreSQL's full text, set up by SQL for each point and dropped again."""

import pytest

import rankgate
from support.postgresql import PASSWORD

pytestmark = pytest.mark.slow

TEXTS = {"d1": "red shoes", "d2": "blue shoe", "d3": "the shoe of the red hat", "d4": "hats"}
SWEEP = """[sweep]
engine = "pg.toml"
queries = "pg.tsv"
qrels = "pg.txt"
metrics = ["R@10"]
[dials]
dictionary = ["simple", "english"]
[baseline]
dictionary = "simple"
[[setup]]
sql = \"\"\"
CREATE TABLE swept AS
SELECT id, to_tsvector('{{dictionary}}', body) AS words FROM swept_texts;
CREATE INDEX ON swept USING gin (words)
\"\"\"
[[undo]]
sql = "DROP TABLE IF EXISTS swept"
"""


SEARCH = """
SELECT id, ts_rank(words, q) AS score FROM swept, plainto_tsquery('english', %(query)s) AS q
WHERE words @@ q ORDER BY score DESC, id LIMIT %(depth)s
"""


def test_a_dictionary_is_set_up_and_dropped(postgresql_server, tmp_path, monkeypatch):
    monkeypatch.setenv("PG_PASSWORD", PASSWORD)
    (tmp_path / "sweep.toml").write_text(SWEEP)
    (tmp_path / "pg.tsv").write_text("q1\tshoe\nq2\thats\nq3\tred\n")
    (tmp_path / "pg.txt").write_text("q1 0 d1 1\nq1 0 d2 1\nq2 0 d3 1\nq2 0 d4 1\nq3 0 d1 1\n")
    dsn = f"host={postgresql_server.folder} user=shop dbname=postgres password=${{PG_PASSWORD}}"
    (tmp_path / "pg.toml").write_text(f'[engine]\nkind = "postgresql"\ndsn = "{dsn}"\nsql = """{SEARCH}"""\n')
    with postgresql_server.connect(autocommit=True) as session:
        session.execute("CREATE TABLE swept_texts (id text, body text)")
        for row in TEXTS.items():
            session.execute("INSERT INTO swept_texts VALUES (%s, %s)", row)
        result = rankgate.sweep(tmp_path / "sweep.toml")
        leftover = session.execute("SELECT to_regclass('swept')").fetchone()
        session.execute("DROP TABLE swept_texts")
    recall = {point.parameters["dictionary"]: point.metrics["R@10"].mean for point in result.points}
    assert result.finished
    assert recall == pytest.approx({"simple": (1 / 2 + 1 / 2 + 1) / 3, "english": 1})
    assert leftover == (None,)
    for path in (tmp_path / "sweep.points").iterdir():
        assert PASSWORD.encode() not in path.read_bytes()
