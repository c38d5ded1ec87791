"""What columns of a table are, by hand; and the same for a frame, a file, and rows on disk."""

import numpy as np
import pandas as pd
import pytest

from onmf.prepare.columns import columns
from onmf_app.read import read_input

N = 40
rng = np.random.default_rng(0)
MEASURED = np.where(np.arange(N)[:, None] % 2, [5, 1, 1.0], [1, 5, 1]) + rng.random((N, 3))
IDS = rng.permutation(np.arange(100, 100 + N))
YEARS = rng.integers(2001, 2009, N)
PLAIN = pd.DataFrame(MEASURED, columns=[*"abc"])


def found(frame, **options):
    heads = [*frame.columns]
    names, features, out = columns(frame, **options)
    named = None if names is None else heads[names]
    return named, [heads[j] for j in features], {heads[j]: why for j, why in out.items()}


@pytest.mark.parametrize(
    ("x", "expected"),
    [
        (np.arange(N), True),
        (np.tile(np.arange(1, 5), N // 4), True),  # quarters
        (1952 + 5 * np.tile(np.arange(10), 4), True),
        (np.linspace(0, 1, N), True),
        (np.tile([0, 1], N // 2), False),  # yes or no
        (np.r_[0, 1, np.zeros(N - 2)], False),
        (np.r_[np.arange(N - 1), 5], False),
        (np.ones(N), False),
        (np.sort(rng.integers(0, 20, N)), False),
    ],
)
def test_equal_steps(x, expected):
    kept = [*"abc"] if expected else ["x", *"abc"]
    assert found(PLAIN.assign(x=x)[["x", *"abc"]])[1] == kept


def test_ids_years_sums_classes_and_texts_are_no_features():
    frame = PLAIN.assign(
        total=PLAIN.sum(axis=1), town=["Bonn", "Kiel"] * (N // 2), species=YEARS % 3
    )
    frame.insert(0, "birth year", YEARS)
    frame.insert(1, "customer_id", IDS)
    out = {"birth year": "years or dates", "total": "the sum of all others", "town": "text"}
    assert found(frame) == ("customer_id", [*"abc"], out | {"species": "known classes"})
    assert found(frame, raw=True)[2] == {"town": "text"}
    renamed = frame.rename(columns={"customer_id": "size", "birth year": "casino"})
    assert found(renamed.drop(columns=["total", "species"]))[1] == ["casino", "size", *"abc"]


def test_deciding_twice_is_deciding_once():
    frame = PLAIN.assign(label=YEARS % 3, total=PLAIN.sum(axis=1))
    kept = frame[found(frame)[1]]
    assert found(kept) == (None, [*"abc"], {})


def test_what_is_all_there_is_stays():
    assert found(pd.DataFrame({"id": [10, 20, 30]})) == (None, ["id"], {})
    assert found(pd.DataFrame({"year": YEARS, "label": YEARS % 3}))[1] == ["year", "label"]
    assert found(pd.DataFrame(np.zeros((N, 4)), columns=[*"abcd"]))[1] == [*"abcd"]


def test_a_word_of_a_class_among_counts_is_a_word():
    counts = pd.DataFrame({"gene": YEARS % 5, "class": YEARS % 3, "cell": YEARS % 4})
    assert found(counts)[1] == ["gene", "class", "cell"]


def test_samples_that_have_names_keep_them():
    frame = PLAIN.assign(customer_id=IDS).set_index(pd.Index([f"s{i}" for i in range(N)]))
    assert found(frame) == (None, [*"abc"], {"customer_id": "ids"})


@pytest.mark.parametrize("ending", ["csv", "tsv", "xlsx", "json", "jsonl", "parquet", "disk"])
def test_ids_name_the_samples_in_every_format_and_on_disk(tmp_path, ending, monkeypatch):
    frame = PLAIN.assign(town=["Bonn", "Kiel"] * (N // 2), customer_id=IDS, year=YEARS)
    path = tmp_path / f"x.{ending}"
    if ending == "disk":
        path = tmp_path / "x.parquet"
        monkeypatch.setattr("onmf.rows.formats.free_memory", lambda: 100)
    if path.suffix == ".parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    elif ending == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    elif ending.startswith("json"):
        frame.to_json(path, orient="records", lines=ending == "jsonl", double_precision=15)
    else:
        frame.to_csv(path, index=False, sep="," if ending == "csv" else "\t")
    table = read_input(path)
    assert [*map(str, table.samples)] == [*map(str, IDS)]
    assert table.features == [*"abc"]
    X = table.data.rows(0, N) if ending == "disk" else table.data.to_numpy()
    np.testing.assert_allclose(X, MEASURED, rtol=1e-14)
    if ending != "disk":
        assert table.dropped == ("year",)
        assert any("'year' (years or dates)" in note for note in table.notes)


def test_a_model_s_features_are_read_whatever_they_look_like(tmp_path):
    frame = PLAIN.assign(customer_id=IDS, step=np.arange(N))
    frame.to_csv(tmp_path / "new.csv", index=False)
    table = read_input(tmp_path / "new.csv", features=["a", "step"])
    assert (table.features, table.data.shape) == (["a", "step"], (N, 2))
    turned = pd.DataFrame(MEASURED[:2].T, [*"abc"], ["s1", "s2"])
    turned.to_csv(tmp_path / "turned.csv")
    table = read_input(tmp_path / "turned.csv", features=[*"abc"])
    assert ([*table.samples], table.features) == (["s1", "s2"], [*"abc"])


def test_values_of_samples_beside_the_features(tmp_path):
    frame = PLAIN.assign(kind=YEARS % 2, when=YEARS, batch=["u", "v"] * (N // 2))
    frame.to_csv(tmp_path / "x.csv", index=False)
    table = read_input(tmp_path / "x.csv", labels="kind", time="when", batch="batch")
    assert table.classes == [*map(str, YEARS % 2)]
    assert table.times == [*map(str, YEARS)]
    assert table.batches == ["u", "v"] * (N // 2)
    assert table.features == [*"abc"]
