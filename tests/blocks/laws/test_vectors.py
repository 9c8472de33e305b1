"""Products of 3x3 matrices kept as nine scalars, against NumPy's."""

from __future__ import annotations

import numpy as np

from titop.blocks.laws.vectors import product, times, transposed


def test_they_are_numpys_products() -> None:
    """To some roundings of sums of three products of order one."""
    rng = np.random.default_rng(0)
    a, b, x = rng.normal(size=(3, 3)), rng.normal(size=(3, 3)), rng.normal(size=3)
    np.testing.assert_allclose(product(a.ravel(), b.ravel()), (a @ b).ravel(), rtol=0, atol=1e-14)
    np.testing.assert_allclose(times(a.ravel(), x), a @ x, rtol=0, atol=1e-14)
    assert np.array_equal(transposed(a.ravel()), a.T.ravel())
