"""The rest of results, kept for whoever got the beginning."""

from clawft.store.leftovers import Leftovers
from tests.requirements import requirement


@requirement("GUARD-10")
def test_nobody_else_reads_it() -> None:
    leftovers = Leftovers()
    handle = leftovers.keep(b"hers", "ada")
    assert leftovers.read(handle, "mallory", 0, 10) is None
    found = leftovers.read(handle, "ada", 0, 10)
    assert found is not None
    assert found.text == "hers"


@requirement("GUARD-10", "QUAL-12")
def test_the_results_of_one_do_not_push_out_those_of_others() -> None:
    for size in (1, 200):
        leftovers = Leftovers(max_items=10, max_bytes=1_000)
        hers = leftovers.keep(b"hers", "ada")
        handles = [leftovers.keep(b"x" * size, "greedy") for _ in range(30)]
        assert leftovers.read(hers, "ada", 0, 10) is not None
        assert leftovers.read(handles[0], "greedy", 0, 10) is None
        assert leftovers.read(handles[-1], "greedy", 0, 10) is not None


@requirement("GUARD-10")
def test_the_newest_is_always_there() -> None:
    leftovers = Leftovers(max_items=3, max_bytes=100)
    for text in (b"a" * 40, b"b" * 40, b"c" * 100, b"d"):
        assert leftovers.read(leftovers.keep(text, "ada"), "ada", 0, 10) is not None
    assert leftovers.keep(b"e" * 101, "ada") == ""


@requirement("GUARD-10", "QUAL-12")
def test_the_longest_gives_way_to_something_else() -> None:
    leftovers = Leftovers()
    short, long, last = (leftovers.keep(b"x" * size, "ada") for size in (10, 1_000, 20))
    assert leftovers.evict_one()
    assert leftovers.bytes == 30
    assert leftovers.read(long, "ada", 0, 10) is None
    assert leftovers.read(short, "ada", 0, 10) is not None
    assert leftovers.read(last, "ada", 0, 10) is not None
    assert [leftovers.evict_one() for _ in range(3)] == [True, True, False]
    assert leftovers.bytes == 0
