"""Read single key presses at a terminal; distinguish pasted text from keys."""

from __future__ import annotations

import os
import re
import select
import sys
from types import TracebackType
from typing import Any, Self

from rankgate.core.frozen import dataclass

ESCAPE, BACKSPACE, MORE = "\x1b", "\x7f", " "
_PASTE_ON, _PASTE_OFF = b"\x1b[?2004h", b"\x1b[?2004l"
_BEGIN, _END = "\x1b[200~", "\x1b[201~"
_PAGE_DOWN = "\x1b[6~"
_SEQUENCE = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O.|.)?", re.DOTALL)
_SEQUENCE_SECONDS = 0.05  # seconds within which a terminal sends the rest of a sequence


@dataclass(frozen=True)
class Key:
    """One key; empty at the end of the input."""

    char: str


@dataclass(frozen=True)
class PastedText:
    """Text that arrived at once: pasted, as nobody presses several keys within a moment.

    Attributes:
        text: the characters.
        marked: True if the terminal marks it as pasted.
    """

    text: str
    marked: bool = True


class Keyboard:
    """Standard input, key by key; as a context manager it sets the terminal up and back.

    At a terminal, pasted text is marked by the terminal itself (bracketed paste, as xterm and
    most others have it); where it is not, several characters at once are taken for pasted text.
    Anything else than a terminal, such as a pipe, gives its characters one by one.
    """

    def __init__(self) -> None:
        self._handle = sys.stdin.fileno() if sys.stdin.isatty() else None
        self._before: list[Any] | None = None

    @property
    def terminal(self) -> bool:
        """True if keys are read from a terminal that gives them at once."""
        return self._before is not None

    def __enter__(self) -> Self:
        """Have the terminal give each key when it is pressed, and mark what is pasted."""
        try:
            import termios
        except ImportError:
            return self
        if self._handle is None:
            return self
        self._before = termios.tcgetattr(self._handle)
        settings = termios.tcgetattr(self._handle)
        settings[3] &= ~(termios.ICANON | termios.ECHO)
        # at once, and without throwing away what was typed already
        termios.tcsetattr(self._handle, termios.TCSANOW, settings)
        self._send(_PASTE_ON)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Set the terminal back."""
        if self._handle is None or self._before is None:
            return
        import termios

        self._send(_PASTE_OFF)
        termios.tcsetattr(self._handle, termios.TCSANOW, self._before)
        self._before = None

    def read(self) -> Key | PastedText:
        """The next key, or text that was pasted."""
        if self._handle is None or not self.terminal:
            return Key(sys.stdin.read(1))
        while True:
            text = self._chunk()
            if not text:
                return Key("")
            if text.startswith(_BEGIN):
                return PastedText(self._rest(text.removeprefix(_BEGIN)))
            if text.startswith(ESCAPE):
                if text == ESCAPE and self._waiting():
                    text += self._chunk()
                if text in {ESCAPE, _PAGE_DOWN}:
                    return Key(ESCAPE if text == ESCAPE else MORE)
                text = _SEQUENCE.sub("", text)  # arrows and the like are no keys here
                if not text:
                    continue
            return Key(text) if len(text) == 1 else PastedText(text, marked=False)

    def _rest(self, text: str) -> str:
        """Read pasted text to its end."""
        while _END not in text:
            chunk = self._chunk()
            if not chunk:
                break
            text += chunk
        return text.partition(_END)[0]

    def _chunk(self) -> str:
        assert self._handle is not None
        return os.read(self._handle, 1 << 16).decode(errors="ignore")

    def _waiting(self) -> bool:
        assert self._handle is not None
        return bool(select.select([self._handle], [], [], _SEQUENCE_SECONDS)[0])

    def _send(self, sequence: bytes) -> None:
        """Write to the terminal itself, as standard error may go elsewhere."""
        assert self._handle is not None
        try:
            os.write(self._handle, sequence)
        except OSError:  # opened for reading only: pasted text is then recognised by its speed
            return
