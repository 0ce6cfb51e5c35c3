"""The store of judging data in SQLite, or in PostgreSQL by URL; all its SQL is in this package.

Raises:
    MissingExtraError: SQLAlchemy is not installed.
"""

from rankgate.core.errors import require

require("the store needs SQLAlchemy and Alembic", "sqlalchemy", "alembic")
