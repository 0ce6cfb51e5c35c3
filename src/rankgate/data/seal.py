"""Evidence that a model judged before people did: the order of events in a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.qrels import Qrels

SEALED = "sealed"
"""The word for a model that judged before people did, as a store shows."""

_PAIR = ("query_id", "doc_id")


@dataclass(frozen=True)
class Seal:
    """People's judgments that came after the model's, by the order of events in a project.

    Attributes:
        project: the name of the project.
        judged_before: the queries that people rated before the model's judgments were stored.
    """

    project: str
    judged_before: tuple[str, ...] = ()

    @classmethod
    def from_order(cls, project: str, order: pl.DataFrame, people: Qrels) -> Seal:
        """Find the queries that people rated before the model judged.

        Args:
            project: the name of the project.
            order: the pairs that people rated: ``query_id``, ``doc_id``, and ``before``, True if a
                person rated the pair before the model's judgments were stored.
            people: people's judgments.

        Raises:
            UsageError: pairs that people judged have no rating in the project.
        """
        judged = people.table.select(*_PAIR)
        unrated = judged.join(order, on=_PAIR, how="anti", maintain_order="left")
        if len(unrated):
            query, doc = unrated.row(0)
            raise UsageError(
                f"{count_noun(len(unrated), 'pair')} of the judgments {people.name} (query {query}, document "
                f"{doc}) {'has' if len(unrated) == 1 else 'have'} no rating of a person in the project "
                f"{project}, so that it does not show when they were judged; let people rate in the project, "
                "or state what the model saw.",
                code="not-sealed",
            )
        early = order.filter("before").join(judged.select("query_id").unique(), on="query_id", how="semi")
        return cls(project, tuple(early["query_id"].unique().sort().to_list()))
