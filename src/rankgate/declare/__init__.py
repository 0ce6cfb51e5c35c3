"""How everything that has parameters is declared: metrics, axes, rules of gates and of ratings.

`Parameter` is one named value with its type, range, choices, default and help. `Declared` is what
has parameters, `Registry` finds declared objects by name, in a package and among installed
plug-ins, and `Toml` reads a file whose errors name the line.
"""

from rankgate.declare.declared import Declared, Registry, declared_in
from rankgate.declare.parameter import Count, Cutoff, OnlyWith, Parameter, Range, Share
from rankgate.declare.plugins import API_VERSION, Added, added, using
from rankgate.declare.signature import fields_of, parameters_of

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
    "declared_in",
    "fields_of",
    "parameters_of",
    "using",
]
