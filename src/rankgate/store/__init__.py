"""The store of judging: every fact in SQLite, or in PostgreSQL by URL; all SQL on it is here.

Raises:
    MissingExtraError: SQLAlchemy is not installed.
"""

from rankgate.core.errors import require

require("the store needs SQLAlchemy and Alembic", "sqlalchemy", "alembic")
