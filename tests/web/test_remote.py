"""Commands take the address of a server like the address of a database."""

import json

import pytest

from rankgate.data.qrels import GRADED
from rankgate.measurement.store_options import is_server
from rankgate.store.blobs import stored_results
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
from rankgate.store.stored_project import StoredProject
from support.command import assert_refused
from support.serving import PASSWORD, served
from support.stored_answers import list_ratings

OLD = "q1 Q0 a 1 3 o\nq1 Q0 b 2 2 o\nq2 Q0 c 1 1 o\n"
NEW = "q1 Q0 b 1 3 n\nq1 Q0 a 2 2 n\nq2 Q0 d 1 1 n\n"
SHOP = ("--project", "shop")


@pytest.fixture
def shop(run, tmp_path, monkeypatch, new_file, quick_passwords):  # noqa: ARG001 - before the server
    """Runs commands, in turn on a server's address and on the database's."""
    monkeypatch.chdir(tmp_path)
    database = f"sqlite:///{tmp_path}/judging.db"
    with new_file(tmp_path / "judging.db") as store, served(store, per_minute=1_000_000) as address:
        with store.write() as connection:
            project = projects.add(connection, "shop", scale=GRADED)
            user = users.add(connection, "mia", sign_in.password_hash(PASSWORD))
            users.grant(connection, project.id, user.id, "manager")
            _, secret = sign_in.issue_token(connection, user.id, "t", ["manage", "rate"])
        monkeypatch.setenv("RANKGATE_TOKEN", secret)

        def call(*words, server=True, **how):
            result = run(*words, *SHOP, "--store", address if server else database, **how)
            assert result.code in (0, 3), result.err
            return result

        for name, lines in (("old", OLD), ("new", NEW)):
            (tmp_path / f"{name}.run").write_text(lines)
            call("store", "import", f"{name}.run", server=False)
        yield call, store, address, database


def test_from_runs_to_a_verdict_on_a_server(shop):
    call, store, _, database = shop
    call("pool", "old", "new", "--depth", "2", "--save-as", "first", "--strategy", "1")
    rated = call("rate", "first", stdin=b"33u2c?\n1")
    assert "rated 4 of" in rated.err  # the server counts the others every two seconds
    for batch in ("all", "first"):
        call("resolve", batch, "--rule", "mean", "--save-as", f"gold-{batch}")
    arguments = ("gold-first", "old", "new", "-m", "nDCG@10", "--format", "json")
    evaluation = call("eval", *arguments, "--save-as", "e")
    assert json.loads(evaluation.out) == json.loads(call("eval", *arguments, server=False).out)
    call("gate", "gold-all", "old", "new")
    remote, local = (call("agree", "first", "--format", "json", server=s) for s in (True, False))
    assert json.loads(remote.out) == json.loads(local.out)
    with StoredProject.open(database, "shop") as project:
        judgments = project.judgments("gold-first")
        assert judgments.scale == project.ratings().scale
        assert judgments.made_by["rule"] == "mean"
    with store.read() as connection:
        facts = [rating.reason for rating in list_ratings(connection, 1)]
        results = stored_results.list_results(connection, 1)
    assert "withdrawn" in facts
    assert [result.kind for result in results] == ["verdict", "evaluation"]
    assert results[0].summary["verdict"] in {"pass", "fail", "inconclusive"}
    assert results[1].name == "e"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("eval", "none", "old"), "unknown-judgments"),
        (("agree", "none"), "unknown-batch"),
        (("agree", "all"), "no-judgments"),
        (("pool", "old", "none"), "unknown-run"),
        (("rate", "none"), "unknown-batch"),
        (("rate", "first", "--rater", "ann"), "conflicting-options"),
        (("rate", "first", "--llm", "m"), "conflicting-options"),
    ],
)
def test_what_a_server_refuses(run, shop, words, code):
    assert_refused(run(*words, *SHOP, "--store", shop[2]), code)


def test_a_wrong_token_and_no_server(run, shop, monkeypatch):
    arguments = ("eval", "a", "old", *SHOP, "--store")
    assert_refused(run(*arguments, "http://127.0.0.1:9"), "cannot-connect")
    monkeypatch.setenv("RANKGATE_TOKEN", "rg_wrong")
    assert_refused(run(*arguments, shop[2]), "invalid-token")
    monkeypatch.delenv("RANKGATE_TOKEN")
    assert_refused(run(*arguments, shop[2]), "missing-input")
    monkeypatch.setenv("RANKGATE_STORE", shop[2])
    assert is_server(None)
    assert not is_server("sqlite:///a.db")
