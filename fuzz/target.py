"""One damaged file through a reader: contents, or one deliberate error in one line."""

from __future__ import annotations

import traceback
from dataclasses import dataclass

from rankgate.core.errors import RankgateError
from rankgate.data.formats.registry import detect_format
from rankgate.data.read import contents_of
from rankgate.data.streams.source import InputFile


@dataclass(frozen=True)
class Outcome:
    """What became of a file.

    Attributes:
        kind: ``contents``, ``error`` (a deliberate one) or ``traceback``.
        result: the error's message, or the traceback.
        key: where a traceback comes from, the same for the same fault.
    """

    kind: str
    result: str = ""
    key: str = ""


def tried(name: str, data: bytes, way: int) -> Outcome:
    """Read a file as a format.

    Args:
        name: the format.
        data: the file.
        way: 0 reads all of it, 1 judgments, 2 a run, 3 looks which format it is and reads that.
    """
    source = InputFile(None, data)
    try:
        if way == 3:
            contents = detect_format(source)[0].read(source)
        else:
            contents = contents_of(source, name, (None, "qrels", "run")[way])
        for run in contents.runs:
            _ = run.table
    except RankgateError as error:
        result = str(error)
        if not result.strip() or result.count("\n") > len(getattr(error, "suggestions", ())):
            return Outcome("traceback", f"an error of several lines: {result!r}", f"{name}: lines")
        return Outcome("error", result)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # noqa: BLE001 - a panic of Polars is no Exception
        last = traceback.extract_tb(error.__traceback__)
        rankgate_frames = [frame for frame in last if "rankgate" in frame.filename] or last
        location = f"{rankgate_frames[-1].filename.rsplit('/', 1)[-1]}:{rankgate_frames[-1].lineno}"
        return Outcome("traceback", traceback.format_exc(), f"{type(error).__name__} at {location}")
    return Outcome("contents")
