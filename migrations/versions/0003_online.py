"""Buying online: purchases that wait for their payment; refunds by PIX, which belong to no shift."""

import sqlalchemy as sa
from alembic import op

from kernel.db import append_only, drop_append_only

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TILL = "(method = 'pix') = (shift_id IS NULL)"


def upgrade() -> None:
    op.create_table("pending_booking",
        sa.Column("code", sa.String(length=12), nullable=False),
        sa.Column("trip_id", sa.Integer(), nullable=False),
        sa.Column("board_seq", sa.SmallInteger(), nullable=False),
        sa.Column("alight_seq", sa.SmallInteger(), nullable=False),
        sa.Column("seats", sa.JSON(), nullable=False),
        sa.Column("identity_required", sa.Boolean(), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("status", sa.String(length=8), nullable=False),
        sa.Column("extended", sa.Boolean(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ends_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("keep_until", sa.Date(), nullable=False),
        sa.Column("sealed", sa.LargeBinary(), nullable=True),
        sa.Column("txid", sa.String(length=35), nullable=True),
        sa.CheckConstraint("board_seq >= 0 AND board_seq < alight_seq", name=op.f("ck_pending_booking_stretch")),
        sa.CheckConstraint("status = 'pending' OR sealed IS NULL", name=op.f("ck_pending_booking_sealed")),
        sa.CheckConstraint("status IN ('pending', 'paid', 'expired')", name=op.f("ck_pending_booking_status")),
        sa.ForeignKeyConstraint(["trip_id"], ["trip.id"], name=op.f("fk_pending_booking_trip_id")),
        sa.PrimaryKeyConstraint("code", name=op.f("pk_pending_booking")),
    )
    op.create_index("ix_pending_booking_status_ends_at", "pending_booking", ["status", "ends_at"], unique=False)
    _refund(to="0003")


def downgrade() -> None:
    if op.get_bind().scalar(sa.text("SELECT count(*) FROM refund WHERE method = 'pix'")):
        raise RuntimeError("there are refunds by PIX, which the earlier version cannot keep; nothing was changed")
    _refund(to="0002")
    op.drop_index("ix_pending_booking_status_ends_at", "pending_booking")
    op.drop_table("pending_booking")


def _refund(to: str) -> None:
    """Change what a refund takes. SQLite rebuilds the table, which loses its triggers, so they are made again."""
    dialect, new = op.get_bind().dialect.name, to == "0003"
    if dialect == "sqlite":
        for statement in drop_append_only("refund", dialect):
            op.execute(statement)
    with op.batch_alter_table("refund", copy_from=_refund_at("0002" if new else "0003")) as table:
        if new:
            table.create_check_constraint(op.f("ck_refund_till"), TILL)
        else:
            table.drop_constraint(op.f("ck_refund_till"), type_="check")
        table.alter_column("shift_id", existing_type=sa.Integer(), nullable=new)
    if dialect == "sqlite":
        for statement in append_only("refund", dialect):
            op.execute(statement)


def _refund_at(version: str) -> sa.Table:
    """The refunds as a version of the tables has them, for SQLite's rebuilding."""
    checks = [sa.CheckConstraint(TILL, name=op.f("ck_refund_till"))] if version == "0003" else []
    return sa.Table(
        "refund", sa.MetaData(),
        sa.Column("ticket_id", sa.Integer(), nullable=False),
        sa.Column("refunded", sa.BigInteger(), nullable=False),
        sa.Column("kept", sa.BigInteger(), nullable=False),
        sa.Column("method", sa.String(length=8), nullable=False),
        sa.Column("reference", sa.String(length=40), nullable=True),
        sa.Column("shift_id", sa.Integer(), nullable=version == "0003"),
        sa.Column("paid_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("paid_by", sa.String(length=60), nullable=False),
        sa.Column("decision", sa.JSON(), nullable=False),
        *checks,
        sa.ForeignKeyConstraint(["shift_id"], ["shift.id"], name=op.f("fk_refund_shift_id")),
        sa.ForeignKeyConstraint(["ticket_id"], ["ticket.id"], name=op.f("fk_refund_ticket_id")),
        sa.PrimaryKeyConstraint("ticket_id", name=op.f("pk_refund")))
