"""Hashes of what raters see of documents, so that a change outside of the store is found."""

import sqlalchemy as sa
from alembic import op

from rankgate.store.material.queries_documents import content_hash
from rankgate.store.tables import columns as column_types

revision = "0004"
down_revision = "0003"

_PIECE = 1000


def upgrade() -> None:
    """Add the column, and fill it."""
    op.add_column("documents", sa.Column("sha256", sa.Text(), nullable=True))
    table = sa.table(
        "documents",
        sa.column("id", column_types.NUMBER),
        sa.column("fields", column_types.OBJECT),
        sa.column("url", sa.Text),
        sa.column("image", sa.Text),
        sa.column("sha256", sa.Text),
    )
    names = (table.c.id, table.c.fields, table.c.url, table.c.image)
    update = sa.update(table).where(table.c.id == sa.bindparam("number"))
    connection, last = op.get_bind(), 0
    while True:
        chosen = sa.select(*names).where(table.c.id > last).order_by(table.c.id).limit(_PIECE)
        rows = connection.execute(chosen).all()
        if not rows:
            return
        last = rows[-1].id
        values = [{"number": row.id, "hash": content_hash(row.fields, row.url, row.image)} for row in rows]
        connection.execute(update.values(sha256=sa.bindparam("hash")), values)
