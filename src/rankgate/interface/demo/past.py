"""The past of the demo's two engines: what was changed on which day, and new judgments."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cached_property

from rankgate.core.frozen import dataclass
from rankgate.interface.demo.engines import NEW, OLD, Engine

FIRST_NIGHT = datetime(2026, 3, 2, 6, tzinfo=UTC)
"""The first night."""

STRICT_FROM_DAY = 8
"""The day of the stricter judgments: those that only point the right way are not useful."""

DAYS = 18
GATED_DAYS = (6, 14)
"""The days on which a gate decided."""


@dataclass(frozen=True)
class Commit:
    """A change of the new engine.

    Attributes:
        day: from 0.
        words: its message.
        engine: the new engine from then on.
    """

    day: int
    words: str
    engine: Engine

    @cached_property
    def revision(self) -> str:
        """Its name, as git would make one."""
        return hashlib.sha1(self.words.encode(), usedforsecurity=False).hexdigest()


_FLAT = replace(NEW, weights=(1.0, 1.0, 1.0, 1.0), stop=frozenset())
_BROKEN = replace(NEW, weights=(1.0, 1.0, 1.0, 30.0))
COMMITS = (
    Commit(0, "Index name, signature, summary and body, stemmed", _FLAT),
    Commit(3, "Leave stop words out of queries", replace(_FLAT, stop=NEW.stop)),
    Commit(6, "Weigh names and summaries", NEW),
    Commit(14, "Clean up the weights", _BROKEN),
    Commit(16, "Log slow queries", _BROKEN),
)
"""The fourth one breaks the engine: a match in the body counts most."""


@dataclass(frozen=True)
class Night:
    """An evaluation of both engines.

    Attributes:
        at: when.
        commit: the last change.
        new_commit: whether it came on this day.
        gated: whether a gate decided about it.
        strict: whether the stricter judgments count.
    """

    at: datetime
    commit: Commit
    new_commit: bool
    gated: bool
    strict: bool

    @property
    def engines(self) -> tuple[Engine, Engine]:
        """The old engine and the new one as it was."""
        return OLD, self.commit.engine


def nights() -> Iterator[Night]:
    """Every night, the first one first."""
    for day in range(DAYS):
        commit = max(
            (change for change in COMMITS if change.day <= day), key=lambda change: change.day
        )
        yield Night(
            FIRST_NIGHT + timedelta(days=day),
            commit,
            commit.day == day,
            day in GATED_DAYS,
            day >= STRICT_FROM_DAY,
        )
