"""Vectors and filters of each query, as a real server gets them."""

import json
import re
from pathlib import Path

import polars as pl
import pytest

from rankgate.engines.configuration import read_engine
from rankgate.engines.engine_checks import check_engine
from rankgate.engines.kinds.database_engines import _adapt
from rankgate.engines.snapshots.query_sender import queries_of
from rankgate.engines.snapshots.snapshot_verb import FunctionEngine, snapshot
from support.wording import raises

VECTORS = {"q1": [0.1, 2, -3e-9], "q2": [1, 0.5]}  # of different lengths: the server knows which it takes
FILTERS = {
    "q1": {"term": {"brand": "Ärmel"}},
    "q2": {"range": {"price": {"lt": 30, "gte": 1.5}}, "not": [None]},
}


@pytest.fixture
def knn(server, tmp_path):
    """The file of an engine whose request is a vector and a filter."""
    file = tmp_path / "knn.toml"
    file.write_text(
        f'[engine]\nkind = "http"\nmethod = "POST"\nurl = "{server.url}/points"\n'
        'hits = "found.docs"\nid = "id"\n'
        '[engine.body]\nvector = "{{vector}}"\nfilter = "{{filter}}"\nlimit = "{{depth}}"\n'
        'q = "knn {{vector}} {{filter}}"\n'
        "[engine.parameters]\nvector = []\nfilter = {}\n[snapshot]\nbackoff = 0.01\nretries = 0\n"
    )
    return file


def rows():
    return [
        {"query_id": name, "text": f"text {name}", "vector": VECTORS[name], "filter": FILTERS[name]}
        for name in VECTORS
    ]


def write_jsonl(path, lines):
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def bodies(server):
    return [body for _, _, body in server.seen if body is not None]


def assert_typed(server):
    """Every body holds the vector and the filter of its query, with their types."""
    sent = {body["q"].split()[1]: body for body in bodies(server)}
    assert len(sent) == len(bodies(server)) == 2
    for vector, filter_ in zip(VECTORS.values(), FILTERS.values(), strict=True):
        (body,) = [body for body in sent.values() if body["vector"] == vector]
        assert body["filter"] == filter_
        assert body["limit"] == 100
        assert body["q"] == f"knn {json.dumps(vector)} {json.dumps(filter_, ensure_ascii=False)}"


def test_lists_and_objects_of_json_lines(knn, server, tmp_path):
    assert snapshot(knn, write_jsonl(tmp_path / "q.jsonl", rows()), concurrency=1).states["ok"] == 2
    assert_typed(server)
    assert [type(number) for number in bodies(server)[0]["vector"]] == [float, int, float]


def test_keys_of_beir_and_a_vector_that_the_first_line_lacks(knn, server, tmp_path):
    lines = [{"_id": row["query_id"], "text": row["text"], "filter": row["filter"]} for row in rows()]
    lines[1]["vector"] = [7]
    with raises("missing-value"):
        snapshot(knn, write_jsonl(tmp_path / "q.jsonl", lines))
    assert not bodies(server)
    lines[0]["vector"], lines[1]["vector"] = VECTORS.values()
    snapshot(knn, write_jsonl(tmp_path / "queries.jsonl", lines), concurrency=1)
    assert_typed(server)


def test_a_folder_of_part_files(tmp_path):
    for number, (name, vector) in enumerate(VECTORS.items()):
        frame = pl.DataFrame({"query_id": [name], "text": ["a"], "vector": [[*map(float, vector)]]})
        frame.write_parquet(tmp_path / f"part-{number}.parquet")
    queries = queries_of(f"parquet:{tmp_path}")
    assert {query.query_id: query.values["vector"] for query in queries} == VECTORS


def test_one_query_with_a_vector_longer_than_the_beginning_of_a_file(tmp_path):
    line = rows()[0] | {"vector": [0.12345678901] * 20_000}
    (query,) = queries_of(write_jsonl(tmp_path / "q.jsonl", [line]))
    assert query.values["vector"] == line["vector"]


@pytest.mark.parametrize("dtype", [pl.List(pl.Float32), pl.Array(pl.Float64, 2), pl.List(pl.Int64)])
def test_list_columns_of_parquet_and_frames(knn, server, tmp_path, dtype):
    frame = pl.DataFrame(
        {
            "query_id": ["q1", "q2"],
            "text": ["a", "b"],
            "filter": [{"a": 1, "b": None}, {"a": None, "b": {"c": [True]}}],
        }
    ).with_columns(pl.Series("vector", [[1, 2], [3, 4]]).cast(dtype))
    frame.write_parquet(tmp_path / "q.parquet")
    for queries in (tmp_path / "q.parquet", frame):
        server.seen.clear()
        snapshot(knn, queries, concurrency=1)
        sent = [(body["vector"], body["filter"]) for body in bodies(server)]
        assert sent == [([1, 2], {"a": 1}), ([3, 4], {"b": {"c": [True]}})]


def test_json_text_where_the_parameter_is_a_list_or_a_table(knn, server, tmp_path):
    file = tmp_path / "q.csv"
    file.write_text('query_id,text,vector,filter\nq1,a,"[0.5, 1]","{""a"": [1]}"\nq2,b,"[[1, 2], [3, 4]]",\n')
    snapshot(knn, file, concurrency=1)
    assert [(body["vector"], body["filter"]) for body in bodies(server)] == [
        ([0.5, 1], {"a": [1]}),
        ([[1, 2], [3, 4]], {}),
    ]


def test_text_stays_text_where_the_parameter_is_text(knn, server, tmp_path):
    knn.write_text(knn.read_text().replace("vector = []", 'vector = ""'))
    file = tmp_path / "q.csv"
    file.write_text('query_id,text,vector\nq1,a,"[0.5, 1]"\n')
    snapshot(knn, file)
    snapshot(knn, write_jsonl(tmp_path / "q.jsonl", [{"query_id": "q1", "text": "a", "vector": [0.5, 1]}]))
    assert [body["vector"] for body in bodies(server)] == ["[0.5, 1]", [0.5, 1]]


def test_a_vector_on_the_command_line(knn, server):
    assert check_engine(knn, parameters=["vector=[0.25, 1]"]).returned == 5
    assert bodies(server)[0]["vector"] == [0.25, 1]
    with raises("invalid-parameter"):
        check_engine(knn, parameters=["vector=0.25 1"])


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('query_id,text,Vector\nq1,a,"[1]"\n', "unknown-parameter"),
        ('query_id,text,vector\nq1,a,"[1]"\nq2,b,\n', "missing-value"),
        ("query_id,text,vector\nq1,a,0.1 0.2\n", "invalid-parameter"),
        ("query_id,text,vector\nq1,a,5\n", "invalid-parameter"),
        ('query_id,text,vector\nq1,a,"[1, NaN]"\n', "not-a-number"),
        ('query_id,text,vector\nq1,a,"[1, null]"\n', "not-a-number"),
        ("query_id,text,other\nq1,a,b\n", "invalid-engine"),
    ],
)
def test_bad_values_end_before_any_request(knn, server, tmp_path, text, code):
    file = tmp_path / "q.csv"
    file.write_text(text)
    with raises(code):
        snapshot(knn, file)
    assert not server.seen


def test_a_number_of_parquet_that_is_not_finite(knn, server, tmp_path):
    vectors = pl.Series("vector", [[1.0, float("nan")], [2.0]])
    pl.DataFrame({"query_id": ["q1", "q2"], "text": ["a", "b"], "vector": vectors}).write_parquet(
        tmp_path / "q.parquet"
    )
    with raises("not-a-number"):
        snapshot(knn, tmp_path / "q.parquet")
    with raises("invalid-json", line=1):
        snapshot(knn, write_jsonl(tmp_path / "q.jsonl", [rows()[0] | {"vector": [float("nan")]}]))
    assert not server.seen


def test_a_default_vector_is_used_where_a_query_has_none(knn, server, tmp_path):
    knn.write_text(knn.read_text().replace("vector = []", "vector = [0, 0]"))
    snapshot(
        knn, write_jsonl(tmp_path / "q.jsonl", [rows()[0], {"query_id": "q2", "text": "b"}]), concurrency=1
    )
    assert [body["vector"] for body in bodies(server)] == [VECTORS["q1"], [0, 0]]


def test_opensearch_gets_vectors_and_filters(server, tmp_path):
    file = tmp_path / "shop.toml"
    file.write_text(
        f'[engine]\nkind = "elasticsearch"\nurl = "{server.url}"\nindex = "shop"\n'
        '[engine.body.query.knn.embedding]\nvector = "{{vector}}"\nk = "{{depth}}"\nfilter = "{{filter}}"\n'
        "[engine.parameters]\nvector = []\nfilter = {}\n[snapshot]\nretries = 0\n"
    )
    snapshot(file, write_jsonl(tmp_path / "q.jsonl", rows()), concurrency=1)
    sent = [body["query"]["knn"]["embedding"] for path, _, body in server.seen if "_search" in path]
    assert [request["vector"] for request in sent] == list(VECTORS.values())
    assert [request["filter"] for request in sent] == list(FILTERS.values())


def test_the_example_of_the_manual(server, tmp_path):
    page = Path(__file__).parents[2] / "docs" / "engines.md"
    pattern = re.compile(r"<!-- file: (knn.toml|queries.jsonl) -->\n+```\w*\n(.*?)```", re.DOTALL)
    for name, content in pattern.findall(page.read_text()):
        (tmp_path / name).write_text(content.replace("http://localhost:9200", server.url))
    snapshot(tmp_path / "knn.toml", tmp_path / "queries.jsonl", concurrency=1)
    sent = [body["query"]["knn"]["embedding"] for path, _, body in server.seen if "_search" in path]
    assert sent == [
        {"vector": [0.12, -0.5, 0.33], "k": 100, "filter": {"term": {"brand": "acme"}}},
        {"vector": [0.08, 0.41, -0.2], "k": 100, "filter": {"range": {"price": {"lt": 80}}}},
    ]


def test_functions_and_sqlite_get_vectors(tmp_path, engine):
    calls = {}

    def search(text, *, vector, **_):
        calls[text] = vector
        return ["a"]

    queries = write_jsonl(tmp_path / "q.jsonl", rows())
    snapshot(FunctionEngine(function=search, parameters={"vector": []}), queries)
    assert calls == {f"text {name}": vector for name, vector in VECTORS.items()}
    engine.write_text(
        '[engine]\nkind = "sqlite"\ndatabase = "shop.sqlite"\n'
        "sql = \"SELECT 'd' || key, value FROM json_each(:vector) ORDER BY value DESC\"\n"
        "[engine.parameters]\nvector = []\n"
    )
    result = snapshot(engine, queries)
    assert result.run.table.filter(query_id="q1")["doc_id"].to_list() == ["d1", "d0", "d2"]
    assert result.run.table["score"].max() == 2


def test_values_for_postgresql():
    assert _adapt([1, 0.5]) == [1.0, 0.5]
    assert [type(number) for number in _adapt([1, 0.5])] == [float, float]
    assert _adapt(["a"]) == ["a"]
    assert _adapt({"a": 1}).obj == {"a": 1}


def test_a_request_that_is_the_same_for_all_queries(knn):
    knn.write_text(
        knn.read_text()
        .replace('"{{vector}}"', "[1]")
        .replace('"{{filter}}"', "[]")
        .replace("{{vector}} {{filter}}", "x")
    )
    with raises("invalid-engine"):
        read_engine(knn)
