"""Resolve a user's convention, and refuse to compare results of two conventions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.measurement.scoring.convention_overrides import override_convention
from rankgate.measurement.scoring.presets import convention

if TYPE_CHECKING:
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.measurement.scoring.convention_overrides import Overrides


def chosen_convention(
    name: str | Convention, overrides: Overrides | Iterable[str] = ()
) -> Convention:
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
            from rankgate.measurement.scoring.convention_overrides import differing_choices

            pairs = differing_choices(reference["axes"], compared["axes"]).items()
            axes = ", ".join(f"{key} ({left} or {right})" for key, (left, right) in pairs)
            raise UsageError(
                f"{first} follows {reference['name']} ({reference['hash']}) and {name} follows "
                f"{compared['name']} ({compared['hash']}), which differ in {axes or 'their hash'}; "
                "score both under one convention.",
                code="not-comparable",
            )
