"""Which seats are free for a stretch, which one to give, and which numbers may be sold at all.

A mask has one bit a leg: bit n set means that leg n is taken. The database's key, not this file, decides a race.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date

from kernel.decisions import Citation
from kernel.errors import RuleViolation
from ticketing.network.laws import cite
from ticketing.network.policy import HIGHEST_SEAT, SeatLayout, check_stretch, standing_numbers


def stretch_mask(board: int, alight: int) -> int:
    """The legs from call `board` up to call `alight`. Raises InvalidInput when there are none."""
    check_stretch(board, alight, calls=alight + 1)
    return (1 << alight) - (1 << board)


def free_seats(numbers: Iterable[int], taken: Mapping[int, int], board: int, alight: int) -> tuple[int, ...]:
    """The numbers free on every leg of the stretch, in the order given. `taken` maps a number to its mask."""
    wanted = stretch_mask(board, alight)
    return tuple(number for number in numbers if not taken.get(number, 0) & wanted)


def gap_length(mask: int, board: int, alight: int, legs: int) -> int:
    """The number of free legs in the run around a free stretch, on a trip of `legs` legs."""
    before = (mask & ((1 << board) - 1)).bit_length()
    after = mask >> alight
    end = alight + (after & -after).bit_length() - 1 if after else legs
    return end - before


def choose_seat(numbers: Iterable[int], taken: Mapping[int, int], board: int, alight: int, *, legs: int,
                choose: Callable[[Sequence[int]], int]) -> int | None:
    """The free number in the tightest gap, None when the stretch is full.

    `choose` breaks ties and must be random (`secrets.choice`): with a fixed order every counter asks for one seat.
    """
    free = free_seats(numbers, taken, board, alight)
    if not free:
        return None
    gaps = {number: gap_length(taken.get(number, 0), board, alight, legs) for number in free}
    tightest = min(gaps.values())
    return choose([number for number in free if gaps[number] == tightest])


def check_seat(number: int, layout: SeatLayout, *, standing_allowed: bool, standing_places: int,
               state: str, day: date) -> None:
    """Lets through a seat of the layout, or a standing place where the line allows it and the vehicle has it.

    Raises RuleViolation (T12): `seat_not_for_sale` for a crew seat or a number the vehicle lacks,
    `standing_not_allowed`, `standing_over_limit` (MS 43, 40 II j and l; in SC the vehicle's capacity).
    """
    citation = capacity_citation(state=state, day=day)
    if number <= HIGHEST_SEAT:
        if number not in layout.seats_for_sale:
            raise _refused("seat_not_for_sale", "Este veículo não vende essa poltrona: escolha outra.", citation)
    elif not standing_allowed:
        raise _refused("standing_not_allowed", "Esta linha não leva passageiro em pé: escolha uma poltrona.", citation)
    elif number not in standing_numbers(standing_places):
        raise _refused("standing_over_limit", "Este veículo não tem esse lugar em pé: escolha outra viagem.", citation)


def capacity_citation(*, state: str, day: date) -> Citation:
    """T12 on that line: MS 43 and 40 II j, l while in force; the vehicle's capacity as carrier policy in SC."""
    return cite("T12", state=state, day=day, ms="arts. 43 e 40, II, j e l")


def _refused(code: str, sentence: str, citation: Citation) -> RuleViolation:
    return RuleViolation(code, sentence, citation=citation, fields={"seat": sentence})
