"""Refuse to work in a process that was forked after the first use.

Polars keeps threads, and a fork copies none of them: whatever waits for them waits forever.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading

from rankgate.core.errors import UsageError

_state = {"used": False, "forked": False, "doubtful": False}
_TIMEOUT_SECONDS = 10  # in which threads that are alive answer, on any machine


def refuse_forked() -> None:
    """Note that the library is used, and stop in a fork of a process that had used it.

    Raises:
        UsageError: this process was forked after the first use.
    """
    if _state["doubtful"]:
        _state["doubtful"], _state["forked"] = False, not _has_live_threads()
    if _state["forked"]:
        problem = (
            "this process was forked after rankgate or Polars had been used, and their threads "
            "do not survive a fork; start workers with multiprocessing.get_context('spawn'), or "
            "fork before the first use."
        )
        raise UsageError(problem, code="forked-process")
    _state["used"] = True


def _has_live_threads() -> bool:
    """True if the threads of Polars are alive: a caller may have used it before the fork."""
    has_answered = threading.Event()

    def ask() -> None:
        import polars as pl

        pl.LazyFrame({"a": [1, 2], "b": [1, 2]}).group_by("a").agg(pl.col("b").sum()).collect()
        has_answered.set()

    threading.Thread(target=ask, daemon=True).start()
    return has_answered.wait(_TIMEOUT_SECONDS)


def _note_fork() -> None:
    _state["forked"] = _state["used"]
    _state["doubtful"] = not _state["used"] and "polars" in sys.modules


if type(multiprocessing.current_process()).__name__ == "ForkProcess":  # imported after the fork
    _state["doubtful"] = "polars" in sys.modules
if sys.platform != "win32":
    os.register_at_fork(after_in_child=_note_fork)
