"""Imports and exports of files: checks, named columns, and losses."""

from __future__ import annotations

import gzip
import io
import json
import re
import zipfile

import lz4.frame as lz4_frame
import polars as pl
import pytest
import zstandard

from rankgate.store.material import queries_documents
from rankgate.store.rating import ratings
from support.serving import Visitor, served
from support.stored_answers import list_ratings

SHEET = (
    "term,sku,title,agent_1_rating,agent_2_rating,final_rating\nlaptop,1,Sleeve,1,2,1\nlaptop,2,Laptop,3,,3\n"
)
COLUMNS = "query=term,doc=sku,grade=agent_*_rating+final_rating"


@pytest.fixture
def fresh(team, request):
    return team.project(request.node.name.replace("[", "-").rstrip("]"), pairs=0)


@pytest.fixture
def manager(team):
    return team.visitor("manager")


def sent(manager, project, content, name="sheet.csv", **fields):
    path = f"/projects/{project.name}/material"
    return manager.send(path, path, file=(name, content.encode()), **fields)


def test_a_check_changes_nothing_and_shows_the_columns(team, fresh, manager):
    answer = sent(manager, fresh, SHEET, preview="1")
    page = answer.data.decode()
    assert answer.status == 200
    assert "match no known table" in page
    assert page.count("data-column") == 6
    assert 'value="grade" selected' in page  # the columns of agents are guessed
    page = sent(manager, fresh, SHEET, preview="1", columns=COLUMNS, final="final_rating")
    assert "5 ratings" in page.data.decode()
    assert "title" in page.data.decode()
    with team.store.read() as connection:
        assert list_ratings(connection, fresh.id) == []


def test_a_check_shows_the_columns_below_a_title(fresh, manager):
    page = sent(
        manager, fresh, f"Survey of May\n{SHEET.replace('term,', 'query,')}", preview="1"
    ).data.decode()
    assert page.count("data-column") == 6
    assert "Sleeve" in page


def test_a_check_shows_the_columns_of_rows_that_are_too_long(fresh, manager):
    page = sent(manager, fresh, SHEET.replace("Sleeve", "Sleeve,red"), preview="1").data.decode()
    assert page.count("data-column") == 6


def test_a_sheet_comes_in_once(team, fresh, manager):
    for _ in range(2):
        answer = sent(
            manager, fresh, SHEET, columns=COLUMNS, final="final_rating", transform="1: 0; 2: 1; 3: 1"
        )
        assert answer.status == 303, answer.data
    with team.store.read() as connection:
        table = ratings.read_ratings(connection, fresh.id).table
    assert len(table) == 5
    assert set(table["grade"]) == {0.0, 1.0}
    assert (table["rater"] == ratings.FINAL).sum() == 2


def test_a_mapping_is_never_a_file_of_the_server(fresh, manager, tmp_path):
    (tmp_path / "secret").write_text("a secret\n")
    answer = sent(manager, fresh, SHEET, columns=COLUMNS, transform=str(tmp_path / "secret"))
    assert answer.status == 400
    assert b"a secret" not in answer.data


@pytest.mark.parametrize("form", ["csv", "jsonl", "quepid-book", "label-studio", "argilla"])
def test_ratings_go_out_and_come_back(team, fresh, manager, form):
    sent(manager, fresh, SHEET, columns=COLUMNS)
    path = f"/projects/{fresh.name}"
    account = manager.get(f"{path}/export.json?format={form}").json()
    assert account["holds"]["ratings"] == 5
    content = manager.get(f"{path}/export/file?format={form}").data
    copy_project = team.project(f"{fresh.name}-again", pairs=0)
    answer = sent(manager, copy_project, content.decode(), "file", format=form)
    assert answer.status == 303, answer.data
    tables = []
    with team.store.read() as connection:
        for project in (fresh, copy_project):
            table = ratings.read_ratings(connection, project.id).table
            tables.append(sorted(table.select("query_id", "doc_id", "rater", "grade").rows()))
    assert tables[0] == tables[1]
    assert content == manager.get(f"{path}/export/file?format={form}").data


def test_the_account_says_what_is_lost(fresh, manager):
    sent(manager, fresh, SHEET, columns=COLUMNS)
    path = f"/projects/{fresh.name}"
    assert manager.get(f"{path}/export.json?format=csv").json()["lost"] == []
    response = manager.post(f"{path}/judgments", name="gold", rule="mean")
    assert response.status == 200, response.data
    for form in ("rre", "searchtweak-csv", "opensearch-judgments", "rankquest", "quepid-csv", "trec"):
        account = manager.get(f"{path}/export.json?format={form}&what=judgments/gold").json()
        assert account["problem"] is None, form
        assert account["holds"], form
        content = manager.get(f"{path}/export/file?format={form}&what=judgments/gold").data
        answer = sent(manager, fresh, content.decode(), f"{form}.txt", format=form, preview="1")
        assert "judgments" in answer.data.decode(), form
    refused = manager.get(f"{path}/export.json?format=rre").json()
    assert refused["problem"]["code"] == "format-cannot-hold"


def test_every_part_goes_out_in_every_format_that_holds_it(fresh, manager):
    sent(manager, fresh, SHEET, columns=COLUMNS)
    run = "laptop Q0 1 1 2.0 bm25\nlaptop Q0 2 2 1.0 bm25\n"
    sent(manager, fresh, run, "bm25.run")
    path = f"/projects/{fresh.name}"
    manager.post(f"{path}/judgments", name="gold", rule="mean")
    parts = manager.get(f"{path}/export.json").json()["parts"]
    assert parts == ["ratings", "judgments/gold", "run/bm25", "queries", "documents"]
    for export_part in parts:
        formats = manager.get(f"{path}/export.json?what={export_part}").json()["formats"]
        for form in formats:
            query = f"what={export_part}&format={form}"
            account = manager.get(f"{path}/export.json?{query}").json()
            answer = manager.get(f"{path}/export/file?{query}")
            problem = account["problem"]
            assert answer.status == (200 if problem is None else 400), (export_part, form, problem)
    assert manager.get(f"{path}/export/file?what=run/bm25&format=trec").data.decode() == run
    assert manager.get(f"{path}/export/file?what=../x").status == 400


def test_the_book_of_quepid(team, manager, shared):
    project = team.project("party", pairs=0)
    book = (shared / "products" / "quepid" / "haystack_rating_party_book.json").read_text()
    answer = sent(manager, project, book, "book.json", batch="open")
    assert answer.status == 303, answer.data
    path = f"/projects/{project.name}"
    agreement = manager.get(f"{path}/agreement.json").json()["agreement"]
    assert (agreement["counts"]["raters"], agreement["counts"]["cannot_tell"]) == (13, 22)
    assert agreement["alarms"][0]["kind"] == "copied"
    assert "562" in agreement["alarms"][0]["what"]
    assert manager.get(f"{path}.json").json()["progress"]["open"] == 1046
    account = manager.get(f"{path}/export.json?format=quepid-book").json()
    assert (account["holds"]["ratings"], account["lost"]) == (1942, [])
    exported_book = json.loads(manager.get(f"{path}/export/file?format=quepid-book").data)
    assert exported_book == json.loads(book)
    assert len(exported_book["query_doc_pairs"]) == 2420


QUERY_SHEET = "query_id,text,information_need,frequency\nq1,red bike,to buy one,3\n"
DOCUMENT_SHEET = "doc_id,title,description,image,url\nd1,Bike,long,https://e.org/i.png,https://e.org\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (QUERY_SHEET, ["query_id", "text", "information_need", "field"]),
        (DOCUMENT_SHEET, ["doc_id", "field", "field", "image", "url"]),
        ("query_id,doc_id,title,grade\nq1,d1,Bike,1\n", ["query_id", "doc_id", "", "grade"]),
    ],
    ids=["queries", "documents", "judgments"],
)
def test_the_check_says_what_comes_in(fresh, manager, content, expected):
    page = sent(manager, fresh, content, preview="1").data.decode()
    selections = [re.search('value="([^"]*)" selected', box) for box in page.split("data-column=")[1:]]
    assert [match[1] for match in selections] == expected


@pytest.mark.parametrize(
    ("content", "columns"),
    [
        (QUERY_SHEET, "query_id=query_id,text=text,information_need=information_need,field=frequency"),
        (
            QUERY_SHEET.replace("text", "phrase").replace("query_id", "number"),
            "query=number,text=phrase,field=frequency",
        ),
        (DOCUMENT_SHEET, "doc=doc_id,field=title+description,image=image,url=url"),
        (DOCUMENT_SHEET.replace("image", "picture").replace("doc_id", "sku"), "doc=sku,image=picture"),
    ],
    ids=["queries", "other-queries", "documents", "other-documents"],
)
def test_texts_come_in_under_columns_that_are_named(team, fresh, manager, content, columns):
    assert sent(manager, fresh, content, columns=columns).status == 303
    with team.store.read() as connection:
        if "bike" in content:
            query = queries_documents.get_query(connection, fresh.id, "q1")
            assert (query.text, query.information_need) == ("red bike", "to buy one")
            assert (query.frequency, query.tags) == (3.0, {})
        else:
            document = queries_documents.documents_of_query(connection, fresh.id, "", ["d1"])["d1"]
            assert document.fields == {"title": "Bike", "description": "long"}
            assert (document.image, document.url) == ("https://e.org/i.png", "https://e.org")


FORMULAS = 'query_id,doc_id,grade,rater\n=1+1,@x,1,ann\n-2,"+cmd|a, b",0,ann\n'


@pytest.mark.parametrize("form", ["csv", "tsv"])
def test_cells_that_a_spreadsheet_would_run_are_marked(fresh, manager, form):
    sent(manager, fresh, FORMULAS)
    path = f"/projects/{fresh.name}"
    for address in ("export/file?what=ratings&", "ratings/file?"):
        text = manager.get(f"{path}/{address}format={form}").data.decode()
        raw = manager.get(f"{path}/{address}format={form}&raw=1").data.decode()
        assert " =1+1" in text
        assert " @x" in text
        assert " +cmd|a, b" in text
        assert "-2" in text
        assert " -2" not in text
        assert raw.replace("\t", ",") == text.replace("\t", ",").replace(" =", "=").replace(
            " @", "@"
        ).replace(" +", "+")
    html = manager.get(f"{path}/export?format={form}").data.decode()
    assert "raw=1" in html


def test_a_table_of_judgments_and_texts_is_marked(fresh, manager):
    table = FORMULAS.replace(",rater", "").replace(",ann", "")
    answer = sent(manager, fresh, table, "gold.csv")
    assert answer.status == 303, answer.data
    path = f"/projects/{fresh.name}"
    assert b" =1+1" in manager.get(f"{path}/judgments/gold/file?format=csv").data
    assert b" =1+1" not in manager.get(f"{path}/judgments/gold/file?format=csv&raw=1").data
    assert b"=1+1 0 @x 1" in manager.get(f"{path}/judgments/gold/file").data  # not for people


@pytest.mark.parametrize("pack", [gzip.compress, zstandard.compress], ids=["gzip", "zstd"])
def test_a_compressed_upload_may_unpack_to_so_much(team, manager, pack):
    rows = "".join(f"q{i},d{i},1,ann\n" for i in range(2_000))
    content = pack(("query_id,doc_id,grade,rater\n" + rows).encode())
    project = team.project(f"packed-{pack.__module__.replace('_', '-')}", pairs=0)
    path = f"/projects/{project.name}/material"
    with served(team.store, per_minute=1_000_000, largest_unpacked=10_000) as address:
        visitor = Visitor(address)
        visitor.sign_in("manager")
        for fields in ({}, {"preview": "1"}):
            answer = visitor.send(path, path, file=("x.csv.gz", content), **fields)
            assert answer.status == 400
            assert b"unpacks to more than" in answer.data
    assert manager.send(path, path, file=("x.csv.gz", content)).status == 303


def parquet(table):
    target = io.BytesIO()
    table.write_parquet(target, compression="zstd")
    return target.getvalue()


def arrow(table):
    target = io.BytesIO()
    table.write_ipc(target, compression="zstd")
    return target.getvalue()


def lz4(table):
    qrels = {"q": {row["doc_id"]: row["grade"] for row in table.iter_rows(named=True)}}
    return lz4_frame.compress(lz4_frame.compress(json.dumps(qrels).encode()))


PACKED = {
    "x.parquet": parquet,
    "x.parquet.gz": lambda table: gzip.compress(parquet(table)),
    "x.arrow": arrow,
    "x.lz4": lz4,
}


@pytest.mark.parametrize("name", list(PACKED))
def test_a_file_that_compresses_inside_may_unpack_to_so_much(team, manager, name):
    rows = 4_000
    table = pl.DataFrame(
        {"query_id": ["a query"] * rows, "doc_id": [f"d{i}" for i in range(rows)], "grade": [1] * rows}
    )
    content = PACKED[name](table)
    assert len(content) < 40_000
    project = team.project(name.replace(".", "-"), pairs=0)
    path = f"/projects/{project.name}/material"
    with served(team.store, per_minute=1_000_000, largest_unpacked=40_000) as address:
        visitor = Visitor(address)
        visitor.sign_in("manager")
        for fields in ({}, {"preview": "1"}):
            answer = visitor.send(path, path, file=(name, content), **fields)
            assert answer.status == 400
            assert b"unpacks to more than" in answer.data
    answer = manager.send(path, path, file=(name, content))
    assert answer.status == 303, answer.data


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
@pytest.mark.parametrize("cells", ["repeated", "null"])
def test_few_bytes_that_are_many_values_are_refused(team, manager, name, cells):
    count = 50_000_000  # of 8 bytes each more than 256 MB
    values = {
        "repeated": pl.repeat(1, count, eager=True, dtype=pl.Int64),
        "null": pl.Series([None], dtype=pl.Null).new_from_index(0, count),
    }[cells]
    content = PACKED[name](pl.DataFrame({"grade": values}))
    assert len(content) < 1_000_000
    project = team.project(f"{cells}-{name.replace('.', '-')}", pairs=0)
    path = f"/projects/{project.name}/material"
    answer = manager.send(path, path, file=(name, content))
    assert answer.status == 400
    assert b"unpacks to more than 256 MB" in answer.data


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow"])
def test_a_damaged_file_is_refused_before_it_is_read(fresh, manager, name):
    content = bytearray(PACKED[name](pl.DataFrame({"query_id": ["q"], "doc_id": ["d"]})))
    path = f"/projects/{fresh.name}/material"
    for begin in range(8, len(content) - 10, 7):
        damaged = bytes(content[:begin]) + b"\xff" * 7 + bytes(content[begin + 7 :])
        answer = manager.send(path, path, file=(name, damaged), preview="1")
        assert answer.status in {200, 400}, (begin, answer.data)


def test_a_workbook_that_unpacks_to_too_much_is_refused(team):
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as parts:
        parts.writestr("xl/worksheets/sheet1.xml", b"0" * 1_000_000)
    path = "/projects/shop/material"
    with served(team.store, per_minute=1_000_000, largest_unpacked=500_000) as address:
        visitor = Visitor(address)
        visitor.sign_in("manager")
        answer = visitor.send(path, path, file=("x.xlsx", target.getvalue()))
        assert answer.status == 400
        assert b"unpacks to more than" in answer.data


def test_the_csv_twin_of_a_page_marks_formulas_unless_it_is_raw(team):
    project = team.project("twins", pairs=0)
    with team.store.write() as connection:
        queries_documents.add_queries(
            connection, project.id, pl.DataFrame({"query_id": ["=1+1"], "text": ["@x"]})
        )
    viewer = team.visitor("manager")
    path = f"/projects/{project.name}/queries.csv"
    assert b" =1+1, @x" in viewer.get(path).data
    assert b"\n=1+1,@x" in viewer.get(f"{path}?raw=1").data
    assert b" =1+1, @x" in viewer.get(f"{path}?raw=0").data
    assert viewer.get(f"{path}?cooked=1").status == 400
