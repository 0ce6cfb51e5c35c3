"""The named conventions: one value a tool, loaded on first use.

A user's convention is one of them, or that of a file, with some axes chosen otherwise. Results of
two conventions are not compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import PluginObjects, find_plugin_objects
from rankgate.core.errors import UsageError
from rankgate.measurement.scoring.convention import Convention
from rankgate.measurement.scoring.convention_overrides import differing_choices, override_convention

if TYPE_CHECKING:
    from rankgate.measurement.scoring.convention_overrides import Overrides

_HOMES = (
    ("retrieval_tools", ("trec", "trec9", "pytrec_eval")),
    ("retrieval_tools", ("ir_measures", "ranx", "gdeval", "trectools", "cwl", "ntcir", "beir")),
    (
        "recommender_libraries",
        ("recommenders", "recbole", "recmetrics", "rexmex", "elliot", "recpack", "evidently"),
    ),
    (
        "libraries_and_products",
        ("sklearn", "torchmetrics", "rax", "allrank", "lenskit", "xgboost", "rankeval"),
    ),
    ("retrieval_tools", ("guide", "esci", "esci-code", "note", "leaf")),
    (
        "libraries_and_products",
        (
            *("quepid", "searchtweak", "elasticsearch", "opensearch", "rre"),
            *("pyvespa", "haystack", "haystack-3.0", "mlflow", "phoenix", "rankquest"),
        ),
    ),
    ("memory_and_rag_tools", ("longmemeval", "mteb", "azure", "llama_index")),
)
"""The conventions of each module of this package, in the order of lists."""


class _Presets(Mapping[str, Convention]):
    """Conventions by name; a module is read when one of its conventions is."""

    def __getitem__(self, name: str) -> Convention:
        for home, names in _HOMES:
            if name in names:
                values = vars(import_module(f"{__name__}.{home}")).values()
                return next(value for value in values if isinstance(value, Convention) and value.name == name)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for _, names in _HOMES for name in names)

    def __len__(self) -> int:
        return sum(len(names) for _, names in _HOMES)


CONVENTIONS: Mapping[str, Convention] = _Presets()
"""The named conventions."""


def of_plugins() -> PluginObjects[Convention]:
    """The conventions that plug-ins add."""
    return find_plugin_objects("rankgate.conventions", Convention, CONVENTIONS)


def convention(name: str | Convention) -> Convention:
    """A convention by its name, or from the TOML file of that name.

    Raises:
        UsageError: no such name.
        InputError: a file that cannot be read, or does not define a convention.
    """
    if isinstance(name, Convention):
        return name
    if str(name).endswith(".toml"):
        return import_module(f"{__name__}.user_convention").read_convention(name)
    if name in CONVENTIONS:
        return CONVENTIONS[name]
    plugin_conventions = of_plugins()
    if name in plugin_conventions.by_name:
        return plugin_conventions.by_name[name]
    known_names = [*CONVENTIONS, *plugin_conventions.by_name]
    near = get_close_matches(name, known_names, n=1)
    hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known_names)}."
    raise plugin_conventions.unknown(f"unknown convention '{name}'; {hint}", "unknown-convention")


def chosen_convention(name: str | Convention, overrides: Overrides | Iterable[str] = ()) -> Convention:
    """A convention by name or TOML file, with some axes chosen otherwise.

    Args:
        name: a convention, its name, or a TOML file that describes one.
        overrides: axes that are chosen otherwise: ``{"ties": "doc_id_asc", "nDCG.gain": "exp"}``,
            or as words, ``["nDCG.gain=exp"]``.

    Raises:
        UsageError: a name, an axis or a value that does not exist; the nearest is in the message.
        InputError: a file that does not describe a convention.

    >>> mine = chosen_convention("trec", {"ties": "doc_id_asc"})
    >>> mine.name, mine.ties, mine.hash == chosen_convention("trec").hash
    ('trec+', 'doc_id_asc', False)
    """
    return override_convention(convention(name), overrides)


def refuse_mixed(results: Mapping[str, Mapping[str, Any]]) -> None:
    """Check that results were made under one convention, so that they can be compared.

    Args:
        results: the convention of each result by its name, as results store it: ``name``, ``hash``
            and ``axes``.

    Raises:
        UsageError: two were not; the axes on which they differ are named.
    """
    (first, reference), *remaining = results.items()
    for name, compared in remaining:
        if compared["hash"] != reference["hash"]:
            pairs = differing_choices(reference["axes"], compared["axes"]).items()
            axes = ", ".join(f"{key} ({left} or {right})" for key, (left, right) in pairs)
            raise UsageError(
                f"{first} follows {reference['name']} ({reference['hash']}) and {name} follows "
                f"{compared['name']} ({compared['hash']}), which differ in {axes or 'their hash'}; score "
                "both under one convention.",
                code="not-comparable",
            )
