"""Whether the server lives, and whether it can work."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.workspace.web.checks import problems
from rankgate.workspace.web.replies import Page, Refused

if TYPE_CHECKING:
    from rankgate.workspace.web.asked import Asked

_CODES = {"database": "store-unreachable", "migrations": "older-store", "disk": "disk-full"}


def live(asked: Asked) -> Page:  # noqa: ARG001 - as every handler
    """The process answers."""
    return Page("plain.html", {"state": "ok"})


def ready(asked: Asked) -> Page:
    """The database answers, its schema is this program's, and the disks have room.

    Raises:
        Refused: one of them is not so (503), with the code of the first.
    """
    found = problems(asked.store)
    wrong = {name: words for name, words in found.items() if words != "ok"}
    if wrong:
        sentence = "; ".join(f"{name}: {words}" for name, words in wrong.items())
        raise Refused(503, _CODES[next(iter(wrong))], f"Not ready: {sentence}.")
    return Page("plain.html", {"state": "ok", "checks": found})
