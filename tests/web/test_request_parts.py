"""What a route and its values say, without a server."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rankgate.core.errors import UsageError
from rankgate.measurement.scoring.presets import convention
from rankgate.workspace.web.pages.result_pages import find_convention
from rankgate.workspace.web.web_request import Field, Route
from support.wording import raises


@pytest.mark.parametrize(
    ("kinds", "has_file"), [((), False), (("text", "long"), False), (("text", "file"), True)]
)
def test_a_route_has_a_file_if_one_of_its_fields_is_one(kinds, has_file):
    fields = tuple(Field(f"field{i}", kind=kind) for i, kind in enumerate(kinds))
    route = Route("a", "POST", "/a", SimpleNamespace(), print, "A", fields)
    assert route.has_file is has_file


def test_a_convention_is_a_name_and_no_file_of_the_server():
    assert find_convention(None) == find_convention("") == convention("trec")
    assert find_convention("beir") == convention("beir")
    with raises("unknown-convention", UsageError):
        find_convention("/etc/rankgate.toml")
