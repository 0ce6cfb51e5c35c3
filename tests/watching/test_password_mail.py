"""A link to set a password is sent by e-mail, without revealing which accounts exist."""

import re

import pytest

from rankgate.store.people import audit, sign_in, users
from rankgate.workspace.web.pages import account_pages, password_reset_pages
from support.mailbox import mailbox
from support.serving import PASSWORD, Visitor, served

LINK = "https://judging.example.org/team"
ANN = "ann@example.org"
NEW = "another long password"

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")


@pytest.fixture
def mails(new_file, tmp_path, monkeypatch):
    """A server that sends mail: its store, address, mailbox, and a function to wait for mail."""
    sent = []
    submit = password_reset_pages._senders().submit
    monkeypatch.setattr(password_reset_pages._senders(), "submit", lambda *words: sent.append(submit(*words)))
    with new_file(tmp_path / "judging.db") as store, mailbox() as (box, port):
        for name, word in {"HOST": "localhost", "PORT": port, "TLS": "none"}.items():
            monkeypatch.setenv(f"RANKGATE_SMTP_{name}", str(word))
        monkeypatch.setenv("RANKGATE_SMTP_FROM", "rankgate@example.org")
        with store.write() as connection:
            hashed = sign_in.password_hash(PASSWORD)
            users.add(connection, ANN, hashed)
            users.add(connection, "plain", hashed)
            users.add(connection, "oidc@example.org", issuer="https://login.example.org", subject="7")
            gone = users.add(connection, "gone@example.org", hashed)
            users.disable(connection, gone.id)
        with served(store, link=LINK) as address:

            def wait():
                for future in sent:
                    future.result()

            yield store, address, box, wait


def ask(visitor, name):
    return visitor.send("/password", "/password", name=name)


def test_a_link_comes_by_mail_and_sets_the_password(mails):
    store, address, box, wait = mails
    visitor = Visitor(address)
    assert ask(visitor, f" {ANN.upper()} ").status == 200
    wait()
    [(sender, receivers, content)] = box.got
    assert (sender, receivers) == ("rankgate@example.org", [ANN])
    text = content.replace("=\r\n", "").replace("=3D", "=")
    path = re.search(rf"{LINK}(/password/[\w-]+)", text)[1]
    assert visitor.send(path, path, password=NEW).status == 303
    assert visitor.sign_in(ANN, NEW).status == 303
    assert visitor.get(path).status == 410
    with store.read() as connection:
        entries = audit.entries(connection)
    assert "user.password-mail" in {entry.action for entry in entries}
    assert path.rpartition("/")[2] not in str(entries)


@pytest.mark.parametrize(
    "name", ["nobody@example.org", "plain", "oidc@example.org", "gone@example.org", "@", "x y@z\r\n"]
)
def test_the_reply_is_the_same_for_who_is_there_and_who_is_not(mails, name):
    _, address, box, wait = mails
    word = re.compile(rb'name="csrf" value="[^"]+"')
    replies = []
    for typed in (ANN, name):
        answer = ask(Visitor(address), typed)
        replies.append((answer.status, word.sub(b"", answer.data), sorted(answer.headers)))
    assert replies[0] == replies[1]
    wait()
    assert [receivers for _, receivers, _ in box.got] == [[ANN]]


def test_one_mailbox_is_not_flooded(mails):
    _, address, box, wait = mails
    for _ in range(5):
        assert ask(Visitor(address), ANN).status == 200
        wait()
    assert len(box.got) == 3


def test_asking_is_limited_like_sign_in_whether_or_not_there_is_a_user(mails):
    _, address, _, wait = mails
    visitor = Visitor(address)
    for name in (ANN, "nobody@example.org"):
        statuses = [ask(visitor, name).status for _ in range(account_pages._TRIES + 1)]
        assert statuses == [200] * account_pages._TRIES + [429]
    wait()
    assert visitor.sign_in(ANN).status == 303  # signing in is counted by itself


def test_a_mail_server_that_fails_is_in_the_log_without_the_link(mails, monkeypatch, caplog):
    _, address, box, wait = mails
    monkeypatch.setenv("RANKGATE_SMTP_PORT", "1")
    assert ask(Visitor(address), ANN).status == 200
    wait()
    assert box.got == []
    assert "was not sent: the mail server did not take the message" in caplog.text
    assert "rgp_" not in caplog.text
    assert ANN not in caplog.text
