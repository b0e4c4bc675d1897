"""Partners and their tokens; sales and refunds on account, which belong to no shift."""

import sqlalchemy as sa
from alembic import op

from kernel.db import append_only, drop_append_only

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

METHODS = {"0003": "method IN ('cash', 'card', 'pix')", "0004": "method IN ('cash', 'card', 'pix', 'account')"}
TILLS = {"0003": "(method = 'pix') = (shift_id IS NULL)", "0004": "(method IN ('pix', 'account')) = (shift_id IS NULL)"}
CHANNELS = {"0003": "channel IN ('counter', 'online', 'on_board')",
            "0004": "channel IN ('counter', 'online', 'on_board', 'partner')"}


def upgrade() -> None:
    op.create_table("partner",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(length=30), nullable=False),
        sa.Column("name", sa.String(length=80), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_partner")),
        sa.UniqueConstraint("code", name=op.f("uq_partner_code")),
    )
    op.create_table("partner_token",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("partner_id", sa.Integer(), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("prefix", sa.String(length=16), nullable=False),
        sa.Column("scopes", sa.JSON(), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["partner_id"], ["partner.id"], name=op.f("fk_partner_token_partner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_partner_token")),
        sa.UniqueConstraint("prefix", name=op.f("uq_partner_token_prefix")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_partner_token_token_hash")),
    )
    op.create_index(op.f("ix_partner_token_partner_id"), "partner_token", ["partner_id"], unique=False)
    _change(to="0004")


def downgrade() -> None:
    held = ("SELECT (SELECT count(*) FROM ledger_entry WHERE method = 'account') + "
            "(SELECT count(*) FROM booking WHERE channel = 'partner')")
    if op.get_bind().scalar(sa.text(held)):
        raise RuntimeError("there are sales of partners, which the earlier version cannot keep; nothing was changed")
    _change(to="0003")
    op.drop_index(op.f("ix_partner_token_partner_id"), "partner_token")
    op.drop_table("partner_token")
    op.drop_table("partner")


def _change(to: str) -> None:
    """What ledger, refunds and bookings take. SQLite rebuilds a table, which loses its triggers: they are made again."""
    dialect, old = op.get_bind().dialect.name, "0003" if to == "0004" else "0004"
    for name, checks in CHECKS.items():
        guarded = dialect == "sqlite" and name != "booking"
        for statement in drop_append_only(name, dialect) if guarded else []:
            op.execute(statement)
        with op.batch_alter_table(name, copy_from=TABLES[name](old)) as table:
            for check, wordings in checks.items():
                table.drop_constraint(op.f(f"ck_{name}_{check}"), type_="check")
                table.create_check_constraint(op.f(f"ck_{name}_{check}"), wordings[to])
        for statement in append_only(name, dialect) if guarded else []:
            op.execute(statement)


CHECKS = {"booking": {"channel": CHANNELS}, "ledger_entry": {"method": METHODS, "till": TILLS}, "refund": {"till": TILLS}}


def _booking(version: str) -> sa.Table:
    return sa.Table(
        "booking", sa.MetaData(),
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("code", sa.String(length=12), nullable=False),
        sa.Column("channel", sa.String(length=10), nullable=False),
        sa.Column("method", sa.String(length=8), nullable=False),
        sa.Column("total", sa.BigInteger(), nullable=False),
        sa.Column("sold_by", sa.String(length=60), nullable=False),
        sa.Column("sold_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(CHANNELS[version], name=op.f("ck_booking_channel")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_booking")),
        sa.UniqueConstraint("code", name=op.f("uq_booking_code")),
        sa.Index(op.f("ix_booking_sold_at"), "sold_at"))


def _ledger_entry(version: str) -> sa.Table:
    return sa.Table(
        "ledger_entry", sa.MetaData(),
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("method", sa.String(length=8), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("subject", sa.String(length=20), nullable=False),
        sa.Column("reference", sa.String(length=40), nullable=True),
        sa.Column("shift_id", sa.Integer(), nullable=True),
        sa.Column("actor", sa.String(length=60), nullable=False),
        sa.CheckConstraint("kind IN ('sale', 'void', 'refund')", name=op.f("ck_ledger_entry_kind")),
        sa.CheckConstraint(METHODS[version], name=op.f("ck_ledger_entry_method")),
        sa.CheckConstraint("(method = 'cash') = (reference IS NULL)", name=op.f("ck_ledger_entry_reference")),
        sa.CheckConstraint(TILLS[version], name=op.f("ck_ledger_entry_till")),
        sa.ForeignKeyConstraint(["shift_id"], ["shift.id"], name=op.f("fk_ledger_entry_shift_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger_entry")),
        sa.Index("ix_ledger_entry_shift_id", "shift_id"), sa.Index("ix_ledger_entry_subject", "subject"),
        sa.Index("uq_ledger_entry_card", "kind", "reference", unique=True))


def _refund(version: str) -> sa.Table:
    return sa.Table(
        "refund", sa.MetaData(),
        sa.Column("ticket_id", sa.Integer(), nullable=False),
        sa.Column("refunded", sa.BigInteger(), nullable=False),
        sa.Column("kept", sa.BigInteger(), nullable=False),
        sa.Column("method", sa.String(length=8), nullable=False),
        sa.Column("reference", sa.String(length=40), nullable=True),
        sa.Column("shift_id", sa.Integer(), nullable=True),
        sa.Column("paid_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("paid_by", sa.String(length=60), nullable=False),
        sa.Column("decision", sa.JSON(), nullable=False),
        sa.CheckConstraint(TILLS[version], name=op.f("ck_refund_till")),
        sa.ForeignKeyConstraint(["shift_id"], ["shift.id"], name=op.f("fk_refund_shift_id")),
        sa.ForeignKeyConstraint(["ticket_id"], ["ticket.id"], name=op.f("fk_refund_ticket_id")),
        sa.PrimaryKeyConstraint("ticket_id", name=op.f("pk_refund")))


TABLES = {"booking": _booking, "ledger_entry": _ledger_entry, "refund": _refund}
