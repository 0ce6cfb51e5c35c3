"""The rules for queries and users when a log is read."""

from __future__ import annotations

import hashlib
import hmac
import os
from collections.abc import Mapping
from typing import Annotated, Literal

from rankgate.core.declare import Range, check_fields
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.online.database import quote_text

KEY_VARIABLE = "RANKGATE_HASH_KEY"
"""The environment variable that holds the key of hashes."""

_MIN_KEY_LENGTH = 16  # characters of a key


@dataclass(frozen=True)
class Privacy:
    """What becomes of the words of queries and of the ids of users and sessions.

    Attributes:
        queries: Keep the words of queries, drop or hash them, or keep the frequent ones only.
        users: Keep the ids of users and sessions, drop those of users, or hash both.
        min_users: How many users must have typed a query that counts as frequent.

    Raises:
        UsageError: A value that a field cannot have.
    """

    queries: Literal["keep", "drop", "hash", "frequent"] = "keep"
    users: Literal["keep", "drop", "hash"] = "keep"
    min_users: Annotated[int, Range(2)] = 10

    def __post_init__(self) -> None:
        check_fields(self)

    def to_dict(self) -> dict[str, str | int]:
        """The rules as they are recorded next to the events; never the key."""
        settings: dict[str, str | int] = {"queries": self.queries, "users": self.users}
        return {**settings, "min_users": self.min_users} if self.queries == "frequent" else settings

    @property
    def keeps_all(self) -> bool:
        """True if nothing is left out."""
        return self.queries == self.users == "keep"

    def columns(self, environment: Mapping[str, str] = os.environ) -> dict[str, str]:
        """The SQL that replaces columns of the events, by column.

        Other attributes are left out as soon as anything is, as they may hold the same words.

        Raises:
            UsageError: a hash is asked for and the environment has no key.
        """
        replacements: dict[str, str] = {}
        if self.queries == "hash":
            replacements["query"] = _hash_sql("query", environment)
        elif self.queries != "keep":
            replacements["query"] = "NULL" if self.queries == "drop" else _FREQUENT
        if self.users == "hash":
            replacements |= {name: _hash_sql(name, environment) for name in ("user", "session")}
        elif self.users == "drop":
            replacements["user"] = "NULL"
        if replacements:
            replacements["attributes"] = _NUMBERS
        return replacements

    @property
    def frequent(self) -> str:
        """SQL of the queries that are kept, from the table ``staged``; empty if not asked for."""
        if self.queries != "frequent":
            return ""
        return (
            "SELECT query AS frequent FROM staged WHERE query IS NOT NULL GROUP BY query HAVING "
            f'count(DISTINCT coalesce("user", session)) >= {self.min_users}'
        )


_FREQUENT = "CASE WHEN query IN (SELECT frequent FROM frequent_queries) THEN query END"
_NUMBERS = (
    "CASE WHEN attributes IS NOT NULL THEN to_json({'application': attributes->>'$.application', "
    "'inference_ms': try_cast(attributes->>'$.inference_ms' AS DOUBLE), "
    "'cpu_ms': try_cast(attributes->>'$.cpu_ms' AS DOUBLE), "
    "'memory_mb': try_cast(attributes->>'$.memory_mb' AS DOUBLE)})::VARCHAR END"
)


def _hash_sql(column: str, environment: Mapping[str, str]) -> str:
    """A keyed hash: H(k2, H(k1, text)) with SHA-256 and two keys made of the secret one.

    The nested form (NMAC) is what DuckDB can compute; each column has keys of its own.
    """
    secret = environment.get(KEY_VARIABLE, "")
    if len(secret) < _MIN_KEY_LENGTH:
        problem = (
            f"a hash needs a key of at least {_MIN_KEY_LENGTH} characters in the variable "
            f"{KEY_VARIABLE}."
        )
        raise UsageError(problem, code="missing-secret")
    inner, outer = (
        hmac.new(secret.encode(), f"{column}:{round_name}".encode(), hashlib.sha256).hexdigest()
        for round_name in ("inner", "outer")
    )
    name = f'"{column}"'
    return f"left(sha256({quote_text(outer)} || sha256({quote_text(inner)} || {name})), 32)"
