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

Tls = Literal["starttls", "tls", "none"]
_PORTS = {"starttls": 587, "tls": 465, "none": 25}
_SECONDS = 20.0


@dataclass(frozen=True)
class MailServer:
    """Where e-mail is handed over.

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
    tls: Tls = "starttls"
    port: int = 0
    user: str = ""
    password: str = field(default="", repr=False)
    authorities: str | None = None


def mail_server() -> MailServer:
    """The server that the environment names.

    The variables are ``RANKGATE_SMTP_HOST`` and, with the same beginning, ``FROM``, ``TLS``,
    ``PORT``, ``USER``, ``PASSWORD`` and ``CA``.

    Raises:
        UsageError: none is named; a value that cannot be; ``none`` for another machine.
    """
    given = {name: os.environ.get(f"RANKGATE_SMTP_{name}", "")
             for name in ("HOST", "FROM", "TLS", "PORT", "USER", "PASSWORD", "CA")}  # fmt: skip
    if not given["HOST"] or not given["FROM"]:
        problem = "e-mail needs RANKGATE_SMTP_HOST and RANKGATE_SMTP_FROM."
        raise UsageError(problem, code="missing-input")
    tls = given["TLS"] or "starttls"
    if tls not in _PORTS or not (given["PORT"] or "0").isdigit():
        problem = "RANKGATE_SMTP_TLS is starttls, tls or none, and RANKGATE_SMTP_PORT a number."
        raise UsageError(problem, code="invalid-parameter")
    if tls == "none" and given["HOST"] not in {"localhost", "127.0.0.1", "::1"}:
        problem = "RANKGATE_SMTP_TLS=none is for a mail server on this machine only."
        raise UsageError(problem, code="insecure-address")
    return MailServer(given["HOST"], given["FROM"], cast("Tls", tls), int(given["PORT"] or 0),
                      given["USER"], given["PASSWORD"], given["CA"] or None)  # fmt: skip


def send(channel: Channel, message: Message, server: MailServer | None = None) -> None:
    """Hand a message over.

    Args:
        channel: with addresses.
        message: what to send.
        server: by default that of the environment.

    Raises:
        UsageError: no server is named, or it does not take the message.
    """
    where = server or mail_server()
    mail = EmailMessage()
    mail["Subject"] = " ".join(message.title.split())
    mail["From"], mail["To"] = where.sender, ", ".join(channel.values["to"])
    mail["Message-ID"] = make_msgid(f"rankgate-{message.number}", where.sender.rpartition("@")[2])
    mail["Auto-Submitted"] = "auto-generated"
    mail.set_content(message.text)
    context = ssl.create_default_context(cafile=where.authorities)
    port = where.port or _PORTS[where.tls]
    try:
        if where.tls == "tls":
            with smtplib.SMTP_SSL(where.host, port, timeout=_SECONDS, context=context) as smtp:
                _hand_over(smtp, where, mail)
        else:
            with smtplib.SMTP(where.host, port, timeout=_SECONDS) as smtp:
                if where.tls == "starttls":
                    smtp.starttls(context=context)
                _hand_over(smtp, where, mail)
    except (smtplib.SMTPException, OSError) as error:
        problem = f"the mail server did not take the message ({type(error).__name__})."
        raise UsageError(problem, code="mail-failed") from None


def _hand_over(smtp: smtplib.SMTP, where: MailServer, mail: EmailMessage) -> None:
    if where.user:
        smtp.login(where.user, where.password)
    smtp.send_message(mail)
