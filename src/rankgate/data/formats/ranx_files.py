"""Files of ranx: CBOR, JSON, and runs packed with LZ4.

CBOR in the form of ranx is read and written by the package cbor2 within limits. ranx's JSON is
``{"q1": {"d1": 2}}``, with whole numbers for judgments and floats for a run. Packed runs are CBOR
that is compressed with LZ4 twice.
"""

from __future__ import annotations

import io
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from rankgate.core.errors import InputError, require
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.format import Format
from rankgate.data.formats.format_writing import collect_grades, find_losses
from rankgate.data.formats.tables import memory_tables as memory
from rankgate.data.formats.tables import schemas
from rankgate.data.text import json_text
from rankgate.data.text.json_text import DEPTH, VALUES, require_object
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.data.formats.format import Loss
    from rankgate.data.streams.source import InputFile


_PIECE = 1 << 20  # bytes that cbor2 reads at a time


def decode(data: bytes, label: str) -> Any:
    """The single value encoded in some bytes.

    Args:
        data: the bytes.
        label: the name of the source in errors.

    Raises:
        InputError: the data is incomplete, damaged, too deep or too long, a key appears twice, or a
            value is not a map, list, text, number, true, false or null.
    """
    require("CBOR files of ranx need cbor2", "cbor2")
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
    """A map of maps of numbers; whole numbers are of type ``int``."""
    require("CBOR files of ranx need cbor2", "cbor2")
    import cbor2

    encoded_table: bytes = cbor2.dumps(table)
    return encoded_table


class _LimitError(Exception):
    """The data has more values than the limit."""


class _LimitedBytes(io.BytesIO):
    """A stream that stops if too many objects were made from the bytes read so far.

    cbor2 limits the depth but not the number of values, so the limit must apply before all of them
    are in memory. Every text, float, map and key is a block of memory.
    """

    def __init__(self, data: bytes) -> None:
        super().__init__(data)
        self._before = sys.getallocatedblocks()

    def read(self, size: int | None = -1, /) -> bytes:
        """The next bytes; raises `_LimitError` if too many values were made."""
        if sys.getallocatedblocks() - self._before > VALUES:
            raise _LimitError(f"more than {VALUES:,} values")
        return super().read(size)


class _NoTags(Mapping[int, Any]):
    """Raise an error for every tag. Tags build dates, patterns, shared and cyclic values."""

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
        f"not CBOR as ranx writes it: {problem}; write the file again.", source=label, code="invalid-syntax"
    )


NAME = "ranx"

_STRING = rb'"(?:[^"\\]|\\.)*+"\s*+'
_NUMBER = rb"-?\d++(?:\.\d++)?+(?:[eE][-+]?\d++)?+\s*+"
_EMPTY = _STRING + rb":\s*+\{\s*+\}\s*+,\s*+"
_FIRST_ROW = re.compile(
    rb"\{\s*+(?:" + _EMPTY + rb")*+" + _STRING + rb":\s*+\{\s*+" + _STRING + rb":\s*+" + _NUMBER + rb"[,}]"
)


def sniff_ranx_json(first_bytes: bytes, name: str) -> str | None:
    """An object of queries, each an object of documents with numbers."""
    if _FIRST_ROW.match(first_bytes.removeprefix(BOM).lstrip()):
        return "an object of queries, each of documents with numbers, as ranx and BEIR write"
    return None


def read_contents(read_value: Callable[[InputFile], Json], source: InputFile) -> FileContents:
    """Judgments if all numbers of a dictionary of dictionaries are whole, otherwise a run, unless asked.

    Args:
        read_value: reads the value of the file.
        source: the file.

    Raises:
        InputError: the value has another shape, or a number is invalid or not finite.
    """
    table = require_numbers(read_value(source), source)
    is_whole = all(isinstance(number, int) for row in table.values() for number in row.values())
    if source.read_as == "qrels" or (source.read_as is None and is_whole):
        return FileContents(qrels=memory.qrels_of_table(table, source.stem, source.label))
    return FileContents(runs=(memory.run_of_table(table, source.stem, source.label),))


def require_numbers(value: Json, source: InputFile) -> dict[str, dict[str, float]]:
    """The dictionary, after a check that it maps ids to dictionaries of numbers.

    Raises:
        InputError: the value is not such a dictionary.
    """
    table = require_object(value, source)
    for query, row in table.items():
        if not query or not isinstance(row, dict):
            problem = f"query '{query}' has {json_text.describe_type(row)}, where documents are needed."
            raise InputError(problem, source=source.label, code="wrong-type")
        for document, number in row.items():
            if not document or isinstance(number, bool) or not isinstance(number, int | float):
                problem = (
                    f"'{document}' of query '{query}' has {json_text.describe_type(number)}, where an id and "
                    "a number are needed."
                )
                raise InputError(problem, source=source.label, code="wrong-type")
    return cast("dict[str, dict[str, float]]", table)


def write_ranx_json(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the judgments if there are any, else the first run."""
    table, losses = table_of(contents)
    out.write(b"{")
    for index, (query, row) in enumerate(table.items()):
        line_start = ",\n  " if index else "\n  "
        row_text = json.dumps({query: row}, ensure_ascii=False, allow_nan=False)
        out.write((line_start + row_text[1:-1]).encode())
    out.write(b"\n}\n")
    return losses


def table_of(contents: FileContents) -> tuple[dict[str, dict[str, float]], tuple[Loss, ...]]:
    """The table to write: judgments with only whole numbers as integers, a run as floats.

    Raises:
        UsageError: there are neither judgments nor a run.
    """
    part_name, _ = schemas.choose_part(contents, ("qrels", "runs"))
    if part_name == "qrels" and contents.qrels:
        return collect_grades(contents.qrels), find_losses(contents, NAME, "qrels", "unjudged")
    run = contents.runs[0]
    groups = run.table.group_by("query_id", maintain_order=True).agg("doc_id", "score")
    table = {query: dict(zip(docs, scores, strict=True)) for query, docs, scores in groups.iter_rows()}
    if run.queries is not None:
        table |= {query: {} for query in run.queries["query_id"] if query not in table}
    losses = (*find_losses(contents, NAME, "runs", runs=1), *schemas.run_losses(run))
    return table, losses


RANX_JSON_FORMAT = Format(
    name=NAME,
    title="judgments and runs of ranx, BEIR and pytrec_eval as JSON",
    suffixes=(".json",),
    sniff=sniff_ranx_json,
    read=partial(read_contents, json_text.read_document),
    write=write_ranx_json,
    holds=("qrels", "runs"),
    loses="all parts but one; raters, scales, texts, a run's tag",
    detail=(
        'An object of queries, each an object of documents: {"q1": {"d1": 2}}; it is the form of ranx, of '
        "BEIR's files of results and of pytrec_eval. It holds judgments if all numbers are written as whole "
        "ones, otherwise a run, in the form that ranx writes; --as overrides this. A query with an empty "
        "object has no judgments, or nothing was found for it."
    ),
)


_MAGIC = b"\x04\x22\x4d\x18"
_LAYERS = 2  # ranx compresses twice
_LEVEL = 9


def sniff_ranx_lz4(first_bytes: bytes, name: str) -> str | None:
    """The file begins as LZ4 does."""
    return "it begins as LZ4 does" if first_bytes.startswith(_MAGIC) else None


def write_ranx_lz4(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the judgments if there are any, else the first run.

    Raises:
        UsageError: there are neither judgments nor a run.
    """
    require("LZ4 files of ranx need lz4", "lz4")
    import lz4.frame

    table, losses = table_of(contents)
    packed_table = encode(table)
    for _ in range(_LAYERS):
        packed_table = lz4.frame.compress(packed_table, compression_level=_LEVEL, content_checksum=True)
    out.write(packed_table)
    return losses


def _read_packed(source: InputFile) -> Any:
    """The value of a packed file; of a ranxhub file its run."""
    content = source.everything(json_text.LIMIT)
    if not content.startswith(_MAGIC):
        problem = "not an LZ4 file; check whether this is the right file."
        raise InputError(problem, source=source.label, code="invalid-syntax")
    for _ in range(_LAYERS):
        content = _unpack_frame(content, source) if content.startswith(_MAGIC) else content
    decode_value = json_text.parse_json if content.startswith(b"{") else decode
    value: Any = decode_value(content, source.label)
    is_from_hub = isinstance(value, dict) and value.keys() == {"run", "metadata"}
    return value["run"] if is_from_hub else value


def _unpack_frame(packed: bytes, source: InputFile) -> bytes:
    """The bytes of one frame, up to the size limit of a document."""
    require("LZ4 files of ranx need lz4", "lz4")
    import lz4.frame

    reader, unpacked = lz4.frame.LZ4FrameDecompressor(), bytearray()
    try:
        while not reader.eof:
            chunk = reader.decompress(packed, _PIECE)
            unpacked += chunk
            if len(unpacked) > json_text.LIMIT:
                problem = f"more than {json_text.LIMIT >> 20} MB when it is unpacked; split it."
                raise InputError(problem, source=source.label, code="too-large")
            if not chunk and reader.needs_input:
                break
            packed = b""
    except RuntimeError:
        problem = "the LZ4 file is damaged; copy it again."
        raise InputError(problem, source=source.label, code="damaged-file") from None
    if not reader.eof:
        problem = "the LZ4 file ends too early; copy it again."
        raise InputError(problem, source=source.label, code="damaged-file")
    return bytes(unpacked)


RANX_LZ4_FORMAT = replace(
    RANX_JSON_FORMAT,
    name="ranx-lz4",
    title="ranx's judgments and runs, packed with LZ4",
    suffixes=(".lz4", ".rh"),
    sniff=sniff_ranx_lz4,
    read=partial(read_contents, _read_packed),
    write=write_ranx_lz4,
    detail=(
        "The .lz4 files that ranx writes, and the .rh files of ranxhub: as the format ranx, in CBOR instead "
        "of JSON, packed twice."
    ),
)
