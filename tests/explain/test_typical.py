"""Samples that stand for a cluster, and digits that tell numbers apart."""

import numpy as np
import pandas as pd
import pytest

from onmf import ONMF
from onmf.explain.typical import decimals, typical_samples
from onmf_app.tables import csv_text


def test_typical_is_in_the_middle_and_certain():
    inside = np.array([1, 3, 4, 6, 8])
    distance, certainty = np.zeros(9), np.ones(9)
    distance[inside] = [0.1, 0.5, 0.49, 0.8, 0.55]
    certainty[inside] = [1.0, 0.4, 0.9, 0.95, 0.97]
    assert typical_samples(inside, distance, certainty, 2).tolist() == [8, 6]
    assert not len(typical_samples(inside[:0], distance, certainty, 2))


def test_the_longest_texts_are_not_the_typical_ones(global_random_seed):
    """Under kl least is noise in the longest, which were the nearest."""
    rng = np.random.default_rng(global_random_seed)
    profiles = rng.gamma(0.3, 1, (3, 200))
    length = rng.lognormal(5, 0.8, 300)
    y = np.arange(300) % 3
    shares = profiles / profiles.sum(axis=1, keepdims=True)
    X = rng.poisson(shares[y] * length[:, None]).astype(float)
    found = ONMF(3, loss="kl", random_state=0).fit(X).explain(X)
    total = X.sum(axis=1)
    for k in range(3):
        inside = np.flatnonzero(found.labels == k)
        order = total[inside].argsort().argsort() / len(inside)
        rank = dict(zip(inside.tolist(), order.tolist(), strict=True))
        nearest = inside[np.argsort(found.distance[inside])[:5]]
        typical = typical_samples(inside, found.distance, found.certainty, 5)
        assert np.mean([rank[i] for i in nearest]) > 0.85
        assert 0.2 < np.mean([rank[i] for i in typical]) < 0.8


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.2, 0.9], 2),
        ([0.996384, 0.996386], 6),
        ([1.0, 0.996], 3),
        ([0.5, 0.5], 2),
        ([], 2),
        ([0.1, np.nan], 2),
        ([0.0, 1e-30], 9),
    ],
)
def test_decimals_by_hand(values, expected):
    assert decimals(np.array(values)) == expected


def test_certainties_that_nearly_agree_differ_in_the_file():
    certainty = np.linspace(0.996384, 0.996386, 20)
    lines = csv_text(pd.DataFrame({"certainty": certainty})).splitlines()[1:]
    assert len({*lines}) == 20
