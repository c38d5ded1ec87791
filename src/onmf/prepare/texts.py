"""Texts to counts of words: cleaned, counted by scikit-learn's CountVectorizer."""

import re
import signal
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from threading import current_thread, main_thread
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.utils.validation import check_is_fitted

from onmf.prepare.arrays import Array
from onmf.prepare.cleaning import CLEANERS, cleaned
from onmf.prepare.stop_words import language_of, stop_words_of

# Two or more letters or digits, at least one letter; an underscore is no part of a word.
WORD = r"(?u)(?<![^\W_])(?=\d*[^\W\d_])[^\W_]{2,}"
PAIRS = r"(?u)(?=(\w\w))"  # overlapping pairs of characters, for scripts without spaces
NO_SPACES = re.compile("[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
LONGEST_NGRAM = 10  # words
MIN_SECONDS, MIN_SPEED = 30.0, 1e5  # for a pattern: at least, and characters a second (1e7 usually)
LONGEST_PATTERN = 1000  # characters; a stored pattern is compiled
REMOVED = {"html": "HTML", "mail": "mail headers", "links": "addresses"}  # in words


class Words(TransformerMixin, BaseEstimator):
    """Texts to counts of the words of a vocabulary, without HTML, mail headers and addresses.

    A word is what matches `pattern`; a feature is one word, or a sequence of `ngrams` words.

    Parameters
    ----------
    stop_words : str or sequence of str, default="auto"
        Words to leave out: those of the language that the texts are in, a language, a file with one
        word per line, "none", or a list.
    min_df : int or float, default=2
        Leave out words of fewer texts, or of a smaller share of them.
    max_df : float, default=0.5
        Leave out words of a larger share of the texts.
    ngrams : tuple of two int, default=(1, 1)
        Fewest and most words that make one feature.
    pattern : str, default="auto"
        Regular expression of a word; "auto" is two or more letters or digits, one of them a letter,
        and pairs of characters for scripts without spaces.
    strip : sequence of {"html", "mail", "links"}, default=all of them
        What is removed from a text first.

    Attributes
    ----------
    vocabulary_ : tuple of str
    pattern_ : str
    left_out_ : tuple of str
        The stop words; empty where a feature is one word, for they are not in the vocabulary.
    changed_ : dict of str to int
        From how many texts of the fit each kind was removed.

    Examples
    --------
    >>> from onmf.prepare import Words
    >>> texts = ["moons, stars", "<b>stars</b> &amp; moons", "genes in cells", "genes; cells"]
    >>> words = Words().fit(texts)
    >>> words.vocabulary_
    ('cells', 'genes', 'moons', 'stars')
    >>> words.transform(["moons of moons"]).toarray()
    array([[0., 0., 2., 0.]])
    """

    name = "words"
    of_texts = True
    units = 1.0

    def __init__(
        self,
        stop_words: str | Sequence[str] = "auto",
        min_df: int | float = 2,
        max_df: float = 0.5,
        ngrams: tuple[int, int] = (1, 1),
        pattern: str = "auto",
        strip: Sequence[str] = tuple(CLEANERS),
    ) -> None:
        self.stop_words = stop_words
        self.min_df = min_df
        self.max_df = max_df
        self.ngrams = ngrams
        self.pattern = pattern
        self.strip = strip

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the vocabulary of texts.

        Parameters
        ----------
        X : list, array or Series of str; None and NaN are empty texts
        y : ignored

        Returns
        -------
        self
        """
        texts, self.changed_ = self._cleaned(X)
        self.pattern_ = self.pattern
        if self.pattern == "auto":
            some = "".join(text[:500] for text in texts[:200])
            self.pattern_ = PAIRS if 3 * len(NO_SPACES.findall(some)) > len(some) else WORD
        chosen = self.stop_words
        if isinstance(chosen, str):
            chosen = stop_words_of(language_of(texts) if chosen == "auto" else chosen)
        counter = CountVectorizer(
            min_df=self.min_df, max_df=self.max_df, stop_words=list(chosen) or None,
            ngram_range=tuple(self.ngrams), token_pattern=self.pattern_,
        )  # fmt: skip
        try:
            with warnings.catch_warnings():  # some stop words may never match the pattern
                warnings.filterwarnings("ignore", "Your stop_words may be inconsistent")
                counter.fit(texts)
        except re.error as error:
            raise ValueError(f"the token pattern {self.pattern_!r} is invalid: {error}.") from error
        except ValueError as error:
            least = f"{self.min_df:.0%}" if isinstance(self.min_df, float) else self.min_df
            raise ValueError(
                f"no word is in at least {least} and at most {self.max_df:.0%} of the {len(texts)} "
                "documents: lower min_df, raise max_df, or use more documents."
            ) from error
        self.vocabulary_ = tuple(counter.get_feature_names_out().tolist())
        self.left_out_ = tuple(chosen) if self.ngrams[1] > 1 else ()
        return self

    def transform(self, X: Any) -> sp.csr_array:
        """The counts of texts.

        Parameters
        ----------
        X : as for `fit`

        Returns
        -------
        csr_array of shape (n_texts, n_words)
        """
        check_is_fitted(self)
        texts, _ = self._cleaned(X)
        counter = CountVectorizer(
            vocabulary=self.vocabulary_, dtype=np.float64, ngram_range=tuple(self.ngrams),
            token_pattern=self.pattern_, stop_words=list(self.left_out_) or None,
        )  # fmt: skip
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Your stop_words may be inconsistent")
            with time_limit(MIN_SECONDS + sum(map(len, texts)) / MIN_SPEED, self.pattern_):
                return sp.csr_array(counter.transform(texts))

    changed = transform

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """The words.

        Parameters
        ----------
        input_features : ignored

        Returns
        -------
        ndarray of str
        """
        check_is_fitted(self)
        return np.array(self.vocabulary_, object)

    def in_order(self, X: Any) -> Iterator[list[str]]:
        """All words of each text, one after the other; none if a word is a pair of characters.

        Parameters
        ----------
        X : as for `fit`

        Yields
        ------
        list of str
        """
        find = re.compile(self.pattern_).findall
        for text in self._cleaned(X)[0]:
            with time_limit(MIN_SECONDS + len(text) / MIN_SPEED, self.pattern_):
                yield [] if self.pattern_ == PAIRS else find(text.lower())

    def _cleaned(self, X: Any) -> tuple[list[str], dict[str, int]]:
        texts = as_texts(X)
        if texts is None:
            raise ValueError("Words takes texts: a list, array or Series of str.")
        return cleaned(texts, self.strip)

    def sentence(self) -> str:
        """What was done, for the methods of a paper."""
        removed = [REMOVED[kind] for kind, count in self.changed_.items() if count]
        gone = f"{' and '.join(removed)} were removed, and " if removed else ""
        return f"{gone}texts were turned into counts of {len(self.vocabulary_)} words"

    def check(self) -> None:
        """ValueError if what was read from a file cannot have been learnt."""
        words = self.vocabulary_
        if not are_words(words) or not words or len(words) != len(set(words)):
            raise ValueError("its vocabulary is not one of different words.")
        if not are_words(self.left_out_):
            raise ValueError("its stop words are not words.")
        match tuple(self.ngrams):
            case (int(fewest), int(most)) if 1 <= fewest <= most <= LONGEST_NGRAM:
                pass
            case _:
                raise ValueError("its ngrams are not two numbers of words.")
        if not {*self.strip} <= CLEANERS.keys():
            raise ValueError(f"its kinds are not among {', '.join(CLEANERS)}.")
        if not isinstance(self.pattern_, str) or len(self.pattern_) > LONGEST_PATTERN:
            raise ValueError("its pattern is not text, or is too long.")
        re.compile(self.pattern_)


def as_texts(X: Any) -> list[str] | None:
    """A list, array or Series of texts as a list, "" for what is missing; None for other data."""
    if isinstance(X, str) or not hasattr(X, "__len__") or len(getattr(X, "shape", (1,))) != 1:
        return None
    given: list[Any] = X.tolist() if hasattr(X, "tolist") else list(X)
    missing = [text is None or text != text for text in given if not isinstance(text, str)]
    if not given or len(missing) == len(given) or not all(missing):
        return None
    return [text if isinstance(text, str) else "" for text in given]


def are_words(words: Any) -> bool:
    return isinstance(words, tuple) and all(isinstance(word, str) for word in words)


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
