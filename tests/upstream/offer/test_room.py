"""Room for what servers offer: a share for each, half of what is left beyond it, and all of it given back."""

from hypothesis import given
from hypothesis import strategies as st

from clawft.upstream.offer.room import MAX_SHARES_BYTES, Room, RoomPlace
from tests.requirements import requirement

SHARE, COMMON = 100, 1_000


def grow(place: RoomPlace, part: str = "tools", step: int = 10) -> int:
    """As far as it gets."""
    size = 0
    while place.has_room(part, size + step):
        size += step
    place.settle(part, size)
    return size


@requirement("QUAL-12")
def test_the_greedy_leave_something_to_those_who_come_after_them() -> None:
    room = Room(COMMON, SHARE)
    taken = [grow(room.place()) for _ in range(20)]
    assert taken[:3] == [SHARE + 500, SHARE + 250, SHARE + 120]
    assert all(size >= SHARE for size in taken)
    assert room.taken <= COMMON


@requirement("QUAL-12")
def test_all_lists_of_a_server_have_one_place() -> None:
    place = Room(COMMON, SHARE).place()
    assert place.has_room("tools", 400)
    assert not place.has_room("prompts", 300)
    assert place.has_room("prompts", 200)
    place.settle("tools", 400)
    place.settle("prompts", 200)
    assert not place.has_room("resources", 10)


@requirement("QUAL-12")
def test_what_one_has_one_may_keep_however_many_have_come_since() -> None:
    room = Room(COMMON, SHARE)
    early = room.place()
    size = grow(early)
    for _ in range(20):
        grow(room.place())
    assert early.has_room("tools", size)
    assert not early.has_room("tools", size + 10)


@requirement("QUAL-12")
def test_a_place_is_given_back_by_listing_less_and_by_leaving() -> None:
    room = Room(COMMON, SHARE)
    one, two = room.place(), room.place()
    most = grow(one)
    assert grow(two) < most
    one.settle("tools", 10)
    two.leave()
    two.leave()
    assert (room.taken, room.places) == (0, 1)
    assert grow(room.place()) == most
    assert not two.has_room("tools", COMMON // 4)


@requirement("QUAL-12")
def test_where_there_are_very_many_each_share_is_smaller() -> None:
    room = Room()
    places = [room.place() for _ in range(1_000)]
    assert room.share * len(places) <= MAX_SHARES_BYTES


@given(
    st.lists(
        st.tuples(st.integers(0, 3), st.sampled_from(["tools", "prompts"]), st.integers(0, 2 * COMMON), st.booleans()),
        max_size=40,
    )
)
def test_no_more_is_ever_taken_than_there_is(steps: list[tuple[int, str, int, bool]]) -> None:
    room = Room(COMMON, SHARE)
    places = [room.place() for _ in range(4)]
    for who, part, size, ends in steps:
        if places[who].has_room(part, size) and ends:
            places[who].settle(part, size)
        assert 0 <= room.taken <= COMMON
    for place in places:
        place.leave()
    assert (room.taken, room.places) == (0, 0)
