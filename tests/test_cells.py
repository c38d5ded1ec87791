"""What AnnData users find: everything in its place, whatever the matrix is kept in."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.metrics import adjusted_rand_score

from cases import few
from onmf import ONMF, choose_k, cluster_anndata, explain, load, prepare
from onmf.exceptions import SignedDataWarning, TableWarning
from reading import read_table

anndata = pytest.importorskip("anndata")


@pytest.fixture
def adata(planted):
    X, _ = planted
    data = anndata.AnnData(X.copy())
    data.var_names = [f"gene{j}" for j in range(30)]
    data.obs_names = [f"cell{i}" for i in range(120)]
    return data


def test_everything_is_written_where_scanpy_users_look(adata):
    model = cluster_anndata(adata, 4, random_state=0)
    alone = ONMF(4, random_state=0).fit(adata.X)
    assert adata.obs["onmf"].cat.categories.tolist() == ["0", "1", "2", "3"]
    np.testing.assert_array_equal(adata.obs["onmf"].astype(int), alone.labels_)
    found = explain.clusters(alone, adata.X, feature_names=adata.var_names)
    np.testing.assert_array_equal(adata.obs["onmf_certainty"], found.certainty)
    np.testing.assert_array_equal(adata.obs["onmf_unusual"], alone.unusual(adata.X))
    np.testing.assert_array_equal(adata.obsm["X_onmf"], alone.decision_function(adata.X))
    np.testing.assert_array_equal(adata.obsm["onmf_membership"], alone.membership_)
    np.testing.assert_array_equal(adata.varm["onmf_centers"], alone.cluster_centers_.T)
    told = adata.uns["onmf"]
    assert told["relative_error"] == model.relative_error_ == alone.relative_error_
    assert told["params"]["n_clusters"] == 4
    assert told["params"]["layer"] == "X"
    top = told["top_features"]
    for k, features in enumerate(found.markers.top(20)):
        assert top[top["cluster"] == str(k)]["feature"].tolist() == features
    table = told["clusters"]
    assert table["cluster"].tolist() == ["0", "1", "2", "3"]
    np.testing.assert_array_equal(table["found_again"], found.found_again)
    np.testing.assert_array_equal(table["p_one_cloud"], found.markers.p_one_cloud)
    assert model.feature_names_in_.tolist() == adata.var_names.tolist()
    assert model.feature_names_in_[0].startswith("gene")


def test_a_layer_and_another_key(adata):
    adata.layers["log"] = sp.csr_matrix(np.log1p(adata.X))
    adata.X[:] = -1
    cluster_anndata(adata, 4, layer="log", key_added="program", random_state=0)
    assert {"program", "program_certainty"} <= set(adata.obs)
    assert "X_program" in adata.obsm
    assert "program_centers" in adata.varm
    assert adata.uns["program"]["params"]["layer"] == "log"
    assert adata.uns["rank_genes_groups_program"]["params"]["layer"] == "log"


def test_variables_are_ranked_in_the_layout_of_scanpy(adata):
    cluster_anndata(adata, 4, random_state=0)
    ranked = adata.uns["rank_genes_groups_onmf"]
    assert ranked["params"]["groupby"] == "onmf"
    assert "t-test" not in ranked["params"]["method"]
    for cluster in adata.obs["onmf"].cat.categories:
        assert sorted(ranked["names"][cluster]) == sorted(adata.var_names)
        assert (np.diff(ranked["scores"][cluster]) <= 0).all()
        inside = adata.obs["onmf"] == cluster
        first = adata.var_names.get_loc(ranked["names"][cluster][0])
        assert adata.X[inside, first].mean() > adata.X[~inside, first].mean()


def test_scanpy_itself_reads_and_draws_the_ranking(adata, tmp_path):
    scanpy = pytest.importorskip("scanpy", reason="scanpy is not installed: not checked against it")
    pyplot = pytest.importorskip("matplotlib.pyplot")
    pyplot.switch_backend("agg")
    cluster_anndata(adata, 4, random_state=0)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    adata = anndata.read_h5ad(tmp_path / "cells.h5ad")
    key = "rank_genes_groups_onmf"
    for cluster in "0123":
        table = scanpy.get.rank_genes_groups_df(adata, group=cluster, key=key)
        assert table["names"].tolist() == list(adata.uns[key]["names"][cluster])
    scanpy.pl.rank_genes_groups(adata, n_genes=5, key=key, show=False)
    scanpy.pl.rank_genes_groups_dotplot(adata, n_genes=3, key=key, show=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of seaborn
        scanpy.pl.rank_genes_groups_violin(adata, n_genes=2, key=key, show=False)
    adata.uns["log1p"] = {"base": 2}
    scanpy.tl.filter_rank_genes_groups(adata, key=key)
    # scanpy marks what it filters by NaN among names, which no .h5ad file can hold.
    filtered = pd.DataFrame(adata.uns["rank_genes_groups_filtered"]["names"]).fillna("")
    adata.uns["rank_genes_groups_filtered"]["names"] = filtered.to_records(index=False)
    adata.write_h5ad(tmp_path / "filtered.h5ad")
    pyplot.close("all")


def test_nothing_of_the_user_is_overwritten(adata):
    adata.uns["rank_genes_groups"] = {"params": "mine"}
    before = set(adata.uns)
    cluster_anndata(adata, 4)
    assert adata.uns["rank_genes_groups"] == {"params": "mine"}
    assert set(adata.uns) - before == {"onmf", "rank_genes_groups_onmf"}
    cluster_anndata(adata, 4, rank_key="rank_genes_groups")
    assert adata.uns["rank_genes_groups"]["params"]["groupby"] == "onmf"


def test_raw_counts_are_prepared_unless_that_is_refused():
    rng = np.random.default_rng(0)
    kinds = np.arange(90) % 3
    share = rng.gamma(0.5, size=(3, 300))
    share = (0.85 * share[0] + 0.15 * share)[kinds]
    depth = np.where(np.arange(90) < 45, 1e3, 2e4)[:, None]
    counts = rng.poisson(depth * share / share.sum(axis=1, keepdims=True)).astype(np.float32)
    for X in (counts, sp.csr_matrix(counts)):
        adata = anndata.AnnData(X.copy())
        with pytest.warns(TableWarning, match="X has raw counts, so cells were scaled"):
            model = cluster_anndata(adata, 3)
        assert adjusted_rand_score(kinds, model.labels_) == 1
        assert [step.name for step in model.preprocessing_] == ["depth", "log"]
        new = prepare.apply(model.preprocessing_, 3 * X)
        new = sp.csr_matrix(new) if sp.issparse(new) else new  # as older versions of anndata need
        other = anndata.AnnData(new, var=adata.var)
        np.testing.assert_array_equal(model.predict(other), model.labels_)
        np.testing.assert_array_equal(adata.X[:5].sum(axis=1), X[:5].sum(axis=1))
        raw = cluster_anndata(adata, 3, prepare=False)
        np.testing.assert_array_equal(raw.labels_, ONMF(3, random_state=0).fit_predict(X))


@pytest.fixture
def classic(adata, planted):
    """scanpy's classic object: logarithms of all genes in .raw, fewer and scaled ones in X."""
    adata.raw = adata.copy()
    adata = adata[:, 3:].copy()
    adata.layers["log"] = adata.X.copy()
    adata.X = (adata.X - adata.X.mean(axis=0)) / adata.X.std(axis=0)
    adata.obsm["X_pca"] = np.linalg.svd(adata.X, full_matrices=False)[0][:, :5]
    return adata


def test_scaled_values_are_said_with_what_to_take_instead(classic):
    said = r"as after scanpy.pp.scale.*take use_raw=True or layer='log' or obsm='X_pca' instead"
    with pytest.warns(SignedDataWarning, match=said):
        cluster_anndata(classic, 4)


def test_raw_a_layer_or_an_embedding_can_be_clustered(classic, planted):
    model = cluster_anndata(classic, 4, use_raw=True, key_added="a")
    alone = ONMF(4, random_state=0).fit(classic.raw.X)
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    np.testing.assert_array_equal(classic.varm["a_centers"], alone.cluster_centers_.T[3:])
    assert classic.uns["rank_genes_groups_a"]["params"]["use_raw"] is True
    assert len(classic.uns["rank_genes_groups_a"]["names"]) == 30
    model = cluster_anndata(classic, 4, obsm="X_pca", key_added="b")
    X = classic.obsm["X_pca"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SignedDataWarning)
        alone = ONMF(4, random_state=0).fit(X)
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    assert "b_centers" not in classic.varm
    ranked = classic.uns["rank_genes_groups_b"]["names"]["0"]
    table = explain.groups(model.labels_, classic.raw.X, feature_names=classic.raw.var_names)
    assert ranked[0] == table.top(1)[0][0]
    with pytest.raises(ValueError, match="no 'X_umap' in obsm, which has: X_pca"):
        cluster_anndata(classic, 4, obsm="X_umap")
    with pytest.raises(ValueError, match="only one of layer and use_raw"):
        cluster_anndata(classic, 4, layer="log", use_raw=True)
    del classic.raw
    with pytest.raises(ValueError, match=r"no .raw: take X or a layer \(log\)"):
        cluster_anndata(classic, 4, use_raw=True)


@pytest.mark.parametrize("layer", ["raw", "obsm/X_pca", "log"])
def test_the_command_reads_the_same_matrices(classic, layer, tmp_path, monkeypatch):
    pytest.importorskip("click")
    from command_line import labels, run

    monkeypatch.chdir(tmp_path)
    classic.write_h5ad("x.h5ad")
    words = ["cluster", "x.h5ad", "-k", 4, "-o", "out", "--layer", layer]
    assert run(*words, "--write-h5ad", "y.h5ad") == 0
    how = {"raw": {"use_raw": True}, "log": {"layer": "log"}, "obsm/X_pca": {"obsm": "X_pca"}}
    model = cluster_anndata(classic, 4, **how[layer])
    np.testing.assert_array_equal(labels().cluster, model.labels_)
    written = anndata.read_h5ad("y.h5ad")
    assert written.obs["onmf"].tolist() == classic.obs["onmf"].tolist()
    assert ("onmf_centers" in written.varm) == (layer != "obsm/X_pca")


def test_a_layer_of_a_file_that_is_not_there_is_named_with_all_that_are(classic, tmp_path):
    classic.write_h5ad(tmp_path / "x.h5ad")
    for layer in ("counts", "obsm/X_umap"):
        with pytest.raises(ValueError, match=r"log, raw, obsm/X_pca"):
            read_table(tmp_path / "x.h5ad", layer=layer)


@pytest.mark.parametrize("container", few([sp.csr_matrix, np.asarray, sp.csc_matrix]))
def test_it_can_be_written_and_read_again_and_clustered_from_disk(adata, container, tmp_path):
    adata.X = container(adata.X)
    cluster_anndata(adata, 4, random_state=0)
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    assert backed.obs["onmf"].tolist() == adata.obs["onmf"].tolist()
    assert backed.uns["onmf"]["top_features"].equals(adata.uns["onmf"]["top_features"])
    cluster_anndata(backed, 4, key_added="again", random_state=0)
    assert backed.obs["again"].tolist() == adata.obs["onmf"].tolist()
    backed.file.close()


def test_an_empty_cell_has_no_cluster(adata):
    adata.X[7] = 0
    with pytest.warns(UserWarning, match="label -1"):
        cluster_anndata(adata, 4, random_state=0)
    assert adata.obs["onmf"].isna().tolist() == [i == 7 for i in range(120)]


def test_a_layer_that_is_not_there_is_named(adata):
    adata.layers["counts"] = adata.X
    with pytest.raises(ValueError, match="no layer 'log' in the AnnData object, which has: counts"):
        cluster_anndata(adata, 4, layer="log")


def test_an_object_without_x_is_refused():
    with pytest.raises(ValueError, match="has no X: pass one of its layers"):
        cluster_anndata(anndata.AnnData(shape=(5, 3)), 2)


@pytest.mark.slow
def test_the_number_of_clusters_can_be_chosen(adata):
    model = cluster_anndata(adata)
    assert model.n_clusters == 4
    assert "reason" in adata.uns["onmf"]
    assert cluster_anndata(adata, range(2, 6)).n_clusters == 4
    with pytest.raises(ValueError, match="n_clusters must be an int, 'auto' or an iterable"):
        cluster_anndata(adata, "many")


def test_the_same_every_time_unless_told(adata):
    again = adata.copy()
    cluster_anndata(adata, 4)
    cluster_anndata(again, 4)
    assert adata.obs["onmf"].tolist() == again.obs["onmf"].tolist()


def test_only_some_variables_are_used(adata, tmp_path):
    adata.var["highly_variable"] = np.arange(30) % 3 > 0
    used = adata.var["highly_variable"].to_numpy()
    model = cluster_anndata(adata, 4, mask_var="highly_variable")
    alone = ONMF(4, random_state=0).fit(adata.X[:, used])
    np.testing.assert_array_equal(model.labels_, alone.labels_)
    np.testing.assert_array_equal(adata.varm["onmf_centers"][used], alone.cluster_centers_.T)
    assert not adata.varm["onmf_centers"][~used].any()
    assert model.feature_names_in_.tolist() == adata.var_names[used].tolist()
    other = cluster_anndata(adata, 4, mask_var=used, key_added="other")
    np.testing.assert_array_equal(other.labels_, model.labels_)
    model.save(tmp_path / "model.onmf")
    saved = load(tmp_path / "model.onmf")
    np.testing.assert_array_equal(saved.cluster_centers_, model.cluster_centers_)
    np.testing.assert_array_equal(saved.predict(adata[:, saved.feature_names_in_]), model.labels_)


@pytest.mark.parametrize(
    ("mask", "said"),
    [
        ("hvg", "no column 'hvg' in var, which has: total"),
        ("total", "mask_var must be a column of var or 30 booleans"),
        ([True, False], "mask_var must be"),
        (np.zeros(30, bool), "at least one of them True"),
    ],
    ids=str,
)
def test_a_mask_that_is_none_is_answered_in_a_sentence(adata, mask, said):
    adata.var["total"] = adata.X.sum(axis=0)
    with pytest.raises(ValueError, match=said):
        cluster_anndata(adata, 4, mask_var=mask)


def test_a_copy_leaves_the_object_as_it_was(adata):
    model, other = cluster_anndata(adata, 4, copy=True)
    assert "onmf" not in adata.obs
    np.testing.assert_array_equal(other.obs["onmf"].astype(int), model.labels_)


def test_a_view_does_not_lose_the_result(adata):
    variable, some = np.arange(30) % 3 > 0, np.arange(0, 120, 2)
    view = adata[some, variable]
    model = cluster_anndata(view, 4)
    np.testing.assert_array_equal(view.obs["onmf"].astype(int), model.labels_)
    whole = adata.obs["onmf"]
    np.testing.assert_array_equal(whole.iloc[some].astype(int), model.labels_)
    assert whole.iloc[1::2].isna().all()
    assert adata.obs["onmf_certainty"].isna().sum() == 60
    np.testing.assert_array_equal(adata.obsm["X_onmf"][some], view.obsm["X_onmf"])
    np.testing.assert_array_equal(adata.varm["onmf_centers"][variable], model.cluster_centers_.T)
    cluster_anndata(adata[:, variable], 4, key_added="temporary")
    assert adata.obs["temporary"].notna().all()


def test_the_scores_tell_neighbours_of_one_cluster_from_others(adata, planted):
    cluster_anndata(adata, 4)
    P = adata.obsm["X_onmf"]
    apart = ((P[:, None] - P) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    np.testing.assert_array_equal(planted[1][apart.argmin(axis=1)], planted[1])
    assert len(np.unique(P, axis=0)) == 120


@pytest.mark.parametrize(
    ("container", "backed"),
    few([(sp.csr_matrix, True), (np.asarray, False), (np.asarray, True), (sp.csr_matrix, False)]),
)
def test_a_model_and_choose_k_take_the_object_itself(adata, planted, container, backed, tmp_path):
    adata.X = container(adata.X)
    if backed:
        adata.write_h5ad(tmp_path / "cells.h5ad")
        adata = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    model = ONMF(4, random_state=0).fit(adata)
    assert adjusted_rand_score(planted[1], model.labels_) == 1
    assert model.feature_names_in_.tolist() == adata.var_names.tolist()
    np.testing.assert_array_equal(model.predict(adata), model.labels_)
    assert choose_k(ONMF(random_state=0), adata, range(2, 6), n_runs=2).best_k == 4
    with pytest.raises(ValueError, match="has no X: pass one of its layers"):
        ONMF(2).fit(anndata.AnnData(shape=(5, 3)))
    if backed:
        adata.file.close()


def test_scanpy_finds_the_coordinates(adata, planted):
    scanpy = pytest.importorskip("scanpy")
    cluster_anndata(adata, 4)
    scanpy.pp.neighbors(adata, use_rep="X_onmf", n_neighbors=5)
    near = adata.obsp["connectivities"].tocoo()
    assert (planted[1][near.row] == planted[1][near.col]).mean() > 0.95
