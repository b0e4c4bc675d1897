"""Phones of the crew: enrolment codes, devices, their signed log, and what is kept in quarantine."""

import sqlalchemy as sa
from alembic import op

from kernel.db import append_only, drop_append_only

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

APPEND_ONLY = ("device_record", "quarantined_record")


def upgrade() -> None:
    op.create_table("enrolment_code",
        sa.Column("code_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("made_by", sa.String(length=60), nullable=False),
        sa.Column("made_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("expires_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("used_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("code_hash", name=op.f("pk_enrolment_code")),
    )
    op.create_table("device",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("name", sa.String(length=60), nullable=False),
        sa.Column("public_key", sa.LargeBinary(length=32), nullable=False),
        sa.Column("token_hash", sa.LargeBinary(length=32), nullable=False),
        sa.Column("enrolled_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("enrolled_by", sa.String(length=60), nullable=False),
        sa.Column("revoked_at", sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_device")),
        sa.UniqueConstraint("public_key", name=op.f("uq_device_public_key")),
        sa.UniqueConstraint("token_hash", name=op.f("uq_device_token_hash")),
    )
    op.create_table("device_record",
        sa.Column("id", sa.String(length=36), nullable=False),
        sa.Column("device_id", sa.String(length=16), nullable=False),
        sa.Column("trip_id", sa.Integer(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("kind", sa.String(length=8), nullable=False),
        sa.Column("ticket_id", sa.Integer(), nullable=True),
        sa.Column("stop_seq", sa.SmallInteger(), nullable=False),
        sa.Column("result", sa.String(length=20), nullable=False),
        sa.Column("accepted", sa.Boolean(), nullable=False),
        sa.Column("undoes", sa.String(length=36), nullable=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("asof", sa.DateTime(timezone=True), nullable=True),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("signature", sa.LargeBinary(length=64), nullable=False),
        sa.CheckConstraint("kind IN ('scan', 'manual', 'undo', 'override', 'close')",
                           name=op.f("ck_device_record_kind")),
        sa.ForeignKeyConstraint(["device_id"], ["device.id"], name=op.f("fk_device_record_device_id")),
        sa.ForeignKeyConstraint(["ticket_id"], ["ticket.id"], name=op.f("fk_device_record_ticket_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_device_record")),
    )
    for column in ("trip_id", "ticket_id", "received_at"):
        op.create_index(f"ix_device_record_{column}", "device_record", [column], unique=False)
    op.create_table("quarantined_record",
        sa.Column("digest", sa.LargeBinary(length=32), nullable=False),
        sa.Column("record_id", sa.String(length=36), nullable=False),
        sa.Column("device_id", sa.String(length=16), nullable=False),
        sa.Column("reason", sa.String(length=20), nullable=False),
        sa.Column("uploaded_by", sa.String(length=60), nullable=False),
        sa.Column("received_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_quarantined_record")),
    )
    op.create_index(op.f("ix_quarantined_record_received_at"), "quarantined_record", ["received_at"], unique=False)
    for table in APPEND_ONLY:
        for statement in append_only(table, op.get_bind().dialect.name):
            op.execute(statement)


def downgrade() -> None:
    for table in APPEND_ONLY:
        for statement in drop_append_only(table, op.get_bind().dialect.name):
            op.execute(statement)
    for table in ("quarantined_record", "device_record", "device", "enrolment_code"):
        op.drop_table(table)
