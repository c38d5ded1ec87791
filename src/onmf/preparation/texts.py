"""Steps of texts: remove what is not text, and count words.

strip  texts without mail headers and tags        words  counts of the words of a vocabulary
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from typing import Self

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from onmf.io.cells import to_count, to_number
from onmf.preparation.base import Step, StepOption
from onmf.preparation.stop_words import LANGUAGES, stop_words_of

WORD = r"(?u)\b\w\w+\b"  # scikit-learn's default: two or more letters or digits
PAIRS = r"(?u)(?=(\w\w))"  # overlapping pairs of characters, for scripts without spaces
LONGEST_NGRAM = 10  # words
LONGEST_PATTERN = 1000  # characters; a stored pattern is compiled


def document_count(word: str) -> int | float:
    """A number of documents, or a share of them below or at 1.0."""
    count = to_number(word) if "." in word else to_count(word)
    if not 0 < count or (isinstance(count, float) and count > 1):
        raise ValueError
    return count


def document_share(word: str) -> float:
    """A share of the documents, from 0 to 1."""
    share = to_number(word)
    if not 0 <= share <= 1:
        raise ValueError
    return share


def ngram_range(word: str) -> tuple[int, int]:
    """Smallest and largest number of words in a feature: "1:2"."""
    low, high = map(to_count, word.split(":"))
    if not 1 <= low <= high <= LONGEST_NGRAM:
        raise ValueError
    return low, high


@dataclass(frozen=True)
class Words(Step):
    """Texts to counts of the words of a vocabulary: scikit-learn's CountVectorizer.

    A word is what matches `pattern`; a feature is one word, or a sequence of `ngrams` words.

    Examples
    --------
    >>> from onmf.preparation import Words
    >>> Words(("moons", "stars"))(["moons of moons"]).toarray()
    array([[2., 0.]])
    """

    vocabulary: tuple[str, ...]
    ngrams: tuple[int, int] = (1, 1)
    pattern: str = WORD
    name = "words"
    of_texts = True
    options = (
        StepOption("--stop-words", f"Words to leave out; LANG is {', '.join(LANGUAGES)}.",
                   "stop_words", parse=str, default="english", metavar="LANG|FILE|none"),
        StepOption("--ngrams", "Number of words that make one feature, from LOW to HIGH.", "ngrams",
                   parse=ngram_range, default="1:1", metavar="LOW:HIGH"),
        StepOption("--token-pattern", "Regular expression of a word.", "pattern", parse=str,
                   default=WORD, metavar="PATTERN"),
        StepOption("--characters", "Count pairs of characters, for scripts without spaces.",
                   "pattern", PAIRS),
        StepOption("--min-df", "Leave out words of fewer documents, or of a smaller share.",
                   "min_df", parse=document_count, default="2", metavar="N|SHARE"),
        StepOption("--max-df", "Leave out words of a larger share of the documents.", "max_df",
                   parse=document_share, default="0.5", metavar="SHARE"),
    )  # fmt: skip

    @classmethod
    def fit(
        cls,
        texts: Sequence[str],
        min_df: int | float = 1,
        max_df: float = 1.0,
        stop_words: str | Sequence[str] = (),
        ngrams: tuple[int, int] = (1, 1),
        pattern: str = WORD,
    ) -> Self:
        """The words of at least `min_df` texts (a number or a share) and of at most `max_df`.

        `stop_words` are left out: a list, a language, a file with one word per line, or "none".
        """
        if isinstance(stop_words, str):
            stop_words = stop_words_of(stop_words)
        counter = CountVectorizer(
            min_df=min_df, max_df=max_df, stop_words=list(stop_words) or None, ngram_range=ngrams,
            token_pattern=pattern,
        )  # fmt: skip
        try:
            with warnings.catch_warnings():  # some stop words may never match the pattern
                warnings.filterwarnings("ignore", "Your stop_words may be inconsistent")
                counter.fit(texts)
        except re.error as error:
            raise ValueError(f"the token pattern {pattern!r} is invalid: {error}.") from error
        except ValueError as error:
            least = f"{min_df:.0%}" if isinstance(min_df, float) else min_df
            raise ValueError(
                f"no word is in at least {least} and at most {max_df:.0%} of the {len(texts)} "
                "documents: lower min_df, raise max_df, or use more documents."
            ) from error
        return cls(tuple(counter.get_feature_names_out().tolist()), ngrams, pattern)

    def __call__(self, X: Sequence[str]) -> sp.csr_array:
        counter = CountVectorizer(
            vocabulary=self.vocabulary, dtype=np.float64, ngram_range=self.ngrams,
            token_pattern=self.pattern,
        )  # fmt: skip
        return sp.csr_array(counter.transform(X))

    def check(self, n_features: int) -> None:
        words = self.vocabulary
        sound = isinstance(words, tuple) and all(isinstance(word, str) for word in words)
        if not sound or not len(words) == len(set(words)) == n_features:
            raise ValueError(f"its vocabulary is not one of {n_features} words.")
        match self.ngrams:
            case (int(fewest), int(most)) if 1 <= fewest <= most <= LONGEST_NGRAM:
                pass
            case _:
                raise ValueError("its ngrams are not two numbers of words.")
        if not isinstance(self.pattern, str) or len(self.pattern) > LONGEST_PATTERN:
            raise ValueError("its pattern is not text, or is too long.")
        re.compile(self.pattern)


@dataclass(frozen=True)
class Strip(Step):
    """Texts without HTML tags, or without the headers of mails.

    Examples
    --------
    >>> from onmf.preparation import Strip
    >>> Strip(("mail", "html"))(["From: me\\nTo: you\\n\\nfish &amp; <b>chips</b>"])
    ['fish & chips ']
    """

    kinds: tuple[str, ...]
    name = "strip"
    of_texts = True
    options = (
        StepOption("--strip", "Remove the headers of mails, or the tags of HTML.", "strip",
                   choices=("mail", "html")),
    )  # fmt: skip

    @classmethod
    def fit(cls, texts: Sequence[str], strip: Sequence[str] = ("mail", "html")) -> Self:
        return cls(tuple(strip))

    def __call__(self, X: Sequence[str]) -> list[str]:
        for kind in self.kinds:
            X = [STRIPPERS[kind](text) for text in X]
        return list(X)

    def check(self, n_features: int) -> None:
        if not isinstance(self.kinds, tuple) or not {*self.kinds} <= STRIPPERS.keys():
            raise ValueError(f"its kinds are not among {', '.join(STRIPPERS)}.")


def without_headers(text: str) -> str:
    """The text after the first empty line, if it starts with the headers of a mail."""
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    return body if re.match(r"[\w-]+:\s", head) else text


def without_tags(text: str) -> str:
    """What a browser would show."""
    scripts = re.sub(r"<(script|style)\b.*?</\1\s*>", " ", text, flags=re.DOTALL | re.IGNORECASE)
    return unescape(re.sub(r"<[^<>]*>", " ", scripts))


STRIPPERS = {"mail": without_headers, "html": without_tags}
