"""The selection and order of tests.

``RANKGATE_TESTS_ORDER=reversed`` or ``random:7`` change the order of modules and of the tests in
them. ``RANKGATE_TESTS_SKIPPED=FILE`` writes the tests that were skipped for a need;
``RANKGATE_TESTS_ONLY=FILE`` runs those and no others.
"""

from __future__ import annotations

import json
import os
import random
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.needs import needs_of

if TYPE_CHECKING:
    from collections.abc import Iterable

ORDER = os.environ.get("RANKGATE_TESTS_ORDER", "")
SKIPPED = os.environ.get("RANKGATE_TESTS_SKIPPED")
ONLY = os.environ.get("RANKGATE_TESTS_ONLY")
ROOT = Path(__file__).resolve().parents[2]


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
    """Leave out all tests but those that an earlier run skipped."""
    if ONLY is None:
        return
    node_ids = set(json.loads(Path(ONLY).read_text("utf-8")))
    if missing := node_ids - {item.nodeid for item in items}:
        raise pytest.UsageError(f"{ONLY}: no such tests: {', '.join(sorted(missing))}")
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in node_ids])
    items[:] = [item for item in items if item.nodeid in node_ids]


def save_skipped(reports: Iterable[pytest.TestReport]) -> None:
    """Write the tests that were skipped for a need."""
    if SKIPPED is None:
        return
    tests = {report.nodeid: needs_of(report) for report in reports if needs_of(report)}
    Path(SKIPPED).write_text(json.dumps(tests, indent=1) + "\n", "utf-8")
