"""
Larger than memory
==================

A stream of batches, each read once: the error on held-out samples falls towards that of a fit on
all data (the line). The second figure shows the time of a fit from a file that is read block by
block, at growing sizes.
"""

# %%
# A stream
# --------
# ``partial_fit`` reads a batch once. The first one is clustered as ``fit`` would do. After that,
# every centroid is that of all samples it was given so far, and a weighted sample of the rows is
# clustered again whenever there are a quarter more.

import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

import onmf
from onmf import ONMF, plot
from onmf.datasets import make_rays

X, kind = make_rays(42_000, 40, 8, noise=3.0, random_state=0, dtype=np.float32)
aside, X = X[:2_000], X[2_000:]

whole = ONMF(n_clusters=8, random_state=0).fit(X)
stream = ONMF(n_clusters=8, random_state=0)
seen, error = [], []
for start in range(0, len(X), 200):
    stream.partial_fit(X[start : start + 200])
    seen.append(start + 200)
    error.append(1 - stream.score(aside))

_, ax = plt.subplots(figsize=(7.4, 3.4), layout="constrained")
ax.semilogx(seen, error, c=plot.colors(2)[0], label="stream, each sample seen once")
ax.axhline(1 - whole.score(aside), c=plot.colors(2)[1], label="fit with all samples")
ax.set(xlabel="samples seen", ylabel="error on held-out samples")
ax.legend()
plt.show()

# %%
# A file
# ------
# Pass ``fit`` a path or a memory map, and the rows are read block by block in every pass. The
# result is bitwise that of memory. The search for good centroids uses at most 20,000 rows and takes
# the same time for any file; the rest grows with the file.

folder = tempfile.TemporaryDirectory()
path = Path(folder.name, "rows.npy")
rows = np.lib.format.open_memmap(path, "w+", np.float32, (400_000, 40))
for start in range(0, len(rows), 40_000):  # written piece by piece, too
    rows[start : start + 40_000] = make_rays(40_000, 40, 8, noise=3.0, random_state=1)[0]
rows.flush()

sizes, seconds = [50_000, 100_000, 200_000, 300_000, 400_000], []
for size in sizes:
    np.save(part := Path(folder.name, f"{size}.npy"), rows[:size])
    began = time.process_time()
    model = ONMF(n_clusters=8, random_state=0).fit(part)
    seconds.append(time.process_time() - began)

_, ax = plt.subplots(figsize=(7.4, 3.4), layout="constrained")
ax.plot(sizes, seconds, "o-", c=plot.colors(1)[0])
ax.set(xlabel="rows in the file", title="seconds of processor time for a fit")
ax.set(xlim=(0, None), ylim=(0, None))
ax.xaxis.set_major_formatter("{x:,.0f}")
plt.show()

# %%
# Keeping the model
# -----------------
# ``save`` writes one file with arrays and text, no pickle, so a model of unknown origin can be
# opened without running its code.

model.save(saved := Path(folder.name, "clusters.onmf"))
again = onmf.load(saved)
print(f"{saved.stat().st_size / 1e6:.1f} MB, same labels for new samples:", end=" ")
print(np.array_equal(again.predict(aside), model.predict(aside)))
del rows
folder.cleanup()
