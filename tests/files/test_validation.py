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
    result = rankgate.validate([str(tmp_path / "q")])
    values = json.loads(json.dumps(result.to_dict()))
    restored = result_class("validation").from_dict(values)
    assert restored == result
    assert restored.to_dict() == values
    assert [render_result(restored, form) for form in FORMS] == [
        render_result(result, form) for form in FORMS
    ]
    assert result.to_polars()["check"].to_list() == [problem.check for problem in result.problems]
    assert (len(result), bool(result)) == (len(result.problems), True)
