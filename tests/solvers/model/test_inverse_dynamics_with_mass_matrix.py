"""Inverse dynamics with the mass matrix: what both are apart, whatever the blocks; one look at each block; bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.blocks.bodies.rods.manipulator import manipulator
from tests.blocks.interactions.test_soft_line import pulled
from tests.closed_systems import accelerating, four_bar, geared_hand, random_closed_tree
from tests.mixed_trees import mixed_tree, moderate_state
from tests.refusals import ENGINES
from tests.solvers.engines.compiled.soft_systems import Soft, soft_system
from tests.systems import random_tree

Array = NDArray[np.float64]

SYSTEMS: dict[str, Callable[[], tt.System]] = {
    "rigid": lambda: random_tree(np.random.default_rng(2), 12, passive=True),
    "all kinds": lambda: mixed_tree(np.random.default_rng(1), 7),
    "in Python": soft_system,
    "deformable": pulled,
}
#: Both take the same sums in another order: a hundred terms, of which some cancel.
SAME = 1e-12


def assert_same(found: Any, expected: Any, tolerance: float = SAME) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def columns(m: tt.Model, q: Array) -> Array:
    """Return the efforts of inertia at unit accelerations from rest, in columns."""
    still = np.zeros(m.nv)
    return np.array([m.inertial_inverse_dynamics(q, still, unit) for unit in np.eye(m.nv)]).T


def state(m: tt.Model, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return a state; bodies of 0.2 m are not stretched by more than some centimetres."""
    parts = moderate_state(m, np.random.default_rng(seed))
    if all(name.split(".")[-1] in ("bending", "elongation") for name in m.coordinate_names):
        return tuple(part * np.tile([1.0, 0.1], m.nv // 2) for part in parts)  # type: ignore[return-value]
    return parts


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", SYSTEMS)
def test_both_are_what_they_are_apart(name: str, engine: str) -> None:
    """Efforts beside wrenches and inputs, the matrix, and its columns as inverse dynamics give them (key P, appendix A.6)."""
    m = SYSTEMS[name]().resolve(engine)
    q, v, a = state(m)
    rng = np.random.default_rng(5)
    acting = {"wrenches": {m.port_names[-1]: rng.normal(size=6)}, "u": rng.uniform(0, 1, m.nu)}
    tau, mass = m.mass_inverse_dynamics(q, v, a, **acting)
    assert_same(tau, m.inverse_dynamics(q, v, a, **acting))
    assert_same(mass, m.mass_matrix(q))
    if engine == "compiled":  # the reference's mass matrix is these columns
        assert_same(mass, columns(m, q))
    for found, expected in zip(m.mass_inverse_dynamics(q, v, a), (m.inverse_dynamics(q, v, a), mass), strict=True):
        assert_same(found, expected)
    inertial, mass = m.mass_inertial_inverse_dynamics(q, v, a)
    assert_same(inertial, m.inertial_inverse_dynamics(q, v, a))
    assert_same(mass, m.mass_matrix(q))
    assert np.abs(inertial - tau).max() > 1e-3 * np.abs(tau).max()


@pytest.mark.parametrize("name", SYSTEMS)
def test_engines_agree(name: str) -> None:
    models = [SYSTEMS[name]().resolve(engine) for engine in ENGINES]
    q, v, a = state(models[0], 1)
    for method in ("mass_inverse_dynamics", "mass_inertial_inverse_dynamics"):
        (tau, mass), (other_tau, other_mass) = (getattr(m, method)(q, v, a) for m in models)
        # deformable bodies sum over some hundred points, of forces a hundred times the efforts
        assert_same(tau, other_tau, 1e-10)
        assert_same(mass, other_mass, 1e-11)


def test_a_displaced_or_moving_body_is_noticed() -> None:
    """The negative control: columns at a configuration a little farther, or at a velocity, are others."""
    m = SYSTEMS["all kinds"]().resolve()
    q, v, a = state(m)
    _, mass = m.mass_inverse_dynamics(q, v, a)
    moving = np.array([m.inertial_inverse_dynamics(q, v, unit) for unit in np.eye(m.nv)]).T
    for wrong in (columns(m, m.integrate(q, 1e-6 * v)), moving):
        with pytest.raises(AssertionError):
            assert_same(mass, wrong)


def test_forward_dynamics_from_efforts_at_no_acceleration_and_the_matrix() -> None:
    """``a = M^-1 (tau - c)``, as key P (section 5.1) solves forward dynamics."""
    s = tt.System("rod", gravity=[0, 0, -9.81])
    s.connect("world", manipulator(), tt.Weld("clamp"))
    m = s.resolve()
    q, v, tau = state(m)
    held, mass = m.mass_inverse_dynamics(q, v, np.zeros(m.nv))
    accelerations = m.forward_dynamics(q, v, tau)
    # the matrix of a rod is as ill-conditioned as its coordinates are many
    tolerance = 1e-15 * np.linalg.cond(mass)
    assert tolerance < 1e-6
    assert_same(np.linalg.solve(mass, tau - held), accelerations, tolerance)


def closed_case(name: str) -> tuple[tt.System, Array | None, list[str] | None]:
    """Return a system with constraints, a configuration, and coordinates to actuate."""
    if name == "random":
        return *random_closed_tree(np.random.default_rng(4), 6), None
    return (four_bar(), None, ["q1"]) if name == "four-bar" else (geared_hand(), None, None)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", ["four-bar", "gears", "random"])
def test_with_loops_and_gears(name: str, engine: str) -> None:
    """Efforts are shared as inverse dynamics share them, on some coordinates or all; the matrix is that of the tree."""
    s, q, actuated = closed_case(name)
    m, rng = s.resolve(engine), np.random.default_rng(0)
    q = m.assemble(m.random_configuration(rng)) if q is None else q
    v, a, _ = accelerating(m, q, rng)
    u = rng.normal(size=m.nu) if m.nu else None
    for names in (None, actuated):
        tau, mass = m.mass_inverse_dynamics(q, v, a, u=u, actuated=names)
        assert_same(tau, m.inverse_dynamics(q, v, a, u=u, actuated=names), 1e-11)
        assert_same(mass, m.mass_matrix(q))
    inertial, mass = m.mass_inertial_inverse_dynamics(q, v, a)
    assert_same(inertial, m.inertial_inverse_dynamics(q, v, a))
    assert_same(mass, columns(m, q))
    with pytest.raises(tt.ModelError, match=r"closures|loops|open"):
        m.mass_inverse_dynamics(q, v, a + np.arange(1.0, m.nv + 1))


def test_every_block_is_asked_for_its_law_once() -> None:
    """A block in Python counts how often it is asked for its inertia: once for both, twice for one after the other."""
    asked = 0

    class Counted(Soft):
        def mass_matrix(self, q: Array) -> Array:
            nonlocal asked
            asked += 1
            return super().mass_matrix(q)

    s = tt.System("counted", gravity=[0, 0, -9.81])
    s.connect("world", Counted("soft", 1), tt.Revolute("hinge"))
    m = s.resolve()
    q, v, a = state(m)
    counts = []
    for call in (lambda: m.mass_inverse_dynamics(q, v, a), lambda: (m.inverse_dynamics(q, v, a), m.mass_matrix(q))):
        call()
        asked = 0
        call()
        counts.append(asked)
    assert 0 < 2 * counts[0] == counts[1]


@pytest.mark.parametrize("engine", ENGINES)
def test_stacked_and_listed_states_and_places_for_results(engine: str) -> None:
    m = soft_system().resolve(engine)
    states = [state(m, seed) for seed in range(3)]
    stacked = tuple(np.array(part) for part in zip(*states, strict=True))
    pushes = np.random.default_rng(0).normal(size=(3, 6))
    for method, loads in (("mass_inverse_dynamics", {"wrenches": {"soft": pushes}}), ("mass_inertial_inverse_dynamics", {})):
        f: Any = getattr(m, method)
        out = np.empty((3, m.nv)), np.empty((3, m.nv, m.nv))
        assert f(*stacked, **loads, out=out) == out
        for k, each in enumerate(states):
            own: dict[str, Any] = {"wrenches": {"soft": pushes[k]}} if loads else {}
            for found, expected in zip(f(*(x.tolist() for x in each), **own), (out[0][k], out[1][k]), strict=True):
                np.testing.assert_allclose(found, expected, rtol=0, atol=1e-13 * np.abs(expected).max())
        tau, mass = np.empty(m.nv), np.empty((m.nv, m.nv))
        assert f(*states[0], out=(tau, mass)) == (tau, mass)
        np.testing.assert_array_equal(mass, f(*states[0])[1])
        with pytest.raises(tt.ModelError, match="out"):
            f(*states[0], out=(tau, np.empty(m.nv)))
        with pytest.raises(tt.ModelError, match=r"out: .*share memory.*overlapping-out"):
            f(*states[0], out=(mass[0], mass))
        room = np.empty((m.nv, m.nv + 1))
        for found, expected in zip(f(*states[0], out=(room[:, 0], room[:, 1:])), (tau, mass), strict=True):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("engine", ENGINES)
def test_bad_states_are_refused(engine: str) -> None:
    m = SYSTEMS["rigid"]().resolve(engine)
    q, v, a = state(m)
    for method in (m.mass_inverse_dynamics, m.mass_inertial_inverse_dynamics):
        for bad in ((q, v, a[:-1]), (q, v * np.nan, a), (q * 2.0, v, a), (np.stack([q, q]), v, a)):
            with pytest.raises(tt.ModelError):
                method(*bad)  # type: ignore[operator]
    with pytest.raises(tt.ModelError, match="unknown"):
        m.mass_inverse_dynamics(q, v, a, wrenches={"nobody": np.zeros(6)})


def test_complex_steps_through_the_reference() -> None:
    """Derivatives of the matrix by a coordinate, against differences; the compiled engine refuses complex numbers."""
    m = pulled().resolve("reference")
    q, v, a = state(m)
    step, unit = 1e-6, np.eye(m.nq)[0]
    _, stepped = m.mass_inverse_dynamics(q + 1e-30j * unit, v, a)
    ahead, behind = (m.mass_matrix(q + s * step * unit) for s in (1.0, -1.0))
    assert_same(np.imag(stepped) / 1e-30, (ahead - behind) / (2 * step), 1e-8)  # differences of second order
    with pytest.raises(tt.ModelError, match="complex"):
        pulled().resolve().mass_inverse_dynamics(q + 0j, v, a)
