"""Phones of the crew: enrolment by code, the trip's sealed list, and the log of the door."""

from typing import Any, cast

from flask import current_app

from boarding.devices import enrolment, sealed, service
from boarding.devices.schemas import DeviceIn, DeviceOut, ListOut, RecordIn, ScansIn, ScansOut
from boarding.passes.service import Issuer
from kernel.api import actor, api_blueprint, operation
from kernel.login import limiter
from kernel.web import now, read, transaction
from ticketing.seats.schemas import call_row

blueprint = api_blueprint("devices_api")
RECORD_IN = RecordIn()


@blueprint.post("/devices")
@limiter.limit("20/minute")
@operation("Cadastrar um aparelho com o código do escritório", scope=None, takes=DeviceIn(), gives=DeviceOut(),
           status=201, problems=(404, 409))
def enrolled(body: dict[str, Any]) -> enrolment.Enrolled:
    with transaction() as session:
        return enrolment.enrol(session, body["code"], public_key=body["public_key"], name=body["name"], now=now())


@blueprint.post("/scans")
@operation("Enviar o registro do embarque", scope="scans", takes=ScansIn(), gives=ScansOut())
def scans(body: dict[str, Any]) -> dict[str, Any]:
    batch = [service.Signed(**line) for line in body["records"]]
    with transaction() as session:
        taken = service.take_in(session, batch, read=lambda told: read(RECORD_IN, told), now=now(), actor=actor())
    return {"acknowledged": taken.acknowledged, "quarantined": taken.quarantined,
            "notes": [{"id": record_id, "note": note.value} for record_id, note in taken.notes]}


@blueprint.get("/trips/<int(max=2147483647):trip_id>/manifest")
@operation("A lista lacrada de uma viagem", scope="manifest", gives=ListOut(), problems=(404,))
def manifest(trip_id: int) -> dict[str, Any]:
    issuer = cast(Issuer, current_app.extensions["pass_issuer"])
    with transaction() as session:  # writes: every ticket of the list gets its pass
        journey, tickets = sealed.sealed_list(session, trip_id, vault=issuer.vault, now=now(), actor=actor())
        return {"trip_id": trip_id, "line": journey.line.code, "status": journey.trip.status,
                "delay_minutes": journey.trip.delay_minutes, "asof": now(), "tickets": tickets,
                "keys": {str(kid): key for kid, key in issuer.keys.published().items()},
                "calls": [call_row(call, call.departs_at) for call in journey.calls]}
