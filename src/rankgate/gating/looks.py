"""The log of looks at a saved baseline: one line each, only ever added to."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

from rankgate.data.text.json_text import parsed
from rankgate.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

NAMES = ("at", "candidate", "sha256", "qrels_sha256", "policy", "verdict")
"""What a look is: when, at which run, by which judgments and policy, and how it ended."""


def beside(baseline: Path) -> Path:
    """The log of the baseline in that file."""
    return baseline.with_suffix(".looks.jsonl")


def logged(path: Path) -> tuple[Mapping[str, str], ...]:
    """Every look, in time order; none where there is no log. A line cut short by a crash is none.

    Raises:
        InputError: a line that is no look, with its number.
    """
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}.", source=str(path), code="cannot-read"
        ) from None
    told = []
    for number, line in enumerate(data.split(b"\n")[:-1], 1):
        found = parsed(line, str(path), number)
        if not isinstance(found, dict) or not all(isinstance(found.get(n), str) for n in NAMES):
            problem = f"no look at a baseline; a look has {', '.join(NAMES)}."
            raise InputError(problem, source=str(path), line=number, code="wrong-document")
        told.append(found)
    return tuple(told)


def add(path: Path, look: Mapping[str, str]) -> None:
    """Add a look; it is on disk before this returns.

    Raises:
        OSError: it cannot be written.
    """
    line = json.dumps({name: look[name] for name in NAMES}, ensure_ascii=False).encode() + b"\n"
    with path.open("ab+") as stream:
        end = stream.seek(0, os.SEEK_END)
        if end:
            stream.seek(0)
            whole = stream.read().rfind(b"\n") + 1
            if whole < end:  # a crash cut the last line short
                stream.truncate(whole)
        stream.write(line)
        stream.flush()
        os.fsync(stream.fileno())


def place(looks: Sequence[Mapping[str, Any]], candidate: str, qrels: str) -> int:
    """The how-many-eth look at these queries it is to look at this candidate, from 1.

    Only looks by the same judgments count. To look at the same run again tells nothing new: it is
    the same look.
    """
    seen = dict.fromkeys(look["sha256"] for look in looks if look["qrels_sha256"] == qrels)
    order = list(seen)
    return order.index(candidate) + 1 if candidate in seen else len(order) + 1
