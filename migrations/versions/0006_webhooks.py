"""Where partners are told what happened."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.create_table("webhook",
        sa.Column("id", sa.Integer(), nullable=False),
        sa.Column("partner_id", sa.Integer(), nullable=False),
        sa.Column("url", sa.String(length=300), nullable=False),
        sa.Column("events", sa.JSON(), nullable=False),
        sa.Column("salt", sa.LargeBinary(length=16), nullable=False),
        sa.Column("created_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(["partner_id"], ["partner.id"], name=op.f("fk_webhook_partner_id")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_webhook")),
    )
    op.create_index(op.f("ix_webhook_partner_id"), "webhook", ["partner_id"], unique=False)


def downgrade() -> None:
    op.drop_index(op.f("ix_webhook_partner_id"), "webhook")
    op.drop_table("webhook")
