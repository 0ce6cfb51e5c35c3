"""Secrets: passwords by argon2, and random secrets that are kept as hashes."""

from __future__ import annotations

import hashlib
import secrets
from functools import cache
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.extras import require

if TYPE_CHECKING:
    from argon2 import PasswordHasher

SHORTEST, LONGEST = 10, 1_000
"""Characters of a password."""

_BYTES = 32


@cache
def _hasher() -> PasswordHasher:
    require("passwords need argon2-cffi", "argon2")
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _dummy_hash() -> str:
    return _hasher().hash(secrets.token_hex())


def password_hash(password: str) -> str:
    """The argon2id hash of a password.

    Raises:
        UsageError: shorter than ten characters, or absurdly long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise UsageError(f"a password has {SHORTEST} characters or more.", code="weak-password")
    return _hasher().hash(password)


def verify_password(hashed: str | None, password: str) -> bool:
    """True if a password matches a hash; without a hash it takes the same time."""
    from argon2.exceptions import InvalidHashError, VerificationError

    if len(password) > LONGEST:
        return False
    try:
        return _hasher().verify(hashed or _dummy_hash(), password) and hashed is not None
    except (VerificationError, InvalidHashError):
        return False


def renewed_hash(hashed: str, password: str) -> str | None:
    """A new hash of a password where its hash has outdated parameters; otherwise None."""
    return _hasher().hash(password) if _hasher().check_needs_rehash(hashed) else None


def new_secret(prefix: str) -> str:
    """A random secret, such as ``rgt_…``."""
    return f"{prefix}_{secrets.token_urlsafe(_BYTES)}"


def secret_hash(secret: str) -> str:
    """The kept hash of a random secret; it has 256 bits, so one round of SHA-256 is enough."""
    return hashlib.sha256(secret.encode()).hexdigest()
