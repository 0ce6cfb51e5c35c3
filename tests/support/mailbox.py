"""A mail server on this machine that keeps its messages."""

import ssl
from contextlib import contextmanager

from support.waiting import PATIENCE, free_port


class Box:
    """A mailbox of a server on this machine."""

    def __init__(self):
        self.got = []

    async def handle_DATA(self, server, session, envelope):  # noqa: ARG002, N802 - its names
        self.got.append((envelope.mail_from, envelope.rcpt_tos, envelope.content.decode()))
        return "250 OK"


@contextmanager
def mailbox(certificate=None, tls="none"):
    """A server; its box and its port. With TLS it takes mail of ``rank`` with ``gate`` only."""
    from aiosmtpd.controller import Controller
    from aiosmtpd.smtp import AuthResult

    tls_options = {}
    if tls != "none":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*certificate)
        tls_options = {"ssl_context": context}
    if tls == "starttls":
        tls_options = {"tls_context": context, "require_starttls": True}

    def signed_in(*known):
        credentials = known[-1]
        return AuthResult(success=(credentials.login, credentials.password) == (b"rank", b"gate"))

    box = Box()
    port = free_port()
    controller = Controller(
        box,
        hostname="127.0.0.1",
        port=port,
        authenticator=signed_in,
        auth_required=tls != "none",
        auth_require_tls=tls == "starttls",
        ready_timeout=PATIENCE,
        **tls_options,
    )
    controller.start()
    try:
        yield box, port
    finally:
        controller.stop()
