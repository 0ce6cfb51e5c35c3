"""``rankgate store``."""

import json

import pytest

from rankgate.data.read import contents_of
from rankgate.judging.agreement.agree import agree
from rankgate.judging.store.import_export import export_file, import_file
from rankgate.store.material import projects
from rankgate.store.people import audit, sign_in, users
from rankgate.store.rating import batches, ratings, tasks
from rankgate.store.store import Store
from support.command import assert_refused
from support.stored_answers import list_ratings
from support.wording import raises

RATED = ["query_id", "doc_id", "rater", "grade", "reason", "comment"]


@pytest.fixture
def command(run, url, tmp_path, monkeypatch):
    """``rankgate store`` on a store in the environment."""
    monkeypatch.setenv("RANKGATE_STORE", url)
    monkeypatch.chdir(tmp_path)

    def call(*words, code=0, **how):
        result = run("store", *words, **how)
        assert result.code == code, result.err
        assert "correct horse" not in result.out + result.err
        return result

    call("init", "--blobs", f"{tmp_path}/blobs")
    return call


def test_people_and_tokens(command, url):
    command("project", "add", "shop", "--scale", "0..3", "--label", "3=Exact")
    command("user", "add", "ann", "--admin", "--password-file", "-", stdin=b"correct horse\n")
    command("user", "add", "bob", "--no-password")
    command("user", "role", "bob", "rater", "--project", "shop")
    secret = command("token", "add", "ann", "--name", "ci", "--scope", "manage").out.strip()
    user_rows = json.loads(command("user", "list", "--format", "json").out)["rows"]
    assert [row["roles"] for row in user_rows] == ["", "shop: rater"]
    with Store.open(url) as store:
        with store.read() as connection:
            hashed = users.password_of(connection, "ann")
            assert sign_in.by_token(connection, secret, None).owner.scopes == ("manage",)
            bob = users.get_by_name(connection, "bob")
            assert users.role_of(connection, 1, bob.id) == "rater"
            actions = [entry.action for entry in audit.entries(connection)]
        assert sign_in.verify_password(hashed, "correct horse")
        assert not sign_in.verify_password(hashed, "wrong horse")
        assert not sign_in.verify_password(None, "correct horse")
        assert actions[0] == "token.add"
        assert secret not in str(audit)
        with store.write() as connection:
            users.rater_of_user(connection, bob.id)
    command("token", "revoke", "1")
    assert "removed-2" in command("user", "remove", "bob").out
    assert secret not in command("token", "list").out
    with Store.open(url) as store, store.read() as connection:
        assert sign_in.by_token(connection, secret, None) is None
        assert [rater.name for rater in users.list_raters(connection)] == ["removed-2"]
    assert command("check").out.startswith("PASS")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("init", "--blobs", "b"), "store-exists"),
        (("project", "add", "Shop!"), "invalid-name"),
        (("project", "add", "p", "--scale", "0..100"), "scale-without-grades"),
        (("user", "add", "a b", "--no-password"), "invalid-name"),
        (("user", "add", "ann", "--password-file", "short"), "weak-password"),
        (("user", "add", "ann", "--password-file", "nowhere"), "cannot-read"),
        (("user", "add", "ann"), "missing-input"),
        (("user", "role", "nobody", "rater", "--project", "p"), "unknown-project"),
        (("user", "remove", "nobody"), "unknown-user"),
        (("token", "add", "nobody", "--name", "x"), "unknown-user"),
        (("token", "revoke", "7"), "unknown-token"),
        (("import", "nowhere.csv", "--project", "p"), "ENOENT"),
        (("export", "x.csv", "--project", "p"), "unknown-project"),
        (("restore", "nowhere.zip", "--store", "x.db"), "cannot-read"),
        (("check", "--store", "postgresql://a:secret@nowhere/x"), "secret-in-argument"),
        (("check", "--store", "nowhere.db"), "no-store"),
        (("upgrade", "--store", "nowhere.db"), "no-store"),
    ],
)
def test_bad_input_is_one_clear_error(run, new_file, tmp_path, monkeypatch, words, code):
    monkeypatch.setenv("RANKGATE_STORE", f"{tmp_path}/j.db")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "short").write_text("short")
    new_file(tmp_path / "j.db").close()
    result = run("store", *words)
    if code == "ENOENT":
        assert result.code == 2
    else:
        assert_refused(result, code)
    assert "secret" not in result.err or code == "secret-in-argument"
    assert "a:secret" not in result.err


RATINGS = "query_id,doc_id,rater,grade,reason\nq1,a,ann,2,\nq1,a,bob,1,\nq1,b,ann,,blurred\n"


def test_files_come_in_and_go_out(command, tmp_path, url):
    (tmp_path / "ratings.csv").write_text(RATINGS)
    (tmp_path / "bm25.run").write_text("q1 Q0 a 1 2 x\nq1 Q0 b 2 1 x\n")
    for _ in range(2):  # the second time adds nothing
        command("import", "ratings.csv", "--project", "shop")
        command("import", "bm25.run", "--project", "shop")
    command("export", "out.csv", "--project", "shop", "--as", "ratings")
    exported_ratings = contents_of(tmp_path / "out.csv").ratings.table
    assert exported_ratings.equals(contents_of(tmp_path / "ratings.csv").ratings.table)
    command("export", "out.run", "--project", "shop", "--as", "run", "--run", "bm25")
    command("backup", "all.zip")
    command("restore", "all.zip", "--store", f"{tmp_path}/other.db")
    assert command("check", "--store", f"{tmp_path}/other.db").out.startswith("PASS")
    (tmp_path / "wrong.csv").write_text(RATINGS.replace("bob,1", "bob,9"))
    command("project", "add", "other", "--scale", "0..3")
    assert_refused(
        command("import", "wrong.csv", "--project", "other", code=2), "grade-outside-scale", "wrong.csv", 3
    )
    with Store.open(url) as store, store.read() as connection:
        assert len(list_ratings(connection, 1)) == 3


def test_the_real_book_of_quepid(store, shared, tmp_path):
    book = shared / "products" / "quepid" / "haystack_rating_party_book.json"
    result = import_file(store, "party", book, batch="open")
    assert (result.rows["ratings"], result.rows["tasks"], result.losses) == (1942, 1046, ())
    assert import_file(store, "party", book).notes[-1].count == 1942
    with store.read() as connection:
        table = ratings.read_ratings(connection, 1)
        assert tasks.progress(connection, 1).open == 1046
        assert batches.get_by_name(connection, 1, "open").kind == "rating"
    book_contents = contents_of(book)
    assert table.table.select(RATED).equals(book_contents.ratings.table.select(RATED))
    assert (table.table["rater"].n_unique(), table.table["grade"].null_count()) == (13, 22)
    alarms = agree(table).notices
    assert alarms[0].code == "copied"
    assert "562" in alarms[0].text
    export = export_file(store, "party", tmp_path / "book.json", to="quepid-book")
    assert export.losses == ()
    exported_book = json.loads((tmp_path / "book.json").read_text())
    assert exported_book == json.loads(book.read_text())
    assert len(exported_book["query_doc_pairs"]) == 2420


def test_every_format_of_ratings_comes_back(store, tmp_path):
    (tmp_path / "ratings.csv").write_text(RATINGS)
    import_file(store, "shop", tmp_path / "ratings.csv")
    for name in ("csv", "jsonl", "label-studio", "argilla", "quepid-book"):
        target = tmp_path / f"out.{name}"
        export_file(store, "shop", target, to=name, as_="ratings")
        exported_ratings = contents_of(target, name).ratings.table
        rows = exported_ratings.select("query_id", "doc_id", "rater", "grade").sort("doc_id", "rater").rows()
        assert rows == [("q1", "a", "ann", 2.0), ("q1", "a", "bob", 1.0), ("q1", "b", "ann", None)]


SHEET = """term,sku,title,agent_1_rating,agent_2_rating,final_rating
laptop,1,Sleeve,1,2,1
laptop,2,Laptop,3,,3
"""


def test_a_sheet_with_a_column_for_each_rater(store, tmp_path):
    sheet = tmp_path / "sheet.csv"
    sheet.write_text(SHEET)
    options = {
        "columns": "query=term,doc=sku,grade=agent_*_rating+final_rating",
        "final": "final_rating",
        "transform": "1: 0; 2: 1; 3: 1",
    }
    tried = import_file(store, "shop", sheet, dry_run=True, **options)
    assert tried.rows == {"ratings": 5}
    assert [loss.examples for loss in tried.losses] == [("title",)]
    with raises("unknown-project"):
        export_file(store, "shop", tmp_path / "out.csv")
    assert import_file(store, "shop", sheet, **options) == tried
    with store.read() as connection:
        table = ratings.read_ratings(connection, projects.get_by_name(connection, "shop").id).table
    assert table.select("doc_id", "rater", "grade").rows() == [
        ("1", "agent_1_rating", 0),
        ("1", "agent_2_rating", 1),
        ("1", ratings.FINAL, 0),
        ("2", "agent_1_rating", 1),
        ("2", ratings.FINAL, 1),
    ]
    with raises("missing-column"):
        import_file(store, "shop", sheet, columns=options["columns"], final="nobody")
    with raises("grade-outside-scale"):
        import_file(store, "shop", sheet, columns=options["columns"], transform="1: 0; 2: 1")


def test_an_unknown_project(store):
    with raises("unknown-project"):
        export_file(store, "nothing", "x.csv")
