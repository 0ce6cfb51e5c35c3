"""A protocol that closes connections with slow request headers."""

from __future__ import annotations

import asyncio
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

_HEADER_SECONDS = 15.0
"""The time limit in seconds for the headers of a request; uvicorn itself has no limit."""


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP protocol with a time limit for slow request headers."""

    _until: asyncio.TimerHandle | None = None
    patience = _HEADER_SECONDS

    def connection_made(self, transport: Any) -> None:
        """Start to wait for the first request."""
        super().connection_made(transport)
        self._until = self.loop.call_later(self.patience, self._give_up)

    def data_received(self, data: bytes) -> None:
        """Receive bytes; the time limit applies while they belong to headers."""
        super().data_received(data)
        waiting = self.conn.their_state is h11.IDLE
        if not waiting and self._until is not None:
            self._until.cancel()
            self._until = None
        elif waiting and self._until is None and self.conn.trailing_data[0]:
            self._until = self.loop.call_later(self.patience, self._give_up)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the wait."""
        if self._until is not None:
            self._until.cancel()
        super().connection_lost(exc)

    def _give_up(self) -> None:
        if not self.transport.is_closing():
            self.transport.close()
