"""Threads that send requests: when they may, and until they should stop."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

LONGEST_WAIT = 600.0
"""Seconds that a server may ask to wait; one that asks for more is not waited for."""

_LONGEST_BACKOFF = 60.0
_GLANCE = 0.2


@dataclass
class Workers:
    """Threads that work until all is done, or until somebody stops them.

    Attributes:
        backoff_seconds: seconds before the first retry; doubled each time, and drawn from the
            upper half, so that threads do not come back together.
        rate: requests a second, at most, of all threads together; None is unlimited.
        stop: set when no more requests should be sent.
    """

    backoff_seconds: float = 1.0
    rate: float | None = None
    stop: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)
    _not_before: float = 0.0
    _next: float = 0.0
    _error: BaseException | None = None

    def run(self, work: Callable[[], None], threads: int) -> None:
        """Call ``work`` in threads; when this returns, or is interrupted, all of them ended.

        Raises:
            Exception: what ``work`` raises.
            KeyboardInterrupt: after the requests under way ended.
        """
        ended = [Event() for _ in range(threads)]
        for end in ended:
            run = copy_context().run  # threads report their steps to the caller's reporter
            Thread(target=run, args=(self._worker, work, end), daemon=True).start()
        try:
            _wait_for(ended)
        except KeyboardInterrupt:
            self.stop.set()
            _wait_for(ended)
            raise
        if self._error:
            raise self._error

    def ready(self, sent: int) -> bool:
        """Wait until the next request may be sent; False where work ended meanwhile.

        Args:
            sent: how often this request was sent before.
        """
        if sent:
            backoff = min(self.backoff_seconds * 2 ** (sent - 1), _LONGEST_BACKOFF)
            self.stop.wait(backoff * random.uniform(0.5, 1))  # noqa: S311 - no secret
        slot = self._slot()
        while not self.stop.is_set():
            rest = max(self._not_before, slot) - time.monotonic()
            if rest <= 0:
                return True
            self.stop.wait(rest)
        return False

    def hold(self, seconds: float) -> bool:
        """Let no thread send anything for some seconds; False, and stop, where it is too long."""
        if seconds > LONGEST_WAIT:
            self.stop.set()
            return False
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + seconds)
        return True

    def _slot(self) -> float:
        """When the rate lets the next request go."""
        if self.rate is None:
            return 0.0
        with self._lock:
            slot = max(self._next, time.monotonic())
            self._next = slot + 1 / self.rate
        return slot

    def _worker(self, work: Callable[[], None], end: Event) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - it is raised by the thread that waits
            self._error = self._error or error
            self.stop.set()
        finally:
            end.set()


def _wait_for(ended: list[Event]) -> None:
    """Wait for all threads; in small steps, so that an interruption is noticed.

    Their own events are waited for: a thread whose ``join`` is interrupted counts as ended to
    Python up to 3.12, though it still runs, and its answer would be lost.
    """
    for end in ended:
        while not end.wait(_GLANCE):
            pass
