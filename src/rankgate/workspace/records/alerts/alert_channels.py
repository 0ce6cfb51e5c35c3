"""Send messages about alerts, by e-mail or to a webhook.

A message is JSON for webhooks and text for people. The environment names the mail server. A webhook
may reach public addresses and the networks that the server's owner allows. Its message is signed
and goes to a checked address; redirects are not followed.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import smtplib
import socket
import ssl
import time
from collections.abc import Sequence
from dataclasses import field
from email.message import EmailMessage
from email.utils import make_msgid
from typing import TYPE_CHECKING, Literal, cast
from urllib.parse import urlsplit

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool

    from rankgate.core.value_types import Json
    from rankgate.store.records.alerts import Alert
    from rankgate.workspace.records.alerts.alert_rules import Channel


@dataclass(frozen=True)
class Message:
    """A message about an alert, in the form for a channel.

    Attributes:
        number: the number of the notification, the same in every attempt.
        event: ``fired``, ``resolved`` or ``test``.
        project: the name of the project.
        alert: the alert; None in a test.
        link: the address of the page of alerts; empty if no server is known.
    """

    number: int
    event: str
    project: str
    alert: Alert | None
    link: str = ""

    @property
    def title(self) -> str:
        """The title of the message on one line."""
        if self.alert is None:
            return f"[{self.project}] test of rankgate's alerts"
        label = {"fired": "ALERT", "resolved": "over"}.get(self.event, self.event)
        return f"[{self.project}] {label}: {self.alert.message}"

    @property
    def text(self) -> str:
        """The message as text for people."""
        lines = [self.title]
        if self.alert is not None:
            lines += ["", f"since  {self.alert.first_at:%Y-%m-%d %H:%M} UTC", f"rule   {self.alert.rule}"]
        return "\n".join([*lines, *(["", self.link] if self.link else []), ""])

    def body(self) -> dict[str, Json]:
        """The message as JSON for programs."""
        payload: dict[str, Json] = {"event": self.event, "project": self.project, "text": self.title}
        if self.link:
            payload["link"] = self.link
        if self.alert is not None:
            alert = self.alert
            payload["alert"] = {
                "id": alert.id,
                "rule": alert.rule,
                "metric": alert.metric,
                "system": alert.system,
                "slice": alert.slice,
                "state": alert.state,
                "message": alert.message,
                "first_at": alert.first_at.isoformat(),
                "last_at": alert.last_at.isoformat(),
                "record": alert.record,
                "evidence": dict(alert.evidence),
            }
        return payload


TlsMode = Literal["starttls", "tls", "none"]
_PORTS = {"starttls": 587, "tls": 465, "none": 25}
_TIMEOUT = 20.0


@dataclass(frozen=True)
class MailServer:
    """The mail server for messages.

    Attributes:
        host: the host name of the server.
        sender: the sender's address of messages.
        tls: ``starttls``, ``tls`` from the first byte, or ``none``, for this machine only.
        port: the port; by default that of ``tls``: 587, 465, 25.
        user, password: the name and password for sign-in; empty for no sign-in.
        authorities: a file of trusted certificates; None means those of the system.
    """

    host: str
    sender: str
    tls: TlsMode = "starttls"
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    authorities: str | None = None


def read_mail_server() -> MailServer:
    """The mail server named by environment variables.

    The variables are ``RANKGATE_SMTP_HOST`` and, with the same beginning, ``FROM``, ``TLS``,
    ``PORT``, ``USER``, ``PASSWORD`` and ``CA``.

    Raises:
        UsageError: no server is named; a value is invalid; ``none`` is set for another machine.
    """
    settings = {
        name: os.environ.get(f"RANKGATE_SMTP_{name}", "")
        for name in ("HOST", "FROM", "TLS", "PORT", "USER", "PASSWORD", "CA")
    }
    if not settings["HOST"] or not settings["FROM"]:
        problem = "e-mail needs RANKGATE_SMTP_HOST and RANKGATE_SMTP_FROM."
        raise UsageError(problem, code="missing-input")
    tls = settings["TLS"] or "starttls"
    if tls not in _PORTS or not (settings["PORT"] or "0").isdigit():
        problem = "RANKGATE_SMTP_TLS is starttls, tls or none, and RANKGATE_SMTP_PORT a number."
        raise UsageError(problem, code="invalid-parameter")
    if tls == "none" and settings["HOST"] not in {"localhost", "127.0.0.1", "::1"}:
        problem = "RANKGATE_SMTP_TLS=none is for a mail server on this machine only."
        raise UsageError(problem, code="insecure-address")
    return MailServer(
        settings["HOST"],
        settings["FROM"],
        cast("TlsMode", tls),
        int(settings["PORT"] or 0),
        settings["USER"],
        settings["PASSWORD"],
        settings["CA"] or None,
    )


def send_mail(channel: Channel, message: Message, server: MailServer | None = None) -> None:
    """Send a message by e-mail.

    Args:
        channel: the channel with the addresses.
        message: the message.
        server: the mail server; by default that of the environment.

    Raises:
        UsageError: no server is named, or the server refuses the message.
    """
    name = f"rankgate-{message.number}"
    send_text(channel.values["to"], message.title, message.text, name=name, server=server)


def send_text(
    recipients: Sequence[str],
    title: str,
    text: str,
    *,
    name: str = "rankgate",
    server: MailServer | None = None,
) -> None:
    """Send a text by e-mail.

    Args:
        recipients: the e-mail addresses.
        title: the subject on one line.
        text: the message.
        name: a part of the message's id.
        server: the mail server; by default that of the environment.

    Raises:
        UsageError: no server is named, or the server refuses the message.
    """
    smtp_server = server or read_mail_server()
    mail = EmailMessage()
    mail["Subject"] = " ".join(title.split())
    mail["From"], mail["To"] = smtp_server.sender, ", ".join(recipients)
    mail["Message-ID"] = make_msgid(name, smtp_server.sender.rpartition("@")[2])
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(text)
    context = ssl.create_default_context(cafile=smtp_server.authorities)
    port = smtp_server.port or _PORTS[smtp_server.tls]
    try:
        if smtp_server.tls == "tls":
            with smtplib.SMTP_SSL(smtp_server.host, port, timeout=_TIMEOUT, context=context) as smtp:
                _send_message(smtp, smtp_server, mail)
        else:
            with smtplib.SMTP(smtp_server.host, port, timeout=_TIMEOUT) as smtp:
                if smtp_server.tls == "starttls":
                    smtp.starttls(context=context)
                _send_message(smtp, smtp_server, mail)
    except (smtplib.SMTPException, OSError) as error:
        problem = f"the mail server did not take the message ({type(error).__name__})."
        raise UsageError(problem, code="mail-failed") from None


def _send_message(smtp: smtplib.SMTP, server: MailServer, mail: EmailMessage) -> None:
    if server.user:
        smtp.login(server.user, server.password)
    smtp.send_message(mail)


NETWORKS_VARIABLE = "RANKGATE_WEBHOOK_NETWORKS"
"""The environment variable with networks that webhooks may reach, such as ``10.0.0.0/8``."""

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True)
class Networks:
    """Networks allowed in addition to public addresses."""

    allowed: tuple[Network, ...] = ()

    def may(self, address: Address) -> bool:
        """True if a webhook may connect to an address."""
        if any(address in network for network in self.allowed):
            return True
        return not address.is_multicast and all(
            equivalent.is_global for equivalent in list_equivalent_addresses(address)
        )


def read_allowed_networks() -> Networks:
    """The networks listed in the environment.

    Raises:
        UsageError: a text is not a network.
    """
    network_texts = os.environ.get(NETWORKS_VARIABLE, "").replace(",", " ").split()
    try:
        return Networks(tuple(ipaddress.ip_network(text, strict=False) for text in network_texts))
    except ValueError as error:
        problem = f"{NETWORKS_VARIABLE}: {error}; name networks such as 10.0.0.0/8."
        raise UsageError(problem, code="invalid-address") from None


def resolve_address(host: str, port: int, networks: Networks) -> str:
    """The address to connect to; every address of the host name must be allowed.

    The name is resolved once, and the connection uses exactly this address, so that a later change
    of the name has no effect.

    Raises:
        UsageError: the name is unknown (``unknown-host``); one of its addresses is not allowed for
            webhooks (``private-address``).
    """
    try:
        address_infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        problem = f"the host {host!r} is not known."
        raise UsageError(problem, code="unknown-host") from None
    addresses = [str(info[4][0]).partition("%")[0] for info in address_infos]
    for address in addresses:
        if not networks.may(ipaddress.ip_address(address)):
            raise UsageError(
                f"the host {host!r} is an address of a private network, which webhooks may not reach; who "
                f"runs the server may allow it in {NETWORKS_VARIABLE}.",
                code="private-address",
            )
    return addresses[0]


def list_equivalent_addresses(address: Address) -> list[Address]:
    """An address, and the IPv4 addresses that an IPv6 address represents."""
    addresses: list[Address] = [address]
    if isinstance(address, ipaddress.IPv6Address):
        if address.ipv4_mapped is not None:
            addresses = [address.ipv4_mapped]
        if address.sixtofour is not None:
            addresses.append(address.sixtofour)
        if address.teredo is not None:
            addresses += address.teredo
        if address in _NAT64:
            addresses.append(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF))
    return addresses


_CONNECT, _READ = 5.0, 10.0
"""The seconds to wait for a connection, and for the response."""


def signature(key: str, moment: int, body: bytes) -> str:
    """The header ``X-Rankgate-Signature``: HMAC-SHA256 of the timestamp, a dot, and the body."""
    digest = hmac.new(key.encode(), b"%d." % moment + body, hashlib.sha256).hexdigest()
    return f"t={moment},v1={digest}"


def post_webhook(
    channel: Channel, message: Message, networks: Networks | None = None, *, allow_http: bool = False
) -> None:
    """Post a message to a webhook.

    Args:
        channel: the channel of the webhook.
        message: the message.
        networks: the allowed private networks; by default those of the environment.
        allow_http: True to allow plain HTTP also to other machines.

    Raises:
        UsageError: the key is not set; the address is not allowed or does not answer; the status of
            the answer is not 200 to 299.
    """
    import urllib3

    url = channel.values["url"]
    parts = urlsplit(url)
    body = json.dumps(message.body(), ensure_ascii=False).encode()
    headers = {
        "host": parts.netloc,
        "content-type": "application/json",
        "user-agent": "rankgate",
        "x-rankgate-event": message.event,
        "x-rankgate-delivery": str(message.number),
        **_signature_headers(channel, body),
    }
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    with _connection_pool(url, networks or read_allowed_networks(), allow_http=allow_http) as pool:
        try:
            answer = pool.request(
                "POST",
                target,
                body=body,
                headers=headers,
                redirect=False,
                retries=False,
                timeout=urllib3.Timeout(connect=_CONNECT, read=_READ),
                preload_content=False,
            )
            status = answer.status
            answer.close()  # the body is not needed, and may be long
        except urllib3.exceptions.HTTPError as error:
            problem = f"the webhook {channel.name!r} does not answer ({type(error).__name__})."
            raise UsageError(problem, code="webhook-failed") from None
    if not 200 <= status < 300:
        problem = f"the webhook {channel.name!r} answered with status {status}."
        raise UsageError(problem, code="webhook-failed")


def _signature_headers(channel: Channel, body: bytes) -> dict[str, str]:
    variable = channel.values["secret_from"]
    if variable is None:
        return {}
    key = os.environ.get(variable)
    if not key:
        problem = f"the webhook {channel.name!r} needs the variable {variable}, which is not set."
        raise UsageError(problem, code="missing-key")
    return {"x-rankgate-signature": signature(key, int(time.time()), body)}


def _connection_pool(url: str, networks: Networks, *, allow_http: bool) -> HTTPConnectionPool:
    """Connections to the checked address, with the host name for TLS and its certificate."""
    import urllib3

    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise UsageError(
            "the port in the address of the webhook is invalid.", code="invalid-address"
        ) from None
    address = resolve_address(host, port, networks)
    if parts.scheme == "http" and not (allow_http or ipaddress.ip_address(address).is_loopback):
        problem = "the webhook would be sent unencrypted; use https, or allow it with --allow-http."
        raise UsageError(problem, code="insecure-address")
    if parts.scheme == "https":
        return urllib3.HTTPSConnectionPool(
            address, port, maxsize=1, server_hostname=host, assert_hostname=host
        )
    return urllib3.HTTPConnectionPool(address, port, maxsize=1)
