"""Results of pages of many ratings, computed by another process and kept in the store.

A page of a million ratings takes seconds and hundreds of megabytes. The server starts a process for
it, one at a time, and shows the last result meanwhile, with its time.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rankgate.core.errors import InputError, RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.store import rows
from rankgate.store.page_results import PageResult, find_result, save_result
from rankgate.workspace.web.rendering import to_json

if TYPE_CHECKING:
    from multiprocessing.context import SpawnProcess

    from rankgate.store.store import Store

    Compute = Callable[[Store], Mapping[str, Any]]

MANY_RATINGS = 5_000
"""The number of ratings from which pages of all ratings are computed by another process."""

_LEASE = timedelta(minutes=1)
_NICENESS = 10
_SHARE = 10
"""A result of older data is computed again after this many times its cost."""

_log = logging.getLogger(__name__)
_lock = threading.Lock()
_processes: dict[str, SpawnProcess] = {}
"""The process that computes results for this server, by the address of the store."""


@dataclass(frozen=True)
class BackgroundResult:
    """The result of a page, or its absence.

    Attributes:
        value: the result as JSON; None while it is computed for the first time.
        made_at: the time of its data; None without a result.
    """

    value: dict[str, Any] | None = None
    made_at: datetime | None = None


def read_background_result(
    store: Store, project: int, name: str, state: object, compute: Compute
) -> BackgroundResult:
    """The kept result of a page; if its data have changed, a process computes it again.

    Args:
        store: the store.
        project: the number of the project.
        name: the page and its settings.
        state: an identifier of the data, by its ``repr``.
        compute: a function that another process can import, with its arguments (`functools.partial`);
            returns values that `to_json` can write.

    Raises:
        InputError, UsageError: the error with which the computation ended.
    """
    text = repr(state)
    with store.read() as connection:
        stored_result = find_result(connection, project, name)
    if stored_result is None or (stored_result.state != text and _is_due(stored_result)):
        _start(store, project, name, text, compute)
    if stored_result is None:
        return BackgroundResult()
    if (error := stored_result.result.get("error")) is not None:
        raise (InputError if error["input"] else UsageError)(error["problem"], code=error["code"])
    return BackgroundResult(stored_result.result["value"], stored_result.made_at)


def _is_due(stored_result: PageResult) -> bool:
    age = (rows.now() - stored_result.made_at).total_seconds()
    return not 0 <= age < _SHARE * stored_result.result["seconds"]


def _start(store: Store, project: int, name: str, state: str, compute: Compute) -> None:
    """Start a process that computes a result, unless a process of this server computes one."""
    address = store.name
    with _lock:
        running = _processes.get(address)
        if running is not None and running.is_alive():
            return
        process = get_context("spawn").Process(
            target=_compute_in_process, args=(store, project, name, state, compute), daemon=True
        )
        process.start()
        _processes[address] = process


def _compute_in_process(store: Store, project: int, name: str, state: str, compute: Compute) -> None:
    """Compute a result in a new process, with a lower priority than that of requests."""
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    with store:
        compute_result(store, project, name, state, compute)


def compute_result(store: Store, project: int, name: str, state: str, compute: Compute) -> None:
    """Compute a result and keep it in the store, unless another process does the same.

    Args:
        store: the store.
        project: the number of the project.
        name: the page and its settings.
        state: the identifier of the data, as text.
        compute: as in `read_background_result`.
    """
    lease, owner = f"page {project} {name}", str(uuid4())
    with store.write() as connection:
        if not rows.acquire(connection, lease, owner, _LEASE):
            return
    made_at, begin = rows.now(), time.perf_counter()
    result: dict[str, Any] = {}
    try:
        result["value"] = json.loads(to_json(compute(store)))
    except RankgateError as error:
        result["error"] = {"input": isinstance(error, InputError), "problem": str(error), "code": error.code}
    except Exception:  # noqa: BLE001 - a page that waits for a result must end
        _log.exception("the result of a page could not be computed")
        problem = "the figures could not be computed; see the log of the server."
        result["error"] = {"input": False, "problem": problem, "code": "not-computed"}
    result["seconds"] = time.perf_counter() - begin
    with store.write() as connection:
        save_result(connection, project, name, state, made_at, result)
        rows.release(connection, lease, owner)
