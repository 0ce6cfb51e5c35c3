"""Threads that send requests, with rate limits, retries and a stop signal."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from contextvars import copy_context
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

LONGEST_WAIT = 600.0
"""The longest wait, in seconds, that a server may ask for; longer waits are refused."""

_LONGEST_BACKOFF = 60.0
_WAIT_SECONDS = 0.2


@dataclass
class Workers:
    """Threads that work until all requests are done, or until the stop signal.

    Attributes:
        backoff_seconds: seconds before the first retry; doubled each time, and drawn from the
            upper half, so that threads do not retry at the same moment.
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
        """Call ``work`` in threads; all threads have ended when this returns or is interrupted.

        Raises:
            Exception: the exception of ``work``.
            KeyboardInterrupt: after the requests under way ended.
        """
        end_events = [Event() for _ in range(threads)]
        for end_event in end_events:
            run = copy_context().run  # threads report their steps to the caller's reporter
            Thread(target=run, args=(self._worker, work, end_event), daemon=True).start()
        try:
            _wait_for(end_events)
        except KeyboardInterrupt:
            self.stop.set()
            _wait_for(end_events)
            raise
        if self._error:
            raise self._error

    def wait_for_turn(self, attempts: int) -> bool:
        """Wait until the next request may be sent; return False if the work ended before.

        Args:
            attempts: the number of earlier attempts of this request.
        """
        if attempts:
            backoff = min(self.backoff_seconds * 2 ** (attempts - 1), _LONGEST_BACKOFF)
            self.stop.wait(backoff * random.uniform(0.5, 1))  # noqa: S311 - no secret
        slot = self._slot()
        while not self.stop.is_set():
            seconds_left = max(self._not_before, slot) - time.monotonic()
            if seconds_left <= 0:
                return True
            self.stop.wait(seconds_left)
        return False

    def hold(self, seconds: float) -> bool:
        """Hold all requests for some seconds; stop and return False if the time is too long."""
        if seconds > LONGEST_WAIT:
            self.stop.set()
            return False
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + seconds)
        return True

    def _slot(self) -> float:
        """The time at which the rate allows the next request."""
        if self.rate is None:
            return 0.0
        with self._lock:
            slot = max(self._next, time.monotonic())
            self._next = slot + 1 / self.rate
        return slot

    def _worker(self, work: Callable[[], None], end: Event) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - the waiting thread raises it
            self._error = self._error or error
            self.stop.set()
        finally:
            end.set()


def _wait_for(end_events: list[Event]) -> None:
    """Wait for all threads; in small steps, so that an interruption is noticed.

    Each thread has its own event: Python up to 3.12 counts a thread as ended if its ``join`` is
    interrupted, though it still runs, and its answer would be lost.
    """
    for end_event in end_events:
        while not end_event.wait(_WAIT_SECONDS):
            pass
