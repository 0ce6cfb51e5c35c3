"""How all tests run."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "quick",
    max_examples=50,
    deadline=None,
    derandomize=True,  # the same code has the same answer; `make explore` looks elsewhere
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", max_examples=2000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "quick"))


@pytest.fixture(scope="session")
def shared():
    """The real data that lies beside the project; its tests skip where it does not."""
    place = Path(__file__).resolve().parents[2] / "shared" / "data"
    if not place.is_dir():
        pytest.skip(f"the real data is not at {place}")
    return place
