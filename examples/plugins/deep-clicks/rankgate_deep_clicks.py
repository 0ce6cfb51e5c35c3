"""A KPI: the share of clicks below the first five ranks, where few people look.

A rising share says that the first results satisfy less, or that people search more thoroughly;
read it together with the share of searches with a click.
"""

from rankgate.extend import Kpi

_FIRST = 5

DEEP_CLICK_SHARE = Kpi(
    "deep_click_share",
    title="Clicks below rank 5",
    formula="clicks at rank > 5 / clicks with a rank",
    table="clicks",
    of=lambda clicks: clicks["rank"] > _FIRST,
    unit="share",
    better="down",
    needs=("click",),
    made_of=("clicks", "ranks"),
)
