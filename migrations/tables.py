"""Every table of the product, gathered for migrations and their tests."""

from boarding.devices import models as devices
from boarding.doors import models as doors
from boarding.passes import models as passes
from kernel import audit, auth, jobs, outbox, partners, repeats, webhooks
from kernel.db import Base
from oversight.retention import models as retention
from refunds.windows import models as windows
from ticketing.network import models as network
from ticketing.online import models as online
from ticketing.payments import models as payments
from ticketing.sales import models as sales
from ticketing.seats import models as seats
from ticketing.tariffs import models as tariffs

ROOMS = (audit, auth, jobs, outbox, partners, repeats, webhooks, network, tariffs, seats, sales, payments, online, passes, doors,
         devices, windows, retention)
APPEND_ONLY = ("audit_entry", "ledger_entry", "scan", "document_check", "tariff", "section_fare", "fare_line",
               "refund", "receipt", "device_record", "quarantined_record")
metadata = Base.metadata
