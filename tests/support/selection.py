"""The selection and order of tests.

``RANKGATE_TESTS_ORDER=reversed`` or ``random:7`` change the order of modules and of the tests in
them. ``RANKGATE_TESTS_SKIPPED=FILE`` writes the tests that were skipped for a need;
``RANKGATE_TESTS_ONLY=FILE`` runs those and no others. ``RANKGATE_TESTS_SECONDS=60`` runs the
cheapest tests of every folder, up to that many recorded seconds; ``RANKGATE_TESTS_FIRST`` names
files whose tests come first, the nearest first. With ``--dist each`` every worker then imports its
own share of the files, and runs the cheapest of their tests.
"""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from functools import cache
from itertools import accumulate, chain, groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support import recording
from support.needs import needs_of

if TYPE_CHECKING:
    from collections.abc import Iterable

ORDER = os.environ.get("RANKGATE_TESTS_ORDER", "")
SKIPPED = os.environ.get("RANKGATE_TESTS_SKIPPED")
ONLY = os.environ.get("RANKGATE_TESTS_ONLY")
SECONDS = os.environ.get("RANKGATE_TESTS_SECONDS")
FIRST = tuple(os.environ.get("RANKGATE_TESTS_FIRST", "").split())
WORKER = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
WORKERS = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
ROOT = Path(__file__).resolve().parents[2]
NEAR = 0.75
"""Of the limit, for the files that come first."""
MOST_CASES = 3
USUAL = 0.01
"""CPU seconds of a test that is not recorded as dear, with what pytest needs for it."""
UNRECORDED = 0.2
"""CPU seconds of a test whose file has no record: some take minutes, which would all count as cheap."""


def order(items: list[pytest.Item]) -> None:
    """Reverse the tests, or shuffle the modules and the tests of each."""
    method, _, seed = ORDER.partition(":")
    if method == "reversed":
        items.reverse()
    elif method == "random" and seed:
        chance = random.Random(seed)
        modules = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
        chance.shuffle(modules)
        for tests in modules:
            chance.shuffle(tests)
        items[:] = [item for tests in modules for item in tests]
    elif ORDER:
        raise pytest.UsageError(f"RANKGATE_TESTS_ORDER={ORDER}: reversed, or random:SEED")


def is_left_out(path: Path) -> bool:
    """True for a module that need not be imported: one of another worker, or without a selected test."""
    if path.suffix != ".py":
        return False
    if ONLY is not None and path not in _selected_modules():
        return True
    return SECONDS is not None and path.relative_to(ROOT).as_posix() not in share(FIRST, WORKER, WORKERS)


@cache
def share(first: tuple[str, ...], worker: int, workers: int) -> frozenset[str]:
    """The files of one of several workers: they take turns, beginning with the files that come first."""
    paths = chain((ROOT / "tests").rglob("test_*.py"), (ROOT / "src").rglob("*.py"))
    files = sorted(path.relative_to(ROOT).as_posix() for path in paths)
    rank = {file: position for position, file in enumerate(first)}
    return frozenset(sorted(files, key=lambda file: rank.get(file, len(rank)))[worker::workers])


@cache
def _selected_modules() -> frozenset[Path]:
    """The modules of the tests that an earlier run skipped."""
    node_ids = json.loads(Path(str(ONLY)).read_text("utf-8"))
    return frozenset(ROOT / node_id.partition("::")[0] for node_id in node_ids)


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all tests but those that an earlier run skipped, or but the cheapest."""
    if SECONDS is not None:
        node_ids, seconds = [item.nodeid for item in items], recording.load().seconds
        _keep(config, items, cheapest(node_ids, seconds, float(SECONDS) / WORKERS, FIRST))
    if ONLY is None:
        return
    node_ids = set(json.loads(Path(ONLY).read_text("utf-8")))
    if missing := node_ids - {item.nodeid for item in items}:
        raise pytest.UsageError(f"{ONLY}: no such tests: {', '.join(sorted(missing))}")
    _keep(config, items, node_ids)


def _keep(config: pytest.Config, items: list[pytest.Item], node_ids: set[str]) -> None:
    """Deselect the other tests."""
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in node_ids])
    items[:] = [item for item in items if item.nodeid in node_ids]


def cheapest(
    node_ids: list[str], seconds: dict[str, dict[str, float]], limit: float, first: tuple[str, ...] = ()
) -> set[str]:
    """The tests of some files, up to three quarters of the limit, then as much of every folder, up to it.

    Of the files that come first a test may cost the more, the nearer its file is to the beginning.
    Of other files at most three cases of a function run: the first, the last and the one in the
    middle; the cheapest functions of a folder come first.

    Args:
        node_ids: all tests.
        seconds: recorded CPU seconds of a case of dear functions, by file, without files that have no record.
        limit: the sum of seconds.
        first: files or folders whose tests come first, the nearest first.
    """
    costs, spread = {}, set()
    by_function = sorted(node_ids, key=recording.function_of)  # fixtures of a module may take them apart
    for function, cases in groupby(by_function, key=recording.function_of):
        file, _, name = function.partition("::")
        all_cases = list(cases)
        cost = seconds[file].get(name, USUAL) if file in seconds else UNRECORDED
        costs |= dict.fromkeys(all_cases, cost)
        last = len(all_cases) - 1
        spread |= {all_cases[position * last // (MOST_CASES - 1)] for position in range(MOST_CASES)}
    by_cost = sorted(node_ids, key=lambda node_id: (costs[node_id], node_id))
    ranks = {path: rank for rank, path in reversed([*enumerate(first, 1)])}
    weights = {
        node_id: costs[node_id] * rank
        for node_id in by_cost
        if (rank := _rank(node_id.partition("::")[0], ranks))
    }
    selected = _up_to(sorted(weights, key=weights.__getitem__), costs, NEAR * limit)
    sums: Counter[str] = Counter()
    own_sums = {}
    for node_id in by_cost:
        if node_id in spread and node_id not in selected:
            sums[_folder(node_id)] += costs[node_id]  # type: ignore[assignment]
            own_sums[node_id] = sums[_folder(node_id)]
    remaining = sorted(own_sums, key=own_sums.__getitem__)
    return selected | _up_to(remaining, costs, limit - sum(costs[node_id] for node_id in selected))


def _rank(file: str, ranks: dict[str, int]) -> int | None:
    """The position of a file, or of a folder that it is in."""
    return min((ranks[path] for path in (file, *map(str, Path(file).parents)) if path in ranks), default=None)


def _folder(node_id: str) -> str:
    return "/".join(Path(node_id.partition("::")[0]).parent.parts[:2])


def _up_to(node_ids: list[str], costs: dict[str, float], limit: float) -> set[str]:
    """The first tests, as long as their sum is within the limit."""
    sums = accumulate(costs[node_id] for node_id in node_ids)
    return {node_id for node_id, total in zip(node_ids, sums, strict=True) if total <= limit}


def save_skipped(reports: Iterable[pytest.TestReport]) -> None:
    """Write the tests that were skipped for a need."""
    if SKIPPED is None:
        return
    tests = {report.nodeid: needs_of(report) for report in reports if needs_of(report)}
    Path(SKIPPED).write_text(json.dumps(tests, indent=1) + "\n", "utf-8")
