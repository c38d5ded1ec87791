"""Rows on Dask: the only folder that imports it."""

try:
    import dask.array  # noqa: F401
except ImportError as missing:
    raise ImportError(
        'Dask collections need Dask: `pip install "onmf[dask]"` installs it.'
    ) from missing

from onmf.rows.dask.place import OnDask, lazily, rows_on_dask

__all__ = ["OnDask", "lazily", "rows_on_dask"]
