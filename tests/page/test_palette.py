"""What the colours promise: to be told apart by any eyes, on either paper."""

import numpy as np
import pytest

from onmf.page.palette import DARK, LIGHT, SHAPES, style

# Machado, Oliveira and Fernandes (2009), full deficiency, for linear RGB.
EYES = {
    "full colour vision": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
OKABE_ITO = ("#000000", "#E69F00", "#56B4E9", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7")


def linear(colours):
    """Linear RGB of #rrggbb."""
    rgb = np.array([[int(c[i : i + 2], 16) / 255 for i in (1, 3, 5)] for c in colours])
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def oklab(rgb):
    """Ottosson (2020)."""
    to_cones = [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
    to_lab = [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
    return np.cbrt(rgb @ np.transpose(to_cones)) @ np.transpose(to_lab)


def closest(colours, eyes):
    """Distance of the two colours that look most alike."""
    lab = oklab(np.clip(linear(colours) @ np.transpose(eyes), 0, 1))
    apart = np.linalg.norm(lab[:, None] - lab[None], axis=2)
    return apart[np.triu_indices(len(lab), 1)].min()


def contrast(colours, paper):
    """Contrast ratios of WCAG."""
    light = linear(colours) @ [0.2126, 0.7152, 0.0722]
    ground = (linear([paper]) @ [0.2126, 0.7152, 0.0722])[0]
    return (np.maximum(light, ground) + 0.05) / (np.minimum(light, ground) + 0.05)


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_colours_differ_more_than_those_of_okabe_and_ito_at_their_worst(colours, eyes):
    reference = min(closest(OKABE_ITO, matrix) for matrix in EYES.values())
    assert closest(colours, EYES[eyes]) > 1.8 * reference


def test_colours_stand_out_from_the_paper():
    assert contrast(LIGHT, "#ffffff").min() > 2.1
    assert contrast(DARK, "#1b1e24").min() > 2.7


def test_sixty_four_clusters_look_different():
    assert len({style(k) for k in range(64)}) == 64
    assert all(shape < len(SHAPES) for _, shape in map(style, range(1_000)))
