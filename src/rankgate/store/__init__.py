"""The store of judging: every fact in SQLite, or in PostgreSQL by URL; all SQL on it is here.

Raises:
    MissingExtraError: SQLAlchemy is not installed.
"""

from importlib.util import find_spec

from rankgate.errors import MissingExtraError

if find_spec("sqlalchemy") is None:
    raise MissingExtraError("the store needs SQLAlchemy; pip install 'rankgate[store]'.")
