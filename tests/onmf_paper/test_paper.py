"""The numbers of the paper, on its own data, from its own starts."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from onmf import ONMF, Baseline
from onmf.datasets import make_paper_synthetic
from onmf.metrics import clustering_accuracy

# Means over starts 1-10 at -3 dB: ACC, ARI, PALM iterations (Tables I and II, and an independent
# re-implementation).
EXPECTED = {"sncp": (91.9, 91.4, 1601), "nsncp": (90.6, 90.3, 1329)}
ITERATIONS = {"sncp": (1172, 1588, 1505), "nsncp": (939, 1221, 1167)}  # starts 1-3


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*clusters are empty")  # the paper's method does that
def test_the_minus_3_db_row(penalty_name):
    X, y = make_paper_synthetic(-3)
    models = [
        ONMF(10, solver="palm", penalty=penalty_name, random_state=seed).fit(X)
        for seed in range(1, 11)
    ]
    assert tuple(model.n_iter_ for model in models[:3]) == ITERATIONS[penalty_name]
    acc = 100 * np.mean([clustering_accuracy(y, model.labels_) for model in models])
    ari = 100 * np.mean([adjusted_rand_score(y, model.labels_) for model in models])
    sweeps = np.mean([model.n_iter_ for model in models])
    assert acc == pytest.approx(EXPECTED[penalty_name][0], abs=0.3)
    assert ari == pytest.approx(EXPECTED[penalty_name][1], abs=0.3)
    assert sweeps == pytest.approx(EXPECTED[penalty_name][2], rel=0.02)


# Starts, mean ACC and mean iterations of an independent implementation at -3 dB.
RIVALS = {
    "hals": (range(1, 5), 84.2, 1584),
    "k-means": (range(1, 11), 71.3, None),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*clusters are empty", "ignore:Baseline did not converge")
@pytest.mark.parametrize("method", RIVALS)
def test_the_rivals_at_minus_3_db(method):
    X, y = make_paper_synthetic(-3)
    starts, accuracy, iterations = RIVALS[method]
    models = [Baseline(method, 10, random_state=seed).fit(X) for seed in starts]
    acc = 100 * np.mean([clustering_accuracy(y, model.labels_) for model in models])
    assert acc == pytest.approx(accuracy, abs=0.5)
    if iterations is not None:
        assert np.mean([model.n_iter_ for model in models]) == pytest.approx(iterations, rel=0.01)
