"""When two courses of a line are one road: the measured kilometres of the one then hold for the other."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import pairwise

LATIN_ACCENTS = re.compile("[\u0300-\u036f]")

Measures = tuple[tuple[Decimal, str], ...]  # km and road of each call


def folded(name: str) -> str:
    """For comparison: case and the accents of Latin letters away; the marks of other scripts stay."""
    return LATIN_ACCENTS.sub("", unicodedata.normalize("NFKD", name)).casefold()


@dataclass(frozen=True, slots=True)
class KnownCall:
    """A call of a course here: its stop's id, the folded names of stop and town, km, and the road that arrives."""

    stop: int
    names: frozenset[str]
    km: Decimal
    road: str

    def is_at(self, other: "KnownCall") -> bool:
        return self.stop == other.stop or bool(self.names & other.names)


def measured(calls: Sequence[KnownCall], courses: Iterable[Sequence[KnownCall]]) -> Measures | None:
    """The km and road of each call, along a measured course that calls at the same places in the same order.

    A course that calls at more places serves too, unless the road changes between two of these calls; one that calls
    at no others goes first. None where no course fits, or where two say different distances.
    """
    fits: dict[bool, set[Measures]] = {True: set(), False: set()}
    for course in courses:
        fit = _along(calls, course)
        if fit:
            fits[len(course) == len(calls)].add(fit)
    found = fits[True] or fits[False]
    return found.pop() if len(found) == 1 else None


def _along(calls: Sequence[KnownCall], course: Sequence[KnownCall]) -> Measures | None:
    places: list[int] = []
    for call in calls:
        after = places[-1] + 1 if places else 0
        place = next((n for n in range(after, len(course)) if course[n].is_at(call)), None)
        if place is None:
            return None
        places.append(place)
    roads = [{course[n].road for n in range(here + 1, there + 1)} for here, there in pairwise(places)]
    if any(len(kinds) > 1 for kinds in roads):
        return None
    start = course[places[0]]
    return tuple((course[place].km - start.km, road) for place, road in
                 zip(places, [start.road, *(kinds.pop() for kinds in roads)], strict=True))
