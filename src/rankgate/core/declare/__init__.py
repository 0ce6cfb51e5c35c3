"""Declarations of objects with parameters: metrics, axes, rules of gates and of ratings.

`Parameter` is one named value with its type, range, choices, default and help. `Declared` is what
has parameters, `Registry` finds declared objects by name, in a package and among installed
plug-ins, and `Toml` reads a file, with errors that name the line.
"""

from rankgate.core.declare.parameter import (
    Count,
    Cutoff,
    Draws,
    OnlyWith,
    Parameter,
    Range,
    Share,
    check_fields,
    declared_parameter,
    fields_of,
    parameters_of,
)
from rankgate.core.declare.registries import (
    API_VERSION,
    Declared,
    PluginObjects,
    Registry,
    find_declared,
    find_plugin_objects,
    load_modules,
    using,
)

__all__ = [
    "API_VERSION",
    "Count",
    "Cutoff",
    "Declared",
    "Draws",
    "OnlyWith",
    "Parameter",
    "PluginObjects",
    "Range",
    "Registry",
    "Share",
    "check_fields",
    "declared_parameter",
    "fields_of",
    "find_declared",
    "find_plugin_objects",
    "load_modules",
    "parameters_of",
    "using",
]
