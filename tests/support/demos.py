"""The demo, built once for all workers; tests that change its files copy them."""

from __future__ import annotations

import pytest

from support.once import make_once


@pytest.fixture(scope="session")
def demo_folder(tmp_path_factory):
    """The folder of the files that the demo writes."""
    from rankgate.interface.demo.demo_build import build  # few tests need it

    return make_once(tmp_path_factory, "demo-files", build)


@pytest.fixture(scope="session")
def demo_history(tmp_path_factory):
    """The same with the store of its history."""
    from rankgate.interface.demo.demo_build import build
    from rankgate.interface.demo.demo_story import record_history

    return make_once(tmp_path_factory, "demo-history", lambda folder: record_history(build(folder)))
