"""PIX: charges, receipts and payouts, a ledger that knows PIX, and the outbox."""

import sqlalchemy as sa
from alembic import op

from kernel.db import append_only, drop_append_only

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

METHODS = {"0001": "method IN ('cash', 'card')", "0002": "method IN ('cash', 'card', 'pix')"}
REFERENCES = {"0001": "(method = 'card') = (reference IS NOT NULL)", "0002": "(method = 'cash') = (reference IS NULL)"}


def upgrade() -> None:
    op.create_table('charge',
        sa.Column('txid', sa.String(length=35), nullable=False),
        sa.Column('subject', sa.String(length=20), nullable=False),
        sa.Column('amount', sa.BigInteger(), nullable=False),
        sa.Column('provider', sa.String(length=6), nullable=False),
        sa.Column('status', sa.String(length=9), nullable=False),
        sa.Column('br_code', sa.String(length=512), nullable=True),
        sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('expires_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('checked_at', sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("provider IN ('bank', 'static', 'demo')", name=op.f('ck_charge_provider')),
        sa.CheckConstraint("status <> 'active' OR br_code IS NOT NULL", name=op.f('ck_charge_br_code')),
        sa.CheckConstraint("status IN ('intent', 'active', 'paid', 'cancelled', 'expired')", name=op.f('ck_charge_status')),
        sa.CheckConstraint('amount > 0', name=op.f('ck_charge_amount')),
        sa.PrimaryKeyConstraint('txid', name=op.f('pk_charge'))
    )
    op.create_index('ix_charge_open', 'charge', ['checked_at'], unique=False, sqlite_where=sa.text("status IN ('intent', 'active')"), postgresql_where=sa.text("status IN ('intent', 'active')"))
    op.create_index('ix_charge_subject', 'charge', ['subject'], unique=False)
    op.create_table('demo_payment',
        sa.Column('e2e_id', sa.String(length=32), nullable=False),
        sa.Column('txid', sa.String(length=35), nullable=False),
        sa.Column('amount', sa.BigInteger(), nullable=False),
        sa.Column('paid_at', sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint('e2e_id', name=op.f('pk_demo_payment'))
    )
    op.create_index(op.f('ix_demo_payment_paid_at'), 'demo_payment', ['paid_at'], unique=False)
    op.create_index(op.f('ix_demo_payment_txid'), 'demo_payment', ['txid'], unique=False)
    op.create_table('outbox',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('topic', sa.String(length=20), nullable=False),
        sa.Column('subject', sa.String(length=60), nullable=False),
        sa.Column('payload', sa.JSON(), nullable=False),
        sa.Column('due_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('attempts', sa.SmallInteger(), nullable=False),
        sa.Column('done_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('outcome', sa.String(length=60), nullable=True),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_outbox'))
    )
    op.create_index('ix_outbox_open', 'outbox', ['topic', 'due_at'], unique=False, sqlite_where=sa.text('done_at IS NULL'), postgresql_where=sa.text('done_at IS NULL'))
    op.create_table('receipt',
        sa.Column('e2e_id', sa.String(length=32), nullable=False),
        sa.Column('txid', sa.String(length=35), nullable=True),
        sa.Column('amount', sa.BigInteger(), nullable=False),
        sa.Column('paid_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('received_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('source', sa.String(length=5), nullable=False),
        sa.Column('actor', sa.String(length=60), nullable=False),
        sa.CheckConstraint("source IN ('bank', 'agent')", name=op.f('ck_receipt_source')),
        sa.CheckConstraint('amount > 0', name=op.f('ck_receipt_amount')),
        sa.PrimaryKeyConstraint('e2e_id', name=op.f('pk_receipt'))
    )
    op.create_index('ix_receipt_txid', 'receipt', ['txid'], unique=False)
    op.create_table('received_mark',
        sa.Column('provider', sa.String(length=6), nullable=False),
        sa.Column('until', sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint('provider', name=op.f('pk_received_mark'))
    )
    op.create_table('payout',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('reason', sa.String(length=8), nullable=False),
        sa.Column('e2e_id', sa.String(length=32), nullable=False),
        sa.Column('subject', sa.String(length=20), nullable=False),
        sa.Column('amount', sa.BigInteger(), nullable=False),
        sa.Column('status', sa.String(length=7), nullable=False),
        sa.Column('return_id', sa.String(length=20), nullable=False),
        sa.Column('attempt', sa.SmallInteger(), nullable=False),
        sa.Column('outcome', sa.String(length=60), nullable=True),
        sa.Column('reference', sa.String(length=40), nullable=True),
        sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('settled_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('settled_by', sa.String(length=60), nullable=True),
        sa.CheckConstraint("(status IN ('done', 'kept')) = (settled_at IS NOT NULL)", name=op.f('ck_payout_settled')),
        sa.CheckConstraint("reason IN ('late', 'repeated', 'short', 'over', 'unknown', 'refund')", name=op.f('ck_payout_reason')),
        sa.CheckConstraint("status IN ('due', 'sent', 'done', 'refused', 'kept')", name=op.f('ck_payout_status')),
        sa.CheckConstraint('amount > 0', name=op.f('ck_payout_amount')),
        sa.ForeignKeyConstraint(['e2e_id'], ['receipt.e2e_id'], name=op.f('fk_payout_e2e_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_payout')),
        sa.UniqueConstraint('return_id', name=op.f('uq_payout_return_id'))
    )
    op.create_index('ix_payout_e2e_id', 'payout', ['e2e_id'], unique=False)
    op.create_index('ix_payout_open', 'payout', ['created_at'], unique=False, sqlite_where=sa.text("status IN ('due', 'sent', 'refused')"), postgresql_where=sa.text("status IN ('due', 'sent', 'refused')"))
    op.create_index('uq_payout_receipt', 'payout', ['e2e_id'], unique=True, sqlite_where=sa.text("reason <> 'refund'"), postgresql_where=sa.text("reason <> 'refund'"))
    op.create_index('uq_payout_refund', 'payout', ['subject'], unique=True, sqlite_where=sa.text("reason = 'refund'"), postgresql_where=sa.text("reason = 'refund'"))
    _ledger(to="0002")
    for statement in append_only("receipt", op.get_bind().dialect.name):
        op.execute(statement)


def downgrade() -> None:
    if op.get_bind().scalar(sa.text("SELECT count(*) FROM ledger_entry WHERE method = 'pix'")):
        raise RuntimeError("the ledger holds PIX entries, which the earlier version cannot keep; nothing was changed")
    for statement in drop_append_only("receipt", op.get_bind().dialect.name):
        op.execute(statement)
    _ledger(to="0001")
    for table in ("payout", "received_mark", "receipt", "outbox", "demo_payment", "charge"):
        op.drop_table(table)


def _ledger(to: str) -> None:
    """Change what the ledger takes. SQLite rebuilds the table, which loses its triggers, so they are made again."""
    dialect, new = op.get_bind().dialect.name, to == "0002"
    if dialect == "sqlite":
        for statement in drop_append_only("ledger_entry", dialect):
            op.execute(statement)
    with op.batch_alter_table("ledger_entry", copy_from=_ledger_at("0001" if new else "0002")) as table:
        table.drop_constraint(op.f("ck_ledger_entry_method"), type_="check")
        table.drop_constraint(op.f("ck_ledger_entry_reference"), type_="check")
        table.create_check_constraint(op.f("ck_ledger_entry_method"), METHODS[to])
        table.create_check_constraint(op.f("ck_ledger_entry_reference"), REFERENCES[to])
        if new:
            table.create_check_constraint(op.f("ck_ledger_entry_till"), "(method = 'pix') = (shift_id IS NULL)")
        else:
            table.drop_constraint(op.f("ck_ledger_entry_till"), type_="check")
        table.alter_column("shift_id", existing_type=sa.Integer(), nullable=new)
    if dialect == "sqlite":
        for statement in append_only("ledger_entry", dialect):
            op.execute(statement)


def _ledger_at(version: str) -> sa.Table:
    """The ledger as a version of the tables has it, for SQLite's rebuilding."""
    checks = [sa.CheckConstraint("kind IN ('sale', 'void', 'refund')", name=op.f("ck_ledger_entry_kind")),
              sa.CheckConstraint(METHODS[version], name=op.f("ck_ledger_entry_method")),
              sa.CheckConstraint(REFERENCES[version], name=op.f("ck_ledger_entry_reference"))]
    if version == "0002":
        checks.append(sa.CheckConstraint("(method = 'pix') = (shift_id IS NULL)", name=op.f("ck_ledger_entry_till")))
    return sa.Table(
        "ledger_entry", sa.MetaData(),
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("method", sa.String(length=8), nullable=False),
        sa.Column("amount", sa.BigInteger(), nullable=False),
        sa.Column("subject", sa.String(length=20), nullable=False),
        sa.Column("reference", sa.String(length=40), nullable=True),
        sa.Column("shift_id", sa.Integer(), nullable=version == "0002"),
        sa.Column("actor", sa.String(length=60), nullable=False),
        *checks,
        sa.ForeignKeyConstraint(["shift_id"], ["shift.id"], name=op.f("fk_ledger_entry_shift_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_ledger_entry")),
        sa.Index("ix_ledger_entry_shift_id", "shift_id"), sa.Index("ix_ledger_entry_subject", "subject"),
        sa.Index("uq_ledger_entry_card", "kind", "reference", unique=True))
