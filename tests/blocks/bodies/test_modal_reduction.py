"""Reduction of finite-element models: a beam of sixty elements and a lattice of bars, assembled here."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.sparse
from numpy.typing import NDArray
from scipy.linalg import eigh

import titop as tt
from tests.flexible import linear_frequencies, unit_beam
from titop.blocks.basics.spatial import skew
from titop.blocks.bodies import element_matrices, modal_reduction
from titop.blocks.bodies.modal_reduction import METHODS

pytestmark = pytest.mark.portable

Array = NDArray[np.float64]

ELEMENTS = 60
#: E I = rho A = length = 1 as in `tests.flexible.UNIT`.
YOUNG, AREA, SECOND, SHEAR = 1e4, 1.0, 1e-4, 1e4 / 2.6


def beam_element(h: float, broad: float = 1.0) -> tuple[Array, Array]:
    """Return mass and stiffness (12x12) of an Euler-Bernoulli element of length h along x (Przemieniecki, chapters 5 and 11).

    It is `broad` times as stiff in the x-z plane as in the x-y plane.
    """
    M, K = np.zeros((12, 12)), np.zeros((12, 12))
    # deflection and slope at both ends, slopes times h
    bending_k = YOUNG * SECOND / h**3 * np.array([[12, 6, -12, 6], [6, 4, -6, 2], [-12, -6, 12, -6], [6, 2, -6, 4]])
    bending_m = AREA * h / 420 * np.array([[156, 22, 54, -13], [22, 4, 13, -3], [54, 13, 156, -22], [-13, -3, -22, 4]])
    lengths = np.diag([1, h, 1, h])
    bending_k, bending_m = lengths @ bending_k @ lengths, lengths @ bending_m @ lengths
    pair = np.array([[1, -1], [-1, 1]])
    consistent = np.array([[2, 1], [1, 2]]) / 6
    flip = np.diag([1, -1, 1, -1])  # slope in the x-z plane is minus the rotation about y
    for first, stiffness, inertia in ((0, YOUNG * AREA, AREA), (3, SHEAR * 2 * SECOND, 2 * SECOND)):
        where = np.ix_([first, 6 + first], [first, 6 + first])
        K[where] += stiffness / h * pair
        M[where] += inertia * h * consistent
    for entries, sign, factor in (([1, 5, 7, 11], np.eye(4), 1.0), ([2, 4, 8, 10], flip, broad)):
        K[np.ix_(entries, entries)] += factor * sign @ bending_k @ sign
        M[np.ix_(entries, entries)] += sign @ bending_m @ sign
    return M, K


@cache
def beam_model() -> tuple[Array, Array, Array]:
    """Return nodes, mass and stiffness of a beam along x."""
    n, element = 6 * (ELEMENTS + 1), beam_element(1.0 / ELEMENTS)
    M, K = np.zeros((n, n)), np.zeros((n, n))
    for start in range(0, n - 6, 6):
        for whole, part in zip((M, K), element, strict=True):
            whole[start : start + 12, start : start + 12] += part
    return np.column_stack([np.linspace(0, 1, ELEMENTS + 1), *np.zeros((2, ELEMENTS + 1))]), M, K


def comb_model(lengths: Array, elements: int, broad: float = 4.0) -> tuple[Array, Any, Any]:
    """Return nodes, mass and stiffness (sparse) of beams along x of different lengths, which begin at the first node."""
    nodes, rows, columns, values = [np.zeros((1, 3))], [], [], []
    for k, length in enumerate(lengths):
        nodes.append(np.linspace(0, length, elements + 1)[1:, None] * [1.0, 0.0, 0.0])
        numbers = np.concatenate([[0], 1 + elements * k + np.arange(elements)])
        freedoms = 6 * np.column_stack([numbers[:-1], numbers[1:]])[:, :, None] + np.arange(6)
        freedoms = freedoms.reshape(elements, 12)
        rows.append(np.repeat(freedoms, 12, axis=1).ravel())
        columns.append(np.tile(freedoms, 12).ravel())
        values.append(np.tile(np.array(beam_element(length / elements, broad)).reshape(2, 1, 144), (1, elements, 1)))
    where = np.concatenate(rows), np.concatenate(columns)
    both = np.concatenate(values, axis=1).reshape(2, -1)
    n = 6 * (1 + elements * len(lengths))
    return np.vstack(nodes), *(scipy.sparse.coo_array((part, where), (n, n)).tocsr() for part in both)


@cache
def lattice_model() -> tuple[Array, Array, Array]:
    """Return nodes, mass and stiffness of a square tower of bars, four nodes a storey, three degrees of freedom a node."""
    storeys = 5
    square = np.array([[0, 0, 0], [0, 0.3, 0], [0, 0.3, 0.3], [0, 0, 0.3]])
    nodes = np.vstack([square + np.array([0.4 * k, 0, 0]) for k in range(storeys + 1)])
    n = 3 * len(nodes)
    M, K = np.zeros((n, n)), np.zeros((n, n))
    bars = [(i, j) for i in range(len(nodes)) for j in range(i) if i // 4 - j // 4 <= 1]
    for i, j in bars:
        along = nodes[j] - nodes[i]
        length = np.linalg.norm(along)
        block = 1e4 / length**3 * np.outer(along, along)
        for a, b, sign in ((i, i, 1), (j, j, 1), (i, j, -1), (j, i, -1)):
            K[3 * a : 3 * a + 3, 3 * b : 3 * b + 3] += sign * block
        for a, b, share in ((i, i, 1 / 3), (j, j, 1 / 3), (i, j, 1 / 6), (j, i, 1 / 6)):
            M[3 * a : 3 * a + 3, 3 * b : 3 * b + 3] += 0.5 * length * share * np.eye(3)
    return nodes, M, K


def reduce_beam(**fields: Any) -> tt.FlexibleBody:
    """Return the beam clamped at its first node, with a port at the tip, bending modes in pairs."""
    nodes, M, K = beam_model()
    given: dict[str, Any] = {"parent": 0, "ports": {"C": ELEMENTS}, "modes": 8} | fields
    return tt.FlexibleBody.from_finite_elements("beam", nodes, M, K, **given)


def clamped(body: tt.FlexibleBody) -> tt.Model:
    """Return the model of a body clamped at P."""
    s = tt.System("clamped", gravity=[0, 0, 0])
    s.connect("world", body, tt.Weld("foot"))
    return s.resolve()


class TestBeam:
    def test_rigid_data(self) -> None:
        body = reduce_beam()
        expected = unit_beam()
        assert body.mass == pytest.approx(1.0, rel=1e-12)
        np.testing.assert_allclose(body.com, expected.com, atol=1e-12)
        np.testing.assert_allclose(body.inertia, expected.inertia, atol=1e-12)
        np.testing.assert_allclose(body.port_poses["C"].position, [1, 0, 0], atol=1e-15)

    def test_reduction_equals_the_closed_form_beam(self) -> None:
        """Eight modes with both ends held are the lowest of stretch, torsion and bending: four pairs."""
        found = reduce_beam()
        expected = unit_beam(modes=4, torsion_modes=0)
        np.testing.assert_allclose(found.matrices.stiffness[:6, :6], expected.matrices.stiffness[:6, :6], rtol=1e-7, atol=1e-4)
        # consistent masses of linear elements are h^2 / 12 off; bending is of fourth order
        np.testing.assert_allclose(found.matrices.mass[:6, :6], expected.matrices.mass[:6, :6], atol=1e-8)
        np.testing.assert_allclose(found.participation[:6], expected.participation[:6], atol=1e-8)
        assert found.coordinates[:7] == ("C_x", "C_y", "C_z", "C_rx", "C_ry", "C_rz", "mode1")

    def test_published_frequencies(self) -> None:
        """Craig-Bampton with four modes a plane, clamped and clamped: 22.3733, 61.6728, 120.9035."""
        model = clamped(reduce_beam())
        found = linear_frequencies(model, {"beam.C": [0, 1, 2, 3, 4, 5]}, 6)
        np.testing.assert_allclose(found[::2], [22.3733, 61.6728, 120.9035], atol=1e-4)

    def test_attachment_modes(self) -> None:
        """Four clamped modes and two attachment modes a plane: 22.3733, 61.6735, 120.911."""
        body = reduce_beam(method="attachment")
        assert body.frequencies is None
        np.testing.assert_allclose(body.matrices.mass, np.eye(body.nv), atol=1e-8)
        found = linear_frequencies(clamped(body), {"beam.C": [0, 1, 2, 3, 4, 5]}, 6)
        np.testing.assert_allclose(found[::2], [22.3733, 61.6735, 120.911], atol=6e-4)

    def test_without_static_deformations_it_is_wrong(self) -> None:
        nodes, M, K = beam_model()
        squares, modes = eigh(K[6:, 6:], M[6:, 6:], subset_by_index=[0, 5])
        rigid = np.vstack([np.block([[np.eye(3), -skew(x)], [np.zeros((3, 3)), np.eye(3)]]) for x in nodes])
        modes = np.vstack([np.zeros((6, 6)), modes])
        beam = unit_beam()
        share, tip = modes.T @ M @ rigid, {"C": [1, 0, 0]}
        body = tt.FlexibleBody("beam", 1.0, beam.com, beam.inertia, np.sqrt(squares), share, tip, {"C": modes[-6:]})
        found = linear_frequencies(clamped(body), {"beam.C": [1, 2, 4, 5]}, 1)
        assert found[0] == pytest.approx(32.04, abs=0.01)

    def test_sparse_matrices(self) -> None:
        nodes, M, K = beam_model()
        body = tt.FlexibleBody.from_finite_elements(
            "beam", nodes, scipy.sparse.csr_matrix(M), scipy.sparse.csc_matrix(K), 0, {"C": ELEMENTS}, modes=8
        )
        np.testing.assert_allclose(body.matrices.mass, reduce_beam().matrices.mass, atol=1e-12)

    def test_nodes_without_rotary_inertia(self) -> None:
        """A lumped mass matrix is singular; the modes are the lowest all the same."""
        nodes, _, K = beam_model()
        share = np.full(ELEMENTS + 1, 1 / ELEMENTS)
        share[[0, -1]] /= 2
        M = np.kron(np.diag(share), np.diag([1, 1, 1, 2 * SECOND, 0, 0]))
        body = tt.FlexibleBody.from_finite_elements("beam", nodes, M, K, 0, {}, modes=4)
        assert body.check() == ([], [])
        assert body.natural_frequencies[0] == pytest.approx(1.8751041**2, rel=1e-3)  # lumping errs by about h^2
        with pytest.raises(tt.ModelError, match="singular-stiffness"):
            tt.FlexibleBody.from_finite_elements("beam", nodes, M, K, 0, {}, modes=250)

    def test_parent_in_the_middle_and_two_ports(self) -> None:
        body = reduce_beam(parent=ELEMENTS // 2, ports={"left": 0, "right": ELEMENTS}, modes=4)
        np.testing.assert_allclose(body.com, 0, atol=1e-12)
        np.testing.assert_allclose(body.port_poses["left"].position, [-0.5, 0, 0], atol=1e-12)
        # clamped in the middle: cantilevers of half the length
        assert body.natural_frequencies[0] == pytest.approx(4 * 1.8751041**2, rel=1e-3)  # two modes a plane in all
        assert body.check() == ([], [])


class TestLattice:
    @pytest.mark.parametrize("method", METHODS)
    def test_static_loads_deform_it_as_the_full_model(self, method: str) -> None:
        nodes, M, K = lattice_model()
        tip = range(20, 24)
        body = tt.FlexibleBody.from_finite_elements("tower", nodes, M, K, range(4), {"top": tip}, modes=5, method=method)
        assert body.check() == ([], [])
        wrench = np.array([0.3, -0.5, 0.7, 0.1, 0.2, -0.3])
        compliance = body.shapes["top"] @ np.linalg.solve(body.matrices.stiffness, body.shapes["top"].T)
        # the full model: base held, the four nodes of the top moving with a rigid plate
        arms = nodes[20:24] - nodes[20:24].mean(axis=0)
        plate = np.vstack([np.hstack([np.eye(3), -skew(arm)]) for arm in arms])
        carried = np.zeros((len(M), 6))
        carried[60:72] = plate
        free = np.hstack([carried, np.eye(len(M))[:, 12:60]])
        moved = np.linalg.solve(free.T @ K @ free, np.concatenate([wrench, np.zeros(48)]))[:6]
        np.testing.assert_allclose(compliance @ wrench, moved, rtol=1e-9)
        assert body.mass == pytest.approx(np.ones(len(M)) @ M @ np.ones(len(M)) / 3, rel=1e-12)
        np.testing.assert_allclose(body.port_poses["top"].position, [2.0, 0, 0], atol=1e-12)

    def test_all_modes_are_the_full_model(self) -> None:
        nodes, M, K = lattice_model()
        body = tt.FlexibleBody.from_finite_elements("tower", nodes, M, K, range(4), {"top": range(20, 24)}, modes=48)
        arms = nodes[20:24] - nodes[20:24].mean(axis=0)
        carried = np.zeros((len(M), 6))
        carried[60:72] = np.vstack([np.hstack([np.eye(3), -skew(arm)]) for arm in arms])
        free = np.hstack([carried, np.eye(len(M))[:, 12:60]])
        exact = np.sqrt(eigh(free.T @ K @ free, free.T @ M @ free, eigvals_only=True))
        np.testing.assert_allclose(body.natural_frequencies, exact, rtol=1e-9)


@pytest.fixture
def all_sparse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Treat small sparse matrices as large ones."""
    monkeypatch.setattr(element_matrices, "DENSE", 0)


def peak_of(function: Callable[[], Any]) -> int:
    """Return the bytes that a function needs at most."""
    tracemalloc.start()
    try:
        function()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class TestSparse:
    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("ports", [{}, {"C": 20}, {"C": 20, "D": [35, 40]}])
    def test_as_dense_matrices(self, all_sparse: None, method: str, ports: dict[str, Any]) -> None:
        """Modes may differ in sign: all that a body does at its ports, and its natural frequencies, are the same."""
        nodes, M, K = comb_model(np.array([1.0, 0.9]), 20)
        bodies = [
            tt.FlexibleBody.from_finite_elements("comb", nodes, *matrices, 0, ports, 6, method)
            for matrices in ((M, K), (M.toarray(), K.toarray()))
        ]
        assert bodies[0].check() == ([], [])
        assert bodies[0].coordinates == bodies[1].coordinates
        found, expected = ([body.natural_frequencies, *at_ports(body)] for body in bodies)
        for one, other in zip(found, expected, strict=True):
            # rounding of 1e-16 times the stiffness of an element over that of the comb, 12 * 20^4
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())

    def test_repeated_frequencies_are_all_found(self, all_sparse: None) -> None:
        """Twelve equal beams of a square section: 24 equal lowest modes, which one vector alone does not reach."""
        nodes, M, K = comb_model(np.ones(12), 8, broad=1.0)
        body = tt.FlexibleBody.from_finite_elements("comb", nodes, M, K, 0, {}, modes=26)
        # elements of an eighth bring 4e-6 in the first frequency and 2e-4 in the second
        np.testing.assert_allclose(body.natural_frequencies[:24], 1.8751041**2, rtol=1e-5)
        np.testing.assert_allclose(body.natural_frequencies[24:], 4.6940911**2, rtol=1e-3)

    def test_a_mode_that_the_iteration_misses_is_found(self, all_sparse: None, monkeypatch: pytest.MonkeyPatch) -> None:
        nodes, M, K = comb_model(np.array([1.0, 0.9]), 20)
        whole, calls = modal_reduction._lanczos, []

        def missing(product: Any, stiffness: Any, number: int, *others: Any) -> tuple[Array, Array]:
            calls.append(number)
            if len(calls) > 1:
                return whole(product, stiffness, number, *others)
            values, vectors = whole(product, stiffness, number + 1, *others)
            return values[:-1], vectors[:, :-1]

        monkeypatch.setattr(modal_reduction, "_lanczos", missing)
        body = tt.FlexibleBody.from_finite_elements("comb", nodes, M, K, 0, {}, modes=3)
        dense = tt.FlexibleBody.from_finite_elements("comb", nodes, M.toarray(), K.toarray(), 0, {}, modes=3)
        assert calls == [3, 1, 1, 1]
        np.testing.assert_allclose(body.natural_frequencies, dense.natural_frequencies, rtol=1e-8)

    def test_nodes_without_rotary_inertia(self, all_sparse: None) -> None:
        nodes, _, K = beam_model()
        share = np.full(ELEMENTS + 1, 1 / ELEMENTS)
        share[[0, -1]] /= 2
        M = scipy.sparse.csr_array(np.kron(np.diag(share), np.diag([1, 1, 1, 0, 0, 0])))
        body = tt.FlexibleBody.from_finite_elements("beam", nodes, M, scipy.sparse.csr_array(K), 0, {}, modes=4)
        assert body.natural_frequencies[0] == pytest.approx(1.8751041**2, rel=1e-3)  # lumping errs by about h^2
        alone = scipy.sparse.csr_array(np.diag(np.where(np.arange(len(K)) // 6 == ELEMENTS, M.diagonal(), 0.0)))
        with pytest.raises(tt.ModelError, match="fewer modes with mass"):
            tt.FlexibleBody.from_finite_elements("beam", nodes, alone, scipy.sparse.csr_array(K), 0, {}, modes=4)

    def test_thirty_thousand_degrees_of_freedom(self) -> None:
        """Fifty beams of 1 m and less: clamped and free frequencies, and the tip's compliance, in closed form."""
        lengths = 1.0 - 0.01 * np.arange(50)
        nodes, M, K = comb_model(lengths, 100)
        bodies: list[tt.FlexibleBody] = []

        def reduce() -> None:
            bodies.append(tt.FlexibleBody.from_finite_elements("comb", nodes, M, K, 0, {"C": 100}, modes=6))

        assert peak_of(reduce) < 0.02 * 8 * M.shape[0] ** 2  # a hundred columns or so for each of the six modes and six ports
        body = bodies[0]
        # rounding of 1e-16 times the stiffness of an element over that of a beam, 12 * 100^4; the longest beam, on whose tip
        # the port is, moves by static deformations alone
        np.testing.assert_allclose(body.natural_frequencies[1:6], 1.8751041**2 / lengths[1:6] ** 2, rtol=1e-6)
        assert body.mass == pytest.approx(lengths.sum(), rel=1e-9)
        compliance = body.shapes["C"] @ np.linalg.solve(body.matrices.stiffness, body.shapes["C"].T)
        expected = [1 / (YOUNG * AREA), 1 / 3, 1 / 12, 1 / (SHEAR * 2 * SECOND), 1 / 4, 1.0]
        np.testing.assert_allclose(np.diag(compliance), expected, rtol=1e-6)

    def test_dense_matrices_need_far_more_memory(self, all_sparse: None) -> None:
        """The negative control of the memory above: the same comb of a fiftieth of its size, dense and sparse."""
        nodes, M, K = comb_model(np.array([1.0]), 100)
        dense = M.toarray(), K.toarray()
        sizes = [
            peak_of(lambda both=both: tt.FlexibleBody.from_finite_elements("comb", nodes, *both, 0, {"C": 100}, modes=6))
            for both in ((M, K), dense)
        ]
        assert sizes[0] < 8 * M.shape[0] ** 2
        assert sizes[1] > 4 * 8 * M.shape[0] ** 2

    @pytest.mark.parametrize(
        ("code", "change"),
        [
            ("wrong-shape", lambda M, K: (M[:-1, :-1], K)),
            ("wrong-shape", lambda M, K: (M[:, :-1], K[:-6, :-6])),
            ("wrong-type", lambda M, K: (M * 1j, K)),
            ("not-finite", lambda M, K: (M, K * np.nan)),
            ("not-symmetric", lambda M, K: (M, K + scipy.sparse.eye_array(K.shape[0], k=1))),
            ("not-free", lambda M, K: (M, K + scipy.sparse.eye_array(K.shape[0]))),
            ("negative-mass", lambda M, K: (0 * M, K)),
            ("singular-stiffness", lambda M, K: (M, 0 * K)),
            ("singular-stiffness", lambda M, K: (M, -K)),
            ("singular-stiffness", lambda M, K: (M, loosened(K))),
        ],
    )
    def test_errors(self, all_sparse: None, code: str, change: Any) -> None:
        nodes, M, K = comb_model(np.array([1.0, 0.9]), 10)
        with pytest.raises(tt.ModelError) as raised:
            tt.FlexibleBody.from_finite_elements("comb", nodes, *change(M, K), 0, {"C": 10})
        assert raised.value.code == code
        assert raised.value.where.startswith("comb.")

    def test_one_dense_matrix_makes_both_dense(self, all_sparse: None) -> None:
        nodes, M, K = comb_model(np.array([1.0, 0.9]), 10)
        mixed = tt.FlexibleBody.from_finite_elements("comb", nodes, M.toarray(), K, 0, {"C": 10})
        dense = tt.FlexibleBody.from_finite_elements("comb", nodes, M.toarray(), K.toarray(), 0, {"C": 10})
        np.testing.assert_array_equal(mixed.matrices.mass, dense.matrices.mass)


def at_ports(body: tt.FlexibleBody) -> list[Array]:
    """Return what a body shows at P and its ports: static compliances, rigid inertia, and the modes' parts of it."""
    both = np.vstack([np.zeros((0, body.nv)), *body.shapes.values(), body.participation.T])
    matrices = body.matrices
    return [both @ np.linalg.solve(matrix, both.T) for matrix in (matrices.mass, matrices.stiffness)] + [body.rigid_inertia]


def loosened(K: Any) -> Any:
    """Return the stiffness of the comb of two beams of ten elements, without the first element of the second."""
    where = np.r_[0:6, 66:72]
    rows, columns = np.repeat(where, 12), np.tile(where, 12)
    return K - scipy.sparse.coo_array((beam_element(0.09, 4.0)[1].ravel(), (rows, columns)), K.shape)


class TestErrors:
    @pytest.mark.parametrize(
        ("code", "fields"),
        [
            ("bad-method", {"method": "guyan"}),
            ("not-a-count", {"modes": -1}),
            ("not-a-count", {"modes": 2.5}),
            ("unknown-node", {"parent": 61}),
            ("unknown-node", {"ports": {"C": [-1]}}),
            ("unknown-node", {"ports": {"C": []}}),
            ("too-many-modes", {"modes": 1000}),
        ],
    )
    def test_of_arguments(self, code: str, fields: dict[str, Any]) -> None:
        with pytest.raises(tt.ModelError) as raised:
            reduce_beam(**fields)
        assert raised.value.code == code

    @pytest.mark.parametrize(
        ("code", "change"),
        [
            ("wrong-shape", lambda nodes, M, K: (nodes, M[:-1, :-1], K)),
            ("wrong-shape", lambda nodes, M, K: (nodes, M, K[:-6, :-6])),
            ("wrong-shape", lambda nodes, M, K: (nodes[:, :2], M, K)),
            ("not-symmetric", lambda nodes, M, K: (nodes, M + np.triu(np.ones(M.shape)), K)),
            ("not-free", lambda nodes, M, K: (nodes, M, K + 1e-3 * np.abs(K).max() * np.eye(len(K)))),
            ("not-free", lambda nodes, M, K: (2 * nodes, M, K)),
            ("negative-mass", lambda nodes, M, K: (nodes, 0 * M, K)),
            ("singular-stiffness", lambda nodes, M, K: (nodes, M, 0 * K)),
        ],
    )
    def test_of_matrices(self, code: str, change: Any) -> None:
        with pytest.raises(tt.ModelError) as raised:
            tt.FlexibleBody.from_finite_elements("beam", *change(*beam_model()), 0, {"C": ELEMENTS})
        assert raised.value.code == code

    def test_a_port_that_cannot_turn(self) -> None:
        nodes, M, K = lattice_model()
        for members in ([20], [20, 21], [20, 21]):
            with pytest.raises(tt.ModelError, match="too-few-nodes"):
                tt.FlexibleBody.from_finite_elements("tower", nodes, M, K, range(4), {"top": members})
