"""Run a Python file that the user names as a plug-in."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from rankgate.core.errors import RankgateError, UsageError


def run(path: str | Path) -> Mapping[str, object]:
    """Run a Python file and return its global names.

    Raises:
        UsageError: A file that cannot be read, is not Python, or fails; with its line.
    """
    place = Path(path)
    try:
        code = compile(place.read_bytes(), str(place), "exec")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.", code="cannot-read") from None
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        result = error.msg if isinstance(error, SyntaxError) else error
        raise UsageError(
            f"{path}{line}: this is not Python: {result}.", code="invalid-plugin"
        ) from None
    module = ModuleType(f"rankgate_plugin_{place.stem}")
    module.__file__ = str(place)
    sys.modules[module.__name__] = module  # while it runs: a dataclass looks its module up
    try:
        exec(code, module.__dict__)  # noqa: S102 - what the user asked for, as the help says
    except (Exception, SystemExit) as error:
        known = isinstance(error, RankgateError)
        result = str(error).rstrip(".") if known else f"{type(error).__name__}: {error}"
        raise UsageError(f"{_where(error, place)}: {result}.", code="invalid-plugin") from error
    finally:
        del sys.modules[module.__name__]
    return vars(module)


def _where(error: BaseException, place: Path) -> str:
    """The file with the last line of it that the error came by."""
    trace = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in trace if frame.filename == str(place)]
    return f"{place}:{lines[-1]}" if lines else str(place)
