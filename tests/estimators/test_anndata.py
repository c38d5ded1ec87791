"""What AnnData users find: everything in its place, whatever the matrix is kept in."""

import numpy as np
import pytest
import scipy.sparse as sp

from onmf import ONMF, cluster_anndata, explain

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
    found = explain.clusters(alone, adata.X, features=adata.var_names)
    assert adata.obs["onmf"].cat.categories.tolist() == ["0", "1", "2", "3"]
    np.testing.assert_array_equal(adata.obs["onmf"].astype(int), alone.labels_)
    np.testing.assert_array_equal(adata.obs["onmf_certainty"], found.certainty)
    np.testing.assert_array_equal(adata.obsm["X_onmf"], alone.membership_)
    np.testing.assert_array_equal(adata.varm["onmf_centers"], alone.cluster_centers_.T)
    told = adata.uns["onmf"]
    assert told["relative_error"] == model.relative_error_ == alone.relative_error_
    assert told["params"]["n_clusters"] == 4
    assert told["params"]["layer"] == "X"
    top = told["top_features"]
    for k, features in enumerate(found.markers.top(20)):
        assert top[top["cluster"] == str(k)]["feature"].tolist() == features
    assert not hasattr(model, "feature_names_in_")  # other matrices have no names to compare


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
    ranked = adata.uns["rank_genes_groups"]
    assert ranked["params"]["groupby"] == "onmf"
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
    for cluster in "0123":
        table = scanpy.get.rank_genes_groups_df(adata, group=cluster)
        assert table["names"].tolist() == list(adata.uns["rank_genes_groups"]["names"][cluster])
    scanpy.pl.rank_genes_groups(adata, n_genes=5, show=False)
    scanpy.pl.rank_genes_groups_dotplot(adata, n_genes=3, show=False)


@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix, sp.csc_matrix])
def test_it_can_be_written_and_read_again_and_clustered_from_disk(adata, container, tmp_path):
    adata.X = container(adata.X)
    cluster_anndata(adata, 4, random_state=0, center_bounds=(0, None))
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
    with pytest.raises(ValueError, match="has no X: name the layer"):
        cluster_anndata(anndata.AnnData(shape=(5, 3)), 2)
