"""The encoding of a text: UTF-8, UTF-16, the one that the user names, or what it looks like.

    argmax over encodings of  mean over characters beyond ASCII of  plausible(character in its word)

A letter is plausible if its word has one script only, and a Latin letter with an accent if most
letters of its word have none.
"""

import codecs
import re
import unicodedata

CANDIDATES = (  # before others that are as plausible
    "cp1252", "cp1250", "cp1251", "mac_roman", "shift_jis", "euc_kr", "gb18030", "cp1253",
)  # fmt: skip
BYTES_INSPECTED = 100_000
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
WORD = re.compile(r"\w*[^\W\d_]\w*")
COMMON_MARKS = set("°µ±²³€£§©®·‘’“”„–—…«»×、。，：？！「」")  # noqa: RUF001  (of other scripts)


def detect_encoding(content: bytes) -> str:
    """The most plausible encoding of a text, by its beginning; "cp1252" if none fits.

    Examples
    --------
    >>> from onmf_app.read.encodings import detect_encoding
    >>> detect_encoding("Größe".encode("latin-1")), detect_encoding("Привет".encode("cp1251"))
    ('cp1252', 'cp1251')
    """
    content = content[:BYTES_INSPECTED]
    if content.count(0) > len(content) // 4:
        return "utf-16-le" if content[1::2].count(0) > content[::2].count(0) else "utf-16-be"
    lines = b"\n".join(line for line in content.split(b"\n") if not line.isascii())
    return max(CANDIDATES, key=lambda name: _plausibility(lines, name))


def _plausibility(content: bytes, encoding: str) -> float:
    """Mean plausibility of the characters beyond ASCII, from -1 to 1."""
    decoder = codecs.getincrementaldecoder(encoding)()  # forgives a character cut off at the end
    try:
        text = decoder.decode(content)
    except UnicodeDecodeError:
        return -1.0
    points = [0.0]
    for word in WORD.findall(text):
        beyond = [c for c in word if ord(c) > 127]
        scripts = {unicodedata.name(c, "?").split()[0] for c in word if c.isalpha()}
        asian = scripts <= {"CJK", "HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA"}
        latin = scripts == {"LATIN"}
        if (not asian and len(scripts) > 1) or (latin and 2 * len(beyond) > len(word) > 1):
            points += [-1.0] * len(beyond)
            continue
        inner = sum(c.isupper() for c in word[1:] if ord(c) > 127 and not word.isupper())
        rare = 0.2 if scripts == {"CJK"} else 0.0  # any two bytes are some Chinese character
        points += [1.0 - rare] * (len(beyond) - inner) + [-1.0] * inner
    marks = [c for c in text if ord(c) > 127 and not c.isalnum() and not c.isspace()]
    points += [1.0 if c in COMMON_MARKS else -1.0 for c in marks]
    return sum(points) / len(points)


def decode_text(content: bytes, encoding: str | None = None) -> tuple[str, str]:
    """A whole text and its encoding: the one given, UTF-8, UTF-16 or what it looks like.

    ValueError if it is no text.
    """
    errors = "strict" if encoding else "replace"
    encoding = encoding or wide_encoding(content[:4])
    if encoding is None:
        encoding = "utf-8" if is_utf8(content) else detect_encoding(content)
        if b"\0" in content:
            raise ValueError("a text has no zero bytes.")
    return content.decode(encoding, errors).removeprefix("\ufeff"), encoding


def wide_encoding(start: bytes) -> str | None:
    """UTF-16, if the first bytes of a file look like it."""
    if start[:2] in UTF16_MARKS:
        return "utf-16"
    return "utf-16-le" if (start[1::2] or b"1").strip(b"\0") == b"" else None


def is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def known_encoding(encoding: str) -> str:
    """An encoding of text as Python spells it."""
    try:
        "".encode(encoding)  # zlib and rot13 are no encodings of text
        return codecs.lookup(encoding).name
    except (LookupError, TypeError):
        raise ValueError(
            f"there is no encoding {encoding!r}: use utf-8, latin-1, cp1252, mac_roman, utf-16 or "
            "another name that Python knows."
        ) from None
