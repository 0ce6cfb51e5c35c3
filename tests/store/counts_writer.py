"""A program that adds, corrects, withdraws, imports and deletes answers, until it is killed."""

import os
import sys
from datetime import UTC, datetime
from itertools import count

import polars as pl
import sqlalchemy as sa

from rankgate.data.qrels import Ratings
from rankgate.data.table_rows import RowLocation
from rankgate.store import archive
from rankgate.store.rating import batches, import_ratings, preferences, ratings
from rankgate.store.store import Store
from rankgate.store.tables.rating_tables import tasks

ROWS = 40


def imported(step):
    """Ratings of pairs with and without tasks, by two raters."""
    columns = {
        "query_id": [f"q{row % 4}" for row in range(ROWS)],
        "doc_id": [f"d{row % 7}" for row in range(ROWS)],
        "rater": [f"rater{row % 2}" for row in range(ROWS)],
        "grade": [None if row % 5 == 4 else float((row + step) % 4) for row in range(ROWS)],
        "reason": ["unclear" if row % 5 == 4 else "" for row in range(ROWS)],
        "at": [
            None if row % 3 == 2 else datetime(2026, 1, 1 + row % 20, step % 24, tzinfo=UTC)
            for row in range(ROWS)
        ],
        "seconds": [None if row % 6 == 5 else 1.5 * row for row in range(ROWS)],
        "comment": [""] * ROWS,
        "guideline": [""] * ROWS,
    }
    table = pl.DataFrame(columns).with_columns(pl.col("at").cast(pl.Datetime("us", "UTC")))
    return Ratings(table, "file", None, RowLocation("file"))


def add_batches(connection, project, step):
    """A batch of ratings, a training and a batch of comparisons, and the first task of each."""
    pairs = pl.DataFrame({"query_id": ["q0", "q1"], "doc_id": ["d0", "d1"]})
    first_tasks = []
    for kind in ("rating", "training", "documents"):
        batch = batches.add_batch(connection, project, f"{kind} {step}", kind=kind)
        if kind == "documents":
            sides = [("q0", batches.Side(document="d0"), batches.Side(document="d1"))]
            batches.add_preferences(connection, batch, sides)
        else:
            batches.add_pairs(connection, batch, pairs)
        first_task = sa.select(sa.func.min(tasks.c.id)).where(tasks.c.batch == batch.id)
        first_tasks.append((batch, connection.scalar(first_task)))
    return first_tasks


def answer(store, project, raters, step):
    """Add answers in every way; every second step deletes a batch."""
    with store.write() as connection:
        added = add_batches(connection, project, step)
    (batch, task), (_, training), (_, comparison) = added
    first, second = raters[:2]
    with store.write() as connection:
        for number, rater in enumerate((first, second)):
            for change in range(2):  # the second rating corrects the first
                name = f"{step}-{number}-{change}"
                ratings.rate(
                    connection, task, rater, rating_id=name, grade=float(change), seconds=400.0 * change
                )
        ratings.rate(connection, training, first, rating_id=f"{step}-training", grade=1.0, seconds=2.0)
        ratings.rate(connection, task + 1, first, rating_id=f"{step}-none", grade=None, reason="unclear")
        preferences.prefer(
            connection, comparison, first, preference_id=f"{step}-left", choice="left", seconds=3.0
        )
        preferences.prefer(
            connection, comparison, second, preference_id=f"{step}-no", choice="none", reason="same"
        )
    with store.write() as connection:
        ratings.withdraw(connection, task, second, rating_id=f"{step}-withdrawn")
        preferences.withdraw(connection, comparison, second, preference_id=f"{step}-withdrawn")
        ratings.rate(connection, task, second, rating_id=f"{step}-final", grade=2.0, final=True)
    with store.write() as connection:
        import_ratings.add_ratings(connection, project, imported(step), source="file")
    if step % 2:
        with store.write() as connection:
            archive.delete(connection, archive.get(connection, project, "batch", batch.id))


def main(url, project, raters):
    """Answer until the process is killed; print each step that is complete."""
    with Store.open(url) as store:
        for step in count(int(os.environ.get("FIRST_STEP", "0"))):
            answer(store, project, raters, step)
            os.write(1, f"{step}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), [int(rater) for rater in sys.argv[3:]])
