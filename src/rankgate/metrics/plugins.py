"""Metrics from elsewhere: a file that the user names, and packages that are installed."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

from rankgate import declare
from rankgate.errors import RankgateError, UsageError
from rankgate.metrics.catalogue import by_name
from rankgate.metrics.declare import Metric

GROUP = "rankgate.metrics"
"""The entry points under which a package names its metrics."""


def from_file(path: str | Path | None) -> tuple[Metric, ...]:
    """The metrics that a Python file declares; the file is run.

    Args:
        path: the file; without one there is no metric.

    Raises:
        UsageError: a file that cannot be read or fails, or that declares no metric.
    """
    if path is None:
        return ()
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
    module = ModuleType(f"rankgate_metrics_of_{place.stem}")
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
    found = _declared(vars(module).values(), str(path))
    if not found:
        raise UsageError(
            f"{path}: declares no metric; put @rankgate.metric before a function.",
            code="invalid-plugin",
        )
    return found


def installed() -> tuple[Metric, ...]:
    """The metrics of the packages that are installed, by their entry points.

    An entry point is a metric, or a module with metrics in it.

    Raises:
        UsageError: a package that fails, or two that declare one name.
    """
    return _declared(declare.installed(GROUP, Metric), "the installed plug-ins")


def _declared(values: Iterable[object], owner: str) -> tuple[Metric, ...]:
    """The metrics among some values that are not built in, each once, nothing bound."""
    found: dict[str, Metric] = {}
    for value in values:
        if not isinstance(value, Metric):
            continue
        if value.name in by_name and by_name[value.name].kernel is value.kernel:
            continue
        metric = replace(value, given=())
        if found.setdefault(metric.name, metric) != metric:
            raise UsageError(
                f"{owner}: there are two metrics {metric.name}; rename one.",
                code="metric-name-taken",
            )
    return tuple(found.values())


def _where(error: BaseException, place: Path) -> str:
    """The file with the last line of it that the error came by."""
    trace = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in trace if frame.filename == str(place)]
    return f"{place}:{lines[-1]}" if lines else str(place)
