"""Upgrade a store to this program's version."""

from __future__ import annotations

from rankgate.core.errors import UsageError
from rankgate.store import versions
from rankgate.store.address import address, display_address, file_of
from rankgate.store.database import make_engine
from rankgate.store.store import database_errors


def upgrade_store(url: str | None) -> tuple[str, tuple[str, ...]]:
    """Bring a store to the newest version.

    Returns:
        Its address without a password, and the versions that were passed.

    Raises:
        UsageError: there is no store, or one of a newer version.
    """
    store_url = address(url)
    file = file_of(store_url)
    missing = UsageError(
        f"{display_address(store_url)}: there is no store; make one with rankgate store init.",
        code="no-store",
    )
    if file is not None and not file.is_file():
        raise missing
    engine = make_engine(store_url)
    try:
        with database_errors(store_url):
            with engine.connect() as connection:
                if versions.version(connection) is None:
                    raise missing
            return display_address(store_url), versions.upgrade(engine)
    finally:
        engine.dispose()
