"""Containers of other libraries: read as they mean it, or refused in a sentence that helps."""

import re

import numpy as np
import pandas as pd
import pytest

from onmf import ONMF
from onmf.datasets import make_rays

X, _ = make_rays(60, 5, 2, random_state=0)


def fit(data, **options):
    return ONMF(2, random_state=0, **options).fit(data)


@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
def test_what_is_masked_was_not_observed(dtype):
    values = (10 * X).astype(dtype)
    masked = np.ma.array(values, mask=np.random.default_rng(0).random(X.shape) < 0.1)
    masked.data[masked.mask] = 10_000  # what is under the mask has no influence
    holes = np.where(masked.mask, np.nan, values)
    model = fit(masked)
    expected = fit(holes.astype(model.cluster_centers_.dtype))
    assert model.n_missing_ == masked.mask.sum() > 0
    np.testing.assert_array_equal(model.cluster_centers_, expected.cluster_centers_)
    np.testing.assert_array_equal(model.predict(masked), expected.labels_)
    assert model.cluster_centers_.dtype == (np.float32 if dtype is np.float32 else np.float64)
    assert masked.data.max() == 10_000  # nothing is written into the array of the user


def test_a_masked_array_without_a_mask_is_an_array():
    np.testing.assert_array_equal(fit(np.ma.array(X)).labels_, fit(X).labels_)


def test_a_series_gets_the_sentence_of_scikit_learn():
    with pytest.raises(ValueError, match="Expected a 2-dimensional container but got"):
        fit(pd.Series(X[:, 0]))


def test_times_are_not_numbers():
    table = pd.DataFrame(X, columns=list("abcde"))
    times = pd.date_range("2026-01-01", periods=len(X))
    with pytest.raises(ValueError, match=r"'when' of X hold text or times.*select_dtypes"):
        fit(table.assign(when=times))
    with pytest.raises(ValueError, match="'since' of X hold text or times"):
        fit(table.assign(since=times - times[0]))


def test_polars_frames_are_read_and_their_text_is_named():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame(X, schema=list("abcde"))
    model = fit(frame)
    np.testing.assert_array_equal(model.labels_, fit(X).labels_)
    assert model.feature_names_in_.tolist() == list("abcde")
    with pytest.raises(ValueError, match=r"column\(s\) 'name' of X hold.*selectors\.numeric"):
        fit(frame.with_columns(name=polars.Series(["x"] * 60)))
    days = polars.Series(np.arange(60).astype("datetime64[D]"))
    with pytest.raises(ValueError, match=r"column\(s\) 'day' of X hold"):
        fit(frame.with_columns(day=days))
    with pytest.raises(TypeError, match=r"LazyFrame.*pass X\.collect\(\)"):
        fit(frame.lazy())
    assert fit(frame.with_columns(f=polars.Series([None, *[1.0] * 59]))).n_missing_ == 1


def test_tables_of_pyarrow_are_read_and_their_text_is_named():
    pa = pytest.importorskip("pyarrow")
    table = pa.table(pd.DataFrame(X, columns=list("abcde")))
    assert fit(table).feature_names_in_.tolist() == list("abcde")
    days = np.arange(60).astype("datetime64[D]")
    for column in (["x"] * 60, days, days.astype("datetime64[ns]")):
        with pytest.raises(ValueError, match=r"column\(s\) 'f' of X hold.*drop_columns"):
            fit(table.append_column("f", pa.array(column)))


def test_sparse_arrays_of_pydata_are_refused_with_the_way_out():
    sparse = pytest.importorskip("sparse")
    there = sparse.COO.from_numpy(X)
    with pytest.raises(TypeError, match=r"pass X\.to_scipy_sparse\(\)"):
        fit(there)
    np.testing.assert_array_equal(fit(there.to_scipy_sparse()).labels_, fit(X).labels_)


class Tensor:
    """As much of a tensor of PyTorch as is looked at."""

    def __init__(self, layout="torch.strided", dtype="torch.float32", requires_grad=False):
        self.layout, self.dtype, self.requires_grad = layout, dtype, requires_grad

    def cpu(self):
        return self

    def __array__(self, dtype=None, copy=None):
        return X.astype(dtype or np.float32)


Tensor.__module__ = "torch"


@pytest.mark.parametrize(
    ("facts", "way_out"),
    [
        ({"layout": "torch.sparse_csr"}, "X.to_dense()"),
        ({"layout": "torch.sparse_coo", "requires_grad": True}, "X.to_dense()"),
        ({"requires_grad": True}, "X.detach()"),
        ({"dtype": "torch.bfloat16"}, "X.float()"),
    ],
)
def test_tensors_that_numpy_cannot_read(facts, way_out):
    with pytest.raises(TypeError, match=re.escape(f"pass {way_out}")):
        fit(Tensor(**facts))


def test_other_tensors_are_read():
    model = fit(Tensor())
    np.testing.assert_array_equal(model.labels_, fit(X).labels_)
    assert model.cluster_centers_.dtype == np.float32


def test_tensors_of_pytorch_itself():
    torch = pytest.importorskip("torch")
    there = torch.tensor(X)
    np.testing.assert_array_equal(fit(there).labels_, fit(X).labels_)
    for wrong in (there.requires_grad_(), there.detach().bfloat16(), there.detach().to_sparse()):
        with pytest.raises(TypeError, match=r"X is a .*tensor"):
            fit(wrong)
