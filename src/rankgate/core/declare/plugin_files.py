"""Run a Python file that the user names as a plug-in."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType

from rankgate.core.errors import RankgateError, UsageError


def run_plugin_file(path: str | Path) -> Mapping[str, object]:
    """Run a Python file and return its global names.

    Raises:
        UsageError: A file that cannot be read, is not Python, or fails; with its line.
    """
    file_path = Path(path)
    try:
        code = compile(file_path.read_bytes(), str(file_path), "exec")
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}.", code="cannot-read") from None
    except (SyntaxError, ValueError) as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) and error.lineno else ""
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise UsageError(
            f"{path}{line}: this is not Python: {reason}.", code="invalid-plugin"
        ) from None
    module = ModuleType(f"rankgate_plugin_{file_path.stem}")
    module.__file__ = str(file_path)
    sys.modules[module.__name__] = module  # while it runs: a dataclass looks its module up
    try:
        exec(code, module.__dict__)  # noqa: S102 - what the user asked for, as the help says
    except (Exception, SystemExit) as error:
        is_rankgate_error = isinstance(error, RankgateError)
        reason = str(error).rstrip(".") if is_rankgate_error else f"{type(error).__name__}: {error}"
        raise UsageError(
            f"{_error_location(error, file_path)}: {reason}.", code="invalid-plugin"
        ) from error
    finally:
        del sys.modules[module.__name__]
    return vars(module)


def _error_location(error: BaseException, path: Path) -> str:
    """The file with the last line of it that the error came by."""
    trace = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in trace if frame.filename == str(path)]
    return f"{path}:{lines[-1]}" if lines else str(path)
