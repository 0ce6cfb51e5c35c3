"""Polars that gives rows in a random order wherever it promises none.

Polars itself does so sometimes; here every call does, so that a test detects a dependence on the
order in small tables and at the first attempt.
"""

import random

import polars as pl
from polars.lazyframe.group_by import LazyGroupBy


def shuffle_unordered(seed):
    """Replace the methods of Polars without a promised order, in this process for good."""
    rng = random.Random(seed)

    def shuffled(column):
        return column.shuffle(seed=rng.randrange(1 << 30))

    for owner in (pl.Expr, pl.Series):
        owner.unique = _with_order(owner.unique, shuffled)
    pl.LazyFrame.unique = _with_order(pl.LazyFrame.unique, lambda frame: frame.select(shuffled(pl.all())))

    group_by, join, agg, head = (pl.LazyFrame.group_by, pl.LazyFrame.join, LazyGroupBy.agg, LazyGroupBy.head)

    def ordered_group_by(self, *by, maintain_order=False, **named_by):
        groups = group_by(self, *by, maintain_order=maintain_order, **named_by)
        groups.maintain_order = maintain_order
        return groups

    def of_groups(method):
        def shuffled_groups(self, *arguments, **named):
            frame = method(self, *arguments, **named)
            return frame if self.maintain_order else frame.select(shuffled(pl.all()))

        return shuffled_groups

    def full_join(self, other, on=None, how="inner", *, maintain_order=None, **named):
        frame = join(self, other, on, how, maintain_order=maintain_order, **named)
        is_unordered = how == "full" and maintain_order in {None, "none"}
        return frame.select(shuffled(pl.all())) if is_unordered else frame

    pl.LazyFrame.group_by, pl.LazyFrame.join = ordered_group_by, full_join
    LazyGroupBy.agg, LazyGroupBy.head = of_groups(agg), of_groups(head)


def _with_order(unique, shuffled):
    def unique_in_any_order(self, *arguments, maintain_order=False, **named):
        values = unique(self, *arguments, maintain_order=maintain_order, **named)
        return values if maintain_order else shuffled(values)

    return unique_in_any_order
