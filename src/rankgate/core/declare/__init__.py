"""How everything that has parameters is declared: metrics, axes, rules of gates and of ratings.

`Parameter` is one named value with its type, range, choices, default and help. `Declared` is what
has parameters, `Registry` finds declared objects by name, in a package and among installed
plug-ins, and `Toml` reads a file whose errors name the line.
"""

from rankgate.core.declare.declared import Declared, Registry, declared_in
from rankgate.core.declare.parameter import Count, Cutoff, OnlyWith, Parameter, Range, Share
from rankgate.core.declare.plugins import API_VERSION, Added, added, using
from rankgate.core.declare.signature import check_fields, fields_of, parameters_of

__all__ = [
    "API_VERSION",
    "Added",
    "Count",
    "Cutoff",
    "Declared",
    "OnlyWith",
    "Parameter",
    "Range",
    "Registry",
    "Share",
    "added",
    "check_fields",
    "declared_in",
    "fields_of",
    "parameters_of",
    "using",
]
