"""Which features of a cluster are called, and is a cluster one cloud or two? Truths are known."""

import itertools
import warnings
from time import process_time

import numpy as np
import scipy.sparse as sp

import sets
from onmf import ONMF
from tables import table, write_section

SEED = 2800  # constants were settled on seeds below 200
DRAWS, LEVEL = 3, 0.05
MOST_FEATURES = 1500  # of null data, those that most samples have


def run() -> None:
    warnings.simplefilter("ignore")
    body = "\n\n".join([pairs(), nulls(), cost()])
    write_section("significance", "What a cluster is worth", body)


def known_sets():
    """Name, samples with their classes, number of classes, and loss."""
    if sets.folder():
        yield "pbmc_facs", *sets.pbmc(), "frobenius"
        yield "miRNA 10 types", *sets.mirna(10), "frobenius"
        yield "RNA-seq 6 types", *sets.rnaseq(), "frobenius"
        yield "bbc", *sets.word_counts("bbc"), "kl"
    yield "digits", *sets.digits(), "frobenius"


def pairs() -> str:
    """Every two classes together, and every class alone, cut into two."""
    rows = []
    for name, X, y, _, loss in known_sets():
        kinds = np.unique(y)
        every = [*itertools.combinations(kinds, 2)]
        two = sum(apart(X, y, pair, loss) for pair in every)
        alone = sum(apart(X, y, [kind], loss) for kind in kinds)
        rows.append([name, f"{two} of {len(every)}", f"{alone} of {len(kinds)}"])
    columns = ["classes of", "pairs called two", "classes alone called two"]
    return "One cloud or two? K = 2, adjusted p below .05.\n\n" + table(columns, rows)


def apart(X, y, kinds, loss) -> bool:
    own = X[np.flatnonzero(np.isin(y, kinds))]
    model = ONMF(2, loss=loss, random_state=SEED).fit(own)
    return model.explain(own).markers.p_one_cloud.min() < LEVEL


def nulls() -> str:
    """Clouds with the means and correlations of one class, cut into two and three."""
    rows = []
    for name, X, y, _, loss in known_sets():
        runs = []
        for number, kind in enumerate(np.unique(y)):
            one = X[np.flatnonzero(y == kind)]
            one = one.toarray() if sp.issparse(one) else one
            most = np.argsort(-np.mean(one > 0, axis=0), kind="stable")[:MOST_FEATURES]
            one = one[:, np.sort(most)]
            for draw, k in itertools.product(range(DRAWS), (2, 3)):
                cloud = copula(one, np.random.default_rng((SEED, number, draw)))
                cloud = sp.csr_array(cloud) if sp.issparse(X) else cloud
                model = ONMF(k, loss=loss, random_state=SEED + draw).fit(cloud)
                called = model.explain(cloud).markers.facts.p_adjusted < LEVEL
                runs.append([called.any(), called.mean()])
        any_called, features = 100 * np.mean(runs, axis=0)
        rows.append([name, len(runs), f"{any_called:.1f} %", f"{features:.2f} %"])
    columns = ["clouds of the classes of", "runs", "runs that call any feature", "features called"]
    return table(columns, rows)


def copula(X, rng):
    """Samples with the margins of X and, by ranks, its correlations."""
    n = len(X)
    ranks = np.argsort(np.argsort(X + 1e-9 * rng.random(X.shape), axis=0), axis=0)
    normal = (ranks - ranks.mean(axis=0)) / ranks.std(axis=0)
    drawn = rng.standard_normal((n, n)) @ normal / np.sqrt(n)
    order = np.argsort(np.argsort(drawn, axis=0), axis=0)
    return np.take_along_axis(np.sort(X, axis=0), order, axis=0)


def cost() -> str:
    rows = []
    for name, X, _, k, loss in known_sets():
        fit, whole = [], []
        for seed in range(SEED, SEED + 3):
            begin = process_time()
            model = ONMF(k, loss=loss, random_state=seed, n_jobs=1).fit(X)
            middle = process_time()
            model.explain(X)
            fit, whole = [*fit, middle - begin], [*whole, process_time() - middle]
        rows.append([name, f"{min(whole) / min(fit):.1f}"])
    return "Processor time, best of three.\n\n" + table(["data", "explain / fit"], rows)
