"""The result of `validate`: read back from its JSON, shown in every form."""

from __future__ import annotations

import json

import pytest

import rankgate
from rankgate.core.present.base_result import result_class
from rankgate.core.present.write_results import FORMS, render_result


@pytest.mark.parametrize("text", ["1 0 a 1\n1 0 a 2\n2 0 b -3\n", "1 0 a 1\n1 0 b 0\n"])
def test_it_comes_back_from_json(tmp_path, text):
    (tmp_path / "q").write_text(text)
    found = rankgate.validate([str(tmp_path / "q")])
    values = json.loads(json.dumps(found.to_dict()))
    back = result_class("validation").from_dict(values)
    assert back == found
    assert back.to_dict() == values
    assert [render_result(back, form) for form in FORMS] == [
        render_result(found, form) for form in FORMS
    ]
    assert found.to_polars()["check"].to_list() == [each.check for each in found.problems]
    assert (len(found), bool(found)) == (len(found.problems), True)
