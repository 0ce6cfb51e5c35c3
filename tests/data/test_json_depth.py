"""Brackets are counted outside of strings, wherever the pieces of a document end."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.data.text import json_text

texts = st.text('a"\\[]{}ä\n', max_size=6)
values = st.recursive(
    st.one_of(texts, st.none(), st.integers()),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=12,
)


def depth_of(value):
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return 1 + max(map(depth_of, inner), default=0)
    return 0


@pytest.mark.parametrize("piece", [1, 3, 1 << 20])
@given(value=values, limit=st.integers(0, 5))
def test_depth_is_that_of_the_value(piece, value, limit):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(json_text, "_BLOCK_SIZE", piece)
        for escaped in (False, True):
            data = json.dumps(value, ensure_ascii=escaped).encode()
            assert json_text.exceeds_depth(data, limit) == (depth_of(value) > limit)
