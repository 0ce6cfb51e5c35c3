"""Additional inputs: training data, items and others; light to import."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

EVERY = "every system"
"""The name under which earlier lists are those of every system."""


@dataclass(frozen=True)
class Context:
    """Inputs in addition to judgments and runs; paths, frames, or nothing.

    Attributes:
        train: the training log of the systems.
        items: a table of items.
        users: a table of users.
        features: its columns of numbers.
        category: its column of categories, several between bars.
        group: its column of groups.
        baseline: the run of a simple system.
        earlier: for each system a run of an earlier time, by name.
        candidates: the pairs that lists may hold: ``query_id``, ``doc_id`` and, where they were
            sampled, ``candidates`` with the mark.
        drop_seen: whether items that a user had in training leave the lists.
        drawn: for a system that draws its rankings other runs of it, by name.
        judged_users_only: whether metrics of lists look at users with judgments only, and not at
            every user that a system serves.
        catalogue: how many items there are, numbered from 0, or their ids.
        length: the column of items with the lengths of passages, in tokens.
        document: the column of items with the document that each passage is a part of.
        sequences: which rankings belong together: a table with ``query_id``, ``sequence`` and
            perhaps ``position``, or ``ids:PATTERN``.
    """

    train: Any = None
    items: Any = None
    features: tuple[str, ...] = ()
    category: str | None = None
    group: str | None = None
    baseline: Any = None
    earlier: Mapping[str, Any] | None = None
    candidates: Any = None
    drop_seen: bool = False
    users: Any = None
    drawn: Mapping[str, Sequence[Any]] | None = None
    judged_users_only: bool = False
    catalogue: int | Iterable[object] | None = None
    length: str | None = None
    document: str | None = None
    sequences: Any = None

    def drawn_of(self, name: str) -> Sequence[Any]:
        """The other runs of a system; none of most."""
        return (self.drawn or {}).get(name, ())

    def refuse_strange(self, names: Sequence[str]) -> None:
        """Check that drawn runs are of these systems.

        Raises:
            UsageError: they are of another.
        """
        for name in self.drawn or {}:
            if name not in names:
                known = ", ".join(names)
                raise UsageError(
                    f"drawn rankings of '{name}', where the systems are {known}.",
                    code="unknown-choice",
                )

    def filled(self, said: Mapping[str, Any], folder: Path) -> Context:
        """The same, with what a policy says where nothing is given; its files lie in a folder."""
        places = {
            name: folder / said[key]
            for name, key in (("train", "train"), ("items", "items"), ("baseline", "obvious"))
            if said[key]
        }
        from rankgate.data.formats.tags import IDS  # only policies need it

        named = said["sequences"]
        sequences = named if not named or named.startswith(IDS) else folder / named
        earlier = {EVERY: folder / said["earlier"]} if said["earlier"] else None
        result = Context(
            **places,
            features=tuple(said["features"]),
            category=said["category"],
            group=said["group"],
            length=said["length"],
            document=said["document"],
            sequences=sequences,
            earlier=earlier,
        )
        nothing = vars(Context())
        own = {name: each for name, each in vars(self).items() if each is not nothing[name]}
        return replace(result, **own)
