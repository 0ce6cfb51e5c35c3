"""Send a message by e-mail, through the server that the environment names."""

from __future__ import annotations

import os
import smtplib
import ssl
from dataclasses import field
from email.message import EmailMessage
from email.utils import make_msgid
from typing import TYPE_CHECKING, Literal, cast

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.workspace.records.alerts.message import Message
    from rankgate.workspace.records.alerts.rules import Channel

TlsMode = Literal["starttls", "tls", "none"]
_PORTS = {"starttls": 587, "tls": 465, "none": 25}
_TIMEOUT = 20.0


@dataclass(frozen=True)
class MailServer:
    """The mail server that sends messages.

    Attributes:
        host: the server.
        sender: the address that messages come from.
        tls: ``starttls``, ``tls`` from the first byte, or ``none``, for this machine only.
        port: by default that of ``tls``: 587, 465, 25.
        user, password: to sign in; empty is without.
        authorities: a file of certificates that are trusted; None is those of the system.
    """

    host: str
    sender: str
    tls: TlsMode = "starttls"
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    authorities: str | None = None


def read_mail_server() -> MailServer:
    """The mail server that the environment variables name.

    The variables are ``RANKGATE_SMTP_HOST`` and, with the same beginning, ``FROM``, ``TLS``,
    ``PORT``, ``USER``, ``PASSWORD`` and ``CA``.

    Raises:
        UsageError: no server is named; an invalid value; ``none`` for another machine.
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
        channel: with addresses.
        message: what to send.
        server: by default that of the environment.

    Raises:
        UsageError: no server is named, or it does not take the message.
    """
    smtp_server = server or read_mail_server()
    mail = EmailMessage()
    mail["Subject"] = " ".join(message.title.split())
    mail["From"], mail["To"] = smtp_server.sender, ", ".join(channel.values["to"])
    mail["Message-ID"] = make_msgid(
        f"rankgate-{message.number}", smtp_server.sender.rpartition("@")[2]
    )
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.text)
    context = ssl.create_default_context(cafile=smtp_server.authorities)
    port = smtp_server.port or _PORTS[smtp_server.tls]
    try:
        if smtp_server.tls == "tls":
            with smtplib.SMTP_SSL(
                smtp_server.host, port, timeout=_TIMEOUT, context=context
            ) as smtp:
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
