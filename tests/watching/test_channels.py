"""Messages of alerts, sent to real servers on this machine."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import socket
import ssl
import subprocess
import threading
from contextlib import contextmanager
from datetime import timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from rankgate.store.records import alerts
from rankgate.workspace.records.alerts import alert_channels
from rankgate.workspace.records.alerts.alert_channels import Message, Networks
from rankgate.workspace.records.alerts.alert_check import check_alerts
from rankgate.workspace.records.alerts.alert_queue import RETRY_DELAYS, DeliveryCounts, deliver
from rankgate.workspace.records.alerts.alert_queue import test_channel as try_channel
from rankgate.workspace.records.alerts.alert_rules import Channel
from support.mailbox import mailbox
from support.stores import mostly_sqlite  # noqa: F401 - new_store
from support.wording import raises

LOOPBACK = Networks((ipaddress.ip_network("127.0.0.0/8"),))
TEST = Message(7, "test", "shop", None)
LOW = '[[rules]]\nid = "low"\nkind = "absolute"\nmetric = "nDCG@10"\nat_least = 0.5\n'


class Hook(BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.got.append((self.path, dict(self.headers), body))
        status = self.server.statuses.pop(0) if self.server.statuses else 204
        self.send_response(status)
        self.send_header("location", "http://127.0.0.1:1/elsewhere")
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *words):
        pass


@contextmanager
def hook(certificate=None):
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.got, server.statuses = [], []
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate for localhost and hooks.example.test, and its key."""
    folder = tmp_path_factory.mktemp("tls")
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "rsa:2048",
            "-nodes",
            "-days",
            "2",
            "-subj",
            "/CN=t",
            "-addext",
            "subjectAltName=DNS:localhost,DNS:hooks.example.test",
            "-keyout",
            folder / "key.pem",
            "-out",
            folder / "cert.pem",
        ],
        check=True,
        capture_output=True,
    )
    return folder / "cert.pem", folder / "key.pem"


def channel(server, host="127.0.0.1", scheme="http", secret=None):
    url = f"{scheme}://{host}:{server.server_port}/in?x=1"
    return Channel("team", "webhook", {"url": url, "secret_from": secret})


def test_a_webhook_is_signed(monkeypatch):
    monkeypatch.setenv("RANKGATE_WEBHOOK_KEY", "s3cret")
    with hook() as server:
        alert_channels.post_webhook(channel(server, secret="RANKGATE_WEBHOOK_KEY"), TEST, LOOPBACK)  # noqa: S106 - a name
    [(path, headers, body)] = server.got
    headers = {name.lower(): value for name, value in headers.items()}
    moment, _, signature = headers["x-rankgate-signature"].partition(",v1=")
    expected = hmac.new(b"s3cret", moment[2:].encode() + b"." + body, hashlib.sha256).hexdigest()
    assert (path, signature) == ("/in?x=1", expected)
    assert (headers["x-rankgate-event"], headers["x-rankgate-delivery"]) == ("test", "7")
    assert json.loads(body)["project"] == "shop"
    monkeypatch.delenv("RANKGATE_WEBHOOK_KEY")
    with raises("missing-key"):
        alert_channels.post_webhook(channel(server, secret="RANKGATE_WEBHOOK_KEY"), TEST, LOOPBACK)  # noqa: S106


def test_a_webhook_follows_no_redirect_and_reports_failures(monkeypatch):
    with hook() as server:
        server.statuses = [302, 500]
        for _ in range(2):
            with raises("webhook-failed"):
                alert_channels.post_webhook(channel(server), TEST, LOOPBACK)
        assert len(server.got) == 2
    with raises("webhook-failed"):
        alert_channels.post_webhook(channel(server), TEST, LOOPBACK)
    monkeypatch.setattr(alert_channels, "_READ", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with raises("webhook-failed"):
            alert_channels.post_webhook(
                Channel("slow", "webhook", {"url": url, "secret_from": None}), TEST, LOOPBACK
            )


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.64.0.1"),
        *("0.0.0.0", "224.0.0.1", "255.255.255.255", "::1", "fe80::1", "fd00::1"),  # noqa: S104
        *("::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::", "ff02::1"),
    ],
)
def test_private_addresses_are_not_reached(address):
    assert not Networks().may(ipaddress.ip_address(address))


def test_public_and_allowed_addresses_are_reached(monkeypatch):
    for address in ("93.184.215.14", "2606:4700::1111"):
        assert Networks().may(ipaddress.ip_address(address))
    monkeypatch.setenv(alert_channels.NETWORKS_VARIABLE, "10.0.0.0/8, fd00::/8")
    allowed = alert_channels.read_allowed_networks()
    tried = ("10.1.1.1", "fd00::1", "192.168.0.1")
    assert [allowed.may(ipaddress.ip_address(e)) for e in tried] == [True, True, False]
    monkeypatch.setenv(alert_channels.NETWORKS_VARIABLE, "everything")
    with raises("invalid-address"):
        alert_channels.read_allowed_networks()


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]", "2130706433", "0x7f000001", "127.1"])
def test_names_of_this_machine_are_refused_in_every_spelling(host):
    with hook() as server:
        with raises("private-address"):
            alert_channels.post_webhook(channel(server, host), TEST, Networks())
        assert server.got == []


def test_a_name_is_resolved_once_and_all_its_addresses_count(monkeypatch):
    hosts = []
    real = socket.getaddrinfo

    def resolve(host, port, *more, **how):
        if host != "hooks.example.test":
            return real(host, port, *more, **how)
        hosts.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in answers]

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with hook() as server:
        answers = ["127.0.0.1"]
        alert_channels.post_webhook(channel(server, "hooks.example.test"), TEST, LOOPBACK)
        assert len(hosts) == 1
        assert server.got[0][1]["host"] == f"hooks.example.test:{server.server_port}"
        answers = ["127.0.0.1", "10.0.0.1"]
        with raises("private-address"):
            alert_channels.post_webhook(channel(server, "hooks.example.test"), TEST, LOOPBACK)


def test_tls_checks_the_name_although_it_connects_to_an_address(monkeypatch, certificate):
    real = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *more, **how: real(
            "127.0.0.1" if host.endswith(".example.test") else host, *more, **how
        ),
    )
    with hook(certificate) as server:
        with raises("webhook-failed"):  # nobody vouches for it
            alert_channels.post_webhook(channel(server, "hooks.example.test", "https"), TEST, LOOPBACK)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
        alert_channels.post_webhook(channel(server, "hooks.example.test", "https"), TEST, LOOPBACK)
        assert len(server.got) == 1
        with raises("webhook-failed"):  # its certificate is of another name
            alert_channels.post_webhook(channel(server, "other.example.test", "https"), TEST, LOOPBACK)


def test_messages_are_sent_and_tried_again(history, monkeypatch):
    monkeypatch.setenv(alert_channels.NETWORKS_VARIABLE, "127.0.0.1/32")
    with hook() as server:
        url = f"http://127.0.0.1:{server.server_port}/"
        history.rules(f'[[channels]]\nname = "team"\nkind = "webhook"\nurl = "{url}"\n{LOW}')
        history.add(0.1)
        check_alerts(history.store, "shop", history.moment)
        server.statuses = [500, 500]
        moment = history.moment
        assert deliver(history.store, "shop", moment=moment) == DeliveryCounts(later=1)
        assert deliver(history.store, "shop", moment=moment) == DeliveryCounts()
        moment += RETRY_DELAYS[0]
        assert deliver(history.store, "shop", moment=moment) == DeliveryCounts(later=1)
        moment += RETRY_DELAYS[1]
        link = "https://quality.example.org"
        assert deliver(history.store, link=link, moment=moment) == DeliveryCounts(sent=1)
        assert deliver(history.store, moment=moment + timedelta(days=1)) == DeliveryCounts()
        body = json.loads(server.got[-1][2])
        assert body["link"] == f"{link}/projects/shop/alerts"
        assert (body["event"], body["alert"]["rule"]) == ("fired", "low")
        assert body["alert"]["evidence"]["value"] == 0.1
        history.add(0.9)
        check_alerts(history.store, "shop", history.moment)
        assert deliver(history.store, moment=history.moment) == DeliveryCounts(sent=1)
        assert json.loads(server.got[-1][2])["event"] == "resolved"


def test_after_the_last_try_a_message_has_failed(history):
    history.rules('[[channels]]\nname = "team"\nkind = "webhook"\nurl = "http://10.0.0.1/"\n' + LOW)
    history.add(0.1)
    moment = history.moment
    check_alerts(history.store, "shop", moment)
    for wait in RETRY_DELAYS:
        assert deliver(history.store, moment=moment) == DeliveryCounts(later=1)
        moment += wait
    assert deliver(history.store, moment=moment) == DeliveryCounts(failed=1)
    with history.store.read() as connection:
        [alert] = alerts.list_alerts(connection, history.project)
        [notification] = alerts.notifications_of_alert(connection, alert.id)
    assert (notification.state, notification.tries) == ("failed", len(RETRY_DELAYS) + 1)
    with raises("private-address"):
        try_channel(history.store, "shop", "team", allow_http=True)
    with raises("unknown-channel"):
        try_channel(history.store, "shop", "other", allow_http=True)


def test_what_is_over_before_it_was_announced_is_not_announced(history):
    history.rules(
        '[alerts]\nquiet = "00:00-23:59"\n[[channels]]\nname = "team"\nkind = "webhook"\n'
        'url = "http://10.0.0.1/"\n' + LOW + 'tier = "warn"\n'
    )
    for value in (0.1, 0.9):
        history.add(value)
        check_alerts(history.store, "shop", history.moment)
    late = history.moment + timedelta(days=1)
    assert deliver(history.store, moment=late) == DeliveryCounts(failed=2)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::UserWarning")
@pytest.mark.parametrize("tls", ["starttls", "tls", "none"])
def test_mail_is_handed_over(certificate, tls, monkeypatch):
    mail_channel = Channel("mail", "email", {"to": ["a@example.org", "b@example.org"]})
    if tls == "tls":
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate[0]))
    with mailbox(certificate, tls) as (box, port):
        signed = {"HOST": "localhost", "FROM": "rankgate@example.org", "PORT": str(port), "TLS": tls}
        if tls != "none":
            signed |= {"USER": "rank", "PASSWORD": "gate", "CA": str(certificate[0])}
        for name, value in signed.items():
            monkeypatch.setenv(f"RANKGATE_SMTP_{name}", value)
        alert_channels.send_mail(mail_channel, TEST)
        [(sender, receivers, content)] = box.got
        assert (sender, receivers) == ("rankgate@example.org", ["a@example.org", "b@example.org"])
        assert "Subject: [shop] test of rankgate's alerts" in content
        if tls != "none":
            assert "gate" not in repr(alert_channels.read_mail_server()).replace("rankgate", "")
            monkeypatch.setattr(alert_channels, "_TIMEOUT", 1.0)  # the server answers no more
            monkeypatch.setenv("RANKGATE_SMTP_PASSWORD", "wrong")
            with raises("mail-failed"):
                alert_channels.send_mail(mail_channel, TEST)
            monkeypatch.delenv("RANKGATE_SMTP_CA")
            monkeypatch.delenv("SSL_CERT_FILE", raising=False)
            with raises("mail-failed"):  # nobody vouches for its certificate
                alert_channels.send_mail(mail_channel, TEST)
    assert len(box.got) == 1


def test_mail_is_never_sent_in_clear_to_another_machine(monkeypatch):
    with raises("missing-input"):
        alert_channels.read_mail_server()
    monkeypatch.setenv("RANKGATE_SMTP_HOST", "mail.example.org")
    monkeypatch.setenv("RANKGATE_SMTP_FROM", "rankgate@example.org")
    assert alert_channels.read_mail_server().tls == "starttls"
    monkeypatch.setenv("RANKGATE_SMTP_TLS", "none")
    with raises("insecure-address"):
        alert_channels.read_mail_server()


def test_titles_hold_no_second_header(history, monkeypatch):
    history.add(0.1, system="x\r\nBcc: evil@example.org")
    history.rules(LOW)
    check_alerts(history.store, "shop", history.moment)
    with history.store.read() as connection:
        [alert] = alerts.list_alerts(connection, history.project)
    box = []
    monkeypatch.setattr(alert_channels, "_send_message", lambda *given: box.append(given[-1]))
    with socket.create_server(("127.0.0.1", 0)) as greeting:
        port = greeting.getsockname()[1]
        threading.Thread(target=_greet, args=(greeting,), daemon=True).start()
        mail_server = alert_channels.MailServer("127.0.0.1", "rankgate@example.org", "none", port)
        mail_channel = Channel("m", "email", {"to": ["a@example.org"]})
        alert_channels.send_mail(mail_channel, Message(1, "fired", "shop", alert), mail_server)
    [message] = box
    assert "Bcc: evil" in message["Subject"]
    assert message["Bcc"] is None
    assert message["To"] == "a@example.org"


def _greet(server):
    connection, _ = server.accept()
    with connection:
        connection.sendall(b"220 hello\r\n")
        connection.recv(1000)
        connection.sendall(b"221 bye\r\n")
