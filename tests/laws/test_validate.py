"""For any file, validate reports the errors of reading it, and never crashes."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankgate.core.errors import InputError
from rankgate.core.present.write_results import render_result
from rankgate.data.files.validate import validate
from rankgate.measurement.description.describe import describe

HEADS = [
    "query_id,doc_id,grade",
    "query,docid,rating",
    "query_id,doc_id,score,rank",
    "qid\tdocno\tscore",
    "query_id,doc_id,rater,grade",
    "query_id,doc_id,rank",
    "rating,docid,query",
    "query_id,text",
]
WORDS = ["1", "2", "a", "b", "01", "nan", "inf", "-1", "3.5", "1e400", "100", "=x", "'=y", "A", "é"]
ENDS = ["\n", "\n", "\n", "\r\n", " \n", "\n\n"]


@st.composite
def lines(draw):
    """Fields between blanks, as many in nearly every line."""
    width = draw(st.sampled_from([2, 3, 4, 6]))
    row = st.lists(st.sampled_from(WORDS), min_size=width, max_size=width)
    rows = draw(st.lists(st.tuples(row, st.sampled_from(ENDS)), min_size=1, max_size=12))
    odd = draw(st.sampled_from(["", "", "", "", "x\n"]))
    return "".join(" ".join(fields) + end for fields, end in rows) + odd


@st.composite
def tables(draw):
    """A header, and records with as many fields."""
    header = draw(st.sampled_from(HEADS))
    separator = "\t" if "\t" in header else ","
    width = header.count(separator) + 1
    row = st.lists(st.sampled_from(["", *WORDS]), min_size=width, max_size=width)
    rows = draw(st.lists(row, max_size=12))
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return mark + "".join(f"{separator.join(fields)}\n" for fields in [header.split(separator), *rows])


@st.composite
def objects(draw):
    """A JSON object a line."""
    number = draw(st.sampled_from(["score", "grade"]))
    values = st.sampled_from([1, 2.5, -1, None, "3", "x", 100])
    extra_fields = draw(st.sampled_from([[], ["rank"]]))
    row = st.fixed_dictionaries(
        {"query_id": st.sampled_from(["1", "2", 3]), "doc_id": st.sampled_from(["a", "b", "", None])}
        | dict.fromkeys([number, *extra_fields], values)
    )
    return "".join(json.dumps(record) + "\n" for record in draw(st.lists(row, min_size=1, max_size=6)))


FILES = st.one_of(lines(), tables(), objects(), st.text(max_size=60))


@given(content=FILES, against=st.one_of(st.none(), lines(), tables()))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_what_is_valid_can_be_read_and_the_other_way_round(tmp_path, content, against):
    path, reference_path = tmp_path / "file", tmp_path / "against"
    path.write_bytes(content.encode())
    result = validate(path)
    if result.valid:
        assert describe(path).files
    else:
        with pytest.raises(InputError):
            describe(path)
    if against is not None:
        reference_path.write_bytes(against.encode())
        pair_result = validate(path, reference_path, scale="0..3")
        assert {problem.check for problem in pair_result.problems} >= {
            problem.check for problem in result.problems if problem.severity == "error"
        }
        result = pair_result
    assert all(render_result(result, form) for form in ("text", "json", "markdown"))
    assert all(problem.what and problem.count >= 1 for problem in result.problems)
