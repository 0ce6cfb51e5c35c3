"""The pytest plug-in, under the name by which pytest loads it; see `rankgate.interface`."""

from rankgate.interface.pytest_plugin import (
    pytest_addoption,
    pytest_configure,
    pytest_runtest_makereport,
    rankgate_gate,
)

__all__ = ["pytest_addoption", "pytest_configure", "pytest_runtest_makereport", "rankgate_gate"]
