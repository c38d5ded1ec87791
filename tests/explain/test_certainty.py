"""The curve from margins to certainties."""

import numpy as np
import pytest

from onmf.explain.certainty import calibrate

rng = np.random.default_rng(0)


@pytest.mark.parametrize("power", [0.5, 1, 3])
def test_certainties_are_the_frequencies_of_agreement(power):
    """Drawn from curves of another family: tenths of the samples are off by five points on average
    and by ten at most."""
    margins = rng.random(20_000)
    truth = 0.5 + 0.5 * margins**power
    curve = calibrate(margins, (rng.random(20_000) < truth).astype(float))
    tenths = np.array_split(np.argsort(margins), 10)
    off = [abs(curve(margins[tenth]).mean() - truth[tenth].mean()) for tenth in tenths]
    assert np.mean(off) < 0.05
    assert max(off) < 0.1


def test_certainty_never_falls_with_the_margin_even_if_agreement_does():
    margins = rng.random(500)
    curve = calibrate(margins, (rng.random(500) > margins).astype(float))
    assert (np.diff(curve(np.linspace(0, 1, 100))) >= 0).all()


def test_the_unit_of_the_margins_does_not_matter():
    margins, agreed = rng.random(300), rng.integers(0, 5, 300) / 4
    one, other = calibrate(margins, agreed), calibrate(1e-6 * margins, agreed)
    np.testing.assert_allclose(other(1e-6 * margins), one(margins), atol=1e-6)
