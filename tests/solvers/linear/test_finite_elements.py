"""Finite-element parts: closed forms of beams, flexible bodies of titop, dense matrices; sparse and reduced."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.linalg import eigh

import titop as tt
from tests.refusals import refusal
from tests.solvers.linear.frames import EA, EIY, EIZ, GJ, LENGTH, LINE, POLAR, beam

#: Frequencies (rad/s) of the comparisons, below and above the first ones of a clamped beam (6.8 and 8.8).
OMEGA = np.array([0.5, 3.0, 20.0, 30.0])


def boom(elements: int = 12, **damping: Any) -> tt.FiniteElementPart:
    """Return a beam with ports at its root and its tip."""
    M, K = beam(elements)
    ports = {"R": range(6), "C": range(6 * elements, 6 * elements + 6)}
    return tt.FiniteElementPart("boom", M, K, ports, damping=damping["ratio"] * K if damping else None)


def clamped(part: Any, *outputs: str) -> Any:
    """Return a part clamped at its root, by a wrench at its tip."""
    return tt.connect_blocks(
        [part], [("world", "boom.R")], ["boom.C.W"], list(outputs) or ["boom.C.xi", "boom.C.dV", "boom.R.W"]
    )


def test_a_clamped_beam_answers_as_its_matrices_do() -> None:
    """Without the root's rows and columns, the dense dynamic stiffness is inverted; the root's wrench is what they leave."""
    part = boom(ratio=1e-3)
    found = clamped(part).frequency_response(OMEGA).frdata
    M, K = part.mass.toarray(), part.stiffness.toarray()
    for k, omega in enumerate(OMEGA):
        Z = K * (1 + 1e-3j * omega) - omega**2 * M
        inner = np.linalg.inv(Z[6:, 6:])[:, -6:]
        expected = np.vstack([inner[-6:], -(omega**2) * inner[-6:], Z[:6, 6:] @ inner])
        # conditions of stiffness matrices: 1e7
        assert np.abs(found[..., k] - expected).max() < 1e-9 * np.abs(expected).max()


def test_a_clamped_beam_has_its_closed_form() -> None:
    """At resonances responses turn their sign: at the zeros of ``1 + cos cosh``, at odd quarter waves of torsion."""
    axes = (
        (1, 1.8751040687119611**2 * np.sqrt(EIZ / LINE) / LENGTH**2),
        (2, 4.694091132974174**2 * np.sqrt(EIY / LINE) / LENGTH**2),
    )
    part = boom()
    for k, frequency in (*axes, (3, np.pi / 2 * np.sqrt(GJ / POLAR) / LENGTH)):
        system = tt.connect_blocks([part], [("world", "boom.R")], [f"boom.C.W[{k}]"], [f"boom.C.xi[{k}]"])
        # discretisation: (kl)^4 / 720 for bending, (kl)^2 / 24 for torsion: below 1e-3, above in frequency
        below, above = system.frequency_response([0.9999 * frequency, 1.001 * frequency]).frdata[0, 0].real
        assert below > 0 > above


@pytest.mark.parametrize("sparse", [True, False])
def test_a_boom_on_a_hub_is_that_of_a_flexible_body(sparse: bool) -> None:
    """A hub on a spring with a boom: linear models of blocks and finite elements, and of the whole with a `Beam`."""
    s = tt.System("craft", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 4.0, com=[0, 0.1, 0], inertia=[1, 2, 3], ports={"A": [0.2, 0.1, 0.3]})
    s.connect("world", hub, tt.Revolute("hinge", [1, 2, 2], stiffness=40.0, damping=0.1))
    turned = tt.Pose.from_rotation_vector([0, 0, 0], [0.3, 0.4, 1.0])
    alone = s.resolve()
    blocks = [tt.block_system(alone, alone.neutral(), name) for name in ("hinge", "hub")]
    part = boom()
    blocks.append(part if sparse else part.reduce(30))
    connections = [("hinge.C", "hub.P"), ("hub.A", "boom.R", turned)]
    joined = tt.connect_blocks(blocks, connections, ["hinge.tau"], ["hinge.q", "hinge.a", "boom.C.dV"])
    area, shear = 1e-3, 1e6
    section = {"iy": EIY * area / EA, "iz": EIZ * area / EA, "torsion_constant": GJ / shear, "young": EA / area}
    assert LINE / area * (section["iy"] + section["iz"]) == pytest.approx(POLAR)
    modes = {"modes": 8, "torsion_modes": 6, "axial_modes": 6}
    flexible = tt.Beam("boom", LENGTH, LINE / area, area, shear_modulus=shear, **section, **modes)
    s.connect(hub.port("A"), flexible, tt.Weld("root"), placement=turned)
    whole = tt.linearize(s.resolve(), s.resolve().neutral(), ["hinge"], ["hinge.q", "hinge.a", "boom.C.dv", "boom.C.dw"])
    found = joined.frequency_response(OMEGA).frdata
    expected = whole(1j * OMEGA)
    assert np.abs(found - expected).max() < 2e-3 * np.abs(expected).max()
    assert joined.frequency_response(OMEGA).output_labels[:3] == ["hinge_q", "hinge_a", "boom_C_dV[0]"]


def test_sparse_is_dense() -> None:
    """The same equations by states of all modes; rounding is that of the largest eigenvalue beside the squared frequency."""
    part = boom(3, ratio=1e-3)
    sparse, dense = clamped(part), clamped(part.reduce())
    assert dense.nstates == 2 * 18
    found, expected = sparse.frequency_response(OMEGA).frdata, dense(1j * OMEGA)
    assert np.abs(found - expected).max() < 1e-8 * np.abs(expected).max()
    squares = eigh(part.stiffness.toarray()[6:, 6:], part.mass.toarray()[6:, 6:], eigvals_only=True)
    assert np.sort(np.abs(dense.poles()) ** 2)[::2] == pytest.approx(squares, rel=1e-6)


def test_few_modes_answer_as_all_do() -> None:
    """Exact at rest, good below half the last mode, not above it."""
    part = boom(20, ratio=1e-4)
    few = clamped(part.reduce(10))
    assert few.nstates == 2 * (10 + 6)  # six attachment modes at two ports, beside rigid motions
    full, omega = clamped(part), np.array([0.05, 20.0, 3000.0])
    found, expected = few(1j * omega), full.frequency_response(omega).frdata
    error = np.abs(found - expected).max(axis=(0, 1)) / np.abs(expected).max(axis=(0, 1))
    assert error[0] < 1e-8
    assert error[1] < 1e-4
    assert error[2] > 1e-3


def test_ports_may_turn_and_average() -> None:
    """A node's axes, once right-handed, once left-handed; two nodes that move together as their mean."""
    M, K = beam(2)
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    mirror = np.diag([1.0, 1.0, -1.0])
    both = np.zeros((18, 6))
    both[range(6, 12), range(6)], both[range(12, 18), range(6)] = 0.5, 0.5
    ports = {
        "R": range(6),
        "C": range(12, 18),
        "T": (range(12, 18), turn),
        "M": (range(12, 18), mirror),
        "B": both,
        "N": range(6, 12),
    }
    part = tt.FiniteElementPart("boom", M, K, ports)
    seen = [f"boom.{port}.xi" for port in "CTMBN"]
    C, T, mirrored, B, N = clamped(part, *seen).frequency_response([3.0]).frdata[..., 0].reshape(5, 6, 6)
    assert np.abs(T - np.kron(np.eye(2), turn.T) @ C).max() < 1e-14
    assert np.abs(mirrored - np.diag([1, 1, -1, -1, -1, 1]) @ C).max() < 1e-14  # of an axial vector the mirrored axis stays
    assert np.abs(B - (C + N) / 2).max() < 1e-14
    assert np.abs(C - N).max() > 1e-3


def test_what_is_refused() -> None:
    M, K = beam(2)
    with refusal("bad-shape", "boom.stiffness"):
        tt.FiniteElementPart("boom", M, K[:6, :6], {"C": range(6)})
    with refusal("not-symmetric", "boom.mass"):
        tt.FiniteElementPart("boom", M + np.triu(np.ones((18, 18)), 1), K, {"C": range(6)})
    with refusal("not-finite", "boom.damping"):
        tt.FiniteElementPart("boom", M, K, {"C": range(6)}, damping=np.full((18, 18), np.nan))
    with refusal("wrong-type", "boom.damping"):
        tt.FiniteElementPart("boom", M, K, {"C": range(6)}, damping=1j * K)
    with refusal("bad-index", "0 to 17"):
        tt.FiniteElementPart("boom", M, K, {"C": range(13, 19)})
    with refusal("bad-shape", "boom.ports['C']"):
        tt.FiniteElementPart("boom", M, K, {"C": range(5)})
    with refusal("no-motion", "direction 5"):
        tt.FiniteElementPart("boom", M, K, {"C": np.eye(18, 6) * [1, 1, 1, 1, 1, 0]})
    with refusal("not-orthogonal", "boom.ports['C']"):
        tt.FiniteElementPart("boom", M, K, {"C": (range(6), 2 * np.eye(3))})
    with refusal("no-port", "boom.ports"):
        tt.FiniteElementPart("boom", M, K, {})
    with refusal("bad-count", "modes"):
        boom().reduce(0)
    with refusal("wrong-type", "omega"):
        clamped(boom()).frequency_response([0.0])
    with refusal("unknown-signal", "boom.C.xy"):
        clamped(boom(), "boom.C.xy")


def test_coordinates_without_mass() -> None:
    """As of lumped masses: modes reduce them, to the response of the matrices; all coordinates are refused by name."""
    M, K = beam(12)
    n = M.shape[0]
    lumped = np.diag(M.diagonal() * np.where(np.arange(n) % 6 < 4, 1.0, 0.0))
    part = tt.FiniteElementPart("boom", lumped, K, {"R": range(6), "C": range(n - 6, n)})
    few, P = part.reduce(modes=20), part.loads.toarray()
    expected = P.T @ np.linalg.solve(K.toarray() - OMEGA[1] ** 2 * lumped, P)
    assert np.abs(few(1j * OMEGA[1])[:12] - expected).max() < 1e-6 * np.abs(expected).max()  # conditions of stiffness matrices
    with refusal("no-mass", "boom.mass"):
        part.reduce()
    for size, modes in ((0.0, 3), (0.0, None), (-1.0, None)):
        with refusal("no-mass", "boom.mass"):
            tt.FiniteElementPart("boom", size * np.eye(8), np.eye(8), {"C": range(6)}).reduce(modes)


def test_a_part_without_stiffness_is_reduced() -> None:
    part = tt.FiniteElementPart("block", 2.0 * np.eye(8), np.zeros((8, 8)), {"C": range(6)})
    assert part.reduce(modes=2)(3j)[:6] == pytest.approx(np.eye(6) / (2.0 * (3j) ** 2))


def test_a_node_held_twice_is_refused_by_its_frequency() -> None:
    part = boom(2)
    system = tt.connect_blocks([part], [("world", "boom.R"), ("world", "boom.R")], ["boom.C.W[0]"], ["boom.C.xi[0]"])
    with refusal("singular-loop", "3 rad/s"):
        system.frequency_response([3.0])
