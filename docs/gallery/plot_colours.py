"""
Colours without shadows
=======================

A quarter of the light is left in the shadow that was put over this photograph, and K-means with
four colours cuts the flower along its edge. onmf finds four hues and takes no notice; as it also
knows how bright each pixel is, four hues are enough to draw the picture.
"""

# %%
# A shadow is a factor
# --------------------
# A pixel is a sample, its red, green and blue are the features. Less light multiplies all three by
# the same number, so the pixel moves along its ray: its direction is the hue. That holds for the
# amounts of light, which the numbers in the file are not (they follow a curve made for screens), so
# they are converted first.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_sample_image

from onmf import ONMF


def light(srgb):
    """Amounts of light from the numbers in an image file (the sRGB standard)."""
    return np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)


def screen(light):
    """And back."""
    light = np.clip(light, 0, 1)
    return np.where(light <= 0.0031308, 12.92 * light, 1.055 * light ** (1 / 2.4) - 0.055)


photo = light(load_sample_image("flower.jpg")[::2, ::2] / 255)
height, width, _ = photo.shape
across = np.arange(width) + 0.6 * np.arange(height)[:, None] > 0.68 * width
shaded = photo * np.where(across, 0.25, 1)[..., None]

X = shaded.reshape(-1, 3)
model = ONMF(n_clusters=4, random_state=0).fit(X)
k_means = KMeans(4, n_init=3, random_state=0).fit(X)

hues = model.cluster_centers_ / model.cluster_centers_.sum(axis=1, keepdims=True)
pictures = {
    "the photograph, with a shadow": shaded,
    "K-means: four colours": k_means.cluster_centers_[k_means.labels_],
    "onmf: four hues": 0.9 * hues[model.labels_],
    "onmf: hue times brightness, HW": model.membership_ @ model.cluster_centers_,
}
_, axes = plt.subplots(2, 2, figsize=(9.2, 6.5), layout="constrained")
for ax, (title, picture) in zip(axes.flat, pictures.items(), strict=True):
    ax.imshow(screen(picture.reshape(photo.shape)))
    ax.set_title(title)
    ax.axis("off")
plt.show()

# %%
# How many pixels change sides
# ----------------------------
# Take the models and put the same photograph before them without the shadow. onmf must answer as
# before: ``predict`` looks for the nearest ray, and that does not depend on a factor.

bright = photo.reshape(-1, 3)
for name, fit in {"onmf": model, "K-means": k_means}.items():
    same = (fit.predict(bright) == fit.labels_)[across.ravel()]
    print(f"{name:8}{same.mean():.1%} of the pixels in the shadow keep their cluster")

# %%
# Pixels along rays
# -----------------
# Red against green of some pixels. The clusters of onmf are wedges from black, each as long as it
# likes; those of K-means are blobs. White lines are the centroids of onmf.

some = np.random.default_rng(0).choice(len(X), 6000, replace=False)
_, axes = plt.subplots(1, 2, figsize=(9.2, 4.2), sharex=True, sharey=True, layout="constrained")
for ax, title, paint in zip(
    axes,
    ("K-means", "onmf"),
    (k_means.cluster_centers_[k_means.labels_], 0.9 * hues[model.labels_]),
    strict=True,
):
    ax.set_facecolor("#222222")
    ax.scatter(X[some, 0], X[some, 1], c=screen(paint[some]), s=4, linewidths=0)
    ax.set(title=title, xlabel="red", xlim=(0, 1), ylim=(0, 0.8))
axes[0].set_ylabel("green")
for hue in hues:
    axes[1].plot([0, 5 * hue[0]], [0, 5 * hue[1]], c="white", lw=0.8)
plt.show()
