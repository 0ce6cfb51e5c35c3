"""Upgrade a store to this program's version."""

from __future__ import annotations

from rankgate.core.errors import UsageError
from rankgate.store import versions
from rankgate.store.address import address, file_of, shown
from rankgate.store.database import engine_of
from rankgate.store.store import reported


def upgraded(url: str | None) -> tuple[str, tuple[str, ...]]:
    """Bring a store to the newest version.

    Returns:
        Its address without a password, and the versions that were passed.

    Raises:
        UsageError: there is no store, or one of a newer version.
    """
    place = address(url)
    file = file_of(place)
    missing = UsageError(
        f"{shown(place)}: there is no store; make one with rankgate store init.", code="no-store"
    )
    if file is not None and not file.is_file():
        raise missing
    engine = engine_of(place)
    try:
        with reported(place):
            with engine.connect() as connection:
                if versions.version(connection) is None:
                    raise missing
            return shown(place), versions.upgrade(engine)
    finally:
        engine.dispose()
