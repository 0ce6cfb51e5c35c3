"""Make the log and the table of items of this example: readers who have tastes, over a year."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl

HERE = Path(__file__).parent
GENRES = ("crime", "fantasy", "history", "poetry", "science", "travel")
READERS, BOOKS, ROWS = 240, 180, 6000
SMALL = 0.4  # of the books are from small presses
YEAR = 365 * 24 * 3600
BEGIN = 1_735_689_600  # 2025-01-01


def main() -> None:
    """Write log.csv and books.csv beside this file."""
    rng = np.random.default_rng(11)
    genre = rng.integers(0, len(GENRES), BOOKS)
    pull = (1 + np.arange(BOOKS)) ** -0.8  # few books are read by many
    rng.shuffle(pull)
    appears = np.sort(rng.uniform(-1, 0.9, BOOKS))  # some books appear during the year
    taste = rng.dirichlet(np.full(len(GENRES), 0.35), READERS)
    rows = []
    for at in np.sort(rng.uniform(0, 1, ROWS)):
        reader = int(READERS * rng.beta(1, 1.6))
        chance = pull * taste[reader, genre] * (appears < at)
        book = int(rng.choice(BOOKS, p=chance / chance.sum()))
        liked = taste[reader, genre[book]] / taste[reader].max()
        stars = int(np.clip(np.rint(2 + 3 * liked + rng.normal(0, 0.8)), 1, 5))
        rows.append((f"r{reader:03}", f"b{book:03}", stars, BEGIN + int(at * YEAR)))
    names = ["reader_id", "book_id", "rating", "timestamp"]
    log = pl.DataFrame(rows, schema=names, orient="row")
    log.rename({"reader_id": "user_id"}).write_csv(HERE / "log.csv")
    small = rng.random(BOOKS) < SMALL
    books = [
        (f"b{book:03}", GENRES[genre[book]], "small press" if small[book] else "large press")
        for book in range(BOOKS)
    ]
    table = pl.DataFrame(books, schema=["book_id", "genre", "press"], orient="row")
    table.write_csv(HERE / "books.csv")


if __name__ == "__main__":
    main()
