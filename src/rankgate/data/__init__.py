"""Tables of judgments, runs and ratings, and one file per file format.

Names are imported when they are first used, so that a command without tables loads no Polars.
"""

from __future__ import annotations

from rankgate.core.present.lazy_names import lazy_names

_HOMES = {
    "rankgate.data.file_contents": ["FileContents"],
    "rankgate.data.qrels": ["Qrels"],
    "rankgate.data.read": ["contents_of", "read_qrels", "read_run"],
    "rankgate.data.run": ["Run"],
    "rankgate.data.run_scores": ["Counts", "RunScores"],
}
"""Names by their modules; `tests/typing/make.py` writes them for type checkers."""

__getattr__, __dir__, __all__ = lazy_names(__name__, _HOMES)
