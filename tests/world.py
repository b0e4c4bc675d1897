"""A small network for service tests: one line of four calls over 204 km, and a short one of 80 km, with their trips."""

from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal

from sqlalchemy.orm import Session

from kernel.money import Money
from tests.instants import NOW
from ticketing.network.models import Carrier, Line, Pattern, PatternCall, Place, Slot, Stop, Title, Trip, Vehicle
from ticketing.network.service import open_trips
from ticketing.payments.service import Means, open_shift
from ticketing.sales.service import Order
from ticketing.sales.service import Place as Seat
from ticketing.tariffs.policy import Component, TariffVersion
from ticketing.tariffs.service import add_tariff

LAYOUT = [["crew", 2, None, 3, 4], [5, 6, None, 7, 8], [9, 10, None, 11, 12]]
PERSON = {"name": "Passageira de Teste", "document_kind": "RG", "document_number": "4.321.098",
          "document_issuer": "SSP/SC", "birth_date": ""}
CASH = Means("cash")


@dataclass(frozen=True)
class World:
    """Ids of what was built. `long_trip` leaves tomorrow 06:30 local, `short_trip` tomorrow 09:00."""

    long_trip: int
    short_trip: int
    stops: tuple[int, ...]
    day: date


def build(session: Session, *, standing: bool = False) -> World:
    """The network, its tariffs and titles, and trips opened for the two days after NOW."""
    carrier = Carrier(name="Viação de Teste", cnpj="00000000000191", late_refund=[], void_minutes=15, hold_minutes=10,
                      open_days=2, identity_basis="course")
    vehicle = Vehicle(code="T-1", plate=None, description="teste", layout=LAYOUT, standing_places=2)
    session.add_all([carrier, vehicle])
    stops = []
    for name in ("Criciúma", "Tubarão", "Imbituba", "Florianópolis"):
        place = Place(name=name, state="SC", ibge_code=None)
        session.add(place)
        session.flush()
        stops.append(Stop(code=f"T-{name}", place_id=place.id, name=f"Terminal de {name}", zone="America/Sao_Paulo",
                          platform="1", latitude=None, longitude=None))
    session.add_all(stops)
    session.flush()
    course = ("0", "62", "110", "204")
    _line(session, carrier, vehicle, "T-204", stops, course, (6 * 3600 + 1800,), standing)
    _line(session, carrier, vehicle, "T-80", stops[:2], ("0", "80"), (9 * 3600,), standing)
    open_trips(session, days=2, now=NOW, actor="tests")
    day = NOW.date() + timedelta(days=1)
    found = {trip.line.code: trip.id for trip in session.query(Trip).filter(Trip.service_date == day)}
    return World(found["T-204"], found["T-80"], tuple(stop.id for stop in stops), day)


def _line(session: Session, carrier: Carrier, vehicle: Vehicle, code: str, stops: list[Stop], km: tuple[str, ...],
          starts: tuple[int, ...], standing: bool) -> None:
    line = Line(carrier_id=carrier.id, code=code, name=code, state="SC", service_class="convencional",
                urban_like=False, standing_allowed=standing, rehearsal=False)
    session.add(line)
    session.flush()
    session.add(Title(line_id=line.id, kind="concession", act="Ato 1", valid_from=date(2024, 1, 1),
                      valid_until=date(2034, 1, 1)))
    pattern = Pattern(line_id=line.id, code=f"{code}-ida")
    session.add(pattern)
    session.flush()
    session.add_all(PatternCall(pattern_id=pattern.id, seq=n, stop_id=stop.id, km=Decimal(km[n]), km_estimated=False,
                                road="asphalt") for n, stop in enumerate(stops))
    for start in starts:
        times = [[start + n * 3600, start + n * 3600 + (300 if n else 0)] for n in range(len(stops))]
        session.add(Slot(pattern_id=pattern.id, vehicle_id=vehicle.id, code=str(start), zone="America/Sao_Paulo",
                         valid_from=date(2026, 1, 1), valid_until=date(2027, 12, 31), weekdays=127, times=times,
                         exceptions={}))
    session.flush()
    version = TariffVersion(0, "Ato 10", date(2026, 1, 1), "coefficient", Decimal("0.28"), Decimal("0.35"),
                            Money(820), "five_centavos", (Component("boarding_fee", Money(390), stops[0].id),))
    add_tariff(session, line.id, version, state="SC", first=True, today=NOW.date(), now=NOW, actor="tests")


def open_till(session: Session, world: World, agent: str = "agent") -> None:
    """A shift with R$ 100 of change for an agent."""
    open_shift(session, stop_id=world.stops[0], opening_float=Money(10000), now=NOW, actor=agent)


def order(world: World, *, booking: str = "BOOKING1", trip: int | None = None, board: int = 0, alight: int = 1,
          seat: int | None = 5, hold: str = "", identity: dict[str, str] | None = None, means: Means = CASH) -> Order:
    """An order for one passenger on the long trip."""
    place = Seat(seat, hold, PERSON if identity is None else identity)
    return Order(booking, "counter", trip or world.long_trip, board, alight, [place], means)
