"""Samples that are images, as thumbnails: a byte for each pixel.

    byte = 255 (x - min) / (max - min),  min and max over one image, min at most 0

An image longer than MAX_SIDE is shown by every second, third ... pixel.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from onmf.rows.sweep import Array, divisor

MAX_SIDE = 32  # pixels of a thumbnail: 20,000 of them are 20 MB before compression
IMAGES_AT_ONCE = 1000


class Thumbnails(NamedTuple):
    """Bytes of all images, one after the other, row by row, with 1 or 3 bytes for a pixel."""

    height: int
    width: int
    channels: int
    content: bytes


def image_shape(text: str) -> tuple[int, ...]:
    """HEIGHTxWIDTH or HEIGHTxWIDTHx3; ValueError if it is neither."""
    shape = tuple(int(part) for part in text.lower().split("x"))
    if len(shape) not in (2, 3) or min(shape) < 1 or shape[2:] not in ((), (1,), (3,)):
        raise ValueError(f"{text!r} is not HEIGHTxWIDTH or HEIGHTxWIDTHx3.")
    return shape


def thumbnails(X: Any, rows: Sequence[int], shape: Sequence[int]) -> Thumbnails:
    """Of these rows of X, which are images of this shape: height, width and, if 3, colours."""
    if int(np.prod(shape)) != X.shape[1]:
        said = " x ".join(map(str, shape))
        raise ValueError(f"X has {X.shape[1]} features, which are no image of {said} pixels.")
    height, width, channels = (*shape, 1)[:3]
    step = -(-max(height, width) // MAX_SIDE)
    parts = []
    for start in range(0, len(rows), IMAGES_AT_ONCE):
        block = X[np.asarray(rows[start : start + IMAGES_AT_ONCE])]
        block = block.toarray() if sp.issparse(block) else np.asarray(block)
        small = block.reshape(-1, height, width, channels)[:, ::step, ::step]
        parts.append(as_bytes(small).tobytes())
    return Thumbnails(-(-height // step), -(-width // step), channels, b"".join(parts))


def as_bytes(images: Array) -> Array:
    """Each image from black, its darkest pixel or 0, to white."""
    values = images.astype(np.float64)
    low = np.minimum(values.min(axis=(1, 2, 3), keepdims=True), 0)
    span = values.max(axis=(1, 2, 3), keepdims=True) - low
    return np.rint(255 * (values - low) / divisor(span)).astype(np.uint8)
