"""The rest of results, kept for whoever got the beginning."""

from clawft.store.cut_results import CutResults
from tests.requirements import requirement


@requirement("GUARD-10")
def test_nobody_else_reads_it() -> None:
    cut_results = CutResults()
    handle = cut_results.keep(b"hers", "ada")
    assert cut_results.read(handle, "mallory", 0, 10) is None
    found = cut_results.read(handle, "ada", 0, 10)
    assert found is not None
    assert found.text == "hers"


@requirement("GUARD-10", "QUAL-12")
def test_the_results_of_one_do_not_push_out_those_of_others() -> None:
    for size in (1, 200):
        cut_results = CutResults(max_items=10, max_bytes=1_000)
        hers = cut_results.keep(b"hers", "ada")
        handles = [cut_results.keep(b"x" * size, "greedy") for _ in range(30)]
        assert cut_results.read(hers, "ada", 0, 10) is not None
        assert cut_results.read(handles[0], "greedy", 0, 10) is None
        assert cut_results.read(handles[-1], "greedy", 0, 10) is not None


@requirement("GUARD-10")
def test_the_newest_is_always_there() -> None:
    cut_results = CutResults(max_items=3, max_bytes=100)
    for text in (b"a" * 40, b"b" * 40, b"c" * 100, b"d"):
        assert cut_results.read(cut_results.keep(text, "ada"), "ada", 0, 10) is not None
    assert cut_results.keep(b"e" * 101, "ada") == ""


@requirement("GUARD-10", "QUAL-12")
def test_the_longest_gives_way_to_something_else() -> None:
    cut_results = CutResults()
    short, long, last = (cut_results.keep(b"x" * size, "ada") for size in (10, 1_000, 20))
    assert cut_results.evict_one()
    assert cut_results.bytes == 30
    assert cut_results.read(long, "ada", 0, 10) is None
    assert cut_results.read(short, "ada", 0, 10) is not None
    assert cut_results.read(last, "ada", 0, 10) is not None
    assert [cut_results.evict_one() for _ in range(3)] == [True, True, False]
    assert cut_results.bytes == 0
