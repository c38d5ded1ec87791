"""Laws that every clustering keeps: what a change of X that changes nothing must not change."""

import numpy as np

from attack.answers import quiet
from onmf import ONMF, Fast


def clusters_apart(rng):
    """Samples of clusters that nothing can mistake, in numbers or counts, and how many."""
    k, own = int(rng.integers(2, 6)), int(rng.integers(2, 8))
    C = np.kron(np.eye(k), rng.gamma(2, 1, (1, own)) + 0.5) + 0.05 * rng.random((k, k * own))
    y = rng.permutation(np.append(np.arange(k), rng.integers(0, k, k * int(rng.integers(4, 20)))))
    X = (C[y] + 0.1 * rng.random((len(y), k * own))) * rng.gamma(3, 1, (len(y), 1))
    return (np.floor(10 * X) if rng.random() < 0.3 else X).astype(rng.choice(["f4", "f8"])), k


def any_options(rng):
    loss = str(rng.choice(["frobenius", "kl"]))
    options = {"loss": loss}
    match rng.integers(5):
        case 0:
            options["outliers"] = [0.05, "auto", 3][rng.integers(3)]
        case 1:
            options["solver"] = Fast(passes=int(rng.integers(2, 4)))
        case 2:
            options["n_init"] = int(rng.integers(1, 4))
    return options


def fitted(X, k, options, weight=None):
    model = quiet(ONMF(k, random_state=0, **options).fit, X, sample_weight=weight)
    return np.asarray(model.labels_)


def assert_same_clusters(a, b, case):
    """Whatever the numbers of the clusters, and the same outliers."""
    pairs = {*zip(a.tolist(), b.tolist(), strict=True)}
    assert len(pairs) == len({*a.tolist()}) == len({*b.tolist()}), case
    np.testing.assert_array_equal(a < 0, b < 0)


def nothing_changes_with_samples_of_zeros_or_no_weight(rng, folder):
    X, k = clusters_apart(rng)
    options = any_options(rng)
    places = rng.choice(len(X), int(rng.integers(1, 5)), replace=False)
    absent = [0 * X[places], X[places]][rng.integers(2)]
    weight = np.append(np.ones(len(X)), np.full(len(places), float(not absent.any())))
    labels = fitted(np.vstack([X, absent]), k, options, weight)[: len(X)]
    assert_same_clusters(labels, fitted(X, k, options), (X.shape, str(X.dtype), k, options))
    return options["loss"]


def nothing_changes_with_other_columns(rng, folder):
    X, k = clusters_apart(rng)
    options = any_options(rng)
    options.pop("outliers", None)  # where their limit swings, rounding says where it comes to rest
    labels = fitted(X, k, options)
    case = (X.shape, str(X.dtype), k, options)
    wide = np.insert(X, int(rng.integers(X.shape[1] + 1)), 0, axis=1)
    assert_same_clusters(fitted(wide, k, options), labels, case)
    assert_same_clusters(fitted(X[:, rng.permutation(X.shape[1])], k, options), labels, case)
    return options["loss"]


def a_sample_twice_is_one_of_weight_two(rng, folder):
    X, k = clusters_apart(rng)
    options = any_options(rng)
    options.pop("outliers", None)  # one of two equal samples may be one
    again = rng.integers(0, len(X), 3)
    weight = 1.0 + np.bincount(again, minlength=len(X))
    twice = fitted(np.vstack([X, X[again]]), k, options)
    np.testing.assert_array_equal(twice[len(X) :], twice[again])
    case = (X.shape, str(X.dtype), k, options)
    assert_same_clusters(twice[: len(X)], fitted(X, k, options, weight), case)
    return options["loss"]


ATTACKS = (
    nothing_changes_with_samples_of_zeros_or_no_weight,
    nothing_changes_with_other_columns,
    a_sample_twice_is_one_of_weight_two,
)
