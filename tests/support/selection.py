"""The selection and order of tests.

``RANKGATE_TESTS_ORDER=reversed`` or ``random:7`` change the order of modules and of the tests in
them. ``RANKGATE_TESTS_SKIPPED=FILE`` writes the tests that were skipped for a need;
``RANKGATE_TESTS_ONLY=FILE`` runs those and no others. ``RANKGATE_TESTS_SECONDS=60`` runs the
cheapest tests of every folder, up to that many recorded seconds; ``RANKGATE_TESTS_FIRST`` names
files whose tests come first.
"""

from __future__ import annotations

import json
import os
import random
from functools import cache
from itertools import accumulate, groupby
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
FIRST = frozenset(os.environ.get("RANKGATE_TESTS_FIRST", "").split())
ROOT = Path(__file__).resolve().parents[2]
MOST_CASES = 3
USUAL = 0.004
"""CPU seconds of a test that is not recorded as dear."""


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
    """True for a module without a test that an earlier run skipped: it need not be imported."""
    return ONLY is not None and path.suffix == ".py" and path not in _selected_modules()


@cache
def _selected_modules() -> frozenset[Path]:
    """The modules of the tests that an earlier run skipped."""
    node_ids = json.loads(Path(str(ONLY)).read_text("utf-8"))
    return frozenset(ROOT / node_id.partition("::")[0] for node_id in node_ids)


def select(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out all tests but those that an earlier run skipped, or but the cheapest."""
    if SECONDS is not None:
        seconds = recording.load().seconds
        _keep(config, items, cheapest([item.nodeid for item in items], seconds, float(SECONDS), FIRST))
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
    node_ids: list[str],
    seconds: dict[str, dict[str, float]],
    limit: float,
    first: frozenset[str] = frozenset(),
) -> set[str]:
    """The tests of some files, up to half of the limit, then the cheapest of every folder, up to it.

    Of a function at most three cases: the first, the last and the one in the middle; all of them in
    files that come first.

    Args:
        node_ids: all tests.
        seconds: recorded CPU seconds of a case of dear functions, by file.
        limit: the sum of seconds.
        first: files or folders whose tests come first.
    """
    costs, spread = {}, {}
    by_function = sorted(node_ids, key=recording.function_of)  # fixtures of a module may take them apart
    for function, cases in groupby(by_function, key=recording.function_of):
        file, _, name = function.partition("::")
        all_cases = list(cases)
        few = {
            all_cases[position * (len(all_cases) - 1) // (MOST_CASES - 1)] for position in range(MOST_CASES)
        }
        for node_id in all_cases:
            costs[node_id] = seconds.get(file, {}).get(name, USUAL)
            spread[node_id] = node_id in few
    by_cost = sorted(node_ids, key=lambda node_id: (costs[node_id], node_id))
    near = [node_id for node_id in by_cost if _is_in(node_id.partition("::")[0], first)]
    selected = _up_to(near, costs, limit / 2)
    remaining = [node_id for node_id in by_cost if spread[node_id] and node_id not in selected]
    for _, tests in groupby(sorted(remaining, key=_folder), key=_folder):
        selected |= _up_to(list(tests), costs, 1.0)
    remaining = [node_id for node_id in remaining if node_id not in selected]
    return selected | _up_to(remaining, costs, limit - sum(costs[node_id] for node_id in selected))


def _is_in(file: str, paths: frozenset[str]) -> bool:
    return file in paths or any(parent.as_posix() in paths for parent in Path(file).parents)


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
