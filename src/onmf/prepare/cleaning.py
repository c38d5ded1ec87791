"""What is not text: HTML, the headers of mails, addresses of pages and persons.

Each function reads a text once, so that no text, however it is made, takes longer than its length.
"""

import re
from collections.abc import Callable, Sequence
from html import unescape

MARKUP = re.compile(r"<!--|-->|<![A-Za-z][^<>]*>|<(/?)([A-Za-z][\w:-]*)(?:\s[^<>]*)?/?>")
HIDDEN = ("script", "style")  # elements whose content a browser does not show
DEEPEST_ESCAPE = 3  # "&amp;amp;lt;" is a "<" that three programs escaped
HEADER = re.compile(r"[!-9;-~]+:(?:[ \t]|$)")  # a field of RFC 5322: printable, no space, a colon
HEADER_OF_MAIL = re.compile(
    r"^(?:from|to|subject|date|sender|received|return-path|message-id|newsgroups):", re.I | re.M
)
FEWEST_HEADERS = 2  # one line, "Subject: ...", may be the first sentence of a text
LINK = re.compile(r"<?(?:(?:https?|ftp)://|(?<![\w.])www\.)[^\s<>\"]+>?", re.I)
ADDRESS = re.compile(r"<?(?<![\w.+-])[\w.+-]++@[\w-][\w.-]*>?")


def without_html(text: str) -> str:
    """What a browser would show."""
    if "&" in text:
        for _ in range(DEEPEST_ESCAPE):
            before, text = text, unescape(text)
            if text == before:
                break
    return "".join(_outside_markup(text)) if "<" in text else text


def _outside_markup(text: str) -> list[str]:
    """The parts between tags; what is hidden, and never ends, is kept."""
    parts, shown, end = [], 0, ""
    for found in MARKUP.finditer(text):
        closing, name = found[1], (found[2] or "").lower()
        if end:
            if found[0] == end or (closing and name == end):
                shown, end = found.end(), ""
            continue
        parts += [text[shown : found.start()], " "]
        shown = found.end()
        if found[0] == "<!--":
            end = "-->"
        elif name in HIDDEN and not closing:
            end = name
    return [*parts, text[shown:]]


def without_headers(text: str) -> str:
    """The text after the first empty line, if all lines before it are headers of a mail."""
    head, _, body = text.lstrip().replace("\r\n", "\n").partition("\n\n")
    lines = head.split("\n")
    fields = [line for line in lines if not line.startswith((" ", "\t", "From "))]
    mail = len(fields) >= FEWEST_HEADERS and HEADER_OF_MAIL.search(head)
    return body if mail and all(map(HEADER.match, fields)) else text


def without_links(text: str) -> str:
    """The text without addresses of pages and of mail boxes."""
    text = LINK.sub(" ", text) if "://" in text or "www." in text else text
    return ADDRESS.sub(" ", text) if "@" in text else text


CLEANERS: dict[str, Callable[[str], str]] = {  # in this order: a page may contain a mail
    "html": without_html,
    "mail": without_headers,
    "links": without_links,
}


def cleaned(texts: Sequence[str], kinds: Sequence[str]) -> tuple[list[str], dict[str, int]]:
    """Texts without these kinds of what is no text, and from how many of them each was removed."""
    changed = {}
    for kind in CLEANERS:  # HTML first: a page may contain a mail
        if kind in kinds:
            before, texts = texts, [CLEANERS[kind](text) for text in texts]
            changed[kind] = sum(a != b for a, b in zip(before, texts, strict=True))
    return [text.strip() for text in texts], changed
