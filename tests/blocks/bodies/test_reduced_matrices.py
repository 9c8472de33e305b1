"""Reduced matrices: a beam reduced by hand with its grids in axes and units of their own, against `tt.Beam` and assembly."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from scipy.linalg import block_diag, eigh
from scipy.spatial.transform import Rotation

import titop as tt
from tests.blocks.bodies.test_modal_reduction import ELEMENTS, Array, beam_model, reduce_beam
from tests.flexible import unit_beam

#: Four bending modes a plane with both ends held, and one of torsion.
MODES = 9
#: Axes of the tip's degrees of freedom.
TURNED = Rotation.from_euler("xyz", [0.3, -1.1, 2.0]).as_matrix()
#: A file in millimetres, tonnes and milliseconds.
UNITS = ("mm", "t", "ms")
#: The reduction goes through matrices whose entries span a factor 1e6 (bending and stretch).
ROUNDING = 1e-9


@cache
def by_hand() -> tuple[Array, Array, Array]:
    """Return mass and stiffness of the beam's ends and of its modes with both held, and the basis of these; SI units."""
    _, M, K = beam_model()
    n = len(M)
    ends = [*range(6), *range(n - 6, n)]
    inner = [k for k in range(n) if k not in ends]
    basis = np.zeros((n, 12 + MODES))
    basis[ends, range(12)] = 1.0
    basis[inner, :12] = -np.linalg.solve(K[np.ix_(inner, inner)], K[np.ix_(inner, ends)])
    basis[inner, 12:] = eigh(K[np.ix_(inner, inner)], M[np.ix_(inner, inner)], subset_by_index=[0, MODES - 1])[1]
    return basis.T @ M @ basis, basis.T @ K @ basis, basis


def in_file(matrix: Array, unit: float) -> Array:
    """Return a matrix as a program would write it: the tip in axes of its own, lengths in mm, `unit` of energy at rest."""
    amplitude = 1000 * np.sqrt(0.001)  # a mode of unit mass has one of a tonne and a square millimetre
    scale = np.concatenate([np.tile([1000.0] * 3 + [1.0] * 3, 2), np.full(MODES, amplitude)])
    axes = block_diag(np.eye(6), TURNED, TURNED, np.eye(MODES))
    return unit * (axes.T @ matrix @ axes) / np.outer(scale, scale)


def read(**changed: Any) -> tt.FlexibleBody:
    """Return the beam from its file: energies in t mm^2 / ms^2, kilojoules."""
    mass, stiffness, _ = by_hand()
    given: dict[str, Any] = {
        "mass": in_file(mass, 1e3),  # kg m^2 in t mm^2
        "stiffness": in_file(stiffness, 1e-3),
        "boundary": {7: [100.0, 0, 0], 9: tt.Pose([1100.0, 0, 0], TURNED)},
        "ports": {"C": 9},
        "parent": 7,
        "units": UNITS,
    }
    return tt.FlexibleBody.from_craig_bampton("beam", **given | changed)


class TestAxesAndUnits:
    def test_it_is_the_beam_of_the_same_elements(self) -> None:
        found, expected = read(), reduce_beam(modes=MODES)
        assert found.mass == pytest.approx(1.0, rel=ROUNDING)
        np.testing.assert_allclose(found.com, expected.com, atol=ROUNDING)
        np.testing.assert_allclose(found.inertia, expected.inertia, atol=ROUNDING)
        np.testing.assert_allclose(found.port_poses["C"].position, [1, 0, 0], atol=1e-15)
        assert found.coordinates == expected.coordinates
        assert found.units == expected.units
        np.testing.assert_allclose(found.matrices.stiffness[:6, :6], expected.matrices.stiffness[:6, :6], rtol=1e-9, atol=1e-4)
        np.testing.assert_allclose(found.participation[:6], expected.participation[:6], atol=ROUNDING)
        np.testing.assert_allclose(found.natural_frequencies, expected.natural_frequencies, rtol=1e-8)
        np.testing.assert_allclose(found.effective_mass.mass.sum(axis=0), expected.effective_mass.mass.sum(axis=0), atol=1e-8)

    def test_the_closed_form_beam_bends_the_same(self) -> None:
        found, expected = read(), unit_beam(modes=4, torsion_modes=1)
        compliance = [
            body.shapes["C"] @ np.linalg.solve(body.matrices.stiffness, body.shapes["C"].T) for body in (found, expected)
        ]
        np.testing.assert_allclose(*compliance, rtol=1e-7, atol=1e-9)
        # consistent masses of 60 elements are of fourth order; four modes a plane converge to 5e-6
        np.testing.assert_allclose(found.natural_frequencies[:4], expected.natural_frequencies[:4], rtol=1e-6)

    @pytest.mark.parametrize("parent", [7, 9])
    def test_the_system_is_that_of_the_assembled_elements(self, parent: int) -> None:
        """A free beam with a disc at each end: all frequencies of the reduction, by direct assembly of the matrices."""
        disc = np.diag([0.7, 0.7, 0.7, 0.2, 0.1, 0.1])
        mass, stiffness, _ = by_hand()
        whole = mass + block_diag(disc, disc, np.zeros((MODES, MODES)))
        expected = np.sqrt(eigh(stiffness, whole, eigvals_only=True)[6:])
        body = read(parent=parent, ports={"far": 16 - parent})
        s = tt.System("beam with discs", gravity=[0, 0, 0])
        discs = [tt.RigidBody(name, 0.7, inertia=[0.2, 0.1, 0.1]) for name in ("near", "end")]
        s.connect("world", discs[0], tt.Free("base"))
        s.connect(discs[0], body, tt.Weld("clamp"))
        s.connect(body.port("far"), discs[1], tt.Weld("tip"))
        model = s.resolve()
        squares = -np.linalg.eigvals(
            model.forward_dynamics_derivatives(model.neutral(), np.zeros(model.nv), np.zeros(model.nv))[0]
        )
        found = np.sqrt(np.sort(squares.real)[6:])
        np.testing.assert_allclose(found, expected, rtol=1e-8)  # squares that span a factor 1e5

    def test_one_grid_holds_the_body_without_redundancy(self) -> None:
        """Then nothing is left of the boundary's stiffness but rounding: the clamped beam's modes, moved by P."""
        _, M, K = beam_model()
        modes = eigh(K[6:, 6:], M[6:, 6:], subset_by_index=[0, 5])
        nodes = np.linspace(0, 1, ELEMENTS + 1)
        rigid = np.vstack([np.eye(6)] * len(nodes))
        rigid[1::6, 5], rigid[2::6, 4] = nodes, -nodes
        basis = np.hstack([rigid, np.vstack([np.zeros((6, 6)), modes[1]])])
        noise = 1e-10 * np.random.default_rng(0).normal(size=(12, 12))
        noise[6:, 6:] = 0.0
        stiffness = block_diag(np.zeros((6, 6)), np.diag(modes[0])) + noise + noise.T
        body = tt.FlexibleBody.from_craig_bampton("beam", basis.T @ M @ basis, stiffness, {1: [0, 0, 0]}, None, 1)
        np.testing.assert_allclose(body.natural_frequencies[:4], np.repeat([3.5160153, 22.0344916], 2), rtol=1e-5)
        assert body.ports == ()
        wrong = stiffness + block_diag(np.diag([0, 1e-3, 0, 0, 0, 0]), np.zeros((6, 6)))
        with pytest.raises(tt.ModelError) as refused:
            tt.FlexibleBody.from_craig_bampton("beam", basis.T @ M @ basis, wrong, {1: [0, 0, 0]}, None, 1)
        assert refused.value.code == "not-free"

    def test_other_grids_are_ports(self) -> None:
        body = read(ports=None)
        assert body.ports == ("grid9",)
        assert body.coordinates[0] == "grid9_x"

    def test_damping_of_the_file(self) -> None:
        """Damping proportional to stiffness: each mode has ``zeta = beta w / 2``."""
        _, stiffness, _ = by_hand()
        beta = 1e-4
        body = read(damping=in_file(beta * stiffness, 1.0), damping_ratios=0.01)  # kg m^2/s in t mm^2/ms
        np.testing.assert_allclose(body.natural_damping, 0.01 + beta * body.natural_frequencies / 2, rtol=1e-8)


class TestRecovery:
    def test_displacements_and_curvatures_of_inner_nodes(self) -> None:
        """Rows of the basis itself: node 20 of 60, in millimetres; a tip force bends the beam by a cubic."""
        _, _, basis = by_hand()
        node = 6 * (ELEMENTS // 3)
        scale = np.concatenate([np.tile([1000.0] * 3 + [1.0] * 3, 2), np.full(MODES, 1000 * np.sqrt(0.001))])
        axes = block_diag(np.eye(6), TURNED, TURNED, np.eye(MODES))
        rows = np.array([1000.0] * 3 + [1.0] * 3)[:, None] * (basis[node : node + 6] @ axes) / scale
        body = read(recovery={"node 20": rows})
        force = 1e-3
        q = np.linalg.solve(body.matrices.stiffness, body.shapes["C"].T @ [0, force, 0, 0, 0, 0])
        x = 1 / 3
        expected = [0, force * (x**2 / 2 - x**3 / 6), 0, 0, 0, force * (x - x**2 / 2)]  # of E I = length = 1
        np.testing.assert_allclose(body.recover("node 20", q), np.multiply(expected, [1000] * 3 + [1] * 3), atol=1e-9)
        np.testing.assert_allclose(body.recover("node 20", [q, 2 * q])[1], 2 * body.recover("node 20", q), rtol=1e-12)
        modes = body.in_natural_modes()
        eta = np.linalg.solve(modes.matrices.stiffness, modes.shapes["C"].T @ [0, force, 0, 0, 0, 0])
        np.testing.assert_allclose(modes.recover("node 20", eta), body.recover("node 20", q), atol=1e-9)

    def test_what_is_refused(self) -> None:
        body = read()
        with pytest.raises(tt.ModelError, match="stress") as refused:
            body.recover("stress", np.zeros(body.nv))
        assert refused.value.code == "unknown-recovery"
        body = read(recovery={"stress": np.zeros((2, 21))})
        with pytest.raises(tt.ModelError) as refused:
            body.recover("stress", np.zeros(3))
        assert (refused.value.code, refused.value.where) == ("wrong-shape", "beam.q")


class TestWhatDoesNotFit:
    @pytest.mark.parametrize(
        ("changed", "code", "where", "says"),
        [
            ({"boundary": {7: [100.0, 0, 0], 9: [1100.0, 0, 0]}}, "not-free", "stiffness", "most at grid"),
            ({"boundary": {7: [100.0, 0, 0], 9: tt.Pose([1200.0, 0, 0], TURNED)}}, "not-free", "stiffness", "rigid motion"),
            ({"boundary": {9: tt.Pose([1100.0, 0, 0], TURNED), 7: [100.0, 0, 0]}}, "not-free", "stiffness", "matrix order"),
            ({"damping": in_file(np.eye(12 + MODES), 1.0)}, "not-free", "damping", "rigid motion"),
            (
                {"mass": in_file(block_diag(np.diag([2.0, 1, 1, 1, 1, 1]), np.eye(6 + MODES)), 1.0)},
                "no-rigid-mass",
                "mass",
                "first moment",
            ),
            ({"mass": in_file(-by_hand()[0], 1.0)}, "negative-mass", "mass", "total mass"),
            ({"units": ("mm", "pound", "s")}, "bad-units", "units", "slinch"),
            ({"units": "mm kg s"}, "bad-units", "units", "mm"),
            ({"units": ("mm", 0.0, "s")}, "bad-units", "units", "mm"),
            ({"parent": 8}, "unknown-node", "parent", "7"),
            ({"ports": {"C": 7}}, "shared-node", "ports.C", "parent"),
            ({"ports": {"C": 9, "D": 9}}, "shared-node", "ports.D", "'C'"),
            ({"boundary": [1, 2]}, "wrong-type", "boundary", "mapping"),
            ({"ports": [9]}, "wrong-type", "ports", "mapping"),
            ({"stiffness": np.eye(8)}, "wrong-shape", "stiffness", "2 grids"),
            ({"recovery": np.zeros((2, 21))}, "wrong-type", "recovery", "mapping"),
            ({"recovery": {"stress": 3.0}}, "wrong-shape", "recovery.stress", "(1, 21)"),
            ({"parent": [7]}, "unknown-node", "parent", "7"),
            ({"mass": "heavy"}, "wrong-type", "mass", "21"),
            ({"recovery": {"stress": np.zeros((2, 3))}}, "wrong-shape", "recovery.stress", "(2, 21)"),
        ],
    )
    def test_is_refused_by_name(self, changed: dict[str, Any], code: str, where: str, says: str) -> None:
        with pytest.raises(tt.ModelError) as refused:
            read(**changed)
        assert (refused.value.code, refused.value.where) == (code, f"beam.{where}")
        assert says in str(refused.value)

    def test_modes_that_move_the_boundary_give_a_warning(self) -> None:
        """Free modes mixed into the modes with the ends held: the same body, in other coordinates than it says."""
        mass, stiffness, _ = by_hand()
        mixed = np.eye(12 + MODES)
        mixed[1, 14], mixed[7, 14] = 1.0, -1.0  # displacements of both ends along y: no rigid motion
        with pytest.warns(tt.ModelWarning, match="coupled-modes"):
            body = read(mass=in_file(mixed.T @ mass @ mixed, 1e3), stiffness=in_file(mixed.T @ stiffness @ mixed, 1e-3))
        assert body.mass == pytest.approx(1.0, rel=1e-9)
