"""Tables of judgments, runs and ratings, and one file per file format.

Names are imported when they are first used, so that a command without tables loads no Polars.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.qrels import Qrels
    from rankgate.data.read import contents_of, read_qrels, read_run
    from rankgate.data.run import Run
    from rankgate.data.scores import Counts, Scores

__all__ = [
    "Counts",
    "FileContents",
    "Qrels",
    "Run",
    "Scores",
    "contents_of",
    "read_qrels",
    "read_run",
]

_MODULES = {
    "FileContents": "contents",
    "Counts": "scores",
    "Qrels": "qrels",
    "Run": "run",
    "Scores": "scores",
    "contents_of": "read",
    "read_qrels": "read",
    "read_run": "read",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
