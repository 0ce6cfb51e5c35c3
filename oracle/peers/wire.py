"""What every peer's script does: read the collections, call the tool, print each value."""

from __future__ import annotations

import json
import math
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
warnings.simplefilter("ignore")

from forms import FORMS, ranked  # noqa: E402 - the folder must be known first

__all__ = ["by_collection", "by_query", "ranked", "read", "tell", "worlds"]

Values = dict[str, float]
Call = Callable[[], Any]


def read(form: str) -> Iterator[dict[str, Any]]:
    """The collections of the file named on the command line, in one of the forms."""
    for collection in json.loads(Path(sys.argv[1]).read_text()):
        yield FORMS[form](collection)


def worlds() -> list[dict[str, Any]]:
    """The worlds of the file named on the command line."""
    loaded_worlds: list[dict[str, Any]] = json.loads(Path(sys.argv[1]).read_text())
    return loaded_worlds


def tell(collection: int, metric: str, call: Call, query: str | None = None) -> None:
    """One line: the value, or how the tool failed."""
    line: dict[str, Any] = {"collection": collection, "metric": metric, "query": query}
    try:
        value = float(call())
        line["value"] = value if math.isfinite(value) else None
    except Exception as error:  # noqa: BLE001 - whatever the tool raises is a finding
        line["error"] = f"{type(error).__name__}: {error}".split("\n", maxsplit=1)[0][:100]
    print(json.dumps(line))


def by_collection(form: str, metrics: dict[str, Callable[[Any, Any], Any]]) -> None:
    """Each metric, called with the judgments and the run of each collection."""
    for collection in read(form):
        for name, function in metrics.items():
            qrels, run = collection["qrels"], collection["run"]
            tell(collection["id"], name, lambda f=function, q=qrels, r=run: f(q, r))


def by_query(form: str, metrics: dict[str, Callable[[Any, Any], Any]]) -> None:
    """Each metric, called with the grades and the ranking of each query."""
    for collection in read(form):
        for query, ranking in collection["run"].items():
            grades = collection["qrels"][query]
            for name, function in metrics.items():
                call = lambda f=function, g=grades, r=ranking: f(g, r)  # noqa: E731
                tell(collection["id"], name, call, query)
