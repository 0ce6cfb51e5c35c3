"""How all tests run."""

from __future__ import annotations

import gc
import os

import pytest
from hypothesis import HealthCheck, settings

from support import executed_statements, recording  # before modules of rankgate, which they may watch
from support.command import run, small, start  # noqa: F401 - fixtures of all folders
from support.isolation import unchanged_process  # noqa: F401 - around every test
from support.needs import SHARED, mark, print_skipped, register
from support.opensearch import opensearch  # noqa: F401 - as above
from support.postgresql import postgresql_server  # noqa: F401 - one server for all folders
from support.selection import is_left_out, order, save_skipped, select
from support.spark import spark_session  # noqa: F401 - one for all modules
from support.stores import new_database, new_file, new_store, url  # noqa: F401 - as above
from support.wording import COLLECTED, pytest_sessionfinish, pytest_testnodedown  # noqa: F401 - hooks

settings.register_profile(
    "quick",
    max_examples=15,
    deadline=None,
    derandomize=True,  # the same code has the same answer; `make explore` looks elsewhere
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", max_examples=2000, deadline=None)
PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "quick")
settings.load_profile(PROFILE)


NEW_OBJECTS = 50_000
"""Between two searches for garbage; with Python's 700 these take a twentieth of the time."""

MARKED = {"docs": "manual"}
"""All tests of these folders have the marker."""
WORDING = {"raises", "refused", "assert_refused", "assert_warned", "assert_wording"}
"""Tests of modules with one of these compare messages."""


def pytest_configure(config):
    register(config)
    if recording.WRITE:
        config.pluginmanager.register(recording)
    if executed_statements.FOLDER:
        config.pluginmanager.register(executed_statements)


def pytest_ignore_collect(collection_path):
    return is_left_out(collection_path) or None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config, items):
    config.stash[COLLECTED] = [*items]
    for item in items:
        marker = MARKED.get(item.path.parent.name)
        if marker:
            item.add_marker(marker)
        if WORDING & vars(getattr(item, "module", None) or object).keys():
            item.add_marker("wording")
        if "shared" in getattr(item, "fixturenames", ()):
            item.add_marker("large")
        mark(item)
    yield  # markers that the command line names are selected here
    select(config, items)
    order(items)


def pytest_terminal_summary(terminalreporter):
    if skipped := terminalreporter.stats.get("skipped"):
        print_skipped(terminalreporter, skipped)
        save_skipped(skipped)


def pytest_collection():
    gc.disable()  # collecting tests makes many objects and no garbage


def pytest_collection_finish():
    gc.freeze()  # the tests themselves, which no later search for garbage needs to look at
    gc.set_threshold(NEW_OBJECTS)
    gc.enable()


@pytest.fixture
def thorough():
    """Whether this is ``make explore``, which tries many more cases."""
    return PROFILE == "thorough"


@pytest.fixture(scope="session")
def shared():
    """The folder of the data of other projects."""
    return SHARED
