"""The demo, built once."""

import pytest

from rankgate.interface.demo.demo_build import build


@pytest.fixture(scope="session")
def demo(tmp_path_factory):
    return build(tmp_path_factory.mktemp("demo"))
