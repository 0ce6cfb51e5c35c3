"""ranx's packed runs: CBOR in LZ4, in LZ4 once more."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data import frames as memory
from rankgate.data.formats.format import Format
from rankgate.data.formats.ranx import cbor
from rankgate.data.formats.ranx import json as ranx
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


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The file begins as LZ4 does."""
    return "it begins as LZ4 does" if first_bytes.startswith(_MAGIC) else None


def read(source: InputFile) -> FileContents:
    """Judgments if all numbers are whole, otherwise a run; of a file of ranxhub its run.

    Raises:
        InputError: damaged, too long, or another shape.
    """
    return ranx.contents_of(_read_value(source), source)


def read_qrels(source: InputFile) -> Qrels:
    """Judgments, regardless of their numbers."""
    return memory.qrels_of(
        ranx.require_numbers(_read_value(source), source), source.stem, source.label
    )


def read_run(source: InputFile) -> Run:
    """A run, even if all of its scores are whole."""
    return memory.run_of(
        ranx.require_numbers(_read_value(source), source), source.stem, source.label
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The judgments if there are any, else the first run.

    Raises:
        UsageError: neither is there.
    """
    frame = _load_lz4()
    table, losses = ranx.table_of(contents)
    packed_table = cbor.encode(table)
    for _ in range(_LAYERS):
        packed_table = frame.compress(packed_table, compression_level=_LEVEL)
    out.write(packed_table)
    return losses


def _load_lz4() -> ModuleType:
    import lz4.frame

    lz4_frame: ModuleType = lz4.frame
    return lz4_frame


def _read_value(source: InputFile) -> Any:
    data, frame = source.everything(json_text.LIMIT), _load_lz4()
    if not data.startswith(_MAGIC):
        raise InputError(
            "no LZ4 file; check whether this is the right file.",
            source=source.label,
            code="invalid-syntax",
        )
    for _ in range(_LAYERS):
        if data.startswith(_MAGIC):
            data = _unpack_frame(data, frame, source)
    is_json = data.startswith(b"{")
    value = json_text.parse_json(data, source.label) if is_json else cbor.decode(data, source.label)
    if isinstance(value, dict) and set(value) == {"run", "metadata"}:  # as ranxhub has them
        return value["run"]
    return value


def _unpack_frame(data: bytes, frame: ModuleType, source: InputFile) -> bytes:
    """The bytes of one frame, within the limit of a document."""
    reader, chunks, size = frame.LZ4FrameDecompressor(), [], 0
    try:
        chunk = reader.decompress(data, _PIECE)
        while True:
            chunks.append(chunk)
            size += len(chunk)
            if size > json_text.LIMIT:
                problem = f"more than {json_text.LIMIT >> 20} MB when it is unpacked; split it."
                raise InputError(problem, source=source.label, code="too-large")
            if reader.eof or not (chunk or not reader.needs_input):
                break
            chunk = reader.decompress(b"", _PIECE)
    except RuntimeError:
        problem = "the LZ4 file is damaged; copy it again."
        raise InputError(problem, source=source.label, code="damaged-file") from None
    if not reader.eof:
        problem = "the LZ4 file ends too early; copy it again."
        raise InputError(problem, source=source.label, code="damaged-file")
    return b"".join(chunks)


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
