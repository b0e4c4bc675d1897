"""The house: every table of the first life of a ticket."""

import sqlalchemy as sa
from alembic import op

from kernel.db import append_only, drop_append_only

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# written out: a migration says what was append-only then, not what is so today
APPEND_ONLY = ("audit_entry", "ledger_entry", "scan", "document_check", "tariff", "section_fare", "fare_line",
               "refund")
LONGEST_COURSE = 200  # legs


def upgrade() -> None:
    op.create_table('audit_entry',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('actor', sa.String(length=60), nullable=False),
        sa.Column('action', sa.String(length=40), nullable=False),
        sa.Column('subject', sa.String(length=60), nullable=False),
        sa.Column('details', sa.JSON(), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_audit_entry'))
    )
    op.create_index('ix_audit_entry_at', 'audit_entry', ['at'], unique=False)
    op.create_index('ix_audit_entry_subject', 'audit_entry', ['subject'], unique=False)
    op.create_table('booking',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('code', sa.String(length=12), nullable=False),
        sa.Column('channel', sa.String(length=10), nullable=False),
        sa.Column('method', sa.String(length=8), nullable=False),
        sa.Column('total', sa.BigInteger(), nullable=False),
        sa.Column('sold_by', sa.String(length=60), nullable=False),
        sa.Column('sold_at', sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("channel IN ('counter', 'online', 'on_board')", name=op.f('ck_booking_channel')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_booking')),
        sa.UniqueConstraint('code', name=op.f('uq_booking_code'))
    )
    op.create_index(op.f('ix_booking_sold_at'), 'booking', ['sold_at'], unique=False)
    op.create_table('carrier',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('name', sa.String(length=80), nullable=False),
        sa.Column('cnpj', sa.String(length=14), nullable=False),
        sa.Column('identity_basis', sa.String(length=8), nullable=False),
        sa.Column('void_minutes', sa.SmallInteger(), nullable=False),
        sa.Column('hold_minutes', sa.SmallInteger(), nullable=False),
        sa.Column('open_days', sa.SmallInteger(), nullable=False),
        sa.Column('late_refund', sa.JSON(), nullable=False),
        sa.CheckConstraint("identity_basis IN ('course', 'stretch')", name=op.f('ck_carrier_identity_basis')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_carrier')),
        sa.UniqueConstraint('cnpj', name=op.f('uq_carrier_cnpj'))
    )
    op.create_table('job_turn',
        sa.Column('name', sa.String(length=40), nullable=False),
        sa.Column('due_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('ended_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('outcome', sa.String(length=200), nullable=True),
        sa.PrimaryKeyConstraint('name', name=op.f('pk_job_turn'))
    )
    op.create_table('leg_number',
        sa.Column('n', sa.SmallInteger(), autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint('n', name=op.f('pk_leg_number'))
    )
    op.create_table('place',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('name', sa.String(length=120), nullable=False),
        sa.Column('state', sa.String(length=2), nullable=False),
        sa.Column('ibge_code', sa.String(length=7), nullable=True),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_place')),
        sa.UniqueConstraint('ibge_code', name=op.f('uq_place_ibge_code')),
        sa.UniqueConstraint('name', 'state', name=op.f('uq_place_name_state'))
    )
    op.create_table('repeat_key',
        sa.Column('actor', sa.String(length=60), nullable=False),
        sa.Column('route', sa.String(length=60), nullable=False),
        sa.Column('key', sa.String(length=64), nullable=False),
        sa.Column('body_hash', sa.LargeBinary(length=32), nullable=False),
        sa.Column('subject', sa.String(length=60), nullable=False),
        sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint('actor', 'route', 'key', name=op.f('pk_repeat_key'))
    )
    op.create_index(op.f('ix_repeat_key_created_at'), 'repeat_key', ['created_at'], unique=False)
    op.create_table('staff',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('login', sa.String(length=40), nullable=False),
        sa.Column('display_name', sa.String(length=80), nullable=False),
        sa.Column('role', sa.String(length=12), nullable=False),
        sa.Column('password_hash', sa.String(length=200), nullable=False),
        sa.Column('stop_id', sa.Integer(), nullable=True),
        sa.Column('disabled_at', sa.DateTime(timezone=True), nullable=True),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_staff')),
        sa.UniqueConstraint('login', name=op.f('uq_staff_login'))
    )
    op.create_table('vault_mark',
        sa.Column('vault_id', sa.String(length=32), nullable=False),
        sa.Column('owed_from', sa.Date(), nullable=False),
        sa.PrimaryKeyConstraint('vault_id', name=op.f('pk_vault_mark'))
    )
    op.create_table('vehicle',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('code', sa.String(length=20), nullable=False),
        sa.Column('plate', sa.String(length=8), nullable=True),
        sa.Column('description', sa.String(length=60), nullable=False),
        sa.Column('layout', sa.JSON(), nullable=False),
        sa.Column('standing_places', sa.SmallInteger(), nullable=False),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_vehicle')),
        sa.UniqueConstraint('code', name=op.f('uq_vehicle_code'))
    )
    op.create_table('line',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('carrier_id', sa.Integer(), nullable=False),
        sa.Column('code', sa.String(length=80), nullable=False),
        sa.Column('name', sa.String(length=160), nullable=False),
        sa.Column('state', sa.String(length=2), nullable=False),
        sa.Column('service_class', sa.String(length=20), nullable=False),
        sa.Column('urban_like', sa.Boolean(), nullable=False),
        sa.Column('standing_allowed', sa.Boolean(), nullable=False),
        sa.Column('rehearsal', sa.Boolean(), nullable=False),
        sa.ForeignKeyConstraint(['carrier_id'], ['carrier.id'], name=op.f('fk_line_carrier_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_line')),
        sa.UniqueConstraint('code', name=op.f('uq_line_code'))
    )
    op.create_table('sign_in',
        sa.Column('token_hash', sa.LargeBinary(length=32), nullable=False),
        sa.Column('staff_id', sa.Integer(), nullable=False),
        sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('expires_at', sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['staff_id'], ['staff.id'], name=op.f('fk_sign_in_staff_id')),
        sa.PrimaryKeyConstraint('token_hash', name=op.f('pk_sign_in'))
    )
    op.create_index(op.f('ix_sign_in_staff_id'), 'sign_in', ['staff_id'], unique=False)
    op.create_table('stop',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('code', sa.String(length=80), nullable=False),
        sa.Column('place_id', sa.Integer(), nullable=False),
        sa.Column('name', sa.String(length=160), nullable=False),
        sa.Column('zone', sa.String(length=40), nullable=False),
        sa.Column('platform', sa.String(length=12), nullable=True),
        sa.Column('latitude', sa.String(length=20), nullable=True),
        sa.Column('longitude', sa.String(length=20), nullable=True),
        sa.ForeignKeyConstraint(['place_id'], ['place.id'], name=op.f('fk_stop_place_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_stop')),
        sa.UniqueConstraint('code', name=op.f('uq_stop_code'))
    )
    op.create_index(op.f('ix_stop_place_id'), 'stop', ['place_id'], unique=False)
    op.create_table('pattern',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('line_id', sa.Integer(), nullable=False),
        sa.Column('code', sa.String(length=80), nullable=False),
        sa.ForeignKeyConstraint(['line_id'], ['line.id'], name=op.f('fk_pattern_line_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_pattern')),
        sa.UniqueConstraint('line_id', 'code', name=op.f('uq_pattern_line_id_code'))
    )
    op.create_index(op.f('ix_pattern_line_id'), 'pattern', ['line_id'], unique=False)
    op.create_table('shift',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('code', sa.String(length=12), nullable=False),
        sa.Column('agent', sa.String(length=60), nullable=False),
        sa.Column('stop_id', sa.Integer(), nullable=False),
        sa.Column('opened_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('opening_float', sa.BigInteger(), nullable=False),
        sa.Column('cash', sa.BigInteger(), nullable=False),
        sa.Column('closed_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('counted', sa.BigInteger(), nullable=True),
        sa.CheckConstraint('(closed_at IS NULL) = (counted IS NULL)', name=op.f('ck_shift_counted')),
        sa.ForeignKeyConstraint(['stop_id'], ['stop.id'], name=op.f('fk_shift_stop_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_shift')),
        sa.UniqueConstraint('code', name=op.f('uq_shift_code'))
    )
    op.create_index('uq_shift_open', 'shift', ['agent'], unique=True, sqlite_where=sa.text('closed_at IS NULL'), postgresql_where=sa.text('closed_at IS NULL'))
    op.create_table('tariff',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('line_id', sa.Integer(), nullable=False),
        sa.Column('act', sa.String(length=120), nullable=False),
        sa.Column('starts_on', sa.Date(), nullable=False),
        sa.Column('method', sa.String(length=12), nullable=False),
        sa.Column('rounding', sa.String(length=14), nullable=False),
        sa.Column('coefficient_asphalt', sa.BigInteger(), nullable=False),
        sa.Column('coefficient_earth', sa.BigInteger(), nullable=False),
        sa.Column('minimum', sa.BigInteger(), nullable=False),
        sa.Column('components', sa.JSON(), nullable=False),
        sa.CheckConstraint("method IN ('coefficient', 'sections')", name=op.f('ck_tariff_method')),
        sa.CheckConstraint("rounding IN ('cent', 'five_centavos')", name=op.f('ck_tariff_rounding')),
        sa.ForeignKeyConstraint(['line_id'], ['line.id'], name=op.f('fk_tariff_line_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_tariff'))
    )
    op.create_index('ix_tariff_line_id_starts_on', 'tariff', ['line_id', 'starts_on'], unique=False)
    op.create_table('title',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('line_id', sa.Integer(), nullable=False),
        sa.Column('kind', sa.String(length=14), nullable=False),
        sa.Column('act', sa.String(length=80), nullable=False),
        sa.Column('valid_from', sa.Date(), nullable=False),
        sa.Column('valid_until', sa.Date(), nullable=False),
        sa.CheckConstraint("kind IN ('authorisation', 'permission', 'concession', 'licence')", name=op.f('ck_title_kind')),
        sa.CheckConstraint('valid_from <= valid_until', name=op.f('ck_title_term')),
        sa.ForeignKeyConstraint(['line_id'], ['line.id'], name=op.f('fk_title_line_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_title'))
    )
    op.create_index(op.f('ix_title_line_id'), 'title', ['line_id'], unique=False)
    op.create_table('ledger_entry',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('kind', sa.String(length=8), nullable=False),
        sa.Column('method', sa.String(length=8), nullable=False),
        sa.Column('amount', sa.BigInteger(), nullable=False),
        sa.Column('subject', sa.String(length=20), nullable=False),
        sa.Column('reference', sa.String(length=40), nullable=True),
        sa.Column('shift_id', sa.Integer(), nullable=False),
        sa.Column('actor', sa.String(length=60), nullable=False),
        sa.CheckConstraint("(method = 'card') = (reference IS NOT NULL)", name=op.f('ck_ledger_entry_reference')),
        sa.CheckConstraint("kind IN ('sale', 'void', 'refund')", name=op.f('ck_ledger_entry_kind')),
        sa.CheckConstraint("method IN ('cash', 'card')", name=op.f('ck_ledger_entry_method')),
        sa.ForeignKeyConstraint(['shift_id'], ['shift.id'], name=op.f('fk_ledger_entry_shift_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_ledger_entry'))
    )
    op.create_index('ix_ledger_entry_shift_id', 'ledger_entry', ['shift_id'], unique=False)
    op.create_index('ix_ledger_entry_subject', 'ledger_entry', ['subject'], unique=False)
    op.create_index('uq_ledger_entry_card', 'ledger_entry', ['kind', 'reference'], unique=True)
    op.create_table('pattern_call',
        sa.Column('pattern_id', sa.Integer(), nullable=False),
        sa.Column('seq', sa.SmallInteger(), nullable=False),
        sa.Column('stop_id', sa.Integer(), nullable=False),
        sa.Column('km', sa.Integer(), nullable=False),
        sa.Column('km_estimated', sa.Boolean(), nullable=False),
        sa.Column('road', sa.String(length=8), nullable=False),
        sa.CheckConstraint("road IN ('asphalt', 'earth')", name=op.f('ck_pattern_call_road')),
        sa.ForeignKeyConstraint(['pattern_id'], ['pattern.id'], name=op.f('fk_pattern_call_pattern_id')),
        sa.ForeignKeyConstraint(['stop_id'], ['stop.id'], name=op.f('fk_pattern_call_stop_id')),
        sa.PrimaryKeyConstraint('pattern_id', 'seq', name=op.f('pk_pattern_call'))
    )
    op.create_table('section_fare',
        sa.Column('tariff_id', sa.Integer(), nullable=False),
        sa.Column('from_stop_id', sa.Integer(), nullable=False),
        sa.Column('to_stop_id', sa.Integer(), nullable=False),
        sa.Column('amount', sa.BigInteger(), nullable=True),
        sa.ForeignKeyConstraint(['from_stop_id'], ['stop.id'], name=op.f('fk_section_fare_from_stop_id')),
        sa.ForeignKeyConstraint(['tariff_id'], ['tariff.id'], name=op.f('fk_section_fare_tariff_id')),
        sa.ForeignKeyConstraint(['to_stop_id'], ['stop.id'], name=op.f('fk_section_fare_to_stop_id')),
        sa.PrimaryKeyConstraint('tariff_id', 'from_stop_id', 'to_stop_id', name=op.f('pk_section_fare'))
    )
    op.create_table('slot',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('pattern_id', sa.Integer(), nullable=False),
        sa.Column('vehicle_id', sa.Integer(), nullable=False),
        sa.Column('code', sa.String(length=80), nullable=False),
        sa.Column('zone', sa.String(length=40), nullable=False),
        sa.Column('valid_from', sa.Date(), nullable=False),
        sa.Column('valid_until', sa.Date(), nullable=False),
        sa.Column('weekdays', sa.SmallInteger(), nullable=False),
        sa.Column('times', sa.JSON(), nullable=False),
        sa.Column('exceptions', sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(['pattern_id'], ['pattern.id'], name=op.f('fk_slot_pattern_id')),
        sa.ForeignKeyConstraint(['vehicle_id'], ['vehicle.id'], name=op.f('fk_slot_vehicle_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_slot')),
        sa.UniqueConstraint('pattern_id', 'code', name=op.f('uq_slot_pattern_id_code'))
    )
    op.create_index(op.f('ix_slot_pattern_id'), 'slot', ['pattern_id'], unique=False)
    op.create_table('trip',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('line_id', sa.Integer(), nullable=False),
        sa.Column('slot_id', sa.Integer(), nullable=True),
        sa.Column('vehicle_id', sa.Integer(), nullable=False),
        sa.Column('service_date', sa.Date(), nullable=False),
        sa.Column('status', sa.String(length=10), nullable=False),
        sa.Column('departs_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('arrives_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('last_day', sa.Date(), nullable=False),
        sa.Column('course_km', sa.Integer(), nullable=False),
        sa.Column('km_estimated', sa.Boolean(), nullable=False),
        sa.Column('delay_minutes', sa.SmallInteger(), nullable=False),
        sa.CheckConstraint("status IN ('open', 'closed', 'cancelled')", name=op.f('ck_trip_status')),
        sa.ForeignKeyConstraint(['line_id'], ['line.id'], name=op.f('fk_trip_line_id')),
        sa.ForeignKeyConstraint(['slot_id'], ['slot.id'], name=op.f('fk_trip_slot_id')),
        sa.ForeignKeyConstraint(['vehicle_id'], ['vehicle.id'], name=op.f('fk_trip_vehicle_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_trip')),
        sa.UniqueConstraint('slot_id', 'service_date', name=op.f('uq_trip_slot_id_service_date'))
    )
    op.create_index(op.f('ix_trip_departs_at'), 'trip', ['departs_at'], unique=False)
    op.create_index(op.f('ix_trip_line_id'), 'trip', ['line_id'], unique=False)
    op.create_index(op.f('ix_trip_service_date'), 'trip', ['service_date'], unique=False)
    op.create_table('legal_hold',
        sa.Column('code', sa.String(length=16), nullable=False),
        sa.Column('trip_id', sa.Integer(), nullable=False),
        sa.Column('reason', sa.String(length=200), nullable=False),
        sa.Column('ends_on', sa.Date(), nullable=False),
        sa.Column('placed_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('placed_by', sa.String(length=60), nullable=False),
        sa.Column('released_at', sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(['trip_id'], ['trip.id'], name=op.f('fk_legal_hold_trip_id')),
        sa.PrimaryKeyConstraint('code', name=op.f('pk_legal_hold'))
    )
    op.create_index(op.f('ix_legal_hold_trip_id'), 'legal_hold', ['trip_id'], unique=False)
    op.create_table('roster',
        sa.Column('trip_id', sa.Integer(), nullable=False),
        sa.Column('staff_id', sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(['staff_id'], ['staff.id'], name=op.f('fk_roster_staff_id')),
        sa.ForeignKeyConstraint(['trip_id'], ['trip.id'], name=op.f('fk_roster_trip_id')),
        sa.PrimaryKeyConstraint('trip_id', 'staff_id', name=op.f('pk_roster'))
    )
    op.create_index(op.f('ix_roster_staff_id'), 'roster', ['staff_id'], unique=False)
    op.create_table('seat_hold',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('code', sa.String(length=32), nullable=False),
        sa.Column('trip_id', sa.Integer(), nullable=False),
        sa.Column('seat', sa.SmallInteger(), nullable=False),
        sa.Column('leg_from', sa.SmallInteger(), nullable=False),
        sa.Column('leg_to', sa.SmallInteger(), nullable=False),
        sa.Column('status', sa.String(length=8), nullable=False),
        sa.Column('holder', sa.String(length=60), nullable=False),
        sa.Column('expires_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('created_at', sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("(status = 'held') = (expires_at IS NOT NULL)", name=op.f('ck_seat_hold_expiry')),
        sa.CheckConstraint("status IN ('held', 'sold', 'released')", name=op.f('ck_seat_hold_status')),
        sa.CheckConstraint('leg_from >= 0 AND leg_from < leg_to', name=op.f('ck_seat_hold_legs')),
        sa.ForeignKeyConstraint(['trip_id'], ['trip.id'], name=op.f('fk_seat_hold_trip_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_seat_hold')),
        sa.UniqueConstraint('code', name=op.f('uq_seat_hold_code'))
    )
    op.create_index('ix_seat_hold_expires_at', 'seat_hold', ['expires_at'], unique=False)
    op.create_index('ix_seat_hold_trip_id', 'seat_hold', ['trip_id'], unique=False)
    op.create_table('trip_call',
        sa.Column('trip_id', sa.Integer(), nullable=False),
        sa.Column('seq', sa.SmallInteger(), nullable=False),
        sa.Column('stop_id', sa.Integer(), nullable=False),
        sa.Column('km', sa.Integer(), nullable=False),
        sa.Column('km_estimated', sa.Boolean(), nullable=False),
        sa.Column('road', sa.String(length=8), nullable=False),
        sa.Column('arrives_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('departs_at', sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['stop_id'], ['stop.id'], name=op.f('fk_trip_call_stop_id')),
        sa.ForeignKeyConstraint(['trip_id'], ['trip.id'], name=op.f('fk_trip_call_trip_id')),
        sa.PrimaryKeyConstraint('trip_id', 'seq', name=op.f('pk_trip_call'))
    )
    op.create_index('ix_trip_call_stop_id_departs_at', 'trip_call', ['stop_id', 'departs_at'], unique=False)
    op.create_table('seat_leg',
        sa.Column('trip_id', sa.Integer(), nullable=False),
        sa.Column('leg', sa.SmallInteger(), nullable=False),
        sa.Column('seat', sa.SmallInteger(), nullable=False),
        sa.Column('hold_id', sa.Integer(), nullable=False),
        sa.Column('hold_until', sa.DateTime(timezone=True), nullable=True),
        sa.ForeignKeyConstraint(['hold_id'], ['seat_hold.id'], name=op.f('fk_seat_leg_hold_id')),
        sa.ForeignKeyConstraint(['trip_id'], ['trip.id'], name=op.f('fk_seat_leg_trip_id')),
        sa.PrimaryKeyConstraint('trip_id', 'leg', 'seat', name=op.f('pk_seat_leg')),
        sqlite_with_rowid=False
    )
    op.create_index(op.f('ix_seat_leg_hold_id'), 'seat_leg', ['hold_id'], unique=False)
    op.create_table('ticket',
        sa.Column('id', sa.Integer(), nullable=False),
        sa.Column('code', sa.String(length=12), nullable=False),
        sa.Column('booking_id', sa.Integer(), nullable=False),
        sa.Column('trip_id', sa.Integer(), nullable=False),
        sa.Column('board_seq', sa.SmallInteger(), nullable=False),
        sa.Column('alight_seq', sa.SmallInteger(), nullable=False),
        sa.Column('seat', sa.SmallInteger(), nullable=False),
        sa.Column('hold_id', sa.Integer(), nullable=False),
        sa.Column('status', sa.String(length=10), nullable=False),
        sa.Column('revision', sa.SmallInteger(), nullable=False),
        sa.Column('sold_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('tariff_id', sa.Integer(), nullable=False),
        sa.Column('fare', sa.BigInteger(), nullable=False),
        sa.Column('identity_required', sa.Boolean(), nullable=False),
        sa.Column('refund_until', sa.DateTime(timezone=True), nullable=False),
        sa.Column('decisions', sa.JSON(), nullable=False),
        sa.Column('boarded_at', sa.DateTime(timezone=True), nullable=True),
        sa.Column('boarded_seq', sa.SmallInteger(), nullable=True),
        sa.Column('boarded_by', sa.String(length=60), nullable=True),
        sa.CheckConstraint("(status = 'boarded') <= (boarded_at IS NOT NULL)", name=op.f('ck_ticket_boarded')),
        sa.CheckConstraint("status IN ('sold', 'boarded', 'refunded', 'voided')", name=op.f('ck_ticket_status')),
        sa.CheckConstraint('board_seq >= 0 AND board_seq < alight_seq', name=op.f('ck_ticket_stretch')),
        sa.ForeignKeyConstraint(['booking_id'], ['booking.id'], name=op.f('fk_ticket_booking_id')),
        sa.ForeignKeyConstraint(['hold_id'], ['seat_hold.id'], name=op.f('fk_ticket_hold_id')),
        sa.ForeignKeyConstraint(['tariff_id'], ['tariff.id'], name=op.f('fk_ticket_tariff_id')),
        sa.ForeignKeyConstraint(['trip_id'], ['trip.id'], name=op.f('fk_ticket_trip_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_ticket')),
        sa.UniqueConstraint('code', name=op.f('uq_ticket_code')),
        sa.UniqueConstraint('hold_id', name=op.f('uq_ticket_hold_id'))
    )
    op.create_index(op.f('ix_ticket_booking_id'), 'ticket', ['booking_id'], unique=False)
    op.create_index('ix_ticket_trip_id_status', 'ticket', ['trip_id', 'status'], unique=False)
    op.create_table('boarding_pass',
        sa.Column('id', sa.LargeBinary(length=16), nullable=False),
        sa.Column('ticket_id', sa.Integer(), nullable=False),
        sa.Column('revision', sa.SmallInteger(), nullable=False),
        sa.Column('issued_at', sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(['ticket_id'], ['ticket.id'], name=op.f('fk_boarding_pass_ticket_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_boarding_pass')),
        sa.UniqueConstraint('ticket_id', 'revision', name=op.f('uq_boarding_pass_ticket_id_revision'))
    )
    op.create_table('fare_line',
        sa.Column('ticket_id', sa.Integer(), nullable=False),
        sa.Column('position', sa.SmallInteger(), nullable=False),
        sa.Column('kind', sa.String(length=16), nullable=False),
        sa.Column('amount', sa.BigInteger(), nullable=False),
        sa.ForeignKeyConstraint(['ticket_id'], ['ticket.id'], name=op.f('fk_fare_line_ticket_id')),
        sa.PrimaryKeyConstraint('ticket_id', 'position', name=op.f('pk_fare_line'))
    )
    op.create_table('identity',
        sa.Column('ticket_id', sa.Integer(), nullable=False),
        sa.Column('keep_until', sa.Date(), nullable=False),
        sa.Column('legal_hold', sa.String(length=16), nullable=True),
        sa.Column('tag', sa.LargeBinary(length=32), nullable=False),
        sa.Column('sealed', sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(['ticket_id'], ['ticket.id'], name=op.f('fk_identity_ticket_id')),
        sa.PrimaryKeyConstraint('ticket_id', name=op.f('pk_identity'))
    )
    op.create_index(op.f('ix_identity_keep_until'), 'identity', ['keep_until'], unique=False)
    op.create_index(op.f('ix_identity_legal_hold'), 'identity', ['legal_hold'], unique=False)
    op.create_index(op.f('ix_identity_tag'), 'identity', ['tag'], unique=False)
    op.create_table('refund',
        sa.Column('ticket_id', sa.Integer(), nullable=False),
        sa.Column('refunded', sa.BigInteger(), nullable=False),
        sa.Column('kept', sa.BigInteger(), nullable=False),
        sa.Column('method', sa.String(length=8), nullable=False),
        sa.Column('reference', sa.String(length=40), nullable=True),
        sa.Column('shift_id', sa.Integer(), nullable=False),
        sa.Column('paid_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('paid_by', sa.String(length=60), nullable=False),
        sa.Column('decision', sa.JSON(), nullable=False),
        sa.ForeignKeyConstraint(['shift_id'], ['shift.id'], name=op.f('fk_refund_shift_id')),
        sa.ForeignKeyConstraint(['ticket_id'], ['ticket.id'], name=op.f('fk_refund_ticket_id')),
        sa.PrimaryKeyConstraint('ticket_id', name=op.f('pk_refund'))
    )
    op.create_table('scan',
        sa.Column('id', sa.String(length=36), nullable=False),
        sa.Column('trip_id', sa.Integer(), nullable=False),
        sa.Column('ticket_id', sa.Integer(), nullable=True),
        sa.Column('driver', sa.String(length=60), nullable=False),
        sa.Column('kind', sa.String(length=4), nullable=False),
        sa.Column('stop_seq', sa.SmallInteger(), nullable=False),
        sa.Column('at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('received_at', sa.DateTime(timezone=True), nullable=False),
        sa.Column('result', sa.String(length=20), nullable=False),
        sa.Column('facts', sa.JSON(), nullable=False),
        sa.CheckConstraint("kind IN ('scan', 'code', 'name')", name=op.f('ck_scan_kind')),
        sa.ForeignKeyConstraint(['ticket_id'], ['ticket.id'], name=op.f('fk_scan_ticket_id')),
        sa.ForeignKeyConstraint(['trip_id'], ['trip.id'], name=op.f('fk_scan_trip_id')),
        sa.PrimaryKeyConstraint('id', name=op.f('pk_scan'))
    )
    op.create_index('ix_scan_ticket_id', 'scan', ['ticket_id'], unique=False)
    op.create_index('ix_scan_trip_id', 'scan', ['trip_id'], unique=False)
    op.create_table('document_check',
        sa.Column('scan_id', sa.String(length=36), nullable=False),
        sa.Column('outcome', sa.String(length=10), nullable=False),
        sa.Column('reason', sa.String(length=20), nullable=True),
        sa.Column('result', sa.String(length=20), nullable=False),
        sa.Column('driver', sa.String(length=60), nullable=False),
        sa.Column('at', sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("outcome IN ('confirmed', 'refused')", name=op.f('ck_document_check_outcome')),
        sa.ForeignKeyConstraint(['scan_id'], ['scan.id'], name=op.f('fk_document_check_scan_id')),
        sa.PrimaryKeyConstraint('scan_id', name=op.f('pk_document_check'))
    )
    op.bulk_insert(sa.table("leg_number", sa.column("n", sa.SmallInteger)),
                   [{"n": n} for n in range(LONGEST_COURSE)])
    dialect = op.get_bind().dialect.name
    for table in APPEND_ONLY:
        for statement in append_only(table, dialect):
            op.execute(statement)


def downgrade() -> None:
    dialect = op.get_bind().dialect.name
    for table in APPEND_ONLY:
        for statement in drop_append_only(table, dialect):
            op.execute(statement)
    op.drop_table('document_check')
    op.drop_table('scan')
    op.drop_table('refund')
    op.drop_table('identity')
    op.drop_table('fare_line')
    op.drop_table('boarding_pass')
    op.drop_table('ticket')
    op.drop_table('seat_leg')
    op.drop_table('trip_call')
    op.drop_table('seat_hold')
    op.drop_table('roster')
    op.drop_table('legal_hold')
    op.drop_table('trip')
    op.drop_table('slot')
    op.drop_table('section_fare')
    op.drop_table('pattern_call')
    op.drop_table('ledger_entry')
    op.drop_table('title')
    op.drop_table('tariff')
    op.drop_table('shift')
    op.drop_table('pattern')
    op.drop_table('stop')
    op.drop_table('sign_in')
    op.drop_table('line')
    op.drop_table('vehicle')
    op.drop_table('vault_mark')
    op.drop_table('staff')
    op.drop_table('repeat_key')
    op.drop_table('place')
    op.drop_table('leg_number')
    op.drop_table('job_turn')
    op.drop_table('carrier')
    op.drop_table('booking')
    op.drop_table('audit_entry')
