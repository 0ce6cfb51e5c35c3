"""ranx's packed runs: CBOR in LZ4, in LZ4 once more."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data.formats.format import Format
from rankgate.data.formats.ranx import cbor
from rankgate.data.formats.ranx import json as ranx
from rankgate.data.memory import frames as memory
from rankgate.data.text import json_text

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.formats.format import Loss
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile

_MAGIC = b"\x04\x22\x4d\x18"
_LAYERS = 2  # ranx packs what it has packed
_PIECE = 1 << 20
_LEVEL = 9


def sniff(head: bytes, name: str) -> str | None:
    """The file begins as LZ4 does."""
    return "it begins as LZ4 does" if head.startswith(_MAGIC) else None


def read(source: InputFile) -> FileContents:
    """Judgments if all numbers are whole, otherwise a run; of a file of ranxhub its run.

    Raises:
        InputError: damaged, too long, or another shape.
    """
    return ranx.contents_of(_value(source), source)


def read_qrels(source: InputFile) -> Qrels:
    """Judgments, regardless of their numbers."""
    return memory.qrels_of(ranx.numbers(_value(source), source), source.stem, source.label)


def read_run(source: InputFile) -> Run:
    """A run, even if all of its scores are whole."""
    return memory.run_of(ranx.numbers(_value(source), source), source.stem, source.label)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The judgments if there are any, else the first run.

    Raises:
        UsageError: neither is there.
    """
    frame = _lz4()
    table, losses = ranx.table_of(contents)
    packed = cbor.encoded(table)
    for _ in range(_LAYERS):
        packed = frame.compress(packed, compression_level=_LEVEL)
    out.write(packed)
    return losses


def _lz4() -> ModuleType:
    import lz4.frame

    found: ModuleType = lz4.frame
    return found


def _value(source: InputFile) -> Any:
    data, frame = source.everything(json_text.LIMIT), _lz4()
    if not data.startswith(_MAGIC):
        raise InputError(
            "no LZ4 file; check whether this is the right file.",
            source=source.label,
            code="invalid-syntax",
        )
    for _ in range(_LAYERS):
        if data.startswith(_MAGIC):
            data = _unpacked(data, frame, source)
    plain = data.startswith(b"{")
    value = json_text.parsed(data, source.label) if plain else cbor.decoded(data, source.label)
    if isinstance(value, dict) and set(value) == {"run", "metadata"}:  # as ranxhub has them
        return value["run"]
    return value


def _unpacked(data: bytes, frame: ModuleType, source: InputFile) -> bytes:
    """The bytes of one frame, within the limit of a document."""
    reader, pieces, size = frame.LZ4FrameDecompressor(), [], 0
    try:
        piece = reader.decompress(data, _PIECE)
        while True:
            pieces.append(piece)
            size += len(piece)
            if size > json_text.LIMIT:
                problem = f"more than {json_text.LIMIT >> 20} MB when it is unpacked; split it."
                raise InputError(problem, source=source.label, code="too-large")
            if reader.eof or not (piece or not reader.needs_input):
                break
            piece = reader.decompress(b"", _PIECE)
    except RuntimeError:
        problem = "the LZ4 file is damaged; copy it again."
        raise InputError(problem, source=source.label, code="damaged-file") from None
    if not reader.eof:
        problem = "the LZ4 file ends too early; copy it again."
        raise InputError(problem, source=source.label, code="damaged-file")
    return b"".join(pieces)


FORMAT = Format(
    name="ranx-lz4",
    title="ranx's judgments and runs, packed with LZ4",
    suffixes=(".lz4", ".rh"),
    sniff=sniff,
    read=read,
    write=write,
    read_qrels=read_qrels,
    read_run=read_run,
    holds=("qrels", "runs"),
    loses=ranx.FORMAT.loses,
    detail=(
        "What ranx writes to .lz4 files, and ranxhub's .rh files: as the format ranx, in CBOR "
        "instead of JSON, packed twice."
    ),
)
