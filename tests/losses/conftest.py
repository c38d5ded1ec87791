"""Every loss of the registry, and every kind of samples that it may have."""

import pytest

from losses_cases import CASES, case_of
from onmf.losses import LOSSES


@pytest.fixture(params=LOSSES.values(), ids=list(LOSSES))
def loss(request):
    return request.param


@pytest.fixture(params=CASES, ids=[f"{loss.name}-{kind}" for loss, kind in CASES])
def case(request):
    return case_of(*request.param)
