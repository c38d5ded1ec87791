"""Steps of texts: remove what is not text, and count words.

strip  texts without mail headers and tags        words  counts of the words of a vocabulary
"""

import re
import signal
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import current_thread, main_thread
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction.text import CountVectorizer

from onmf.prepare.base import Step, StepOption
from onmf.prepare.cleaning import CLEANERS, Strip
from onmf.prepare.numerals import to_count, to_number
from onmf.prepare.stop_words import LANGUAGES, stop_words_of

# Two or more letters or digits, at least one letter; an underscore is no part of a word.
WORD = r"(?u)(?<![^\W_])(?=\d*[^\W\d_])[^\W_]{2,}"
PAIRS = r"(?u)(?=(\w\w))"  # overlapping pairs of characters, for scripts without spaces
LONGEST_NGRAM = 10  # words
MIN_SECONDS, MIN_SPEED = 30.0, 1e5  # for a pattern: at least, and characters a second (1e7 usually)
LONGEST_PATTERN = 1000  # characters; a stored pattern is compiled


@contextmanager
def time_limit(seconds: float, pattern: str) -> Iterator[None]:
    """Give up a search for a pattern that does not end: it may be from somebody else's model.

    Only where a signal can interrupt it: in the main thread, not on Windows.
    """
    usual = pattern in (WORD, PAIRS) or not hasattr(signal, "SIGALRM")
    if usual or current_thread() is not main_thread():
        yield
        return

    def stop(number: int, frame: object) -> None:
        raise ValueError(
            f"the token pattern {pattern!r} took over {seconds:.0f} s: it is slow by itself, and "
            "another one must be used."
        )

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def as_texts(X: Any) -> list[str] | None:
    """A list, array or Series of texts as a list, "" for what is missing; None for other data."""
    if isinstance(X, str) or not hasattr(X, "__len__") or len(getattr(X, "shape", (1,))) != 1:
        return None
    given: list[Any] = X.tolist() if hasattr(X, "tolist") else list(X)
    missing = [text is None or text != text for text in given if not isinstance(text, str)]
    if not given or len(missing) == len(given) or not all(missing):
        return None
    return [text if isinstance(text, str) else "" for text in given]


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

    A word is what matches `pattern`; a feature is one word, or a sequence of `ngrams` words, from
    which the `stop_words` are left out.

    Examples
    --------
    >>> from onmf.prepare import Words
    >>> Words(("moons", "stars"))(["moons of moons"]).toarray()
    array([[2., 0.]])
    """

    vocabulary: tuple[str, ...]
    ngrams: tuple[int, int] = (1, 1)
    pattern: str = WORD
    stop_words: tuple[str, ...] = ()  # only stored if features have several words
    name = "words"
    of_texts = True
    loss = "kl"
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
        between = tuple(stop_words) if ngrams[1] > 1 else ()
        return cls(tuple(counter.get_feature_names_out().tolist()), ngrams, pattern, between)

    def __call__(self, X: Sequence[str]) -> sp.csr_array:
        counter = CountVectorizer(
            vocabulary=self.vocabulary, dtype=np.float64, ngram_range=self.ngrams,
            token_pattern=self.pattern, stop_words=list(self.stop_words) or None,
        )  # fmt: skip
        with warnings.catch_warnings():  # some stop words may never match the pattern
            warnings.filterwarnings("ignore", "Your stop_words may be inconsistent")
            with time_limit(MIN_SECONDS + sum(map(len, X)) / MIN_SPEED, self.pattern):
                return sp.csr_array(counter.transform(X))

    def in_order(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """All words of each text, one after the other; none if a word is a pair of characters."""
        find = re.compile(self.pattern).findall
        for text in texts:
            with time_limit(MIN_SECONDS + len(text) / MIN_SPEED, self.pattern):
                yield [] if self.pattern == PAIRS else find(text.lower())

    def check(self, n_features: int) -> None:
        words = self.vocabulary
        if not _are_words(words) or not len(words) == len(set(words)) == n_features:
            raise ValueError(f"its vocabulary is not one of {n_features} words.")
        if not _are_words(self.stop_words):
            raise ValueError("its stop words are not words.")
        match self.ngrams:
            case (int(fewest), int(most)) if 1 <= fewest <= most <= LONGEST_NGRAM:
                pass
            case _:
                raise ValueError("its ngrams are not two numbers of words.")
        if not isinstance(self.pattern, str) or len(self.pattern) > LONGEST_PATTERN:
            raise ValueError("its pattern is not text, or is too long.")
        re.compile(self.pattern)


def _are_words(words: Any) -> bool:
    return isinstance(words, tuple) and all(isinstance(word, str) for word in words)


def word_counts(
    *,
    stop_words: str | Sequence[str] = "english",
    min_df: int | float = 2,
    max_df: float = 0.5,
    ngrams: tuple[int, int] = (1, 1),
    pattern: str = WORD,
    strip: Sequence[str] = tuple(CLEANERS),
) -> CountVectorizer:
    """Texts to counts of their words, as the command makes them by --text, for ``loss="kl"``.

    Parameters
    ----------
    stop_words : str or sequence of str, default="english"
        Words to leave out: a language, a file with one word per line, "none", or a list.
    min_df : int or float, default=2
        Leave out words of fewer texts, or of a smaller share of them.
    max_df : float, default=0.5
        Leave out words of a larger share of the texts.
    ngrams : tuple of two int, default=(1, 1)
        Fewest and most words that make one feature.
    pattern : str
        Regular expression of a word; by default two or more letters or digits, one of them a
        letter.
    strip : sequence of {"html", "mail", "links"}, default=all of them
        What is removed from a text first: tags and entities, headers of mails, addresses of pages
        and mail boxes.

    Returns
    -------
    CountVectorizer

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from onmf import ONMF
    >>> from onmf.prepare import word_counts
    >>> texts = ["moons, stars", "<b>stars</b> &amp; moons", "genes in cells", "genes; cells"]
    >>> topics = make_pipeline(word_counts(), ONMF(2, loss="kl", random_state=0)).fit(texts)
    >>> topics[0].get_feature_names_out().tolist()
    ['cells', 'genes', 'moons', 'stars']
    >>> topics.predict(["the stars"])
    array([0])
    """
    words = stop_words_of(stop_words) if isinstance(stop_words, str) else tuple(stop_words)
    return CountVectorizer(
        preprocessor=LowerCase(tuple(strip)), stop_words=list(words) or None, min_df=min_df,
        max_df=max_df, ngram_range=ngrams, token_pattern=pattern, dtype=np.float64,
    )  # fmt: skip


@dataclass(frozen=True)
class LowerCase:
    """A text after `Strip`, in lower case."""

    kinds: tuple[str, ...]

    def __call__(self, text: str) -> str:
        return Strip(self.kinds)([text])[0].lower()
