"""HTML to text: what a reader wants, in linear time, for any input."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawft.builtin.html_text import readable

PAGE = """<!DOCTYPE html><html><head><title>The &amp; title</title><style>p { color: red }</style>
<script>if (a < b) { alert("<p>no</p>") }</script></head>
<body><!-- <p>hidden</p> --><h2>Head</h2><p>One   <b>bold</b>
word.</p><ul><li>first<li><a href="/rel?a=1&amp;b=2">second</a></ul>
<a href='#here'>anchor</a> <a href="javascript:x()">script</a><br>5 < 6 &lt;ok&gt;
<table><tr><td>a</td><td>b</td></tr></table><p><p><p>end"""


def test_a_page_becomes_its_text() -> None:
    assert readable(PAGE, "https://example.org/dir/") == (
        "The & title\n\n## Head\n\nOne bold\nword.\n\n- first\n- [second](https://example.org/rel?a=1&b=2)\n\n"
        "anchor script\n5 < 6 <ok>\n\na b\n\nend"
    )


def test_a_character_with_a_number_without_end_stays_as_it_is() -> None:
    assert readable("&#" + "9" * 5000).startswith("&#999")


@given(st.text("<>!-/ab=\"'&; \n", max_size=200))
def test_any_input_gives_some_text(page: str) -> None:
    assert isinstance(readable(page), str)


@pytest.mark.parametrize("unit", ["<", "<!--", "<a ", "<script>", "<a href=", "</", "<p", "&", "&#", "<a href='"])
def test_hostile_pages_take_linear_time(unit: str) -> None:
    page = unit * (500_000 // len(unit))
    started = time.process_time()
    readable(page)
    assert time.process_time() - started < 5
