"""Write stubs for the modules of ``src/rankgate`` that load names on first use.

``metrics.pyi`` has the parameters of every metric; the others have the names of a table ``_HOMES``.

python tests/typing/make.py
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import rankgate.metrics
from rankgate.metrics import Metric

FACADES = ("", ".data", ".extend", ".interface.extend", ".online", ".spark")
"""Modules whose names are loaded when they are first used."""
_MORE = {"": "from rankgate import online as online\n\n__version__: str\n"}
"""Names that a module has besides those of its table."""
_HEAD = '''\
"""The parameters of every metric, for type checkers; written by tests/typing/make.py."""

from collections.abc import Mapping
from typing import Literal

from rankgate.measurement.metrics.metric_catalogue import CATALOGUE as CATALOGUE
from rankgate.measurement.metrics.metric_declaration import Metric as Metric
from rankgate.measurement.metrics.metric_name_parser import parse as parse
'''


def stubs() -> dict[Path, str]:
    """The text of every stub by its path."""
    modules = [rankgate.metrics, *(import_module(f"rankgate{facade}") for facade in FACADES)]
    texts = [_metrics(), *map(_names, FACADES)]
    paths = [Path(str(module.__file__)).with_suffix(".pyi") for module in modules]
    return dict(zip(paths, texts, strict=True))


def _names(facade: str) -> str:
    """An import of each name, and ``__all__``."""
    module = import_module(f"rankgate{facade}")
    imports = [
        f"from {home} import {name if ' as ' in name else f'{name} as {name}'}\n"
        for home, names in sorted(module._HOMES.items())
        for name in sorted(names)
    ]
    public = "".join(f'    "{name}",\n' for name in module.__all__)
    more = _MORE.get(facade, "")
    head = "# The names of this module, for type checkers; written by tests/typing/make.py.\n\n"
    return f"{head}{''.join(imports)}{more}\n__all__ = [\n{public}]\n"


def _metrics() -> str:
    """A class for each metric; its call takes the parameters of the kernel."""
    public = {name: getattr(rankgate.metrics, name) for name in sorted(rankgate.metrics.__all__)}
    return _HEAD + "".join(
        _class(name, metric) for name, metric in public.items() if isinstance(metric, Metric)
    )


def _class(title: str, metric: Metric) -> str:
    hints = get_type_hints(metric.kernel)
    types = {name: _written(hints[name]) for name in metric.parameters}
    types["judged_only"] = "bool"
    takes = "".join(f"        {name}: {kind} = ...,\n" for name, kind in types.items())
    return f"""
class _{title}(Metric):
    def __call__(  # type: ignore[override]
        self,
        *,
{takes}    ) -> _{title}: ...
    def __matmul__(self, value: float) -> _{title}: ...

{title}: _{title}
"""


def _written(kind: Any) -> str:
    """A type as source, the same in every version of Python."""
    if kind is NoneType:
        return "None"
    origin, values = get_origin(kind), get_args(kind)
    if origin is None:
        return str(kind.__name__)
    if origin is Literal:
        return "Literal[" + ", ".join(map(repr, values)).replace("'", '"') + "]"
    if origin in {Union, UnionType}:
        return " | ".join(map(_written, values))
    inside = ", ".join("..." if value is ... else _written(value) for value in values)
    if origin is tuple and get_origin(values[0]) is tuple:  # pairs, which a mapping gives too
        return f"tuple[{inside}] | Mapping[{', '.join(map(_written, get_args(values[0])))}]"
    return f"{origin.__name__}[{inside}]"


if __name__ == "__main__":
    for path, text in stubs().items():
        path.write_text(text)
