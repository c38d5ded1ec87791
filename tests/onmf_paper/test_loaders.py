"""Files of others, written here in the same formats, and the real ones where they are."""

import os
import pickle

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from onmf_paper.loaders import (
    load_expression,
    load_newsgroups,
    load_tcga_mirna,
    load_tcga_rnaseq,
    load_tdt2,
)

LOADERS = [load_tdt2, load_newsgroups, load_tcga_mirna, load_tcga_rnaseq]
real = pytest.mark.skipif("ONMF_DATA" not in os.environ, reason="ONMF_DATA names no folder")
COUNTS = np.array([[2.0, 0, 1], [0, 3, 0], [1, 1, 0], [0, 0, 4]])


@pytest.fixture
def tdt2(tmp_path):
    path = tmp_path / "tdt2" / "TDT2_all.mat"
    path.parent.mkdir()
    labels = np.array([[1.0], [1], [2], [1]])
    scipy.io.savemat(path, {"fea": sp.csc_matrix(COUNTS), "gnd": labels}, do_compression=True)
    return path


@pytest.fixture
def mirna(tmp_path):
    path = tmp_path / "mirna_common_33cohorts.npz"
    np.savez_compressed(
        path,
        counts=np.arange(10, dtype=np.int32).reshape(5, 2),
        cancer_type=np.array(["BRCA", "KIRP", "KIRP", "BRCA", "LUAD"]),
        barcode=np.array(["a", "b", "b", "c", "d"]),
        sample_type=np.array(["01", "01", "01", "11", "06"]),
        platform=np.array(["GA", "GA", "HiSeq", "HiSeq", "HiSeq"]),
        mirna=np.array(["mir-1", "mir-2"]),
    )
    return path


def test_documents_come_with_their_categories(tdt2):
    found = load_tdt2(tdt2)
    assert sp.issparse(found.data)
    assert found.data.format == "csr"
    assert np.array_equal(found.data.toarray(), COUNTS)
    assert found.target.tolist() == [1, 1, 2, 1]


def test_small_categories_are_left_out_on_request(tdt2):
    assert load_tdt2(tdt2, smallest=2).data.shape == (3, 3)


def test_a_folder_or_onmf_data_will_do(tdt2, monkeypatch):
    assert load_tdt2(tdt2.parent).data.shape == (4, 3)
    monkeypatch.setenv("ONMF_DATA", str(tdt2.parent.parent))
    assert load_tdt2().data.shape == (4, 3)


@pytest.mark.parametrize("loader", LOADERS)
def test_a_missing_file_says_where_to_get_it_and_what_to_name_it(loader, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*github\.com") as error:
        loader(tmp_path / "nowhere.bin")
    assert ".mat" in str(error.value) or ".npz" in str(error.value)
    monkeypatch.delenv("ONMF_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="set ONMF_DATA"):
        loader()


def test_a_file_of_another_kind_is_refused(tmp_path):
    wrong = tmp_path / "TDT2_all.mat"
    wrong.write_text("not MATLAB at all, but long enough to have a header of a hundred bytes" * 4)
    with pytest.raises(ValueError, match="not a MATLAB file"):
        load_tdt2(wrong)
    scipy.io.savemat(wrong, {"other": np.eye(2)})
    with pytest.raises(ValueError, match="no variable fea, gnd"):
        load_tdt2(wrong)


def test_messages_come_with_words(tmp_path):
    words = np.array([["god"], ["gun"], ["gpu"]], dtype=object)
    variables = {"A": sp.csc_matrix(COUNTS), "vocab": words, "gnd3": [[1.0], [2], [2], [3]]}
    scipy.io.savemat(tmp_path / "20newsgroups.mat", variables)
    found = load_newsgroups(tmp_path)
    assert found.feature_names.tolist() == ["god", "gun", "gpu"]
    assert found.target.tolist() == [1, 2, 2, 3]


def test_tumours_only_and_each_once(mirna):
    found = load_tcga_mirna(mirna)
    assert found.sample_names.tolist() == ["a", "b", "d"]
    assert found.platform.tolist() == ["GA", "HiSeq", "HiSeq"]
    assert found.data.tolist() == [[0, 1], [4, 5], [8, 9]]
    assert found.target.tolist() == ["BRCA", "KIRP", "LUAD"]


def test_normal_tissue_and_repeats_on_request(mirna):
    assert len(load_tcga_mirna(mirna, normal=True).target) == 4
    assert len(load_tcga_mirna(mirna, repeated=True).target) == 4
    assert len(load_tcga_mirna(mirna, normal=True, repeated=True).target) == 5


def test_pickles_in_a_data_file_are_refused(tmp_path):
    path = tmp_path / "mirna_common_33cohorts.npz"
    names = ("counts", "cancer_type", "barcode", "sample_type", "platform", "mirna")
    np.savez(path, **dict.fromkeys(names, np.array([Alarm()], dtype=object)))
    with pytest.raises(ValueError, match="cannot be read"):
        load_tcga_mirna(path)


class Alarm:
    """Unpickling it fails the test."""

    def __reduce__(self):
        return pytest.fail, ("a pickle was opened",)


def test_the_alarm_would_ring():
    with pytest.raises(pytest.fail.Exception):
        pickle.loads(pickle.dumps(Alarm()))


@pytest.fixture(params=[("csv", ","), ("tsv", "\t")], ids=["csv", "tsv"])
def own(request, tmp_path):
    """Genes x samples, and types by patient, a beginning of the sample's name."""
    ending, mark = request.param
    lines = [["gene_id", "P-1-01A", "P-2-01A", "P-3-01B"], ["TP53", 1, 2, 3], ["EGFR", 0, 0.5, 4]]
    types = [["patient", "age", "type"], ["P-1", 61, "BRCA"], ["P-3", 50, "LUAD"], ["P-9", 1, "OV"]]
    for name, rows in (("genes", lines), ("types", types)):
        text = "\n".join(mark.join(map(str, row)) for row in rows)
        (tmp_path / f"{name}.{ending}").write_text(text + "\n")
    return tmp_path / f"genes.{ending}", tmp_path / f"types.{ending}"


def test_a_table_of_genes_by_samples_is_turned_round_and_matched(own):
    found = load_expression(*own, column="type")
    assert found.data.tolist() == [[1, 0], [3, 4]]
    assert found.target.tolist() == ["BRCA", "LUAD"]
    assert found.sample_names.tolist() == ["P-1-01A", "P-3-01B"]
    assert found.feature_names.tolist() == ["TP53", "EGFR"]
    assert found.untyped == ["P-2-01A"]


def test_the_longest_known_beginning_of_a_name_counts(own):
    found = load_expression(own[0], {"P-1": "patient", "P-1-01A": "sample"})
    assert found.target.tolist() == ["sample"]


def test_samples_may_be_rows(tmp_path):
    (tmp_path / "rows.csv").write_text("sample,TP53,EGFR\ns1,1,2\ns2,3,4\n")
    types = {"s1": "a", "s2": "b"}
    found = load_expression(tmp_path / "rows.csv", types, samples_in="rows")
    assert found.data.tolist() == [[1, 2], [3, 4]]


def test_names_that_never_meet_are_an_error_that_shows_both(own):
    with pytest.raises(ValueError, match=r"P-1-01A.*Q-1"):
        load_expression(own[0], {"Q-1": "BRCA"})


def test_a_table_without_that_column_says_what_it_has(own):
    with pytest.raises(ValueError, match=r"no column .stage.; its header is patient, age, type"):
        load_expression(*own, column="stage")


@real
@pytest.mark.data
@pytest.mark.slow
def test_the_real_files_have_the_published_sizes():
    documents = load_tdt2()
    assert documents.data.shape == (10212, 36771)
    assert len(np.unique(documents.target)) == 96
    assert len(np.unique(load_tdt2(smallest=10).target)) == 56
    assert load_newsgroups().data.shape == (18221, 36568)
    assert "god" in load_newsgroups().feature_names
    assert load_tcga_mirna(normal=True, repeated=True).data.shape == (10893, 680)


@real
@pytest.mark.data
def test_the_real_expressions_have_the_published_sizes():
    assert load_tcga_mirna().data.shape == (10229 - 16, 680)
    assert load_tcga_rnaseq().data.shape == (337, 20531)
