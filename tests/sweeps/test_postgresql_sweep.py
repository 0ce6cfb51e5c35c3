"""Sweeps over PostgreSQL: a dictionary set up for each point, and a hybrid query."""

import subprocess
import sys

import numpy as np
import pytest

import rankgate
from support.postgresql import PASSWORD
from support.waiting import until

from .conftest import HEAD, WORDS, figures, texts

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


HYBRID = """
WITH lexical AS (
  SELECT id, ts_rank(to_tsvector('simple', body), q) AS score
  FROM hybrid_texts, to_tsquery('simple', replace(%(query)s, ' ', ' | ')) AS q
  WHERE to_tsvector('simple', body) @@ q ORDER BY score DESC, id LIMIT 30
), vectors AS (
  SELECT id, (SELECT sum(a * b) FROM unnest(vector, query_vector) AS pairs (a, b)) AS score
  FROM hybrid_texts, (SELECT vector AS query_vector FROM hybrid_queries WHERE text = %(query)s) AS of_query
  ORDER BY score DESC, id LIMIT 30
), both_lists AS (
  SELECT 'lexical' AS list, id, score FROM lexical UNION ALL SELECT 'vectors', id, score FROM vectors
), comparable AS (
  SELECT list, id, CASE %(normalization)s
    WHEN 'rrf' THEN 1.0 / (60 + rank() OVER (PARTITION BY list ORDER BY score DESC))
    WHEN 'min_max' THEN (score - min(score) OVER (PARTITION BY list))
      / nullif(max(score) OVER (PARTITION BY list) - min(score) OVER (PARTITION BY list), 0)
    ELSE score / sqrt(sum(score * score) OVER (PARTITION BY list)) END AS score
  FROM both_lists
)
SELECT id, sum(score * CASE list WHEN 'vectors' THEN %(weight)s ELSE 1 - %(weight)s END)::float8 AS score
FROM comparable GROUP BY id ORDER BY score DESC NULLS LAST, id LIMIT %(depth)s
"""
GRID = """[dials]
normalization = ["l2", "min_max", "rrf"]
weight = [0.1, 0.3, 0.5, 0.7, 0.9]
[baseline]
normalization = "l2"
weight = 0.5
"""


@pytest.mark.separate
def test_a_killed_sweep_over_a_hybrid_query_goes_on(postgresql_server, shop, monkeypatch):
    """Normalisation and weights of full text and vectors in one query."""
    monkeypatch.setenv("PG_PASSWORD", PASSWORD)
    generator = np.random.default_rng(4)
    word_vectors = dict(zip(WORDS, generator.normal(size=(len(WORDS), 6)), strict=True))

    def embed(text):
        vector = sum(word_vectors[word] for word in text.split()) + generator.normal(size=6)
        return (vector / np.linalg.norm(vector)).tolist()

    queries = [line.split("\t")[1] for line in (shop / "queries.tsv").read_text().splitlines()]
    dsn = f"host={postgresql_server.folder} user=shop dbname=postgres password=${{PG_PASSWORD}}"
    (shop / "hybrid.toml").write_text(
        f'[engine]\nkind = "postgresql"\ndsn = "{dsn}"\ndepth = 20\nsql = """{HYBRID}"""\n'
        '[engine.parameters]\nnormalization = "l2"\nweight = 0.5\n'
    )
    (shop / "sweep.toml").write_text(HEAD.replace("engine.toml", "hybrid.toml") + GRID)
    command = [sys.executable, "-m", "rankgate", "sweep", str(shop / "sweep.toml"), "--folder"]
    with postgresql_server.connect(autocommit=True) as session:
        session.execute("CREATE TABLE hybrid_texts (id text, body text, vector float8[])")
        session.execute("CREATE TABLE hybrid_queries (text text, vector float8[])")
        try:
            documents = [(f"d{number}", text, embed(text)) for number, text in enumerate(texts(2, 80, 12))]
            cursor = session.cursor()
            cursor.executemany("INSERT INTO hybrid_texts VALUES (%s, %s, %s)", documents)
            rows = [(text, embed(text)) for text in queries]
            cursor.executemany("INSERT INTO hybrid_queries VALUES (%s, %s)", rows)
            session.execute("SELECT pg_stat_force_next_flush()")  # else its rows count seconds later
            uninterrupted = rankgate.sweep(shop / "sweep.toml", folder=shop / "whole")
            for count in (2, 7, 12):  # killed when so many points are there
                process = subprocess.Popen([*command, str(shop / "cut")], stdout=subprocess.DEVNULL)
                until(lambda count=count: len([*(shop / "cut").glob("*.run")]) >= count)
                process.kill()
                process.wait()
            resumed = rankgate.sweep(shop / "sweep.toml", folder=shop / "cut")
        finally:
            session.execute("DROP TABLE hybrid_texts, hybrid_queries")
    assert [point.state for point in resumed.points] == ["ok"] * 15
    assert figures(resumed) | {"folder": ""} == figures(uninterrupted) | {"folder": ""}
    assert len({point.metrics["nDCG@10"].mean for point in resumed.points}) > 8
