"""CBOR as ranx writes it, read and written by the package cbor2 within limits."""

from __future__ import annotations

import io
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from rankgate.core.errors import InputError
from rankgate.data.text.json_text import DEPTH, VALUES

_PIECE = 1 << 20  # bytes that cbor2 reads at a time


def decode(data: bytes, label: str) -> Any:
    """The one value of some bytes.

    Args:
        data: the bytes.
        label: what errors call their origin.

    Raises:
        InputError: cut off, damaged, too deep, too many values, a key twice, or kinds of values
            that are not maps, lists, texts, numbers, true, false and null.
    """
    import cbor2

    stream = _LimitedBytes(data)
    try:
        decoder = cbor2.CBORDecoder(
            stream,
            object_hook=_require_text_keys,
            semantic_decoders=_NoTags(),
            max_depth=DEPTH,
            allow_duplicate_keys=False,
            strict_hashable_types=True,
            read_size=_PIECE,
        )
        value = decoder.decode()
        end = stream.tell()
    except (cbor2.CBORDecodeError, _LimitError, ValueError, OverflowError) as error:
        raise _make_error(str(error.__cause__ or error), label) from None
    if end != len(data):
        raise _make_error("bytes behind the value's end", label)
    return value


def encode(table: dict[str, dict[str, float]]) -> bytes:
    """A map of maps of numbers, whole ones (of type ``int``) as integers."""
    import cbor2

    encoded_table: bytes = cbor2.dumps(table)
    return encoded_table


class _LimitError(Exception):
    """More values than are read."""


class _LimitedBytes(io.BytesIO):
    """Bytes that are handed out only while few objects were made of those before.

    cbor2 limits the depth and not the number of values, which would show only when all of them
    are in memory. Every text, float and map is a block of memory, and so is every key.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._before = sys.getallocatedblocks()

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes; raises `_LimitError` once too many values were made."""
        if sys.getallocatedblocks() - self._before > VALUES:
            raise _LimitError(f"more than {VALUES:,} values")
        return super().read(size)


class _NoTags(Mapping[int, Any]):
    """An answer to every tag: an error. Tags build dates, patterns, shared and cyclic values."""

    def __getitem__(self, tag: int) -> Any:
        raise ValueError(f"tag {tag}, which no number or text needs")

    def __iter__(self) -> Iterator[int]:
        return iter(())

    def __len__(self) -> int:
        return 0


def _require_text_keys(decoded_map: Mapping[Any, Any], _immutable: object) -> Mapping[Any, Any]:
    if not all(type(key) is str for key in decoded_map):
        raise ValueError("a key that is not text")
    return decoded_map


def _make_error(problem: str, label: str) -> InputError:
    return InputError(
        f"not CBOR as ranx writes it: {problem}; write the file again.",
        source=label,
        code="invalid-syntax",
    )
