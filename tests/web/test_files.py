"""Files that come in and go out: checked first, columns named, and what is lost."""

from __future__ import annotations

import json

import pytest

from rankgate.store.rating import ratings

SHEET = (
    "term,sku,title,agent_1_rating,agent_2_rating,final_rating\n"
    "laptop,1,Sleeve,1,2,1\nlaptop,2,Laptop,3,,3\n"
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
        assert list(ratings.facts(connection, fresh.id)) == []


def test_a_sheet_comes_in_once(team, fresh, manager):
    for _ in range(2):
        answer = sent(manager, fresh, SHEET, columns=COLUMNS, final="final_rating",
                      transform="1: 0; 2: 1; 3: 1")  # fmt: skip
        assert answer.status == 303, answer.data
    with team.store.read() as connection:
        table = ratings.table(connection, fresh.id).table
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
    again = team.project(f"{fresh.name}-again", pairs=0)
    answer = sent(manager, again, content.decode(), "file", format=form)
    assert answer.status == 303, answer.data
    tables = []
    with team.store.read() as connection:
        for project in (fresh, again):
            table = ratings.table(connection, project.id).table
            tables.append(sorted(table.select("query_id", "doc_id", "rater", "grade").rows()))
    assert tables[0] == tables[1]
    assert content == manager.get(f"{path}/export/file?format={form}").data


def test_the_account_says_what_is_lost(fresh, manager):
    sent(manager, fresh, SHEET, columns=COLUMNS)
    path = f"/projects/{fresh.name}"
    assert manager.get(f"{path}/export.json?format=csv").json()["lost"] == []
    made = manager.post(f"{path}/judgments", name="gold", rule="mean")
    assert made.status == 200, made.data
    for form in (
        "rre",
        "searchtweak-csv",
        "opensearch-judgments",
        "rankquest",
        "quepid-csv",
        "trec",
    ):
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
    for part in parts:
        listed = manager.get(f"{path}/export.json?what={part}").json()["formats"]
        for form in listed:
            query = f"what={part}&format={form}"
            account = manager.get(f"{path}/export.json?{query}").json()
            answer = manager.get(f"{path}/export/file?{query}")
            problem = account["problem"]
            assert answer.status == (200 if problem is None else 400), (part, form, problem)
    assert manager.get(f"{path}/export/file?what=run/bm25&format=trec").data.decode() == run
    assert manager.get(f"{path}/export/file?what=../x").status == 400


def test_the_book_of_quepid(team, manager, shared):
    project = team.project("party", pairs=0)
    book = (shared / "products" / "quepid" / "haystack_rating_party_book.json").read_text()
    answer = sent(manager, project, book, "book.json", batch="open")
    assert answer.status == 303, answer.data
    path = f"/projects/{project.name}"
    found = manager.get(f"{path}/agreement.json").json()["agreement"]
    assert (found["counts"]["raters"], found["counts"]["cannot_tell"]) == (13, 22)
    assert found["alarms"][0]["kind"] == "copied"
    assert "562" in found["alarms"][0]["what"]
    assert manager.get(f"{path}.json").json()["progress"]["open"] == 1046
    account = manager.get(f"{path}/export.json?format=quepid-book").json()
    assert (account["holds"]["ratings"], account["lost"]) == (1942, [])
    back = json.loads(manager.get(f"{path}/export/file?format=quepid-book").data)
    assert back == json.loads(book)
    assert len(back["query_doc_pairs"]) == 2420
