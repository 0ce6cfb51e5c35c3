"""Passwords by a link, second factors and sessions, in the browser."""

import re
from datetime import timedelta
from itertools import count

import pytest
import sqlalchemy as sa
from pyotp import TOTP

from rankgate.store.people import audit, second_factors, sign_in, users
from rankgate.store.tables.people_tables import one_time_secrets as secrets_table
from rankgate.store.tables.people_tables import second_factors as factors_table
from rankgate.workspace.web.routes import ROUTES
from support.serving import PASSWORD, Visitor, served

NEW = "another long password"
CODES = re.compile(r"<li>([a-z2-9-]{19})</li>")
FIREFOX = "Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:140.0) Gecko/20100101 Firefox/140.0"
SAFARI = (
    "Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) "
    "Version/18.5 Mobile/15E148 Safari/604.1"
)
_numbers = count(1)


class Person:
    """A user of the server with an advancing clock of codes."""

    def __init__(self, team, **options):
        self.team, self.name = team, f"person{next(_numbers)}"
        with team.store.write() as connection:
            hashed = sign_in.password_hash(PASSWORD)
            self.user = users.add(connection, self.name, hashed, **options)
        self.secret = ""

    def visitor(self):
        return self.team.visitor(self.name)

    def code(self):
        """An unused code, from 30 seconds after the last code."""
        with self.team.store.write() as connection:
            connection.execute(
                sa.update(factors_table).where(factors_table.c.user == self.user.id).values(last_step=0)
            )
        return TOTP(self.secret).now()

    def add_second_factor(self, visitor):
        """Set one up on the page of the account; the recovery codes."""
        page = visitor.send("/account/second-factor", "/account", password=PASSWORD)
        self.secret = re.search(r'id="secret">(\w+)<', page.data.decode())[1]
        code = TOTP(self.secret).now()
        answer = visitor.send("/account/second-factor/confirm", "/account", code=code)
        assert answer.status == 200, answer.data
        return CODES.findall(answer.data.decode())


@pytest.fixture
def person(team):
    return Person(team)


def code_of(answer):
    return answer.json()["error"]["code"]


def sessions_of(visitor):
    return visitor.get("/account", headers={"content-type": "application/json"}).json()["sessions"]


def actions(team, subject):
    with team.store.read() as connection:
        entries = audit.entries(connection, most=1_000)
    return [entry.action for entry in entries if entry.subject == subject]


def link_of(team, person):
    """The path of a link that an admin makes."""
    root = team.visitor("root")
    answer = root.send(f"/users/{person.user.id}/password-link", "/account")
    assert answer.status == 200
    return re.search(r'id="secret">http://[^/]+(/password/[\w-]+)<', answer.data.decode())[1]


def test_an_admin_makes_a_link_that_sets_a_password_once(team, person):
    before, link = person.visitor(), link_of(team, person)
    stranger = Visitor(team.address)
    assert person.name in stranger.get(link).data.decode()  # looking at it does not use it
    weak = stranger.send(link, link, password="short")  # noqa: S106
    assert weak.status == 400
    assert b"<h1>Set the password</h1>" in weak.data
    answer = stranger.send(link, link, password=NEW)
    assert (answer.status, answer.headers["location"]) == (303, "/sign-in?password_is_set=1")
    assert "rankgate_session" not in stranger.cookies  # a link signs nobody in
    assert b"The new password is set" in stranger.get(answer.headers["location"]).data
    assert before.get("/account").status == 303  # the old session has ended
    assert stranger.sign_in(person.name).status == 403
    assert stranger.sign_in(person.name, NEW).status == 303
    assert Visitor(team.address).get(link).status == 410
    again = Visitor(team.address)
    word = {"csrf": again.csrf("/sign-in"), "password": PASSWORD}
    answer = again.ask("POST", link, fields=word, encode_multipart=False)
    assert answer.status == 410
    assert b"invalid-link" in answer.data
    assert actions(team, person.name)[:3] == ["sign-in", "sign-in.failed", "user.password"]
    assert "user.password-link" in actions(team, person.name)


def test_a_link_is_stored_as_a_hash_and_is_in_no_log(team, person):
    secret = link_of(team, person).rpartition("/")[2]
    with team.store.read() as connection:
        assert secret not in str(connection.execute(sa.select(secrets_table)).all())
        assert secret not in str(audit.entries(connection))
        row = connection.execute(sa.select(secrets_table).where(secrets_table.c.user == person.user.id)).one()
    assert row.secret_hash == sign_in.secret_hash(secret)
    assert row.expires_at - row.created_at == timedelta(days=1)


@pytest.mark.parametrize("end", ["expired", "disabled", "another", "command"])
def test_a_link_ends(team, person, end):
    link = link_of(team, person)
    other_link = link_of(team, person)
    stranger = Visitor(team.address)
    if end == "expired":
        with team.store.write() as connection:
            past = sa.update(secrets_table).values(expires_at=secrets_table.c.created_at)
            connection.execute(past.where(secrets_table.c.user == person.user.id))
    elif end == "disabled":
        root = team.visitor("root")
        root.send(f"/users/{person.user.id}", "/account", sign_in="no")
        answer = root.post(f"/users/{person.user.id}/password-link")
        assert (answer.status, code_of(answer)) == (409, "disabled")
    elif end == "another":
        assert stranger.send(other_link, other_link, password=NEW).status == 303
    else:
        with team.store.write() as connection:
            users.set_password(connection, person.user.id, sign_in.password_hash(NEW))
    assert stranger.get(link).status == 410


def test_a_link_ends_tokens_where_that_is_asked_for(team):
    for fields, status in (({}, 200), ({"end_tokens": "1"}, 401)):
        person = Person(team)
        with team.store.write() as connection:
            _, secret = sign_in.issue_token(connection, person.user.id, "ci")
        link = link_of(team, person)
        stranger = Visitor(team.address)
        assert stranger.send(link, link, password=NEW, **fields).status == 303
        assert Visitor(team.address, secret).get("/projects.json").status == status


def test_a_link_is_no_sign_in_under_way_and_the_other_way_round(team, person):
    secret = link_of(team, person).rpartition("/")[2]
    stranger = Visitor(team.address)
    stranger.cookies["rankgate_sign_in"] = secret
    assert stranger.get("/sign-in/code").status == 303
    person.add_second_factor(person.visitor())
    assert stranger.sign_in(person.name).status == 303
    pending = stranger.cookies["rankgate_sign_in"]
    assert Visitor(team.address).get(f"/password/{pending}").status == 410


def test_without_a_mail_server_nothing_asks_for_an_address(team):
    stranger = Visitor(team.address)
    page = stranger.get("/sign-in").data
    assert b'href="/password"' not in page
    assert b"An admin of this server can make a link" in page
    assert stranger.get("/password").status == 404
    fields = {"csrf": stranger.csrf("/sign-in"), "name": "a@example.org"}
    answer = stranger.ask("POST", "/password", fields=fields, encode_multipart=False)
    assert answer.status == 404


def test_a_second_factor_is_asked_for_after_the_password(team, person):
    first, other = person.visitor(), person.visitor()
    codes = person.add_second_factor(first)
    assert len(codes) == second_factors.RECOVERY_CODES
    assert first.get("/account").status == 200
    assert other.get("/account").status == 303  # a session of the password alone has ended
    visitor = Visitor(team.address)
    page = "/sign-in?next=/account"
    answer = visitor.send("/sign-in", page, name=person.name, password=PASSWORD, next="/account")
    assert answer.headers["location"] == "/sign-in/code?next=%2Faccount"
    assert "rankgate_session" not in visitor.cookies
    assert visitor.get("/account").status == 303
    code_page = answer.headers["location"]
    wrong = visitor.send("/sign-in/code", code_page, code="000000x")
    assert wrong.status == 403
    assert b"wrong, or was used already" in wrong.data
    assert b"<h1>Sign in</h1>" in wrong.data  # the form again
    code = person.code()
    answer = visitor.send("/sign-in/code", code_page, code=code, next="/account")
    assert (answer.status, answer.headers["location"]) == (303, "/account")
    assert "rankgate_sign_in" not in visitor.cookies
    assert visitor.get("/account").status == 200
    replayed = Visitor(team.address)
    replayed.sign_in(person.name)
    assert replayed.send("/sign-in/code", "/sign-in/code", code=code).status == 403
    assert replayed.get("/account").status == 303
    answer = replayed.send("/sign-in/code", "/sign-in/code", code=codes[0])
    assert (answer.status, answer.headers["location"]) == (303, "/projects")
    assert "9 recovery codes left" in replayed.get("/account").data.decode()
    with team.store.read() as connection:
        text = str(audit.entries(connection, most=1_000))
    assert not any(secret in text for secret in (code, codes[0], person.secret))


def test_a_code_needs_the_password_of_the_same_browser(team, person):
    person.add_second_factor(person.visitor())
    stranger = Visitor(team.address)
    assert stranger.get("/sign-in/code").headers["location"] == "/sign-in"
    fields = {"csrf": stranger.csrf("/sign-in"), "code": person.code()}
    answer = stranger.ask("POST", "/sign-in/code", fields=fields, encode_multipart=False)
    assert answer.status == 403
    assert b"sign-in-expired" in answer.data
    stranger.sign_in(person.name)
    with team.store.write() as connection:  # ten minutes later
        past = sa.update(secrets_table).values(expires_at=secrets_table.c.created_at)
        connection.execute(past.where(secrets_table.c.user == person.user.id))
    fields["csrf"] = stranger.csrf("/sign-in")
    answer = stranger.ask("POST", "/sign-in/code", fields=fields, encode_multipart=False)
    assert b"sign-in-expired" in answer.data


def test_codes_are_not_guessed_from_many_addresses(team, person):
    person.add_second_factor(person.visitor())
    visitor = Visitor(team.address)
    visitor.sign_in(person.name)
    statuses = [visitor.send("/sign-in/code", "/sign-in/code", code="wrong").status for _ in range(11)]
    assert statuses == [403] * 10 + [429]
    with team.store.read() as connection:
        rows = connection.exec_driver_sql(
            f"SELECT address FROM sign_ins WHERE address LIKE 'second factor {person.user.id}'"  # noqa: S608
        ).all()
    assert len(rows) == 10  # counted by user, not by address
    right = visitor.send("/sign-in/code", "/sign-in/code", code=person.code())
    assert right.status == 429
    assert Person(team).visitor().get("/account").status == 200  # others go on


def test_a_second_factor_is_set_up_with_the_password_and_a_code(team, person):
    visitor = person.visitor()
    wrong = visitor.send("/account/second-factor", "/account", password="wrong")  # noqa: S106
    assert wrong.status == 403
    assert b'id="secret"' not in wrong.data
    page = visitor.send("/account/second-factor", "/account", password=PASSWORD).data.decode()
    assert re.search(r'<svg [^>]*class="qr"', page)
    assert "style=" not in page  # the policy of pages allows none
    link = re.search(r'href="(otpauth://totp/[^"]+)"', page)[1].replace("&amp;", "&")
    assert f"rankgate%20127.0.0.1:{person.name}?" in link
    answer = visitor.send("/account/second-factor/confirm", "/account", code="000000x")
    assert answer.status == 403
    assert Visitor(team.address).sign_in(person.name).headers["location"] == "/projects"
    person.add_second_factor(visitor)
    answer = visitor.send("/account/second-factor", "/account", password=PASSWORD)
    assert b"second-factor-exists" in answer.data


def test_a_second_factor_is_removed_with_the_password_and_a_code(team, person):
    visitor = person.visitor()
    codes = person.add_second_factor(visitor)
    path = "/account/second-factor/remove"
    for password, code in (("wrong", codes[0]), (PASSWORD, "wrong")):
        assert visitor.send(path, "/account", password=password, code=code).status == 403
    codes_path = "/account/second-factor/recovery-codes"
    page = visitor.send(codes_path, "/account", password=PASSWORD, code=person.code())
    new_codes = CODES.findall(page.data.decode())
    assert len(set(new_codes) - set(codes)) == second_factors.RECOVERY_CODES
    assert visitor.send(path, "/account", password=PASSWORD, code=codes[0]).status == 403
    assert visitor.send(path, "/account", password=PASSWORD, code=new_codes[0]).status == 303
    assert Visitor(team.address).sign_in(person.name).headers["location"] == "/projects"
    assert actions(team, person.name)[1] == "second-factor.remove"


def test_an_admin_removes_the_second_factor_of_a_lost_device(team, person):
    visitor = person.visitor()
    person.add_second_factor(visitor)
    root = team.visitor("root")
    by_name = {user["name"]: user for user in root.get("/users.json").json()["users"]}
    assert by_name[person.name]["second_factor"]
    assert not by_name["root"]["second_factor"]
    path = f"/users/{person.user.id}/second-factor/remove"
    assert f'action="{path}"' in root.get("/users").data.decode()
    assert root.send(path, "/users").status == 303
    assert visitor.get("/account").status == 303
    assert Visitor(team.address).sign_in(person.name).headers["location"] == "/projects"
    assert code_of(root.post(path)) == "no-second-factor"
    assert path not in root.get("/users").data.decode()


def test_a_new_password_does_not_get_around_the_second_factor(team, person):
    person.add_second_factor(person.visitor())
    link, visitor = link_of(team, person), Visitor(team.address)
    assert visitor.send(link, link, password=NEW).status == 303
    answer = visitor.sign_in(person.name, NEW)
    assert answer.headers["location"].startswith("/sign-in/code")
    assert visitor.get("/account").status == 303


def test_tokens_need_no_second_factor_and_cannot_touch_it(team):
    person = Person(team, admin=True)
    with team.store.write() as connection:
        _, secret = sign_in.issue_token(connection, person.user.id, "ci", ["admin"])
    person.add_second_factor(person.visitor())
    program = Visitor(team.address, secret)
    assert program.get("/projects.json").status == 200
    account = program.get("/account.json").json()
    assert account.keys() == {"user", "tokens"}  # no addresses of sessions
    number = person.user.id
    for path in (
        "/account/second-factor",
        "/account/second-factor/confirm",
        "/account/second-factor/remove",
        "/account/second-factor/recovery-codes",
        "/account/sessions/end",
        "/account/sessions/1/end",
        f"/users/{number}/password-link",
        f"/users/{number}/second-factor/remove",
    ):
        answer = program.post(path)
        assert (answer.status, code_of(answer)) == (403, "token-scope"), path
    paths = program.get("/openapi.json").json()["paths"]
    assert not [path for path in paths if "second-factor" in path or "password" in path]


def test_who_has_no_password_has_no_second_factor_here(team):
    person = Person(team)
    with team.store.write() as connection:
        connection.execute(
            sa.update(users.users)
            .where(users.users.c.id == person.user.id)
            .values(password_hash=None, issuer="https://login.example.org", subject="7")
        )
        _, secret = sign_in.begin_session(connection, person.user.id)
    visitor = Visitor(team.address)
    visitor.cookies["rankgate_session"] = secret
    page = visitor.get("/account").data.decode()
    assert "You sign in with a provider" in page
    assert 'action="/account/second-factor"' not in page
    assert visitor.send("/account/second-factor", "/account", password="").status in {400, 403}


def test_sessions_are_listed_and_ended_one_by_one_or_all_others(team, person):
    fields = {"name": person.name, "password": PASSWORD}
    visitors = []
    for browser in (FIREFOX, SAFARI, "<b>made up</b>"):
        visitor = Visitor(team.address)
        form = fields | {"csrf": visitor.csrf("/sign-in")}
        headers = {"user-agent": browser}
        visitor.ask("POST", "/sign-in", fields=form, encode_multipart=False, headers=headers)
        visitors.append(visitor)
    first, second, third = visitors
    rows = sessions_of(third)
    assert {(row["title"], row["address"], row["current"]) for row in rows} == {
        ("Firefox on Windows", "127.0.0.1", False),
        ("Safari on iPhone", "127.0.0.1", False),
        ("<b>made up</b>", "127.0.0.1", True),
    }
    assert not any("secret" in name or "csrf" in name for row in rows for name in row)
    page = third.get("/account").data.decode()
    assert "&lt;b&gt;made up&lt;/b&gt;" in page
    assert page.count("this session") == 1
    number = next(row["id"] for row in rows if row["title"].startswith("Firefox"))
    other = Person(team).visitor()
    answer = other.post(f"/account/sessions/{number}/end")  # another user's
    assert (answer.status, code_of(answer)) == (404, "not-found")
    assert first.get("/account").status == 200
    assert third.send(f"/account/sessions/{number}/end", "/account").status == 303
    assert first.get("/account").status == 303
    assert second.get("/account").status == third.get("/account").status == 200
    assert third.send("/account/sessions/end", "/account").status == 303
    assert second.get("/account").status == 303
    assert [row["current"] for row in sessions_of(third)] == [True]
    assert other.get("/account").status == 200
    assert actions(team, person.name).count("session.end") == 2


NEW_ROUTES = {
    "password-link": "admin of the store",
    "second-factor-remove-of-user": "admin of the store",
    "second-factor-begin": "signed in",
    "second-factor-confirm": "signed in",
    "second-factor-remove": "signed in",
    "recovery-codes": "signed in",
    "session-end": "signed in",
    "sessions-end": "signed in",
    "lost-password": "anyone",
    "new-password": "anyone",
    "sign-in-code": "anyone",
}


def test_forms_of_accounts_are_for_whom_they_should_be_and_need_their_word(team):
    routes = {route.name: route for route in ROUTES}
    manager, root = team.visitor("manager"), team.visitor("root")
    for name, permission in NEW_ROUTES.items():
        route = routes[name]
        assert (route.needs, route.scope, route.method) == (permission, None, "POST"), name
        path = re.sub(r"\{\w+(:int)?\}", "1", route.path)
        for visitor, code in ((root, "forged-request"), (Visitor(team.address), None)):
            answer = visitor.ask("POST", path, json={})
            expected = code or ("forged-request" if permission == "anyone" else "sign-in")
            assert code_of(answer) == expected, name
        if permission.startswith("admin"):
            assert code_of(manager.post(path)) == "not-allowed"


def test_a_proxied_server_without_a_name_mails_no_links(team, monkeypatch):
    monkeypatch.setenv("RANKGATE_SMTP_HOST", "localhost")
    monkeypatch.setenv("RANKGATE_SMTP_FROM", "rankgate@example.org")
    with served(team.store) as address:  # the host of a link would be what a request says
        assert Visitor(address).get("/password").status == 404
    with served(team.store, link="https://judging.example.org") as address:
        visitor = Visitor(address)
        assert visitor.get("/password").status == 200
        assert b'href="/password"' in visitor.get("/sign-in").data
