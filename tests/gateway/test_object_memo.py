"""Remembered by the very object, and only so many."""

from clawft.gateway.object_memo import ObjectMemo
from tests.requirements import requirement


@requirement("QUAL-12")
def test_the_same_object_is_worked_on_once_an_equal_one_again() -> None:
    seen: list[list[int]] = []

    def make(key: list[int]) -> int:
        seen.append(key)
        return sum(key)

    known = ObjectMemo(make, 8)
    one, other = [1, 2], [1, 2]
    assert [known.of(one), known.of(one), known.of(other)] == [3, 3, 3]
    assert len(seen) == 2


@requirement("QUAL-12")
def test_what_is_remembered_has_a_bound_and_no_object_is_taken_for_another() -> None:
    known: ObjectMemo[list[int], int] = ObjectMemo(lambda key: key[0], 4)
    for number in range(100):  # each may get the place in memory of one that was forgotten
        assert known.of([number]) == number
