"""Moments of elements' modes: exact for solids, of second order in an element's length for beams, one Gram matrix always."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

import titop as tt
from tests.blocks.bodies.test_modal_reduction import beam_element, lattice_model
from tests.flexible import unit_beam
from titop.blocks.bodies import element_matrices
from titop.blocks.bodies.element_matrices import element_moments, rigid_motion, rotary_part
from titop.blocks.bodies.modal_analysis import lowest_eigenvalue
from titop.blocks.bodies.second_order import gram_at

Array = NDArray[np.float64]

#: Rounding of products of some hundred entries.
ROUNDING = 1e-11


def bent_frame(elements: int, sparse: bool = False) -> tuple[Array, Any, Any]:
    """Return nodes, mass and stiffness of three bars in a row, each askew to the others, of some elements each."""
    turns = Rotation.from_euler("zyx", [[0.3, -0.2, 0.1], [1.4, 0.5, -0.3], [-0.6, 1.1, 0.8]]).as_matrix()
    nodes, count = [np.zeros(3)], 3 * elements + 1
    M, K = np.zeros((6 * count, 6 * count)), np.zeros((6 * count, 6 * count))
    for turn in turns:
        turned = np.kron(np.eye(4), turn)
        for _ in range(elements):
            entries = slice(6 * (len(nodes) - 1), 6 * (len(nodes) + 1))
            for whole, part in zip((M, K), beam_element(1.0 / elements, broad=4.0), strict=True):
                whole[entries, entries] += turned @ part @ turned.T
            nodes.append(nodes[-1] + turn[:, 0] / elements)
    if sparse:
        return np.array(nodes), scipy.sparse.csr_array(M), scipy.sparse.csc_array(K)
    return np.array(nodes), M, K


def straight(elements: int) -> tuple[Array, Array, Array]:
    """Return nodes, mass and stiffness of a bar of length one along x."""
    n = 6 * (elements + 1)
    M, K = np.zeros((n, n)), np.zeros((n, n))
    for start in range(0, n - 6, 6):
        for whole, part in zip((M, K), beam_element(1.0 / elements), strict=True):
            whole[start : start + 12, start : start + 12] += part
    return np.column_stack([np.linspace(0, 1, elements + 1), *np.zeros((2, elements + 1))]), M, K


def reduced(model: tuple[Array, Any, Any], **fields: Any) -> tt.FlexibleBody:
    """Return the body with its end as a port, whose stiffness loads do not change."""
    nodes, M, K = model
    nothing = scipy.sparse.csr_array(M.shape)
    given = {"acceleration": [nothing] * 3, "spin": [nothing] * 6}
    fields = {"parent": 0, "ports": {"C": len(nodes) - 1}, "modes": 4} | fields
    return tt.FlexibleBody.from_finite_elements("b", nodes, M, K, geometric_stiffness=given, **fields)


def least_inertia(body: tt.FlexibleBody) -> float:
    """Return the lowest eigenvalue of the scaled inertia, deformed along all coordinates."""
    assert body.second_order is not None
    return lowest_eigenvalue(gram_at(body.second_order, body.undeformed, np.asarray(body.coordinate_scales, dtype=float)))


def test_of_solids_they_are_sums_over_the_nodes() -> None:
    nodes, M, K = lattice_model()
    ends = [len(nodes) - 4, len(nodes) - 3, len(nodes) - 2, len(nodes) - 1]
    modes = np.random.default_rng(5).normal(size=(len(M), 7))
    position, displacement = element_moments(M, K, rigid_motion(nodes, 3), modes, 3)
    scalar, fields = M[::3, ::3], modes.reshape(-1, 3, 7)  # the mass of one direction
    np.testing.assert_allclose(position, np.einsum("ak,ab,bln->kln", nodes, scalar, fields), atol=ROUNDING)
    np.testing.assert_allclose(displacement, np.einsum("aki,ab,blj->klij", fields, scalar, fields), atol=10 * ROUNDING)
    body = reduced((nodes, M, K), parent=[0, 1, 2, 3], ports={"C": ends})
    assert body.check()[0] == []


@pytest.mark.parametrize("method", ["craig-bampton", "attachment"])
@pytest.mark.parametrize("modes", [0, 4])
@pytest.mark.parametrize("make", [straight, bent_frame])
@pytest.mark.parametrize("elements", [2, 5, 20])
def test_beams_deformed_as_they_may_have_no_negative_inertia(make: Any, elements: int, modes: int, method: str) -> None:
    body = reduced(make(elements), modes=modes, method=method)
    for each in (body, body.in_natural_modes()):
        assert least_inertia(each) > -1e-10
        assert each.check()[0] == []


def test_of_a_beam_they_approach_the_closed_form_with_the_square_of_the_elements_length() -> None:
    beam, static = unit_beam(modes=4, torsion_modes=0), slice(0, 6)
    errors = []
    for elements in (8, 16, 32):
        body = reduced(straight(elements), modes=0)
        of_position = body.position_moments - beam.position_moments[:, :, static]  # type: ignore[index, operator]
        of_products = body.displacement_moments - beam.displacement_moments[:, :, static, static]  # type: ignore[index, operator]
        errors.append([np.abs(of_position).max(), np.abs(of_products).max()])
    assert np.max(errors[0]) < 2e-3  # of 0.35 and 0.37
    assert (np.divide(errors[:-1], errors[1:]) > 3.5).all()


def test_of_a_frame_they_converge() -> None:
    coarse, middle, fine = (reduced(bent_frame(elements), modes=0) for elements in (4, 8, 16))
    for field in ("position_moments", "displacement_moments"):
        first, second, third = (getattr(body, field) for body in (coarse, middle, fine))
        assert np.abs(first - second).max() > 3 * np.abs(second - third).max()


def test_sparse_and_dense_matrices_have_the_same() -> None:
    dense, sparse = (reduced(bent_frame(5, sparse)) for sparse in (False, True))
    for field in ("position_moments", "displacement_moments"):
        # modes may differ in sign, and factorisations of stiffnesses with 1e8 between bending and stretch in 1e-8
        found, expected = (np.abs(getattr(body, field)) for body in (sparse, dense))
        np.testing.assert_allclose(found, expected, atol=1e-7)


def test_rotations_that_nothing_holds_stay() -> None:
    """Solids whose nodes have rotations in name only."""
    nodes, M, K = lattice_model()
    shifts = np.arange(6 * len(nodes)) % 6 < 3
    modes = np.random.default_rng(5).normal(size=(len(M), 4))
    padded, wide = np.zeros((6 * len(nodes), 4)), [np.zeros((6 * len(nodes),) * 2) for _ in range(2)]
    padded[shifts] = modes
    for matrix, part in zip(wide, (M, K), strict=True):
        matrix[np.ix_(shifts, shifts)] = part
    found = element_moments(*wide, rigid_motion(nodes, 6), padded, 6)
    expected = element_moments(M, K, rigid_motion(nodes, 3), modes, 3)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=10 * ROUNDING)


@pytest.mark.parametrize("make", [straight, bent_frame])
def test_rotary_inertia_of_nodes_is_told_apart_from_slopes(make: Any) -> None:
    """Of bending there is none, of torsion 2e-4 kg m^2 a metre; a rotor at the end has its own."""
    nodes, M, _ = make(6)
    rigid = rigid_motion(nodes, 6)
    assert 0.0 < rotary_part(M, rigid, 6) < 1e-3
    loaded = M.copy()
    loaded[-3:, -3:] += np.diag([0.1, 0.2, 0.3])
    whole = np.trace((rigid.T @ loaded @ rigid)[3:, 3:])
    assert rotary_part(loaded, rigid, 6) == pytest.approx(0.6 / whole, rel=5e-3)
    assert rotary_part(scipy.sparse.csr_array(loaded), rigid, 6) == pytest.approx(0.6 / whole, rel=5e-3)
    with pytest.warns(tt.ModelWarning, match="rotary-inertia"):
        reduced((nodes, loaded, make(6)[2]))


def test_without_the_identities_a_coarse_beam_would_be_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(element_matrices, "_identical", lambda mass, rigid, modes, axis, turned: turned)
    assert [finding.code for finding in reduced(straight(4)).check()[0]] == ["bad-moments"]
