"""Geometric stiffness of finite elements: a beam of sixty elements under tension, against the beam of closed form."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray

import titop as tt
from tests.blocks.bodies.test_beam_shortening import in_rotation
from tests.blocks.bodies.test_modal_reduction import ELEMENTS, beam_model
from tests.flexible import unit_beam

Array = NDArray[np.float64]

#: Tensions are taken as constant along each element: errors of h^2 = 3e-4 of what they do; what couples bending with stretch,
#: of 2e-4 of the length, is left out of them.
ELEMENTS_ACCURACY = 5e-4


def under_tension(tensions: Array) -> Array:
    """Return the geometric stiffness of bending of the elements (Przemieniecki, chapter 15), each under a tension (N)."""
    h = 1.0 / ELEMENTS
    unit = np.array([[36, 3, -36, 3], [3, 4, -3, -1], [-36, -3, 36, -3], [3, -1, -3, 4]]) / (30 * h)
    lengths, K = np.diag([1, h, 1, h]), np.zeros((6 * (ELEMENTS + 1), 6 * (ELEMENTS + 1)))
    flip = np.diag([1, -1, 1, -1])  # slope in the x-z plane is minus the rotation about y
    for start, tension in zip(range(0, 6 * ELEMENTS, 6), tensions, strict=True):
        for entries, sign in (([1, 5, 7, 11], np.eye(4)), ([2, 4, 8, 10], flip)):
            where = start + np.array(entries)
            K[np.ix_(where, where)] += tension * sign @ lengths @ unit @ lengths @ sign
    return K


def loads() -> dict[str, list[Array]]:
    """Return the geometric stiffness of the loads along the beam; others bend it and are left out here."""
    x = (np.arange(ELEMENTS) + 0.5) / ELEMENTS
    pulled, pushed, spun = (under_tension(tension) for tension in (np.ones(ELEMENTS), x - 1, (1 - x**2) / 2))
    nothing = np.zeros_like(pulled)
    return {
        "acceleration": [pushed, nothing, nothing],
        "spin": [nothing, spun, spun, nothing, nothing, nothing],
        "C": [pulled, *[nothing] * 5],
    }


def reduced(given: Any) -> tt.FlexibleBody:
    """Return the beam of elements: eight modes with both ends held are four in each plane."""
    nodes, M, K = beam_model()
    return tt.FlexibleBody.from_finite_elements("beam", nodes, M, K, 0, {"C": ELEMENTS}, modes=8, geometric_stiffness=given)


@pytest.fixture(scope="module")
def body() -> tt.FlexibleBody:
    return reduced(loads())


def test_it_turns_as_the_beam_does(body: tt.FlexibleBody) -> None:
    beam = unit_beam(modes=4, torsion_modes=0)
    assert body.check() == ([], [])
    for spin in (1.0, 2.0):
        (_, found), (_, expected) = (in_rotation(each, spin, radius=0.5) for each in (body, beam))
        # of equal planes the elements' modes are mixed: all frequencies together
        np.testing.assert_allclose(found["both"][:4], expected["both"][:4], rtol=ELEMENTS_ACCURACY)


def test_moments_are_those_of_the_beam(body: tt.FlexibleBody) -> None:
    beam, tip = unit_beam(modes=4, torsion_modes=0), slice(0, 6)
    for field in ("position_moments", "displacement_moments"):
        found, expected = (getattr(each, field)[:, :, tip] for each in (body, beam))
        found, expected = (each[..., tip] if each.ndim == 4 else each for each in (found, expected))
        # rotary inertia of the sections, 2e-4, which elements turn with the nodes; linear elements of torsion and stretch
        np.testing.assert_allclose(found, expected, atol=3e-4)


@pytest.mark.parametrize("load", ["acceleration", "spin", "C"])
def test_each_load_stiffens_as_it_does_the_beam(body: tt.FlexibleBody, load: str) -> None:
    beam = unit_beam(modes=4, torsion_modes=0)
    deflections = [1, 2, 4, 5]
    found, expected = (each.geometric_stiffness[load][:, deflections][:, :, deflections] for each in (body, beam))  # type: ignore[index]
    along = [0] if load != "spin" else [1, 2]
    np.testing.assert_allclose(found[along], expected[along], atol=ELEMENTS_ACCURACY * np.abs(expected).max())


def test_sparse_matrices(body: tt.FlexibleBody) -> None:
    sparse = {load: [scipy.sparse.csr_matrix(matrix) for matrix in matrices] for load, matrices in loads().items()}
    found, expected = reduced(sparse).geometric_stiffness, body.geometric_stiffness
    assert found is not None
    assert expected is not None
    for load, matrices in expected.items():
        np.testing.assert_allclose(found[load], matrices, atol=1e-10)


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("wrong-type", [1.0]),
        ("unknown-load", {"gravity": [np.eye(6)] * 3}),
        ("wrong-shape", {"spin": [np.eye(6 * (ELEMENTS + 1))] * 3}),
        ("wrong-shape", {"spin": [np.eye(6)] * 6}),
        ("not-symmetric", {"spin": [np.triu(np.ones((6 * (ELEMENTS + 1),) * 2))] * 6}),
    ],
)
def test_bad_loads(code: str, change: Any) -> None:
    with pytest.raises(tt.ModelError, match=code):
        reduced(loads() | change if isinstance(change, dict) else change)
