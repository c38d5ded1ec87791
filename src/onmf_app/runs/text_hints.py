"""Notes on texts: what was removed from them, which are empty, copies, or in another script."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from textwrap import shorten

import numpy as np

from onmf.prepare import Strip
from onmf.prepare.arrays import sample_totals
from onmf.prepare.stop_words import LANGUAGES, stop_words_of
from onmf.prepare.texts import WORD
from onmf.rows import Table, listing
from onmf_app.runs.inputs import Copies, Input

NO_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
COPIES_TOLD = 0.01  # share of texts that are copies of one; fewer are no cluster
FREQUENT_WORDS = 0.1  # share of stop words in texts of their language: .2 to .5
COPY_SHOWN = 50  # characters of a text in a note


def about_texts(source: Input, texts: Sequence[str]) -> list[str]:
    """Notes on texts: what was removed from them, which are empty, which are copies."""
    texts, changed = Strip.fit(texts, source.settings.get("strip", ())).clean(texts)
    return [
        *removed(changed),
        *empty_texts(texts),
        *copied_texts(source, texts),
        *script(source, texts),
        *other_language(source, texts),
    ]


def removed(changed: dict[str, int]) -> Iterator[str]:
    """What was removed because it is not text."""
    words = {"html": "HTML was removed from", "mail": "mail headers from"}
    said = [f"{words[kind]} {changed[kind]:,}" for kind in words if changed.get(kind)]
    if said:
        said[0] = said[0].replace("headers from", "headers were removed from")
        yield f"{' and '.join(said)} of the texts; --strip none keeps what is there."


def empty_texts(texts: Sequence[str]) -> Iterator[str]:
    """Texts without a word, which belong to no cluster."""
    empty = sum(not text for text in texts)
    if empty:
        yield f"{empty:,} of the {len(texts):,} texts are empty; they get label -1."


def copied_texts(source: Input, texts: Sequence[str]) -> Iterator[str]:
    """Copies of one text, which may be a cluster of their own."""
    filled = [text for text in texts if text]
    copies = Copies.of(filled)
    n, sizes = len(copies.place), copies.sizes()
    if not n or sizes.max() <= max(COPIES_TOLD * n, 2):
        return
    most = shorten(filled[copies.first[sizes.argmax()]], COPY_SHOWN, placeholder=" ...")
    said = f"{n - len(sizes):,} of the texts are copies; {most!r} occurs {sizes.max():,} times"
    if source.duplicates == "first":
        yield f"{said}. One of each takes part in the fit."
    else:
        yield f"{said} and may become a cluster. --duplicates first counts each text once."


def other_language(source: Input, texts: Sequence[str]) -> Iterator[str]:
    """Texts with many more frequent words of another language than of the one that was named."""
    some = " ".join(text[:500] for text in texts[:200]).lower()
    found = Counter(re.findall(WORD, some))
    share = {
        name: sum(found[word] for word in stop_words_of(name)) / max(found.total(), 1)
        for name in LANGUAGES
    }
    asked = source.settings.get("stop_words")
    most = max(share, key=lambda name: share[name])
    if asked in share and share[most] > max(2 * share[asked], FREQUENT_WORDS):
        yield (
            f"these texts look {most.capitalize()}, but {asked} stop words are left out: add "
            f"--stop-words {most}."
        )


def script(source: Input, texts: Sequence[str]) -> Iterator[str]:
    """Texts without spaces, in which a "word" would be a whole sentence."""
    some = "".join(text[:500] for text in texts[:200])
    plain = source.settings.get("pattern", WORD) == WORD
    if plain and 3 * len(NO_SPACES.findall(some)) > len(some):
        yield (
            "these documents have no spaces between words: use --characters, which counts pairs of "
            "characters, or insert spaces first."
        )


def uncounted_texts(raw: Table, table: Table) -> Iterator[str]:
    """Texts that are not empty, but have no word that is counted."""
    without = np.flatnonzero(sample_totals(table.X) == 0)
    names = [table.samples[i] for i in without.tolist() if raw.X[i]]
    if names:
        has = (
            "has no word that is counted and gets"
            if len(names) == 1
            else ("have no word that is counted and get")
        )
        yield (
            f"{len(names):,} of the texts {has} label -1: {listing(names)}. --min-df 1 counts rare "
            "words, too."
        )
