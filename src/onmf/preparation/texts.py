"""Texts before they are clustered: what is not text goes, words become counts.

strip  texts without headers and tags        words  counts of known words in texts
"""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from html import unescape
from typing import ClassVar, Self

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

WORD = r"(?u)\b\w\w+\b"  # scikit-learn's: two letters or digits, or more
PAIRS = r"(?u)(?=(\w\w))"  # neighbours, for scripts without spaces: every match begins anew
MOST_WORDS = 10  # in a row that count as one feature
LONGEST_PATTERN = 1000  # characters


@dataclass(frozen=True)
class Words:
    """Texts to counts of the words of a vocabulary: scikit-learn's CountVectorizer.

    A word is what matches `pattern`; a feature is one word, or as many in a row as `ngrams` allows.

    Examples
    --------
    >>> from onmf.preparation import Words
    >>> Words(("moons", "stars"))(["moons of moons"]).toarray()
    array([[2., 0.]])
    """

    vocabulary: tuple[str, ...]
    ngrams: tuple[int, int] = (1, 1)
    pattern: str = WORD
    name: ClassVar[str] = "words"

    @classmethod
    def fit(
        cls,
        texts: Sequence[str],
        min_df: int | float = 1,
        max_df: float = 1.0,
        stop_words: Sequence[str] = (),
        ngrams: tuple[int, int] = (1, 1),
        pattern: str = WORD,
    ) -> Self:
        """The words of at least `min_df` texts (a number or a share) and of at most `max_df`."""
        counter = CountVectorizer(
            min_df=min_df, max_df=max_df, stop_words=list(stop_words) or None, ngram_range=ngrams,
            token_pattern=pattern,
        )  # fmt: skip
        try:
            with warnings.catch_warnings():  # a list may have words that are never counted
                warnings.filterwarnings("ignore", "Your stop_words may be inconsistent")
                counter.fit(texts)
        except re.error as error:
            raise ValueError(f"the token pattern {pattern!r} is wrong: {error}.") from error
        except ValueError as error:
            least = f"{min_df:.0%}" if isinstance(min_df, float) else min_df
            raise ValueError(
                f"no word is in at least {least} and at most {max_df:.0%} of the {len(texts)} "
                "documents: lower min_df, raise max_df, or give more documents."
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
            case (int(fewest), int(most)) if 1 <= fewest <= most <= MOST_WORDS:
                pass
            case _:
                raise ValueError("its ngrams are not two numbers of words.")
        if not isinstance(self.pattern, str) or len(self.pattern) > LONGEST_PATTERN:
            raise ValueError("its pattern is not that of a word.")
        re.compile(self.pattern)


@dataclass(frozen=True)
class Strip:
    """Texts without what is not text: HTML's tags, the headers of mails.

    Examples
    --------
    >>> from onmf.preparation import Strip
    >>> Strip(("mail", "html"))(["From: me\\nTo: you\\n\\nfish &amp; <b>chips</b>"])
    ['fish & chips ']
    """

    kinds: tuple[str, ...]
    name: ClassVar[str] = "strip"

    @classmethod
    def fit(cls, texts: Sequence[str], kinds: Sequence[str] = ("mail", "html")) -> Self:
        return cls(tuple(kinds))

    def __call__(self, X: Sequence[str]) -> list[str]:
        for kind in self.kinds:
            X = [STRIPPERS[kind](text) for text in X]
        return list(X)

    def check(self, n_features: int) -> None:
        if not isinstance(self.kinds, tuple) or not {*self.kinds} <= STRIPPERS.keys():
            raise ValueError("it strips texts of something unknown.")


def without_headers(text: str) -> str:
    """A mail from its first empty line on, if it begins as mails do."""
    head, _, body = text.replace("\r\n", "\n").partition("\n\n")
    return body if re.match(r"[\w-]+:\s", head) else text


def without_tags(text: str) -> str:
    """What a browser would show."""
    scripts = re.sub(r"<(script|style)\b.*?</\1\s*>", " ", text, flags=re.DOTALL | re.IGNORECASE)
    return unescape(re.sub(r"<[^<>]*>", " ", scripts))


STRIPPERS = {"mail": without_headers, "html": without_tags}
