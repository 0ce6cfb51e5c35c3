"""The demo, for pages that use it."""

from support.demos import demo_folder  # noqa: F401 - a fixture
