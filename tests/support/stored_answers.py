"""Every answer of a project as the store has it, which only tests need."""

import sqlalchemy as sa

from rankgate.store.rating.preferences import Preference
from rankgate.store.rating.ratings import Rating
from rankgate.store.rows import value_of
from rankgate.store.tables import rating_tables


def list_ratings(connection, project):
    return _list_answers(connection, project, rating_tables.ratings, Rating)


def list_preferences(connection, project):
    return _list_answers(connection, project, rating_tables.preferences, Preference)


def _list_answers(connection, project, table, kind):
    statement = sa.select(table).where(table.c.project == project).order_by(table.c.id)
    return [value_of(kind, row) for row in connection.execute(statement)]
