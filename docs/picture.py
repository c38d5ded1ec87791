"""The pictures of the README: `python docs/picture.py` draws them again."""

import sys
from pathlib import Path
from shutil import which
from tempfile import TemporaryDirectory

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from onmf import ONMF, plot
from onmf.metrics import clustering_accuracy
from onmf.page import html

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))
from house import style  # noqa: E402 (it lives beside this file)

COLORS = np.array(plot.colors(3))


def three_rays():
    """Samples of very different lengths on three rays in the plane."""
    rng = np.random.default_rng(0)
    y = np.arange(450) % 3
    angle = np.radians([20, 45, 72])[y] + 0.05 * rng.normal(size=450)
    length = rng.gamma(1.5, 1.0, size=450) + 0.15
    return length[:, None] * np.column_stack([np.cos(angle), np.sin(angle)]), y


def draw(axis, X, labels, title):
    axis.scatter(*X.T, c=COLORS[labels], s=9, alpha=0.7, linewidths=0)
    axis.set_title(title)
    axis.set(xlim=(0, 5), ylim=(0, 5), aspect="equal", xticks=[], yticks=[])


def rays():
    X, y = three_rays()
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.5), layout="constrained")
    draw(axes[0], X, y, "the clusters: directions")
    models = {"K-means": KMeans(3, n_init=10, random_state=0), "onmf": ONMF(3, random_state=0)}
    for axis, (name, model) in zip(axes[1:], models.items(), strict=True):
        labels = model.fit(X).labels_
        draw(axis, X, labels, f"{name}: {clustering_accuracy(y, labels):.0%} right")
    for color, center in zip(COLORS, model.cluster_centers_, strict=True):
        axes[2].plot(*np.outer(center / np.linalg.norm(center), [0, 8]), c=color, lw=1)
    figure.savefig(DOCS / "images" / "rays.png", dpi=150)


def report():
    """The top of the report on the digits, by day and by night; needs chromium."""
    digits = load_digits()
    model = ONMF(10, random_state=0).fit(digits.data)
    pixels = [f"row{j // 8} col{j % 8}" for j in range(64)]
    with TemporaryDirectory() as folder, sync_playwright() as tools:
        page = Path(folder, "report.html")
        page.write_text(html(model, digits.data, truth=digits.target, features=pixels))
        browser = tools.chromium.launch(executable_path=which("chromium"), args=["--no-sandbox"])
        for scheme, name in (("light", "report.png"), ("dark", "report-dark.png")):
            size = {"width": 1200, "height": 820}
            window = browser.new_page(viewport=size, color_scheme=scheme)
            window.goto(page.as_uri())
            window.wait_for_timeout(1000)
            file = DOCS / "images" / name
            window.screenshot(path=file)
            Image.open(file).convert("RGB").quantize(96, dither=0).save(file, optimize=True)
        browser.close()


if __name__ == "__main__":
    style({}, "")
    rays()
    report()
