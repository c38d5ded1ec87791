"""The page of a comparison."""

import re

from onmf.page.rivals import RivalTable, comparison_page

HOSTILE = "<img src=x> & 'more'"


def test_all_that_is_told_is_carried_as_text():
    told = RivalTable(
        title=HOSTILE,
        sentence=HOSTILE,
        note=HOSTILE,
        heads=[HOSTILE, HOSTILE],
        rows=[[HOSTILE, HOSTILE], ["b", "2"]],
        best={(0, 1)},
        failures=[HOSTILE],
        starts={HOSTILE: {HOSTILE: [1.0, 2.0], "b": [3.0]}},
        record={HOSTILE: {HOSTILE: HOSTILE}},
    )
    page = comparison_page(told)
    assert "<img" not in page
    body = page[page.index("<body") :]
    # title, sentence, note, two heads, two cells, a failure, a figure and its row, and three of
    # the record
    assert len(re.findall("&lt;img src=x&gt; &amp;", body)) >= 13
