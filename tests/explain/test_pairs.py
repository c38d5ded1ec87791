"""Names of topics: words, or the pairs in which they mostly stand; by hand."""

import numpy as np

from onmf import explain
from onmf.explain.pairs import names_by_pairs

TEXTS = [
    "prime minister votes",
    "prime minister",
    "the minister votes prime",
    "goal world cup goal",
    "cup of the world goal",
    "goal",
]
LABELS = np.array([0, 0, 0, 1, 1, 1])


def markers(texts, labels):
    words = sorted({word for text in texts for word in text.split()} - {"the", "of"})
    X = [[text.split().count(word) for word in words] for text in texts]
    return explain.groups(labels, X, feature_names=words, rank="presence")


def test_a_word_is_shown_in_the_pair_of_most_of_its_texts():
    """minister: in 3 texts, 2 of them "prime minister". world: 2 texts, 1 "world cup"."""
    found = names_by_pairs(markers(TEXTS, LABELS), LABELS, [text.split() for text in TEXTS])
    assert found[0].split(", ")[0] == "prime minister"
    assert "votes" in found[0]
    assert "world cup" not in found[1]
    assert found[1].startswith("goal, ")


def test_a_stop_word_between_two_words_parts_them():
    texts = ["bank of england", "bank of england", "red house", "red house"]
    labels = np.array([0, 0, 1, 1])
    found = names_by_pairs(markers(texts, labels), labels, [text.split() for text in texts])
    assert found == ["bank, england", "red house"]


def test_each_word_is_said_once_and_samples_without_a_cluster_do_not_count():
    texts = ["new york times", "new york times", "york new york", "cats dogs", "cats dogs"]
    labels = np.array([0, 0, -1, 1, 1])
    found = names_by_pairs(markers(texts, labels), labels, [text.split() for text in texts])
    words = found[0].replace(",", "").split()
    assert sorted(words) == ["new", "times", "york"]
    assert found[0] in ("new york, times", "york times, new", "times, new york", "new, york times")
