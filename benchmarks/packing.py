"""How full a bus of 46 seats and 12 legs gets by each way of choosing a seat: simulated, without any database."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from random import Random

from ticketing.seats.policy import choose_seat, free_seats

SEATS, LEGS, REQUESTS, ORDERS = 46, 12, 250, 100
NUMBERS = range(1, SEATS + 1)
Choose = Callable[[Mapping[int, int], int, int], int | None]


def packing(orders: int = ORDERS) -> Iterator[tuple[str, float, float]]:
    """Each way's name, its legs sold as a share of perfect re-seating in the same order, and as one of the optimum."""
    days = [_requests(Random(seed)) for seed in range(orders)]
    reseated = sum(map(_reseated, days))
    optimum = sum(map(_optimum, days))
    ways = {"best seat (the product's)": lambda seed: partial(_best, random=Random(seed)),
            "first fit": lambda _: _first, "random seat": lambda seed: partial(_any, random=Random(seed))}
    for name, way in ways.items():
        sold = sum(_sold(day, way(seed)) for seed, day in enumerate(days))
        yield name, sold / reseated, sold / optimum
    yield "perfect re-seating", 1.0, reseated / optimum


def _requests(random: Random) -> list[tuple[int, int]]:
    """So many stretches in order of arrival; every pair of calls is as likely."""
    pairs = [(board, alight) for board in range(LEGS) for alight in range(board + 1, LEGS + 1)]
    return [random.choice(pairs) for _ in range(REQUESTS)]


def _sold(day: Sequence[tuple[int, int]], choose: Choose) -> int:
    """Legs sold when every request is served that finds a seat for its whole stretch."""
    taken: dict[int, int] = {}
    legs = 0
    for board, alight in day:
        seat = choose(taken, board, alight)
        if seat is not None:
            taken[seat] = taken.get(seat, 0) | (1 << alight) - (1 << board)
            legs += alight - board
    return legs


def _best(taken: Mapping[int, int], board: int, alight: int, *, random: Random) -> int | None:
    return choose_seat(NUMBERS, taken, board, alight, legs=LEGS, choose=random.choice)


def _first(taken: Mapping[int, int], board: int, alight: int) -> int | None:
    return next(iter(free_seats(NUMBERS, taken, board, alight)), None)


def _any(taken: Mapping[int, int], board: int, alight: int, *, random: Random) -> int | None:
    free = free_seats(NUMBERS, taken, board, alight)
    return random.choice(free) if free else None


def _reseated(day: Sequence[tuple[int, int]]) -> int:
    """Legs sold if passengers could change seats between legs: a request is served while no leg of it is full."""
    load = [0] * LEGS
    for board, alight in day:
        if max(load[board:alight]) < SEATS:
            load[board:alight] = [n + 1 for n in load[board:alight]]
    return sum(load)


def _optimum(day: Sequence[tuple[int, int]]) -> int:
    """The most legs that any choice among all requests can sell, all known beforehand and any of them refused.

    Stretches that overlap at most 46 times fit on 46 seats, so each seat carries a path from the first call to the
    last: 46 paths of the greatest length, found one after another with the paths before open to change.
    """
    arcs = [[call, call + 1, SEATS, 0] for call in range(LEGS)] + [[board, alight, 1, alight - board]
                                                                     for board, alight in day]
    used = [0] * len(arcs)
    sold = 0
    for _seat in range(SEATS):
        path = _longest(arcs, used)
        for arc, step in path:
            used[arc] += step
            sold += step * arcs[arc][3]
    return sold


def _longest(arcs: Sequence[Sequence[int]], used: Sequence[int]) -> list[tuple[int, int]]:
    """The arcs of the longest way from first to last call through what is left, a used arc backwards as -1."""
    far, way = [0] + [-(10**9)] * LEGS, [None] * (LEGS + 1)
    moved = True
    while moved:
        moved = False
        for arc, (here, there, room, legs) in enumerate(arcs):
            for start, end, open_, gain, step in ((here, there, used[arc] < room, legs, 1),
                                                  (there, here, used[arc] > 0, -legs, -1)):
                if open_ and far[start] + gain > far[end]:
                    far[end], way[end], moved = far[start] + gain, (start, arc, step), True
    path, call = [], LEGS
    while call:
        call, arc, step = way[call]
        path.append((arc, step))
    return path
