"""Probabilities of clusters, and samples that belong to none: calibration, strangers, doublets.

The constants of the rule for strangers were chosen with seeds 0 and 7 on the sets below, some
classes being left out in turn. The figures are for another seed.
"""

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import roc_auc_score

import explain as certainty
import sets
from onmf import ONMF
from onmf.prepare import Words, tfidf
from tables import table, write_section

SEED = 2801
COLUMNS = ["data", "left out", "shuffled", "held-out", "shortest tenth of them", "left-out class",
           "worst class", "best class"]  # fmt: skip
NOTE = """

Three quarters of the samples of all classes but one are clustered (K as many as there are classes
left), each class being left out in turn. Share of the samples that `strangers` marks: *shuffled*,
held-out samples whose features were permuted within the sample; *held-out*, of the classes that
are known, should be at most 3 %; *left-out class*, the mean over the classes that were left out.

What was tried (seed 7): share of the left-out class beyond a limit that 2.5 % of the held-out
samples exceed, which a user does not know; five classes left out in turn.

| score | miRNA 5 | miRNA 10 | miRNA 20 | pbmc_facs | bbc | RNA-seq | digits |
| --- | --- | --- | --- | --- | --- | --- | --- |
| weighted, ten directions discounted (first) | 31% | 82% | 49% | 68% | 75% | 97% | 24% |
| the same beside the nearest of 200 means (before) | 33% | 85% | 56% | 68% | 76% | 97% | 53% |
| before, weights v^(-2/3) | 40% | 86% | 58% | 65% | 80% | 94% | 55% |
| before, weights v^(-1/2) | 42% | 85% | 61% | 58% | 78% | 95% | 56% |

Other scores, of up to eight classes. None reaches 60 % on all sets of miRNA.

| score | miRNA 5 | miRNA 20 | bbc | RNA-seq | digits |
| --- | --- | --- | --- | --- | --- |
| first | 31% | 44% | 75% | 98% | 20% |
| nearest training sample, cosine | 40% | 60% | 50% | 86% | 76% |
| nearest training sample, weighted | 30% | 52% | 76% | 89% | 62% |
| nearest training sample, whitened | 29% | 46% | 81% | 93% | 55% |
| Mahalanobis, shrunk, weighted | 29% | 45% | 80% | 94% | 22% |
| outside 30 principal directions of all (ViM) | 36% | 43% | 76% | 86% | 15% |
| distance to the centroid | 17% | 40% | 39% | 91% | 26% |

On pbmc_facs the distance to the centroid finds 21 %, and with directions and means, but without
weights, 13 %.

How much could be found (seed 7, all classes; of miRNA 20 the last twelve; the same limit). A linear
discriminant that has seen half of the left-out class finds 95 to 100 % of every type but READ
beside COAD (76 %): the types differ, in directions that nothing but the class itself shows. Scores
with all training samples at hand, which a model does not store:

| score | miRNA 5 | miRNA 10 | last 12 of miRNA 20 |
| --- | --- | --- | --- |
| before | 39% | 58% | 36% |
| nearest training sample, weights v^(-2/3) | 35% | 61% |  |
| mean of the five nearest | 34% | 59% |  |
| the same over the usual one of these five (local outlier factor) | 49% | 66% |  |
| over its root | 48% | 69% | 55% |
| over its root, weights between / within clusters | 51% | 64% | 56% |
| over its root, whitened in 100 directions | 48% | 68% | 56% |
| sum of the first two of these three | 52% | 68% | 58% |
| larger of the first and the third | 49% | 67% | 56% |
| ranks of features, local outlier factor | 44% | 68% |  |
| without 30 within-cluster directions | 33% | 62% |  |
| directions of each cluster of its own (probabilistic PCA) | 43% |  |  |
| now: 200 means, over the root of what is usual at the mean | 48% | 59% |  |

So no score of single samples reached 60 % on miRNA 5. With weights v^(-2/3) the present rule finds
64 % instead of 59 % of miRNA 10, but on pbmc_facs 58 % instead of 65 % (seed 2801, its own limit);
without limits per cluster it finds 36 % there. Limits at means are not used for counts, where they
find 66 % instead of 70 % of bbc and 8 % instead of 15 % of m10."""


def run_probabilities() -> None:
    rows, errors = [], []
    for name, make in certainty.labelled().items():
        X, _, k = make()
        X = sp.csr_array(X) if sp.issparse(X) else X
        model = ONMF(k, random_state=SEED).fit(X)
        P = model.predict_proba(X)
        agreed = np.array(
            [certainty.halves_agree(X, k, model.labels_, seed) for seed in certainty.looks(X)]
        )
        inside = model.labels_ >= 0
        assert np.allclose(P[inside].sum(axis=1), 1)
        assert not P[~inside].any()
        assert (P[inside].argmax(axis=1) == model.labels_[inside]).all()
        errors.append(certainty.calibration_error(P.max(axis=1), agreed))
        rows.append([name, f"{agreed.mean():.2f}", f"{P.max(axis=1).mean():.2f}",
                     f"{errors[-1]:.3f}"])  # fmt: skip
    columns = ["data", "halves agree", "mean of the largest probability", "calibration error"]
    good = sum(error <= 0.05 for error in errors)
    note = (
        f"\n\n`predict_proba` right after `fit`, seed {SEED}: the largest probability against the "
        "agreement of whole fits on disjoint halves of the features (ten bins; ten splits, three "
        f"of 20 Newsgroups). At most .05 on {good} of {len(errors)} sets. Rows add up to 1 and are "
        "largest at the label, which the run checks."
    )
    write_section("probabilities", "Probabilities of clusters", table(columns, rows) + note)


def run_strangers() -> None:
    wanted = {
        "miRNA 5 types": ("frobenius", lambda: sets.mirna(5)),
        "miRNA 10 types": ("frobenius", lambda: sets.mirna(10)),
        "miRNA 20 types": ("frobenius", lambda: sets.mirna(20)),
        "pbmc_facs": ("frobenius", sets.pbmc),
        "bbc, counts": ("kl", lambda: sets.word_counts("bbc")),
        "m10, counts": ("kl", lambda: sets.word_counts("m10")),
        "RNA-seq 6 types": ("frobenius", sets.rnaseq),
        "digits": ("frobenius", sets.digits),
    }
    if not sets.folder():
        wanted = {"digits": wanted["digits"]}
    rows = [stranger_row(name, loss, *make()) for name, (loss, make) in wanted.items()]
    write_section("strangers", "Strangers", table(COLUMNS, rows) + NOTE)


def stranger_row(name, loss, X, y, k):
    X = sp.csr_array(X) if sp.issparse(X) else np.asarray(X, float)
    length = np.asarray(X.sum(axis=1)).ravel()
    shares = []
    for number, left in enumerate(np.unique(y)):
        rng = np.random.default_rng((SEED, number))
        rest = rng.permutation(np.flatnonzero(y != left))
        fitted, held = np.split(rest, [3 * len(rest) // 4])
        model = ONMF(k - 1, loss=loss, random_state=SEED).fit(X[fitted])
        marked = model.strangers(X[held])
        short = length[held] <= np.quantile(length[held], 0.1)
        other = rng.permuted(dense(X[held[:500]]), axis=1)
        shares.append([model.strangers(other).mean(), marked.mean(), marked[short].mean(),
                       model.strangers(X[y == left]).mean()])  # fmt: skip
    means, last = np.mean(shares, axis=0), np.array(shares)[:, -1]
    return [name, f"{k} in turn", f"{means[0]:.0%}", f"{means[1]:.1%}", f"{means[2]:.1%}",
            f"{means[3]:.0%}", f"{last.min():.0%}", f"{last.max():.0%}"]  # fmt: skip


def dense(X):
    return X.toarray() if sp.issparse(X) else X


def auc(planted, score):
    return f"{roc_auc_score(planted, score):.2f}"


def run_doublets() -> None:
    """Sums of two cells of different types among the sorted cells."""
    rows = []
    for seed in range(SEED, SEED + 3):
        X, planted = with_doublets(np.random.default_rng(seed))
        plain = ONMF(5, random_state=seed).fit(X)
        robust = ONMF(5, outliers="auto", random_state=seed).fit(X)
        scores = [robust.outlier_score_, -plain.explain(X).certainty, plain.stranger_score(X),
                  plain.mixed_score(X)]  # fmt: skip
        called = int((robust.labels_ < 0).sum())
        rows.append([seed, called, *(auc(planted, score) for score in scores)])
    columns = ["seed", 'called by `outliers="auto"`', "AUC of `outlier_score_`",
               "of 1 - certainty", "of `stranger_score`", "of `mixed_score`"]  # fmt: skip
    note = """

pbmc_facs with 5 % doublets: sums of the counts of two cells of different types, each prepared as
the others."""
    write_section("doublets", "Doublets", table(columns, rows) + note)


def run_nowhere() -> None:
    """Texts that belong to no cluster, among texts that do."""
    if not sets.folder():
        return
    rows = []
    for name, make in {"words at random": random_words, "another corpus": other_corpus,
                       "groups left out": left_out_groups}.items():  # fmt: skip
        counts, planted, k = make(np.random.default_rng(SEED))
        for loss, X in {"kl": counts, "frobenius": tfidf().fit_transform(counts)}.items():
            plain = ONMF(k, loss=loss, random_state=SEED).fit(X)
            robust = ONMF(k, loss=loss, outliers="auto", random_state=SEED).fit(X)
            called = robust.labels_ < 0
            scores = [robust.outlier_score_, plain.stranger_score(X), -plain.explain(X).certainty,
                      plain.mixed_score(X)]  # fmt: skip
            marked = plain.strangers(X)
            rows.append([name, "counts, kl" if loss == "kl" else "tf-idf", int(planted.sum()),
                         f"{called[planted].mean():.0%}", f"{called[~planted].mean():.1%}",
                         f"{marked[planted].mean():.0%}", f"{marked[~planted].mean():.1%}",
                         *(auc(planted, score) for score in scores)])  # fmt: skip
    columns = ["texts that belong nowhere", "data", "number", 'called by `outliers="auto"`',
               "others called", "called by `strangers`", "others called", "AUC of `outlier_score_`",
               "of `stranger_score`", "of 1 - certainty", "of `mixed_score`"]  # fmt: skip
    note = """

About 5 % of all texts are planted, and take part in the fit. *Words at random*: BBC news, and texts
as long as these whose words are drawn from those of all; *another corpus*: BBC news, and titles of
papers (m10); *groups left out*: mails of five newsgroups, and a few of each of the 15 others."""
    write_section("nowhere", "Texts that belong nowhere", table(columns, rows) + note)


def random_words(rng):
    X, _, k = sets.word_counts("bbc")
    X = sp.csr_array(X)
    lengths = X.sum(axis=1)[rng.permutation(X.shape[0])[: X.shape[0] // 20]].astype(int)
    share = X.sum(axis=0) / X.sum()
    return planted_texts(X, sp.csr_array(np.array([rng.multinomial(n, share) for n in lengths])), k)


def other_corpus(rng):
    own, others = sets.read_texts("bbc"), sets.read_texts("m10").texts
    texts = [*own.texts, *(others[i] for i in rng.permutation(len(others))[: len(own.y) // 20])]
    X = sp.csr_array(Words.fit(texts, min_df=2, max_df=0.5, stop_words="english")(texts))
    return planted_texts(X[: len(own.y)], X[len(own.y) :], len(np.unique(own.y)))


def left_out_groups(rng):
    X, y, _ = sets.newsgroup_counts()
    kinds = rng.permutation(np.unique(y))
    inside = np.flatnonzero(np.isin(y, kinds[:5]))
    others = rng.permutation(np.flatnonzero(~np.isin(y, kinds[:5])))[: len(inside) // 20]
    used = sp.csr_array(X[np.concatenate([inside, others])])
    used = used[:, np.flatnonzero((used > 0).sum(axis=0) >= 5)]
    return planted_texts(used[: len(inside)], used[len(inside) :], 5)


def planted_texts(X, others, k):
    """Both, those that have any words, and which are planted."""
    both = sp.csr_array(sp.vstack([X, others], format="csr")).astype(float)
    some = np.flatnonzero(both.sum(axis=1) > 0)
    return both[some], some >= X.shape[0], k


def with_doublets(rng):
    raw = sets.load("pbmc_facs", "pbmc_facs_counts_csr.npz")
    parts = raw["data"].astype(float), raw["indices"], raw["indptr"]
    X, y = sp.csr_array(parts, shape=tuple(raw["shape"])), sets.pbmc().y
    n = X.shape[0] // 20
    one, other = rng.permutation(len(y))[:n], rng.permutation(len(y))[:n]
    mixed = y[one] != y[other]
    X = sp.vstack([X, X[one[mixed]] + X[other[mixed]]], format="csr")
    X = sp.csr_array(X.multiply(1e4 / X.sum(axis=1)[:, None]))
    X.data = np.log1p(X.data)
    return X, np.arange(X.shape[0]) >= len(y)
