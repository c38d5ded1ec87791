"""What is not text is removed, and nothing else; no text takes long."""

import pytest
from sklearn.feature_extraction.text import CountVectorizer

from onmf.prepare.cleaning import CLEANERS, cleaned, without_headers, without_html, without_links
from onmf.prepare.texts import WORD


def words(text):
    return text.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fish &amp; <b class='x'>chips</b>", "fish & chips"),
        ("one<br/>two<p>three", "one two three"),
        ("&amp;lt;p&amp;gt;escaped&amp;lt;/p&amp;gt; twice", "escaped twice"),
        ("<style>b{color:red}</style>a<script>if (a<b) c()</script>b", "a b"),
        ("<SCRIPT type='x'>code</Script >b<!-- not <b>shown</b> -->c", "b c"),
        ("<!DOCTYPE html><html><body>text</body></html>", "text"),
        ("a < b and c > d, or x <- 5", "a < b and c > d, or x <- 5"),
        ("<1993Apr15@x.com> wrote: #include <stdio.h>", "<1993Apr15@x.com> wrote: #include "
         "<stdio.h>"),
        ("begin <script> never ends", "begin never ends"),
        ("AT&T, R&D &c.", "AT&T, R&D &c."),
    ],
)  # fmt: skip
def test_html_is_what_a_browser_shows(text, expected):
    assert words(without_html(text)) == words(expected)


MAIL = "From: a@b.c (A B)\nSubject: Re: stars\nX-Long: one\n  two\n\nThe body: here.\n\nMore."


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (MAIL, "The body: here.\n\nMore."),
        ("\n" + MAIL.replace("\n", "\r\n"), "The body: here.\n\nMore."),
        ("From joe Mon Jan 1\n" + MAIL, "The body: here.\n\nMore."),
        ("Note: this is a text.\nIt goes on.\n\nMore.", None),
        ("Subject: stars\n\nOne line may be the first sentence.", None),
        ("Name: x\nColour: red\n\nNo mail has such headers.", None),
        ("From: a\nTo: b\nbut this line is no header\n\nMore.", None),
        ("From: a\nTo: b", ""),
        ("plain", None),
    ],
)
def test_headers_of_mails_are_removed_and_no_first_paragraph(text, expected):
    assert without_headers(text) == (text if expected is None else expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("see https://t.co/ttgeqxnqym or <http://x.y/z> now", "see or now"),
        ("see (http://x.com/a?b=c&d=e) or www.x.org/y, now", "see ( or now"),
        ("mail me.you+them@some-host.ac.uk, or @me", "mail , or @me"),
        ("In article <1993Apr15.161737.28377@sol.UVic.CA> he", "In article he"),
        ("five@ten and no.link", "and no.link"),
        ("The wwwide web. 5 @ 3", "The wwwide web. 5 @ 3"),
    ],
)
def test_addresses_of_pages_and_mail_boxes_are_removed(text, expected):
    assert words(without_links(text)) == words(expected)


@pytest.mark.parametrize("kind", CLEANERS)
@pytest.mark.parametrize(
    "unit", ["<", "<a ", "<script>", "<!--", "&amp;", "a.", "a@", "www.", "x: y\n", "\n", "http://"]
)
@pytest.mark.timeout(60)
def test_no_text_takes_longer_than_its_length(kind, unit):
    CLEANERS[kind](unit * (1_000_000 // len(unit)))  # some minutes, if it were quadratic


def test_a_page_may_contain_a_mail_and_every_kind_is_counted():
    page = f"<html><p>{MAIL}</p> &nbsp;<a href='http://x.y'>link</a></html>"
    texts, changed = cleaned([page, "plain", "to a@b.c"], tuple(CLEANERS))
    assert [words(text) for text in texts] == [
        words("The body: here. More. link"),
        ["plain"],
        ["to"],
    ]
    assert changed == {"html": 1, "mail": 1, "links": 1}
    assert cleaned([page], ("mail", "html")) == cleaned([page], ("html", "mail"))
    assert cleaned([page], ())[0] == [page]


def tokens(text):
    return set(CountVectorizer(token_pattern=WORD).build_analyzer()(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("__ ___ 12 1993 3_000 _", set()),
        ("_emphasis_ __init__ snake_case", {"emphasis", "init", "snake", "case"}),
        ("covid19, mp3 and 3d; 1990s", {"covid19", "mp3", "and", "3d", "1990s"}),
        ("Größe naïve Ωmega 東京", {"größe", "naïve", "ωmega", "東京"}),
        ("a I x1", {"x1"}),
    ],
)
def test_a_word_has_a_letter_and_no_underscore(text, expected):
    assert tokens(text) == expected
