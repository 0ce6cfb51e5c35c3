"""Splits on disk, range by range: the same files and figures as splits in memory."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.core.errors import InputError, UsageError
from rankgate.data.logs.large_logs import sort_log
from rankgate.data.logs.log_judgments import Truth
from rankgate.data.logs.read_logs import open_log, read_interactions
from rankgate.data.logs.splits import SPLIT_METHODS, SplitPlan
from rankgate.recommenders.split_files import split_into, write_split
from rankgate.recommenders.splitting import split
from support.wording import raises

ROWS = st.lists(
    st.tuples(
        st.sampled_from("abcdéß"),
        st.sampled_from("uvwxyz"),
        st.integers(1, 12),
        st.sampled_from(["buy", "view"]),
        st.integers(1, 3),
    ),
    min_size=6,
    max_size=40,
)
SCHEMA = ["user", "item", "time", "kind", "value"]
RULES = (
    Truth(),
    Truth({"buy": 2, "view": 1}, threshold=2),
    Truth({"buy": 1, "view": 1}, grades="value", repeats="mean"),
)


def frame_of(rows):
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def _codes(names):
    return (names.rank("dense") - 1).to_list()


ASKED = st.tuples(
    st.sampled_from(sorted(SPLIT_METHODS)),
    st.booleans(),
    st.sampled_from(RULES),
    st.sampled_from(["unseen", "all", "sampled"]),
)


@given(ROWS, ASKED, st.integers(1, 50))
def test_stretches_give_what_the_whole_gives(tmp_path_factory, rows, asked, size):
    method, validation, rule, candidates = asked
    folder = tmp_path_factory.mktemp("split")
    plan = SplitPlan(method, share=0.3, windows=2, validation=validation and method != "windows", seed=3)
    log = frame_of(rows)
    code = None
    try:
        result = split(log, plan, rule, candidates=candidates, negatives=2)
    except (InputError, UsageError) as error:
        code = error.code
    if code:
        with pytest.raises((InputError, UsageError)) as refused:
            split_into(log, plan, rule, candidates=candidates, negatives=2, rows=size)
        assert refused.value.code == code
        return
    whole_folder, parts = folder / "whole", folder / "parts"
    names = write_split(result, whole_folder)
    figures, written_names = split_into(
        log, plan, rule, folder=parts, candidates=candidates, negatives=2, rows=size
    )
    assert written_names == names
    assert figures.to_dict() == result.to_dict()
    for name in names:
        assert (parts / name).read_bytes() == (whole_folder / name).read_bytes(), name
    assert sorted(p.name for p in parts.iterdir()) == sorted(p.name for p in whole_folder.iterdir())


def test_a_stretch_holds_whole_users_in_order(tmp_path):
    rows = [(f"u{k % 7}", f"i{k}", k, "view", 1) for k in range(70)]
    result = sort_log(open_log(frame_of(rows)), tmp_path, rows=20)
    assert [len(chunk.table) for chunk in result] == list(result.lengths)
    assert max(result.lengths) <= 30
    assert len(result.lengths) > 2
    full_table = read_interactions(frame_of(rows)).table
    assert pl.concat([chunk.table for chunk in result]).equals(full_table)
    narrow = result.narrow(items=True)
    assert narrow.table["query_id"].to_list() == _codes(full_table["query_id"])
    assert narrow.table["doc_id"].to_list() == _codes(full_table["doc_id"])


def test_what_is_wrong_in_a_later_piece_names_its_line(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,item,time\n" + "".join(f"u{k},i,{k}\n" for k in range(30)) + "u,,3\n")
    with raises("empty-value", InputError, line=32):
        split_into(path, rows=5)


def test_units_that_change_between_pieces_are_refused(tmp_path):
    early = [(f"u{k}", "i", 1_700_000_000 + k, "view", 1) for k in range(10)]
    late = [(f"u{k}", "i", 1_700_000_000_000 + k, "view", 1) for k in range(10)]
    pieces = iter([frame_of(early), frame_of(late)])
    raw = open_log(frame_of(early))
    names = {"user": "query_id", "item": "doc_id", "time": "at"}
    mixed = raw.__class__(raw.name, raw.place, (piece.rename(names) for piece in pieces), None)
    with raises("mixed-times", InputError):
        sort_log(mixed, tmp_path, rows=10)
    with raises("no-interactions", InputError):
        sort_log(raw.__class__("log", raw.place, iter(()), None), tmp_path)
