"""``rankgate serve``: where it may listen, the first admin, and what it prints."""

from __future__ import annotations

import os
import signal
import socket
from pathlib import Path

import pytest
import urllib3

from rankgate.errors import UsageError
from rankgate.store.people import audit, users
from rankgate.store.store import Store
from rankgate.web.first import first_link
from rankgate.web.server import configured, is_local, listening, trusted_proxies
from support.serving import Visitor, started


def test_others_are_reached_by_tls_only(team):
    how = {"certificate": None, "behind_proxy": False, "base": "", "names": ()}
    assert configured(team.store, "127.0.0.1", **how).hosts >= {"localhost", "127.0.0.1"}
    for host in ("0.0.0.0", "::", "192.0.2.1", "judging.example.org"):  # noqa: S104 - refused
        with pytest.raises(UsageError) as refused:
            configured(team.store, host, **how)
        assert refused.value.code == "insecure-address"
        assert configured(team.store, host, **how | {"behind_proxy": True}).secure
    with pytest.raises(UsageError) as refused:
        configured(team.store, "localhost", **how | {"base": "judging/"})
    assert refused.value.code == "invalid-path"
    assert [is_local(host) for host in ("localhost", "::1", "127.9.9.9", "10.0.0.1")] == [
        True, True, True, False]  # fmt: skip


def test_a_port_in_use_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as place, pytest.raises(UsageError) as refused:
        listening("127.0.0.1", place.getsockname()[1])
    assert refused.value.code == "cannot-listen"


def test_the_first_start_makes_the_admin_once(tmp_path):
    file = tmp_path / "judging.db"
    with started(file) as (_, address, link):
        assert Visitor(address).accept(link, "mia").status == 303
        again = Visitor(address)
        assert again.get(link).status == 404
        assert again.get("/projects").headers["location"].startswith("/sign-in")
        assert again.get("/health.json").json() == {"state": "ok"}
    with Store.open(str(file)) as store:
        assert first_link(store) is None
        with store.read() as connection:
            assert users.named(connection, "mia").admin
            log = str(audit.entries(connection))
    assert "invitation.accept" in log
    assert "rgi_" not in log
    assert "correct horse" not in log


def test_several_processes_serve_one_store(tmp_path):
    with started(tmp_path / "judging.db", "--workers", "2") as (process, address, link):
        mia = Visitor(address)
        assert mia.accept(link, "mia").status == 303
        workers = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        os.kill(int(workers[-1]), signal.SIGKILL)  # resource tracker first, then the servers
        for _ in range(30):
            try:
                assert mia.get("/projects").status == 200
            except urllib3.exceptions.HTTPError:
                continue  # its connection was to the one that died


def test_who_may_say_where_a_request_comes_from():
    assert trusted_proxies((), behind_proxy=False) == ()
    assert trusted_proxies((), behind_proxy=True) == ("127.0.0.1", "::1")
    assert trusted_proxies(("10.0.0.0/24",), behind_proxy=True) == ("10.0.0.0/24",)
    for given, behind, code in ((("10.0.0.1",), False, "missing-input"),
                                (("proxy",), True, "invalid-address")):  # fmt: skip
        with pytest.raises(UsageError) as refused:
            trusted_proxies(given, behind_proxy=behind)
        assert refused.value.code == code


def test_an_unused_link_ends_with_the_next_start(tmp_path):
    with Store.create(str(tmp_path / "judging.db")) as store:
        first, second = first_link(store), first_link(store)
        assert first != second
        from rankgate.store.people import invitations

        with store.read() as connection:
            found = [invitations.find(connection, each.rpartition("/")[2])
                     for each in (first, second)]  # fmt: skip
    assert [each is not None for each in found] == [False, True]


def test_a_proxy_serves_it_under_a_path(team):
    from support.serving import served

    with served(team.store, base="/judging", secure=True) as address:
        visitor = Visitor(address)
        html = visitor.get("/sign-in").data.decode()
        assert 'action="/judging/sign-in"' in html
        assert 'href="/judging/assets/' in html
        cookie = Visitor(address).get("/sign-in").headers["set-cookie"]
        assert {"Path=/judging", "Secure"} <= {each.strip() for each in cookie.split(";")}
        answer = visitor.get("/projects")
        assert answer.headers["location"].startswith("/judging/sign-in?next=/projects")
