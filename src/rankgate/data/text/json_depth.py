"""Limit the nesting depth of JSON before it is parsed."""

from __future__ import annotations

import re

import numpy as np

_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_BLOCK_SIZE = 1 << 20
_STEP = np.zeros(256, np.int8)
_STEP[[*b"{["]] = 1
_STEP[[*b"}]"]] = -1


def exceeds_depth(data: bytes, limit: int) -> bool:
    r"""True if more than ``limit`` brackets are inside each other, outside of strings.

    It is exact up to the first fault, where a parser ends.

    >>> exceeds_depth(b'[["[[["]]', 2), exceeds_depth(b'[[["\\"[["]]]', 2)
    (False, True)
    """
    depth, in_string = 0, False
    codes = np.frombuffer(_ESCAPED.sub(b"__", data) if b"\\" in data else data, np.uint8)
    for begin in range(0, len(codes), _BLOCK_SIZE):
        piece = codes[begin : begin + _BLOCK_SIZE]
        is_quoted = np.bitwise_xor.accumulate(piece == ord('"')) ^ in_string
        in_string = bool(is_quoted[-1])
        steps = np.where(is_quoted, 0, _STEP[piece])
        depths = depth + np.cumsum(steps, dtype=np.int64)
        if depths.max() > limit:
            return True
        depth = int(depths[-1])
    return False
