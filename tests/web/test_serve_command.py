"""``rankgate serve``: listening addresses, the first admin, and output."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import sqlalchemy as sa
import urllib3
from cryptography.fernet import Fernet

from rankgate.core.errors import UsageError
from rankgate.store.people import audit, second_factors, users
from rankgate.store.people.stored_secrets import KEY_VARIABLE
from rankgate.store.store import Store
from rankgate.store.tables.people_tables import second_factors as factors_table
from rankgate.workspace.web.server import check_proxies, first_link, is_local, make_config, open_listener
from support.serving import PASSWORD, Visitor, started
from support.waiting import PATIENCE, free_port, until


def test_others_are_reached_by_tls_only(team):
    options = {"certificate": None, "behind_proxy": False, "base": "", "names": ()}
    assert make_config(team.store, "127.0.0.1", **options).hosts >= {"localhost", "127.0.0.1"}
    for host in ("0.0.0.0", "::", "192.0.2.1", "judging.example.org"):  # noqa: S104 - refused
        with pytest.raises(UsageError) as refused:
            make_config(team.store, host, **options)
        assert refused.value.code == "insecure-address"
        assert make_config(team.store, host, **options | {"behind_proxy": True}).secure
    with pytest.raises(UsageError) as refused:
        make_config(team.store, "localhost", **options | {"base": "judging/"})
    assert refused.value.code == "invalid-path"
    assert [is_local(host) for host in ("localhost", "::1", "127.9.9.9", "10.0.0.1")] == [
        True,
        True,
        True,
        False,
    ]


def test_a_port_in_use_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as server, pytest.raises(UsageError) as refused:
        open_listener("127.0.0.1", server.getsockname()[1])
    assert refused.value.code == "cannot-listen"


def test_the_body_of_an_answer_does_not_wait_for_an_acknowledgement():
    with (
        open_listener("127.0.0.1", 0) as listener,
        socket.create_connection(listener.getsockname()),
        listener.accept()[0] as accepted,
    ):
        assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


def test_the_first_start_makes_the_admin_once_and_logs_no_secret(tmp_path):
    file = tmp_path / "judging.db"
    with started(file) as (process, address, link):
        mia = Visitor(address)
        assert mia.accept(link, "mia").status == 303
        second_visitor = Visitor(address)
        assert second_visitor.get(link).status == 404
        assert second_visitor.get("/projects").headers["location"].startswith("/sign-in")
        assert second_visitor.get("/health.json").json()["state"] == "ok"
        token = mia.post("/account/tokens", name="t", read=True).json()["token"]
        assert Visitor(address, token).get("/projects.json").status == 200
        assert Visitor(address).sign_in("mia", "a wrong password").status == 403
        mia.http.clear()
        session = mia.cookies["rankgate_session"]
        process.kill()
        process.wait(PATIENCE)
        log = process.stderr.read()
    for secret in (link, token, session, PASSWORD, "a wrong password"):
        assert secret not in log
    with Store.open(str(file)) as store:
        assert first_link(store) is None
        with store.read() as connection:
            assert users.get_by_name(connection, "mia").admin
            entries = str(audit.entries(connection))
    assert "invitation.accept" in entries
    assert "rgi_" not in entries
    assert "correct horse" not in entries


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
    until(lambda: not any(lives(worker) for worker in workers[1:-1]))  # they end with the first


def lives(process):
    """Whether a process has not ended; the ended one of a parent that ended may be listed."""
    try:
        text = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def test_who_may_say_where_a_request_comes_from():
    assert check_proxies((), behind_proxy=False) == ()
    assert check_proxies((), behind_proxy=True) == ("127.0.0.1", "::1")
    assert check_proxies(("10.0.0.0/24",), behind_proxy=True) == ("10.0.0.0/24",)
    for proxies, behind_proxy, code in (
        (("10.0.0.1",), False, "missing-input"),
        (("proxy",), True, "invalid-address"),
    ):
        with pytest.raises(UsageError) as refused:
            check_proxies(proxies, behind_proxy=behind_proxy)
        assert refused.value.code == code


NGINX = """
daemon off; pid {folder}/pid; error_log {folder}/errors; events {{}}
http {{
  access_log off; client_body_temp_path {folder}/1; proxy_temp_path {folder}/2;
  fastcgi_temp_path {folder}/3; uwsgi_temp_path {folder}/4; scgi_temp_path {folder}/5;
  server {{
    listen 127.0.0.1:{port};
    location /judging/ {{
      proxy_pass http://127.0.0.1:{behind}{path};
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $http_x_test_client;
      proxy_set_header X-Forwarded-Proto https;
    }}
  }}
}}"""


@pytest.mark.nginx
@pytest.mark.parametrize("path", ["/", ""], ids=["its path taken off", "its path left"])
def test_a_real_proxy_serves_it_under_a_path(tmp_path, path):
    port = free_port()
    arguments = ("--behind-proxy", "--base", "/judging", "--name", "127.0.0.1")
    with started(tmp_path / "judging.db", *arguments) as (_, address, link):
        proxied_port = urlsplit(address).port
        (tmp_path / "nginx.conf").write_text(
            NGINX.format(folder=tmp_path, port=port, behind=proxied_port, path=path)
        )
        arguments = ["nginx", "-c", tmp_path / "nginx.conf", "-p", tmp_path, "-e", tmp_path / "errors"]
        proxy = subprocess.Popen(arguments)
        try:
            mia = Visitor(f"http://127.0.0.1:{port}/judging")
            mia.http = urllib3.PoolManager(retries=urllib3.Retry(connect=10, backoff_factor=0.1))
            answer = mia.accept(link, "mia")
            assert (answer.status, answer.headers["location"]) == (303, "/judging/projects")
            assert "; Path=/judging; SameSite=lax; Secure" in answer.headers["set-cookie"]
            html = mia.get("/projects").data.decode()
            for target in set(re.findall(r'(?:href|src|action)="(/[^"]+)"', html)):
                assert target.startswith("/judging/")
            assert mia.get("/assets/rankgate.css").status == 200
            word = {
                "x-csrf-token": mia.csrf("/account"),
                "origin": "https://127.0.0.1",
                "sec-fetch-site": "same-origin",
            }
            assert mia.ask("POST", "/projects", json={"name": "a"}, headers=word).status == 200
            invitation = mia.post("/projects/a/invitations", role="rater").json()["token"]
            assert invitation.startswith("https://127.0.0.1/judging/invitations/")
            headers = {"x-test-client": "192.0.2.7"}
            fields = {"csrf": mia.csrf("/account"), "name": "mia", "password": "wrong"}
            mia.ask("POST", "/sign-in", fields=fields, encode_multipart=False, headers=headers)
        finally:
            proxy.kill()
            proxy.wait()
    with Store.open(str(tmp_path / "judging.db")) as store, store.read() as connection:
        addresses = connection.exec_driver_sql("SELECT address FROM sign_ins").scalars().all()
    assert addresses == ["192.0.2.7"]


def test_who_is_no_proxy_does_not_say_where_a_request_comes_from(tmp_path):
    arguments = ("--behind-proxy", "--name", "127.0.0.1", "--proxy", "192.0.2.1")
    with started(tmp_path / "judging.db", *arguments) as (process, address, _link):
        visitor = Visitor(address)
        fields = {"csrf": visitor.csrf("/sign-in"), "name": "mia", "password": "wrong"}
        headers = {"x-forwarded-for": "192.0.2.7"}
        visitor.ask("POST", "/sign-in", fields=fields, encode_multipart=False, headers=headers)
        assert "warning: " not in _log(process)
    with Store.open(str(tmp_path / "judging.db")) as store, store.read() as connection:
        addresses = connection.exec_driver_sql("SELECT address FROM sign_ins").scalars().all()
    assert addresses == ["127.0.0.1"]


def _log(process):
    """All that a server wrote."""
    process.stderr.seek(0)
    return process.stderr.read()


@pytest.mark.parametrize("key", ["", Fernet.generate_key().decode()], ids=["no key", "a key"])
def test_a_proxy_without_a_name_and_second_factors_without_encryption_are_warned_of(
    tmp_path, monkeypatch, key
):
    file = tmp_path / "judging.db"
    monkeypatch.delenv(KEY_VARIABLE, raising=False)
    with Store.create(str(file)) as store, store.write() as connection:
        secret = second_factors.begin(connection, users.add(connection, "root", admin=True).id)
    monkeypatch.setenv(KEY_VARIABLE, key)
    with started(file, "--behind-proxy", first=False) as (process, address, _link):
        assert Visitor(address).get("/health.json").json()["state"] == "ok"
        text = _log(process)
    warning = "warning: without --name all host names are accepted; give the name that people use\n"
    assert text.count(warning) == 1
    assert text.count("warning: ") == (1 if key else 2)
    assert (KEY_VARIABLE in text) == (not key)
    with Store.open(str(file)) as store, store.read() as connection:
        assert (connection.scalar(sa.select(factors_table.c.secret)) == secret) == (not key)


def test_an_unused_link_ends_with_the_next_start(tmp_path):
    with Store.create(str(tmp_path / "judging.db")) as store:
        first, second = first_link(store), first_link(store)
        assert first != second
        from rankgate.store.people import invitations

        with store.read() as connection:
            matches = [invitations.find(connection, link.rpartition("/")[2]) for link in (first, second)]
    assert [match is not None for match in matches] == [False, True]


def test_a_proxy_serves_it_under_a_path(team):
    from support.serving import served

    with served(team.store, base="/judging", secure=True) as address:
        visitor = Visitor(address)
        html = visitor.get("/sign-in").data.decode()
        assert 'action="/judging/sign-in"' in html
        assert 'href="/judging/assets/' in html
        cookie = Visitor(address).get("/sign-in").headers["set-cookie"]
        assert {"Path=/judging", "Secure"} <= {attribute.strip() for attribute in cookie.split(";")}
        answer = visitor.get("/projects")
        assert answer.headers["location"].startswith("/judging/sign-in?next=/projects")
