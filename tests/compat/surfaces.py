"""The public names of the libraries that our layers replace, written to ``surfaces.json``.

With the libraries installed, ``python tests/compat/surfaces.py > tests/compat/surfaces.json``.
"""

from __future__ import annotations

import inspect
import json
import sys
import warnings
from importlib import import_module
from importlib.metadata import version
from types import ModuleType

PACKAGES = {"ir_measures": "ir-measures", "pytrec_eval": "pytrec-eval-terrier", "ranx": "ranx"}
MORE = {"ranx": {"Report": "ranx.data_structures.report:Report"}}
"""Classes of results, which the packages do not export."""


def imported(library: str) -> ModuleType:
    """A library, without the warnings that compiling its source gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module(library)


def surface(library: str) -> list[str]:
    """The names that ``import *`` gives, and the public members of classes among them."""
    imported(library)
    namespace: dict[str, object] = {}
    exec(f"from {library} import *", namespace)  # noqa: S102 - as its pages do
    namespace.pop("__builtins__")
    for name, path in MORE.get(library, {}).items():
        module, attribute = path.split(":")
        namespace[name] = getattr(import_module(module), attribute)
    members = (
        f"{name}.{member}"
        for name, value in namespace.items()
        if inspect.isclass(value)
        for member in dir(value)
        if not member.startswith("_")
    )
    return sorted({*namespace, *members})


if __name__ == "__main__":
    surfaces = {
        library: {"version": version(package), "names": surface(library)}
        for library, package in PACKAGES.items()
    }
    json.dump(surfaces, sys.stdout, indent=1, ensure_ascii=False)
    sys.stdout.write("\n")
