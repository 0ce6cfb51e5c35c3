"""Secrets that the store must be able to read again, encrypted with a key of the environment.

The secret of a second factor is needed as it is, to compute codes. With a key in `KEY_VARIABLE` it
is stored encrypted (Fernet: AES-128-CBC with HMAC-SHA-256), so that a copy of the database alone
computes no codes. Without a key it is stored as it is.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError, require

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

KEY_VARIABLE = "RANKGATE_SECRETS_KEY"
"""The environment variable with the key, or with several, separated by commas.

The first one encrypts, and all can decrypt, so that a new key is written before the old one."""

_SEALED = "fernet:"
"""The beginning of an encrypted secret; secrets of apps are upper case."""


def has_key() -> bool:
    """True if the environment has a key."""
    return bool(os.environ.get(KEY_VARIABLE, "").strip(", "))


def seal_secret(secret: str) -> str:
    """A secret as it is stored: encrypted with the first key, or as it is without a key.

    Raises:
        UsageError: the key is not valid.
    """
    return _SEALED + _read_keys().encrypt(secret.encode()).decode() if has_key() else secret


def open_secret(stored_secret: str) -> str:
    """The secret of a stored one, which may be from a time without a key.

    Raises:
        UsageError: the key is missing, is not valid or is another one.
    """
    if not stored_secret.startswith(_SEALED):
        return stored_secret
    if not has_key():
        problem = f"a stored secret is encrypted; set {KEY_VARIABLE} to its key."
        raise UsageError(problem, code="missing-secrets-key")
    keys = _read_keys()
    from cryptography.fernet import InvalidToken

    try:
        return keys.decrypt(stored_secret.removeprefix(_SEALED).encode()).decode()
    except InvalidToken:
        problem = f"a stored secret was encrypted with a key that {KEY_VARIABLE} does not have; add that key."
        raise UsageError(problem, code="wrong-secrets-key") from None


def _read_keys() -> MultiFernet:
    require("keys of secrets need cryptography", "cryptography")
    from cryptography.fernet import Fernet, MultiFernet

    key_texts = [text.strip() for text in os.environ[KEY_VARIABLE].split(",")]
    try:
        return MultiFernet([Fernet(text) for text in key_texts if text])
    except ValueError:
        problem = (
            f"{KEY_VARIABLE} is not a key; make one with python -c 'from cryptography.fernet import Fernet; "
            "print(Fernet.generate_key().decode())'."
        )
        raise UsageError(problem, code="invalid-secrets-key") from None
