"""Second factors: codes of an app (TOTP, RFC 6238), and recovery codes that work once.

A code is accepted once, during its own 30 seconds and the 30 seconds before and after. The step of
the last code is stored, and codes of this step or earlier steps are refused. Recovery codes are
stored as hashes; the secret of an app is needed to compute its codes, and is encrypted where the
environment has a key (`stored_secrets`).
"""

from __future__ import annotations

import hmac
import secrets
from datetime import datetime
from typing import TYPE_CHECKING, Literal

import sqlalchemy as sa

from rankgate.core.errors import UsageError, require
from rankgate.store.people.sign_in import secret_hash
from rankgate.store.people.stored_secrets import has_key, open_secret, seal_secret
from rankgate.store.rows import insert, now
from rankgate.store.tables.people_tables import recovery_codes, second_factors

if TYPE_CHECKING:
    from pyotp import TOTP
    from sqlalchemy import Connection

    from rankgate.store.people.users import User

RECOVERY_CODES = 10
"""The number of recovery codes of a second factor."""

_ALPHABET, _GROUPS, _GROUP = "abcdefghijkmnpqrstuvwxyz23456789", 4, 4
"""Characters that are not easily confused; 16 characters have 80 bits."""

_DIGITS = 6
_OFFSETS = (0, -1, 1)
"""The accepted time steps of 30 seconds, because the clocks of devices differ."""


def _totp(secret: str) -> TOTP:
    require("second factors need PyOTP", "pyotp")
    from pyotp import TOTP

    return TOTP(secret, digits=_DIGITS)


def has_second_factor(connection: Connection, user: int) -> bool:
    """True if a user confirmed a second factor, which sign-in by password then requires."""
    is_confirmed = second_factors.c.confirmed_at.is_not(None)
    statement = sa.select(sa.exists().where(second_factors.c.user == user, is_confirmed))
    return bool(connection.scalar(statement))


def users_with_second_factor(connection: Connection) -> set[int]:
    """The numbers of users who confirmed a second factor."""
    is_confirmed = second_factors.c.confirmed_at.is_not(None)
    return set(connection.scalars(sa.select(second_factors.c.user).where(is_confirmed)))


def begin(connection: Connection, user: int) -> str:
    """The secret of a new second factor, which is active after its confirmation.

    Raises:
        UsageError: the user already has a second factor.
    """
    require("second factors need PyOTP", "pyotp")
    from pyotp import random_base32

    if has_second_factor(connection, user):
        problem = "there is a second factor already; remove it first."
        raise UsageError(problem, code="second-factor-exists")
    secret = random_base32()
    values = {"secret": seal_secret(secret), "last_step": 0, "created_at": now(), "confirmed_at": None}
    statement = insert(connection, second_factors).values(user=user, **values)
    connection.execute(statement.on_conflict_do_update(index_elements=["user"], set_=values))
    return secret


def app_link(secret: str, name: str, issuer: str) -> str:
    """The link ``otpauth://…`` that transfers a secret to an app."""
    return _totp(secret).provisioning_uri(name=name, issuer_name=issuer)


def confirm(connection: Connection, user: int, code: str, moment: datetime | None = None) -> list[str] | None:
    """Confirm a second factor by a code of the app.

    Returns:
        New recovery codes, stored only as hashes; None if the code is wrong.
    """
    if has_second_factor(connection, user) or not _use_app_code(connection, user, code, moment):
        return None
    is_own = second_factors.c.user == user
    connection.execute(sa.update(second_factors).where(is_own).values(confirmed_at=now()))
    return renew_recovery_codes(connection, user)


def use_code(
    connection: Connection, user: int, code: str, moment: datetime | None = None
) -> Literal["app", "recovery code"] | None:
    """Use a code of a confirmed second factor; the code does not work again.

    Args:
        connection: a connection to a store, for writing.
        user: the number of the user.
        code: six digits of the app, or a recovery code; blanks and hyphens do not matter.
        moment: now by default.

    Returns:
        The kind of the code; None if it is wrong, was used, or the user has no second factor.
    """
    if not has_second_factor(connection, user):
        return None
    signs = _normalize(code)
    if len(signs) == _DIGITS and signs.isascii() and signs.isdigit():
        return "app" if _use_app_code(connection, user, signs, moment) else None
    is_code = sa.and_(recovery_codes.c.user == user, recovery_codes.c.code_hash == _code_hash(code))
    statement = sa.delete(recovery_codes).where(is_code)
    return "recovery code" if connection.execute(statement).rowcount else None


def _use_app_code(connection: Connection, user: int, code: str, moment: datetime | None = None) -> bool:
    """Use a code of the app; True if it is right and was not used before."""
    is_own = second_factors.c.user == user
    stored_secret = connection.scalar(sa.select(second_factors.c.secret).where(is_own))
    if stored_secret is None:
        return False
    totp, code_moment = _totp(open_secret(stored_secret)), moment or now()
    codes = [(offset, totp.at(code_moment, counter_offset=offset)) for offset in _OFFSETS]
    code_bytes = _normalize(code).encode()
    offsets = [offset for offset, expected in codes if hmac.compare_digest(expected.encode(), code_bytes)]
    if not offsets:
        return False
    step = totp.timecode(code_moment) + max(offsets)
    is_later = sa.and_(is_own, second_factors.c.last_step < step)
    statement = sa.update(second_factors).where(is_later).values(last_step=step)
    return bool(connection.execute(statement).rowcount)


def renew_recovery_codes(connection: Connection, user: int) -> list[str]:
    """Replace all recovery codes by new ones, and store only their hashes."""
    connection.execute(sa.delete(recovery_codes).where(recovery_codes.c.user == user))
    codes = [
        "-".join("".join(secrets.choice(_ALPHABET) for _ in range(_GROUP)) for _ in range(_GROUPS))
        for _ in range(RECOVERY_CODES)
    ]
    rows = [{"user": user, "code_hash": _code_hash(code)} for code in codes]
    connection.execute(sa.insert(recovery_codes), rows)
    return codes


def count_recovery_codes(connection: Connection, user: int) -> int:
    """The number of unused recovery codes."""
    statement = sa.select(sa.func.count()).where(recovery_codes.c.user == user)
    return connection.scalar(statement) or 0


def remove(connection: Connection, user: User) -> None:
    """Remove the second factor of a user with its recovery codes.

    Raises:
        UsageError: the user has no second factor.
    """
    if not has_second_factor(connection, user.id):
        raise UsageError(f"{user.name} has no second factor.", code="no-second-factor")
    for table in (recovery_codes, second_factors):
        connection.execute(sa.delete(table).where(table.c.user == user.id))


def reseal_secrets(connection: Connection) -> int:
    """Encrypt all secrets with the first key; return the number of secrets that stay as they are.

    Secrets from a time without a key are encrypted, and those of an earlier key again. Without a key
    nothing changes.

    Args:
        connection: a connection to a store, for writing.

    Raises:
        UsageError: a key is missing or not valid.
    """
    rows = connection.execute(sa.select(second_factors.c.user, second_factors.c.secret)).all()
    if not has_key():
        return sum(open_secret(row.secret) == row.secret for row in rows)
    for row in rows:
        is_own = second_factors.c.user == row.user
        sealed_secret = seal_secret(open_secret(row.secret))
        connection.execute(sa.update(second_factors).where(is_own).values(secret=sealed_secret))
    return 0


def find_unreadable(connection: Connection) -> list[tuple[int, str]]:
    """The users whose second factor cannot be read with the keys of the environment, and why."""
    unreadable = []
    for user, stored_secret in connection.execute(sa.select(second_factors.c.user, second_factors.c.secret)):
        try:
            open_secret(stored_secret)
        except UsageError as error:
            unreadable.append((user, error.problem))
    return unreadable


def _normalize(code: str) -> str:
    """A code without blanks and hyphens, in lower case."""
    return "".join(code.split()).replace("-", "").lower()


def _code_hash(code: str) -> str:
    return secret_hash(_normalize(code))
