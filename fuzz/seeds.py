"""Small valid files of every format, from which the damaged ones are made."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import RankgateError
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.registry import FORMATS
from rankgate.data.qrels import Qrels, Ratings, Scale
from rankgate.data.run import Run

if TYPE_CHECKING:
    from collections.abc import Collection

SAMPLES = Path(__file__).parents[1] / "tests" / "data" / "products" / "samples"

WRITTEN: dict[str, tuple[bytes, ...]] = {
    "trec": (
        b"1 0 a 2\n1 0 b -1\n\n2 0 a 1\n",
        b"# x\n1 Q0 a 1 2.5 t\r\n1 Q0 b 2 1e-3 t\n2\tQ0\ta\t1\t7\tt\n",
        b"1 a 0.5\n1 b 2\n",
        b"1 a\n1 b\n",
    ),
    "csv": (
        b'\xef\xbb\xbfquery,docid,rating\r\n"red ""shoes""",a,3\r\nstar trek,,\r\n1,"b\nc",0.5\r\n',
        b"qid;doc;score;rank\n1;a;2.5;1\n1;b;1;2\n",
        b"metric,query,value\nAP,1,0.5\n",
    ),
    "tsv": (b"qid\tdoc\tgrade\n1\ta\t2\n1\tb\t0\n",),
    "jsonl": (
        b'{"qid": "1", "doc": "a", "grade": 2}\n{"qid": 1, "doc": "b", "grade": "0.5", "x": {}}\n',
        b'{"query_id": "\\u00e4", "doc_id": "a", "score": 1e-3, "note": "\\"doc\\": 5"}\n',
    ),
    "json-table": (
        b'[{"qid": "1", "doc": "a", "grade": 2}, {"qid": "1", "doc": "b", "grade": null}]',
        b'{"columns": ["query", "doc", "score"], "data": [["1", "a", 2.5], ["1", "b", 1]]}',
    ),
    "recbole": (b"user_id:token\titem_id:token\trating:float\nu1\ti1\t3\nu2\ti1\t4\n",),
    "movielens-100k": (b"196\t242\t3\t881250949\n186\t302\t3\t891717742\n",),
    "movielens-1m": (b"1::1193::5::978300760\n1::661::3::978302109\n",),
    "lists": (b"u1: i1 i2 i3\nu2: i2 i3\n",),
    "mteb": (
        (
            b'{"task_name": "T", "mteb_version": "1", "scores": {"test": [{"ndcg_at_10": 0.5, '
            b'"hf_subset": "default"}]}}'
        ),
        b'{"mteb_dataset_name": "T", "test": {"ndcg_at_10": 0.5, "evaluation_time": 3}}',
    ),
    "elasticsearch": (
        (
            b'{"took": 1, "timed_out": false, "hits": {"max_score": 2.5, "hits": [{"_id": "a", '
            b'"_score": 2.5, "_source": {"sku": "x"}}]}}'
        ),
        b'{"took": 2, "responses": [{"took": 1, "hits": {"total": {"value": 0}, "hits": []}}]}',
    ),
    "solr": (
        (
            b'{"responseHeader": {"status": 0, "params": {"q": "a"}}, "response": {"numFound": 1, '
            b'"start": 0, "docs": [{"id": "a", "score": 1.5}]}}'
        ),
    ),
    "algolia": (b'{"hits": [{"objectID": "a"}], "nbHits": 1, "hitsPerPage": 20, "query": "a"}',),
    "vespa": (
        (
            b'{"root": {"id": "toplevel", "relevance": 1, "fields": {"totalCount": 1}, "children": '
            b'[{"id": "id:n:t::a", "relevance": 0.5}]}}'
        ),
    ),
    "qdrant": (
        b'{"result": {"points": [{"id": 7, "score": 0.5}]}, "status": "ok", "time": 0.1}',
        b'{"result": [{"id": 7, "score": 0.5}], "status": "ok", "time": 0.1}',
    ),
    "weaviate": (b'{"data": {"Get": {"Shop": [{"_additional": {"id": "a", "score": "1"}}]}}}',),
    "meilisearch": (b'{"hits": [{"id": 1}], "query": "a", "processingTimeMs": 1, "estimatedTotalHits": 1}',),
    "typesense": (
        (
            b'{"found": 1, "hits": [{"document": {"id": "a"}}], "search_time_ms": 1, '
            b'"request_params": {"q": "a"}}'
        ),
    ),
    "beir": (
        b'{"_id": "d1", "title": "", "text": "a", "metadata": {"url": "x"}}\n{"_id": "d2"}\n',
        b'{"_id": "q1", "text": "jaguar"}\n{"_id": "q2", "text": "\xc3\xa4"}\n',
        b"query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td2\t0\n",
    ),
    "svmlight": (
        b"# x\n3 qid:1 1:0.5 2:12.0 # 1370 star trek\n0 qid:1 1:0 # 11 star trek\n2 qid:2 7:1 #3\n",
        b"2 qid:10032 1:0.05 #docid = GX029-35-5894638 inc = 0.01 prob = 0.139842\n",
    ),
    "model-scores": (b"0.5\n-1e-3\n\n7\n", b"1\t0\t0.5\n1\t1\t2\n"),
    "ragas": (
        (
            b'{"user_input": "a?", "retrieved_contexts": ["x", "y"], "reference_contexts": ["x"], '
            b'"response": "b"}\n{"user_input": "c?", "retrieved_context_ids": [1], '
            b'"retrieved_contexts": ["z"], "reference_context_ids": [1]}\n'
        ),
    ),
    "nuggets": (
        (
            b'{"query": "a", "qid": "1", "nuggets": [{"text": "x", "importance": "vital", '
            b'"assignment": "support"}, {"text": "y", "importance": "okay"}]}\n'
        ),
    ),
    "trec-rag": (
        (
            b'{"run_id": "r", "topic_id": 1, "references": ["a", "b"], "answer": [{"text": "x", '
            b'"citations": [0, 1], "support": [2, "no"]}, {"text": "y", "citations": []}]}\n'
        ),
    ),
    "trajectories": (
        (
            b'{"query_id": "1", "query": "x", "calls": [{"query": "y", "documents": ["a", "b"], '
            b'"tokens": 30, "seconds": 0.5}, {"documents": [{"doc_id": "c", "score": 2}]}], '
            b'"cited": ["a"], "answered": true, "evidence": {"a": 2}}\n'
        ),
    ),
    "tool-calls": (
        (
            b'{"query_id": "1", "query": "x", "calls": [{"tool": "a", "arguments": {"k": 1}, "tokens": 30, '
            b'"seconds": 0.5}], "expected": [{"tool": "a", "arguments": {"k": {"$any": true}}}, '
            b'{"tool": "b"}]}\n'
        ),
        (
            b'{"id": "2", "turns": [{"tool_calls": [{"function": {"name": "a", "arguments": "{}"}}]}, '
            b'{"expected_tools": ["b"]}]}\n'
        ),
    ),
    "locomo": (
        (
            b'[{"sample_id": "1", "qa": [{"question": "q", "evidence": ["D1:1"], "category": 2}], '
            b'"conversation": {"session_1": [{"dia_id": "D1:1", "speaker": "a", "text": "t"}]}}]'
        ),
    ),
    "completions": (b"target,prefix,suggestion,rank\ncat,c,car,1\ncat,c,cat,2\ncat,ca,,\n",),
    "corrections": (b"query,correction,expected\ncta,cat,cat\ndog,,dog|dogs\n",),
    "facets": (b"query\tfacet\tdocuments\ncat\tcolour: black\t1|2\ncat\tage\t3\n",),
    "ranx": (b'{"q1": {"d1": 2, "d2": 0}, "q2": {}}', b'{"q1": {"d1": 2.5, "d2": -1e-3}}'),
    "traces": (
        (
            b'{"run_type": "retriever", "start_time": "2026-06-10T00:00:00Z", "end_time": '
            b'"2026-06-10T00:00:01Z", "inputs": {"query": "q1"}, "outputs": {"documents": '
            b'[{"metadata": {"doc_id": "d1"}}]}}'
        ),
        (
            b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"startTimeUnixNano": "1", '
            b'"endTimeUnixNano": "2", "attributes": [{"key": "openinference.span.kind", '
            b'"value": {"stringValue": "RETRIEVER"}}, '
            b'{"key": "input.value", "value": {"stringValue": "q"}}, '
            b'{"key": "retrieval.documents.0.document.id", "value": {"stringValue": "d1"}}]}]}]}]}'
        ),
    ),
    "json-lists": (b'{"q1": ["d1", "d2"], "q2": []}', b'{"q1": ["d1"]}'),
    "ntcir": (b"0001 C d1 0\n0001 A d2 1\n0002 S d1 1\n", b"1 a L2\n1 b L0\n"),
    "prels": (b"1 a 1 2 0.25\n1 b 0 0 0\n2 a -1 1 nan\n",),
    "topics": (
        b"51\thorse hooves\n52\tavp\n",
        (
            b"<top>\n<num> Number: 401\n<title> foreign minorities\n<desc> Description:\nx\n"
            b"<narr> Narrative:\ny\n</top>\n"
        ),
        b'<topics><topic number="1"><query>a</query><desc>b</desc></topic></topics>',
    ),
    "trec-subtopics": (b"51 2 d1 1\n51 3 d1 2\n51 0 d2 0\n",),
    "umbrela": (
        (
            b'{"model": "m", "query": "q", "passage": "p", "prompt": "", "prediction": "3", '
            b'"judgment": 3, "result_status": 1}\n{"model": "m", "query": {"text": "q", "qid": 1}, '
            b'"passage": "r", "judgment": 0, "result_status": 0, "docid": "d"}\n'
        ),
    ),
    "umbrela-requests": (
        (
            b'{"query": {"text": "q", "qid": "1"}, "candidates": [{"doc": {"segment": "s"}, '
            b'"docid": "7", "score": 2}]}\n{"query": "q", "candidates": ["one", "two"]}\n'
        ),
    ),
}
"""Written by hand, with what readers must bear: marks, quotes, blanks, comments, nulls."""

DATABASES = {"sqlite", "duckdb", "excel"}

WRITTEN["ragas-normalized"] = WRITTEN["ragas"]


def seeds(names: Collection[str] | None = None) -> dict[str, list[bytes]]:
    """For each format, or for some, some valid files, at least one."""
    files_by_format: dict[str, list[bytes]] = {}
    formats = [fmt for fmt in FORMATS if fmt.suffixes and (names is None or fmt.name in names)]
    databases = _databases() if DATABASES & {fmt.name for fmt in formats} else {}
    for fmt in formats:
        files = list(WRITTEN.get(fmt.name, ()))
        files += [databases[fmt.name]] if fmt.name in databases else []
        files += [path.read_bytes() for path in sorted(SAMPLES.glob(f"{fmt.name}.*"))]
        for contents in _contents() if fmt.write else ():
            out = io.BytesIO()
            try:
                assert fmt.write is not None
                fmt.write(contents, out)
            except RankgateError:  # it does not hold this
                continue
            files.append(out.getvalue())
        files = files or list(WRITTEN["trec"])  # a reader without a writer or a sample
        files_by_format[fmt.name] = files
    return files_by_format


def _databases() -> dict[str, bytes]:
    """A file of each format that is a database or a workbook."""
    import sqlite3
    import tempfile

    import duckdb
    import openpyxl

    rows = [("1", "a", 2), ("1", "b", 0)]
    with sqlite3.connect(":memory:") as connection:
        connection.execute("CREATE TABLE judged (qid, doc, grade)")
        connection.executemany("INSERT INTO judged VALUES (?, ?, ?)", rows)
        light = connection.serialize()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "seed.duckdb"
        with duckdb.connect() as database:
            database.execute(f"ATTACH '{path}' AS small (BLOCK_SIZE 16384)")
            database.execute("USE small")
            database.execute("CREATE TABLE judged (qid VARCHAR, doc VARCHAR, grade INTEGER)")
            database.executemany("INSERT INTO judged VALUES (?, ?, ?)", rows)
        duck = path.read_bytes()
    book = openpyxl.Workbook()
    for row in (("qid", "doc", "grade"), *rows):
        book.worksheets[0].append(row)
    out = io.BytesIO()
    book.save(out)
    return {"sqlite": light, "duckdb": duck, "excel": out.getvalue()}


def _contents() -> list[FileContents]:
    pair = {"query_id": ["1", "1", "2"], "doc_id": ["a", "ä b", "a"]}
    qrels = Qrels(pl.DataFrame({**pair, "grade": [3.0, 0.0, 2.0]}), scale=Scale(0, 3))
    ranked = pl.DataFrame({**pair, "score": [2.5, 1e-3, 7.0]})
    run = Run("run", lambda: iter([ranked]), tag="t")
    rated = {"rater": ["ann", "bob", "ann"], "grade": [3.0, None, 1.0]}
    ratings = Ratings(pl.DataFrame({**pair, **rated}))
    queries = pl.DataFrame({"query_id": ["1", "2"], "text": ["star wars", 'a "b", c']})
    documents = pl.DataFrame({"doc_id": ["a", "ä b"], "title": ["x", None]})
    values = pl.DataFrame({"run": ["r"], "query_id": ["1"], "metric": ["AP"], "value": [0.5]})
    parts = [
        FileContents(qrels=qrels, queries=queries),
        FileContents(runs=(run,), qrels=qrels, queries=queries, documents=documents),
        FileContents(runs=(run,)),
        FileContents(ratings=ratings),
        FileContents(queries=queries),
        FileContents(documents=documents),
        FileContents(values=values),
    ]
    return [*parts, FileContents(qrels=qrels)]
