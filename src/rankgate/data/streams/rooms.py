"""Memory for the pieces of a file, used again for later pieces."""

from __future__ import annotations

import io
from collections import deque

_MAX_BUFFERS = 5  # one piece is read, two are parsed, two wait


class BufferPool:
    """Reads pieces into the memory of earlier pieces that are no longer in use.

    New memory for every piece would make reading take half as long again. A piece that is
    still in use when its memory is needed does not change: `io.BytesIO` copies what it shares.
    """

    def __init__(self) -> None:
        self._rooms: deque[io.BytesIO] = deque()

    def read(self, stream: io.BufferedReader, size: int) -> bytes:
        """The next bytes of a stream, fewer than ``size`` at its end only."""
        if len(self._rooms) < _MAX_BUFFERS:
            piece = stream.read(size)
            self._rooms.append(io.BytesIO(piece))  # shares the piece
            return piece
        room = self._rooms.popleft()
        self._rooms.append(room)
        room.truncate(size)
        if room.seek(0, io.SEEK_END) < size:
            room.seek(size - 1)
            room.write(b"\n")
        with room.getbuffer() as memory:
            byte_count = stream.readinto(memory)
        room.truncate(byte_count)
        return room.getvalue()
