"""
The growing penalty
===================

Every line is a sample on its way from belonging to all of three clusters, inside the triangle, to
belonging to one, at a corner. The weight of the penalty grows from stage to stage; the smooth
penalty (left) and the non-smooth one (right) lead to the same clusters, the second in fewer stages.
"""

# %%
# From soft to hard
# -----------------
# ``solver="palm"`` is the paper's method. A callback sees the memberships H at the end of every
# stage; divided by its sum, a row of three is a point in a triangle. The penalty weighs next to
# nothing at first: this is plain non-negative factorisation.

import matplotlib.pyplot as plt
import numpy as np

from onmf import NSNCP, ONMF, PALM, SNCP, General, plot
from onmf.datasets import make_rays
from onmf.metrics import adjusted_rand_score

X, kind = make_rays(240, 30, 3, noise=1.0, random_state=0)


def follow(penalty):
    """A fit, and the memberships at the end of each of its stages."""
    stages = []

    def keep(event):
        if event.stage:
            stages.append(event.membership())
        return False

    model = ONMF(3, solver=PALM(penalty=penalty), random_state=1, callback=keep).fit(X)
    return model, np.array(stages)


fits = {"smooth": follow("sncp"), "non-smooth": follow("nsncp")}
corners = np.array([[0, 0], [1, 0], [0.5, np.sqrt(0.75)]])

_, axes = plt.subplots(1, 2, figsize=(9.2, 4.3), layout="constrained")
for ax, (name, (model, stages)) in zip(axes, fits.items(), strict=True):
    share = stages / stages.sum(axis=2, keepdims=True).clip(1e-30)
    share = np.delete(share, np.flatnonzero((stages.sum(axis=2) == 0).any(axis=0)), axis=1)
    ax.fill(*corners.T, facecolor="none", edgecolor="#8a8f99")
    for k, color in enumerate(plot.colors(3)):
        paths = share[:, share[-1].argmax(axis=1) == k] @ corners
        ax.plot(paths[..., 0], paths[..., 1], c=color, lw=0.7, alpha=0.5)
        ax.scatter(*paths[0].T, c=color, s=8, linewidths=0)
    right = adjusted_rand_score(kind, model.labels_)
    ax.set_title(f"{name}: {len(stages)} stages, adjusted Rand index {right:.2f}")
    ax.set_aspect("equal")
    ax.axis("off")
plt.show()

# %%
# What the stages say
# -------------------
# ``history_`` has a row for each stage. The error is lowest while samples may use several
# centroids; the price of clusters is the rise. Orthogonality is the paper's measure of how much the
# clusters overlap: it reaches zero, not merely a small number.

_, axes = plt.subplots(1, 3, figsize=(9.6, 3), layout="constrained")
for (name, (model, stages)), color in zip(fits.items(), plot.colors(2), strict=True):
    rho = [stage.rho for stage in model.history_]
    several = ((stages > 0).sum(axis=2) > 1).mean(axis=1)
    axes[0].semilogx(rho, [stage.relative_error for stage in model.history_], c=color, label=name)
    axes[1].semilogx(rho, [stage.orthogonality for stage in model.history_], c=color)
    axes[2].semilogx(rho, several, c=color)
for ax, title in zip(
    axes, ("relative error", "orthogonality", "share in several clusters"), strict=True
):
    ax.set(title=title, xlabel="weight of the penalty")
axes[0].legend()
plt.show()

# %%
# The penalties
# -------------
# All vanish exactly on the axes, where a sample has one cluster. In the plane the smooth one is
# :math:`h_1 h_2`: it leaves an axis with a slope that is the membership itself, next to nothing for
# a short sample, and Theorem 2 lets the weight grow for ever. The non-smooth one is the smaller of
# the two, with slope 1 everywhere: a finite weight is enough (Theorem 3). Higher powers are flat in
# a wide region around the origin, which is why the paper advises against them.

side = np.linspace(0, 1, 81)
h = np.stack(np.meshgrid(side, side), axis=-1).reshape(-1, 2)
shown = {
    "smooth (1, 2, 2)": SNCP(),
    "non-smooth (1, ∞, 1)": NSNCP(),
    "(1, 3, 3)": General(1, 3, 3),
    "(1, 2, 10)": General(1, 2, 10),
}
_, axes = plt.subplots(1, 4, figsize=(9.6, 2.9), sharey=True, layout="constrained")
for ax, (name, penalty) in zip(axes, shown.items(), strict=True):
    value = penalty.rows(h).reshape(81, 81)
    ax.contourf(side, side, value / value.max(), levels=np.linspace(0, 1, 13), cmap="Greens")
    ax.set(title=name, xticks=[0, 1], yticks=[0, 1], aspect="equal", xlabel="$h_1$")
axes[0].set_ylabel("$h_2$")
plt.show()
