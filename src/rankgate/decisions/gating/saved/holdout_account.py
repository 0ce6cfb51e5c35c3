"""The account of held-out queries: which tests they answered, and what they may still decide.

An account is one SQLite file of a project, which all its processes share. A test is charged to its
queries before its answer is known, in one transaction: two processes never spend the same share,
and a crash loses no charge. Queries are recognised by id, by text and by their relevant
documents, so that other names of files, sets or ids change nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import new_folder
from rankgate.core.present.base_result import Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.layout import View, fill
from rankgate.measurement.stats.chosen_candidates import (
    FIRST_SHARE,
    first_exceedance_level,
    fresh_queries,
    share_of_test,
    unit_differences,
)

if TYPE_CHECKING:
    from sqlite3 import Connection

    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats

FILE = Path("rankgate/account.sqlite")
"""The file of the account, below the folder of the project."""

SCHEMA_VERSION = 1
_LARGEST = 10_000  # queries of a test whose differences are kept
_WAIT = 60.0  # seconds that a process waits for another one
_TABLES = (
    "CREATE TABLE account (alpha REAL NOT NULL, tests INTEGER NOT NULL, opened_at TEXT NOT NULL)",
    "CREATE TABLE query_key (key TEXT PRIMARY KEY, query INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE query_set (id INTEGER PRIMARY KEY, hash TEXT UNIQUE NOT NULL)",
    "CREATE TABLE set_query (query INTEGER, query_set INTEGER, PRIMARY KEY (query, query_set)) WITHOUT ROWID",
    """CREATE TABLE test (id INTEGER PRIMARY KEY, hash TEXT UNIQUE NOT NULL, query_set INTEGER NOT NULL,
    at TEXT NOT NULL, level REAL NOT NULL, shown INTEGER NOT NULL, passed INTEGER, rule TEXT, queries BLOB,
    differences BLOB)""",
)


@dataclass(frozen=True)
class HoldoutBudget:
    """What an account says of the queries of a test.

    Attributes:
        state: ``open``; ``worn``: these queries decide nothing more; or ``unknown``.
        test: the number of this test among those that share a query with it, from 1; 0 if it was not charged.
        tests: the largest number of tests.
        passes: earlier tests among them that passed.
        queries: the number of queries.
        used: queries that earlier tests had.
        fresh: further queries that restore what the first test could detect; None if that is unknown.
        reason: why the queries are worn, or the budget unknown.
    """

    DERIVED: ClassVar[tuple[str, ...]] = ("left", "sentence")

    state: Literal["open", "worn", "unknown"]
    test: int = 0
    tests: int = 0
    passes: int = 0
    queries: int = 0
    used: int = 0
    fresh: int | None = None
    reason: str = ""

    @property
    def left(self) -> int:
        """The tests that are left."""
        return max(self.tests - self.test, 0) if self.state == "open" else 0

    @property
    def sentence(self) -> str:
        """What is spent, what is left, when the queries are worn, and what restores them."""
        template = _BUDGETS[self.state]
        if self.state == "open":
            restored = "{fresh:n fresh query} restore what the first test could detect"
            template += restored if self.passes else "a pass divides the levels of later tests"
        return fill(template, self, {"fresh": self.fresh or (0 if self.state == "open" else self.queries)})


_USED = "{used:,} of these {queries:n query} were in earlier tests; "
_BUDGETS = {
    "unknown": "budget unknown: {reason}",
    "worn": f"budget spent: {{reason}}; {_USED}{{fresh:n fresh query}} in a set of their own restore it",
    "open": (
        "budget: test {test:,} of {tests:,} at these queries, after {passes:n pass/passes}; {left:,} left, "
        f"then the queries are worn; {_USED}"
    ),
}


def unknown_budget(reason: str) -> HoldoutBudget:
    """The budget where no account says what was spent."""
    return HoldoutBudget("unknown", reason=reason)


@dataclass(frozen=True)
class Charge:
    """A test that was charged.

    Attributes:
        id: its row in the account; None if it was refused.
        level: the one-sided level of its bounds; 0 if it was refused.
        budget: what the account says of its queries.
    """

    id: int | None
    level: float
    budget: HoldoutBudget


_SETS = Columns(
    "One row per set of queries that tests had.",
    Column("queries", pl.Int64, "the number of its queries"),
    Column("tests", pl.Int64, "tests that share a query with it"),
    Column("passes", pl.Int64, "those that passed"),
    Column("shown", pl.Int64, "looks that showed figures of some of its queries"),
    Column("left", pl.Int64, "tests that are left"),
)


@dataclass(frozen=True)
class AccountSummary(Result):
    """An account of held-out queries.

    Attributes:
        file: its file.
        alpha: the probability of any false pass.
        tests: the largest number of tests of a query.
        opened_at: when it was opened, in UTC.
        sets: the columns of `SCHEMAS`.
    """

    kind = "account"
    SCHEMAS: ClassVar = {"sets": _SETS}
    headline_text = (
        "{file}: at most {tests:,} tests of a query, {alpha:.2g} for any false pass, opened {opened_at}"
    )
    layout = (View("sets", "sets of queries"),)

    file: str
    alpha: float
    tests: int
    opened_at: str
    sets: pl.DataFrame


@dataclass(frozen=True)
class HoldoutAccount:
    """The account of a project's held-out queries.

    Attributes:
        path: its file.
    """

    path: Path

    def charge(
        self, test: str, keys: pl.DataFrame, alpha: float, power: float, rule: str, gains: Floats | None
    ) -> Charge:
        """Charge a test to its queries, and get the level of its bounds; the same test is charged once.

        Args:
            test: a hash of judgments, systems and policy.
            keys: `query_keys`, in the order of the gains.
            alpha: the policy's probability of a false pass; that of the account, if it is lower.
            power: the power of detectable differences.
            rule: the rule that infers, with its metric and slice; only tests of one rule overlap.
            gains: (n,) the gains of the queries, NaN where the rule does not look; None if tests cannot be
                compared by them.

        Raises:
            InputError: the account cannot be read or written.
        """
        with self._transaction() as database:
            account_alpha, tests = database.execute("SELECT alpha, tests FROM account").fetchone()
            query_set, queries, used = _register(database, keys)
            earlier = database.execute(_EARLIER, (query_set,)).fetchall()
            shown_at = [at for _, _, _, shown, _, at, *_ in earlier if shown]
            charged_tests = [row for row in earlier if not row[3]]
            position = next((i for i, row in enumerate(charged_tests) if row[1] == test), None)
            previous = charged_tests if position is None else charged_tests[:position]
            passes = sum(bool(row[4]) for row in previous)
            n, alpha = len(queries), min(alpha, account_alpha)
            share = share_of_test(alpha, tests, passes)
            common = {"tests": tests, "passes": passes, "queries": n, "used": used}
            reason = ""
            if position is None and shown_at:
                reason = f"figures of some of these queries were shown on {shown_at[0][:10]}"
            elif len(previous) >= tests:
                reason = f"all {tests:,} tests were made"
            if reason:
                return Charge(None, 0.0, HoldoutBudget("worn", fresh=n, reason=reason, **common))
            fresh_count = min(n, fresh_queries(n, share_of_test(alpha, tests, 0), share, power))
            budget = HoldoutBudget("open", len(previous) + 1, fresh=fresh_count, **common)
            if position is not None:
                return Charge(charged_tests[position][0], charged_tests[position][2], budget)
            values: tuple[bytes, bytes] | tuple[None, None] = (None, None)
            if gains is None or n > _LARGEST:
                level = share
            else:
                has_gain = ~np.isnan(gains)
                ids, ordered_gains = np.asarray(queries, np.int64)[has_gain], gains[has_gain]
                values = (ids.tobytes(), unit_differences(ordered_gains).tobytes())
                level = _level(
                    share,
                    ids,
                    ordered_gains,
                    [row for row in previous if row[6] == rule],
                    alpha,
                    len(previous),
                )
            cursor = database.execute(
                "INSERT INTO test (hash, query_set, at, level, shown, rule, queries, differences) "
                "VALUES (?, ?, ?, ?, 0, ?, ?, ?)",
                (test, query_set, _now(), level, rule, *values),
            )
            return Charge(cursor.lastrowid, level, budget)

    def settle(self, charge: Charge, *, passed: bool) -> None:
        """Write the answer of a test, before anybody sees it.

        Raises:
            InputError: the account cannot be written.
        """
        with self._transaction() as database:
            database.execute("UPDATE test SET passed = ? WHERE id = ?", (passed, charge.id))

    def show(self, keys: pl.DataFrame) -> int:
        """Note that figures of queries are shown; return the number of tests of them so far.

        Raises:
            InputError: the account cannot be read or written.
        """
        with self._transaction() as database:
            query_set, _, _ = _register(database, keys)
            tests = [row for row in database.execute(_EARLIER, (query_set,)) if not row[3]]
            database.execute(
                "INSERT OR IGNORE INTO test (hash, query_set, at, level, shown) VALUES (?, ?, ?, 0, 1)",
                (f"shown {query_set}", query_set, _now()),
            )
            return len(tests)

    def count_tested(self, keys: pl.DataFrame) -> int:
        """The number of these queries that had a test.

        Raises:
            InputError: the account cannot be read.
        """
        with self._transaction() as database:
            _state_keys(database, keys)
            count = database.execute(
                "SELECT COUNT(DISTINCT position) FROM stated JOIN query_key USING (key) "
                "JOIN set_query USING (query) JOIN test USING (query_set) WHERE shown = 0"
            ).fetchone()[0]
        return int(count)

    def summary(self) -> AccountSummary:
        """The account for readers.

        Raises:
            InputError: the account cannot be read.
        """
        with self._transaction() as database:
            alpha, tests, opened_at = database.execute("SELECT * FROM account").fetchone()
            rows = []
            sizes = "SELECT query_set, COUNT(*) FROM set_query GROUP BY query_set ORDER BY query_set"
            for query_set, queries in database.execute(sizes).fetchall():
                earlier = database.execute(_EARLIER, (query_set,)).fetchall()
                look_count = sum(row[3] for row in earlier)
                test_count = len(earlier) - look_count
                rows.append(
                    (
                        queries,
                        test_count,
                        sum(bool(row[4]) for row in earlier),
                        look_count,
                        0 if look_count else tests - test_count,
                    )
                )
        return AccountSummary(
            str(self.path), alpha, tests, opened_at, pl.DataFrame(rows, _SETS, orient="row")
        )

    @contextmanager
    def _transaction(self) -> Iterator[Connection]:
        """A transaction that no other process shares; written to disk at its end.

        Raises:
            InputError: the account cannot be read or written.
        """
        import sqlite3

        source = str(self.path)
        try:
            database = sqlite3.connect(
                f"{self.path.resolve().as_uri()}?mode=rw", _WAIT, isolation_level=None, uri=True
            )
            try:
                database.execute("PRAGMA synchronous = FULL")
                database.execute("BEGIN IMMEDIATE")
                if database.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
                    raise InputError("not an account of this version.", source=source, code="wrong-document")
                yield database
                database.execute("COMMIT")
            finally:
                database.close()
        except sqlite3.Error as error:
            problem = f"the account of held-out queries cannot be used ({error}); nothing was decided."
            raise InputError(problem, source=source, code="cannot-read") from None


_EARLIER = """
SELECT id, hash, level, shown, passed, at, rule, queries, differences FROM test WHERE query_set IN
(SELECT DISTINCT other.query_set FROM set_query JOIN set_query AS other USING (query)
WHERE set_query.query_set = ?)
ORDER BY id
"""
"""Every test and look that shares a query with a set."""


def open_account(
    folder: Path = Path(),
    *,
    tests: Annotated[int, Range(1, 1_000_000)] = 1000,
    alpha: Annotated[float, Range(0.0001, 0.5)] = 0.05,
) -> AccountSummary:
    """Open the account of a project's held-out queries.

    Args:
        folder: the folder of the project.
        tests: the largest number of tests of a query.
        alpha: the probability of any false pass.

    Raises:
        UsageError: there is an account already; it cannot be written.
    """
    import sqlite3

    path = folder / FILE
    if path.exists():
        raise UsageError(
            f"{path}: the account is open; a second one would be a fresh budget.", code="already-exists"
        )
    with new_folder(path.parent, shared=True):
        try:
            database = sqlite3.connect(path, _WAIT, isolation_level=None)
            try:
                database.execute("BEGIN EXCLUSIVE")
                for statement in _TABLES:
                    database.execute(statement)
                database.execute("INSERT INTO account VALUES (?, ?, ?)", (alpha, tests, _now()))
                database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
                database.execute("COMMIT")
            finally:
                database.close()
        except sqlite3.Error as error:
            raise UsageError(f"{path}: cannot be written ({error}).", code="cannot-write") from None
    return HoldoutAccount(path).summary()


def find_account(folder: Path) -> HoldoutAccount | None:
    """The account of a folder, if one is open there."""
    path = folder / FILE
    return HoldoutAccount(path) if path.is_file() else None


def query_keys(
    query_ids: list[str], judgments: pl.DataFrame | None, texts: pl.DataFrame | None
) -> pl.DataFrame:
    """What queries are recognised by: ``position`` and ``key``, some rows for each query.

    Args:
        query_ids: the queries.
        judgments: ``query_id``, ``doc_id``, ``grade``, if they are known.
        texts: ``query_id`` and ``text``, if they are known; case and spaces do not count.
    """
    queries = pl.DataFrame({"query_id": query_ids}, {"query_id": pl.String}).with_row_index("position")
    words = [queries.select("position", text="query_id", kind=pl.lit("id"))]
    if judgments is not None:
        relevant = judgments.filter(pl.col("grade") > 0).group_by("query_id")
        documents = relevant.agg(text=pl.col("doc_id").cast(pl.String).unique().sort().str.join("\x00"))
        words.append(queries.join(documents, "query_id").select("position", "text", kind=pl.lit("documents")))
    if texts is not None:
        plain = pl.col("text").str.to_lowercase().str.replace_all(r"\s+", " ").str.strip_chars()
        texts = texts.drop_nulls().with_columns(plain).filter(pl.col("text") != "")
        words.append(queries.join(texts, "query_id").select("position", "text", kind=pl.lit("text")))
    table = pl.concat(words)
    keys = [
        blake2b(f"{kind}\x00{text}".encode(), digest_size=16).hexdigest()
        for text, kind in table.select("text", "kind").iter_rows()
    ]
    return table.select("position", key=pl.Series(keys, dtype=pl.String))


def _register(database: Connection, keys: pl.DataFrame) -> tuple[int, list[int], int]:
    """Enter queries with their keys.

    Returns:
        Their set; the number of each query; how many are in sets of tests.
    """
    _state_keys(database, keys)
    matches: dict[int, list[int]] = {}
    for position, query in database.execute(
        "SELECT position, query FROM stated JOIN query_key USING (key) ORDER BY position, query"
    ):
        matches.setdefault(position, []).append(query)
    next_query = database.execute("SELECT COALESCE(MAX(query), -1) + 1 FROM query_key").fetchone()[0]
    positions = keys["position"].unique().sort().to_list()
    new = [position for position in positions if position not in matches]
    numbers = {position: matched[0] for position, matched in matches.items()}
    numbers |= {position: next_query + i for i, position in enumerate(new)}
    database.executemany(
        "INSERT OR IGNORE INTO query_key VALUES (?, ?)",
        ((key, numbers[position]) for position, key in keys.iter_rows()),
    )
    members = sorted({*numbers.values(), *(query for matched in matches.values() for query in matched)})
    digest = blake2b(np.asarray(members, np.int64).tobytes(), digest_size=16).hexdigest()
    stored = database.execute("SELECT id FROM query_set WHERE hash = ?", (digest,)).fetchone()
    if stored is None:
        query_set = database.execute("INSERT INTO query_set (hash) VALUES (?)", (digest,)).lastrowid
        database.executemany("INSERT INTO set_query VALUES (?, ?)", ((query, query_set) for query in members))
    else:
        query_set = stored[0]
    return int(query_set or 0), [numbers[position] for position in positions], len(matches)


def _state_keys(database: Connection, keys: pl.DataFrame) -> None:
    database.execute("CREATE TEMP TABLE stated (position INTEGER, key TEXT)")
    database.executemany("INSERT INTO stated VALUES (?, ?)", keys.iter_rows())


def _level(
    share: float, ids: NDArray[np.int64], gains: Floats, tests: list[Any], alpha: float, seed: int
) -> float:
    """The level of a test beside earlier tests of the same rule, by their differences at these queries."""
    tests = [row for row in tests if row[7] is not None]
    if not tests:
        return share
    earlier = np.zeros((len(ids), len(tests)))
    for column, row in enumerate(tests):
        test_ids = np.frombuffer(row[7], np.int64)
        unit = np.frombuffer(row[8], np.float64)
        _, own_rows, test_rows = np.intersect1d(ids, test_ids, return_indices=True)
        earlier[own_rows, column] = unit[test_rows]
    levels = np.array([row[2] for row in tests])
    return first_exceedance_level(share, gains, earlier, levels, most=FIRST_SHARE * alpha, seed=seed)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
