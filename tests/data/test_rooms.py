"""Pieces of a file are right, also while earlier pieces are still in use."""

from __future__ import annotations

import io

import numpy as np
import pytest

from rankgate.data.streams.source import BufferPool, open_source


@pytest.mark.parametrize("kept", [0, 3, 100])
def test_pieces_in_use_do_not_change(kept):
    generator = np.random.default_rng(kept)
    content = generator.bytes(100_000)
    stream, rooms, offset, pieces = io.BufferedReader(io.BytesIO(content)), BufferPool(), 0, []
    while offset < len(content):
        piece = rooms.read(stream, int(generator.integers(500, 2_000)))
        assert piece == content[offset : offset + len(piece)]
        pieces.append((offset, piece))
        offset += len(piece)
        pieces = pieces[-kept:] if kept else []
        for begin, earlier_piece in pieces:
            assert earlier_piece == content[begin : begin + len(earlier_piece)]
    assert not rooms.read(stream, 10)


def test_memory_is_used_again():
    stream, rooms = io.BufferedReader(io.BytesIO(bytes(1 << 20))), BufferPool()
    places = {id(rooms.read(stream, 1 << 14)) for _ in range(40)}
    assert len(places) < 10


def test_chunks_of_a_file_are_all_of_its_lines(tmp_path):
    path = tmp_path / "lines"
    content = b"".join(b"%d %s\n" % (row, b"x" * (row % 37)) for row in range(5_000))
    path.write_bytes(content)
    chunks = list(open_source(path).chunks(1_000))
    assert b"".join(chunks) == content
    assert all(chunk.endswith(b"\n") for chunk in chunks)
