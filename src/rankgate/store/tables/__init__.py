"""The tables of the store, by what they hold; migrations make them."""

from rankgate.store.tables import facts, material, models, people, records, results, watching, work
from rankgate.store.tables.columns import METADATA

__all__ = [
    "METADATA",
    "facts",
    "material",
    "models",
    "people",
    "records",
    "results",
    "watching",
    "work",
]
