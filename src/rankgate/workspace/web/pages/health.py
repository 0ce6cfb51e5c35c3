"""Checks that the server runs, and that it can work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.workspace.web.checks import check_health
from rankgate.workspace.web.replies import PageReply, RequestRefused

if TYPE_CHECKING:
    from rankgate.workspace.web.asked import WebRequest

_CODES = {"database": "store-unreachable", "migrations": "older-store", "disk": "disk-full"}


def live_page(request: WebRequest) -> PageReply:  # noqa: ARG001 - as every handler
    """The process answers."""
    return PageReply("plain.html", {"state": "ok"})


def ready_page(request: WebRequest) -> PageReply:
    """The database answers, its schema is this program's, and the disks have room.

    Raises:
        Refused: one of them is not so (503), with the code of the first.
    """
    checks = check_health(request.store)
    failed_checks = {name: result for name, result in checks.items() if result != "ok"}
    if failed_checks:
        sentence = "; ".join(f"{name}: {problem}" for name, problem in failed_checks.items())
        raise RequestRefused(503, _CODES[next(iter(failed_checks))], f"Not ready: {sentence}.")
    return PageReply("plain.html", {"state": "ok", "checks": checks})
