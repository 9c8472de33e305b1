"""What elimination loses to rounding: the error is a bound of what is measured against exact arithmetic, and warns by name."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.refusals import ENGINES
from tests.systems import random_body, random_pose, random_state, random_tree

pytestmark = pytest.mark.portable

Array = NDArray[np.float64]


def growing_chain(axes: Array, com: float = 0.5, inertia: Any = (0.001, 0.08, 0.08)) -> tt.System:
    """Return a chain of links of 1 m whose masses grow outwards from 1e-9 to 1e9 kg."""
    s, parent = tt.System("growing"), "world"
    for k, mass in enumerate(np.logspace(-9, 9, len(axes))):
        link = tt.RigidBody(f"b{k}", mass, [com, 0, 0], mass * np.array(inertia), ports={"tip": [1, 0, 0]})
        s.connect(parent, link, tt.Revolute(f"j{k}", axis=axes[k]))
        parent = link.port("tip")
    return s


def scattered_tree(rng: np.random.Generator, bodies: int, decades: float) -> tt.System:
    """Return a tree of hinges and rails whose bodies' masses grow outwards, by and large, over so many decades."""
    s, tree = tt.System("scattered", gravity=rng.uniform(-10, 10, 3)), []
    for k in range(bodies):
        body, factor = random_body(rng, f"b{k}"), 10 ** (decades * (k + rng.uniform(-1, 1)) / bodies - decades / 2)
        body.mass, body.inertia = factor * body.mass, factor * body.inertia
        kind = (tt.Revolute, tt.Revolute, tt.Prismatic)[rng.integers(3)]
        parent = tree[max(0, k - 1 - int(rng.integers(2)))].port("A") if tree else "world"
        s.connect(parent, body, kind(f"j{k}", axis=rng.normal(size=3)), random_pose(rng))
        tree.append(body)
    return s


class Exact:
    """Mass matrix and accelerations at rest of a tree of hinges and rails with 60 digits, from Jacobians of the bodies."""

    def __init__(self, m: tt.Model, q: Array, tau: Array) -> None:
        with mpmath.workdps(60):
            nothing = mpmath.matrix(3, 1)
            places: dict[str, Any] = {"world": (mpmath.eye(3), nothing, {})}
            self.M, efforts = mpmath.matrix(m.nv, m.nv), mpmath.matrix(list(tau))
            for k, c in enumerate(m.mechanism.assembly.connections):
                rotation, position, axes = places[c.parent.block.name]
                port: Any = c.parent.block
                for turn, moved in (port.pose(c.parent.name), (c.placement.rotation, c.placement.position)):
                    position = position + rotation * mpmath.matrix(moved.tolist())
                    rotation = rotation * mpmath.matrix(turn.tolist())
                joint: Any = c.joint
                axis = mpmath.matrix(joint.axis.tolist())
                axis = axis / mpmath.norm(axis)
                x, turns = mpmath.mpf(float(q[k])), isinstance(joint, tt.Revolute)
                axes = {**axes, k: (rotation * axis, None if not turns else position)}
                if turns:
                    skew = mpmath.matrix([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
                    rotation = rotation * (mpmath.eye(3) + mpmath.sin(x) * skew + (1 - mpmath.cos(x)) * skew * skew)
                else:
                    position = position + rotation * axis * x
                body: Any = c.child.block
                places[body.name] = rotation, position, axes
                self._add(body, *places[body.name], m.gravity, efforts)
            self.a = np.array([float(x) for x in mpmath.lu_solve(self.M, efforts)])
            self.M = np.array(self.M.tolist(), dtype=float)

    def _add(self, body: Any, rotation: Any, position: Any, axes: Any, gravity: Array, efforts: Any) -> None:
        """Add a body's inertia to the mass matrix, and its weight to the efforts."""
        center = position + rotation * mpmath.matrix(body.com.tolist())
        inertia = rotation * mpmath.matrix(body.inertia.tolist()) * rotation.T
        columns = {}
        for k, (axis, at) in axes.items():
            if at is None:
                columns[k] = axis, mpmath.matrix(3, 1)
            else:
                x, y = axis, center - at
                cross = [x[1] * y[2] - x[2] * y[1], x[2] * y[0] - x[0] * y[2], x[0] * y[1] - x[1] * y[0]]
                columns[k] = mpmath.matrix(cross), axis
        for i, (linear, angular) in columns.items():
            efforts[i] += body.mass * (linear.T * mpmath.matrix(gravity.tolist()))[0]
            for j, (other, turning) in columns.items():
                self.M[i, j] += body.mass * (linear.T * other)[0] + (angular.T * (inertia * turning))[0]


def measured(m: tt.Model, q: Array, tau: Array) -> tuple[float, float]:
    """Return the error of forward dynamics, sizes measured by kinetic energy, and of the way there and back."""
    exact, a = Exact(m, q, tau), m.forward_dynamics(q, np.zeros(m.nv), tau)
    energies = [np.abs(x @ exact.M @ x) for x in (a - exact.a, exact.a)]
    back = np.abs(m.inverse_dynamics(q, np.zeros(m.nv), a) - tau)
    return np.sqrt(energies[0] / energies[1]), (back / (np.abs(exact.M) @ np.abs(a))).max()


AXES = {
    "in a plane": np.tile([0.0, 0.0, 1.0], (12, 1)),
    "by turns": np.tile([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]], (6, 1)),
    "anywhere": np.random.default_rng(3).normal(size=(12, 3)),
}


def resolved(s: tt.System, engine: str) -> tuple[tt.Model, list[str]]:
    """Return the model of a system, and the warnings of bad conditioning."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        m = s.resolve(engine)
    return m, [str(each.message) for each in caught if "ill-conditioned" in str(each.message)]


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("engine", ENGINES)
class TestMassesThatGrowOutwards:
    """From 1e-9 to 1e9 kg along twelve links."""

    def test_a_warning_names_the_joint(self, engine: str, axes: str) -> None:
        m, said = resolved(growing_chain(AXES[axes]), engine)
        (warning,) = said
        worst = min((m.conditioning(q) for q in m.mechanism.probes), key=lambda each: each.ratios.min())
        assert warning.startswith(f"{worst.coordinate}: got an inertia whose relative error may be ")
        assert worst.ratios[m.coordinate_names.index(worst.coordinate)] == worst.ratios.min()

    def test_the_error_is_bounded(self, engine: str, axes: str) -> None:
        """By ten times what is found, so that no order of summation exceeds it.

        In a plane pivots lose some 1e-14 only: what is lost there is that accelerations of light links are rounded on their way
        to heavy ones. Without the spreads the bound is exceeded up to four times, whatever the processor.
        """
        m, _ = resolved(growing_chain(AXES[axes]), engine)
        rng = np.random.default_rng(1)
        parts = []
        for q in rng.uniform(-3, 3, (8, 12)):
            error, found, pivots = (
                max(measured(m, q, rng.normal(size=12))),
                m.conditioning(q),
                m.mechanism.engine.dynamics.pivots(q),
            )
            assert 10 * error <= found.error
            of_pivots, of_motion = (1 / pivots.ratios).sum(), pivots.spreads.sum()
            parts.append(error / found.error * (of_pivots + of_motion) / of_pivots)
        assert (max(parts) > 0.1) == (axes == "in a plane")  # the control: pivots alone would not do

    def test_within_rounding_it_moves(self, engine: str, axes: str) -> None:
        """Nothing is refused: the lightest link keeps inertia although it carries 1e19 times as much."""
        m, _ = resolved(growing_chain(AXES[axes]), engine)
        q = np.random.default_rng(1).uniform(-3, 3, 12)
        assert Exact(m, q, np.ones(12)).M[0, 0] > 1e17 * m.mechanism.assembly.connections[0].child.block.mass
        assert max(measured(m, q, np.ones(12))) < 1e-6  # ten digits are lost where axes stand anywhere


def test_the_compiled_engine_loses_digits_where_its_frames_are_turned() -> None:
    """The control: links along x, held by oblique axes. The bound says so of this engine alone, and is needed.

    What rounding does is the largest of some efforts: of one alone it may happen to be little.
    """
    errors, bounds, efforts = [], [], np.random.default_rng(0).normal(size=(8, 12))
    for engine in ENGINES:
        m, _ = resolved(growing_chain(AXES["anywhere"]), engine)
        errors.append(max(measured(m, np.zeros(12), tau)[0] for tau in efforts))
        bounds.append(m.conditioning(np.zeros(12)).error)
    assert errors[0] > 1e2 * errors[1]
    assert bounds[0] > 1e2 * bounds[1]
    assert all(error <= bound for error, bound in zip(errors, bounds, strict=True))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("seed", [0, 50, 169, 186, 217, 243])
def test_the_error_of_random_trees_is_bounded(engine: str, seed: int) -> None:
    """Of hinges and rails, well and ill conditioned: bounds from 1e-14 to 1e-6, by ten times what is found."""
    rng = np.random.default_rng(seed)
    m, _ = resolved(scattered_tree(rng, int(rng.integers(2, 10)), float(rng.uniform(0, 20))), engine)
    for _ in range(2):
        q, tau = m.random_configuration(rng), rng.normal(size=m.nv)
        assert 10 * max(measured(m, q, tau)) <= m.conditioning(q).error


@pytest.mark.parametrize("engine", ENGINES)
def test_what_accelerations_are_rounded_by_follows_from_the_mass_matrix(engine: str) -> None:
    """Roots of what coordinates carry, times the diagonal of its inverse; what they carry is bounded by all axes together."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        m = random_tree(rng, 6).resolve(engine)
        q = random_state(m, rng)[0]
        pivots, matrix = m.mechanism.engine.dynamics.pivots(q), m.mass_matrix(q)
        parts = pivots.spreads / np.sqrt(matrix.diagonal() * np.linalg.inv(matrix).diagonal())
        assert parts.min() > 1 - 1e-10  # conditions up to 1e4 of rounding
        assert parts.max() < 6
        assert pivots.spreads.min() > 1 - 1e-10


@pytest.mark.parametrize("engine", ENGINES)
def test_ordinary_trees_keep_all_digits_and_give_no_warning(engine: str) -> None:
    """Every kind of joint; three digits of sixteen are the most that these lose."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        m, said = resolved(random_tree(rng, 6, passive=bool(seed % 2)), engine)
        found = m.conditioning(random_state(m, rng)[0])
        assert not said
        assert found.ratios.shape == (m.nv,)
        assert found.ratios.min() > 1e-3
        assert found.error < 1e-10


def test_long_chains_of_like_bodies_give_no_warning() -> None:
    """Two hundred links: the outer ones have 1e6 times the inertia about the first joint that the first has.

    Pivots lose two digits. Accelerations are rounded on their way to the tip too, where each costs a thousand roundings.
    """
    s, parent = tt.System("long"), "world"
    for k, x in enumerate(np.linspace(0, 1, 200)):
        link = tt.RigidBody(f"b{k}", 1.0, [0.5, 0, 0], [0.001, 0.08, 0.08], ports={"tip": [1, 0, 0]})
        s.connect(parent, link, tt.Revolute(f"j{k}", axis=[np.sin(9 * x), 0.2, np.cos(9 * x)]))
        parent = link.port("tip")
    m, said = resolved(s, "compiled")
    assert not said
    found = m.conditioning(m.neutral())
    assert found.ratios.min() > 1e-3
    assert found.error < 1e-8


@pytest.mark.parametrize("engine", ENGINES)
def test_a_model_without_coordinates_loses_nothing(engine: str) -> None:
    s = tt.System("welded")
    s.connect("world", tt.RigidBody("b", 1.0), tt.Weld("glue"))
    found = s.resolve(engine).conditioning([])
    assert (found.ratios.shape, found.error, found.coordinate) == ((0,), 0.0, "")


def _exponents(unit: str) -> Array:
    """Return the powers of length, mass and time in a unit."""
    base = {"m": (1, 0, 0), "kg": (0, 1, 0), "s": (0, 0, 1), "N": (1, 1, -2), "rad": (0, 0, 0), "1": (0, 0, 0)}
    total = np.zeros(3)
    for sign, part in zip((1, -1, -1), unit.split("/"), strict=False):
        for factor in part.split():
            name, _, power = factor.partition("^")
            total += sign * int(power or 1) * np.array(base[name])
    return total


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "units", list(itertools.product([2.0**-20, 2.0**20], [2.0**-50, 2.0**20], [2.0**-10, 2.0**10])), ids=str
)
def test_dynamics_do_not_depend_on_the_units(engine: str, units: tuple[float, float, float]) -> None:
    """From micrometres and 1e-15 kg on: powers of two, so that only pivots of LAPACK, chosen by size, change the order of sums.

    Each order is within the bound of rounding, in the root of kinetic energy; so they are of each other by twice that.
    """
    size = lambda unit: float(np.prod(np.array(units) ** _exponents(unit)))  # noqa: E731
    for seed in (1, 2):
        rng = np.random.default_rng(seed)
        m = random_tree(rng, 5, passive=True, loads=True).resolve(engine)
        q, v, _, tau = random_state(m, rng)
        scaled = m.with_parameters({name: value * size(unit) for name, (value, unit) in m.parameters().items()})
        lengths = np.array([size(unit) for unit in m.mechanism.assembly.coordinate_units])
        places = np.array(
            [size(unit) for block in m.mechanism.assembly.blocks_with_coordinates for unit in block.configuration_units]
        )
        effort = size("N m") / lengths
        rates, speedings = lengths / size("s"), lengths / size("s^2")
        found = scaled.forward_dynamics(q * places, v * rates, tau * effort)
        plain = m.forward_dynamics(q, v, tau)
        apart, matrix = found / speedings - plain, m.mass_matrix(q)
        assert apart @ matrix @ apart <= (2 * m.conditioning(q).error) ** 2 * (plain @ matrix @ plain)
        np.testing.assert_allclose(scaled.conditioning(q * places).ratios, m.conditioning(q).ratios, rtol=1e-10)
        if engine == "compiled":
            for one, other, scale in zip(
                scaled.forward_dynamics_derivatives(q * places, v * rates, tau * effort),
                m.forward_dynamics_derivatives(q, v, tau),
                (lengths, rates, effort),
                strict=True,
            ):
                np.testing.assert_allclose(
                    one * scale / speedings[:, None], other, rtol=1e-11, atol=1e-12 * np.abs(other).max()
                )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("length", [1e-9, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("mass", [1e-15, 1.0, 1e9])
def test_what_moves_nothing_is_refused_in_all_units(engine: str, length: float, mass: float) -> None:
    """Two parallel hinges at one place, and a point mass on a slanted axis that stands away from the body's frame."""
    s = tt.System("parallel")
    ring = tt.RigidBody("ring", 0.0)
    s.connect("world", ring, tt.Revolute("outer", axis=[1, 2, 3]))
    arm = tt.RigidBody("arm", mass, [0, length, 0], mass * length**2)
    s.connect(ring, arm, tt.Revolute("inner", axis=[1, 2, 3]))
    with pytest.raises(tt.ModelError, match=r"(outer|inner): .*massless-joint"):
        s.resolve(engine)
    s = tt.System("point")
    com = length * np.array([0.3, 0.1, 0.2])
    bead = tt.RigidBody("bead", mass, com, ports={"at": length * np.array([0.1, 0.3, 0.7]) + com})
    axis = [0.1, 0.3, 0.7]
    s.connect("world", bead.port("at"), tt.Revolute("loose", axis=axis))
    with pytest.raises(tt.ModelError, match=r"loose: .*massless-joint"):
        s.resolve(engine)


class TestOwnCoordinates:
    """Of rods: high orders of a basis nearly add up to each other where a section vanishes at the tip."""

    def rod(self, order: int) -> tt.System:
        s = tt.System("fine", gravity=[0, 0, 0])
        rod = tt.Rod("whip", 1.0, tt.Section.circle((0.01, 0.001)), 1e6, 1000.0, strains={"bending_z": order}, points=order + 2)
        s.connect("world", rod, tt.Weld("clamp"))
        return s

    @pytest.mark.parametrize("engine", ENGINES)
    def test_the_coordinate_and_a_lower_order_are_named(self, engine: str) -> None:
        (warning,) = resolved(self.rod(14), engine)[1]
        assert warning.startswith("whip.bending_z")
        assert "coordinates of 'whip'" in warning
        assert "a lower order of its basis" in warning
        assert "chain of joints" not in warning

    def test_what_it_advises_helps(self) -> None:
        assert resolved(self.rod(3), "reference")[1] == []


def test_stacked_configurations_are_told_one_by_one() -> None:
    rng = np.random.default_rng(3)
    model = random_tree(rng, 5).resolve()
    q = np.array([model.random_configuration(rng) for _ in range(3)])
    stacked, alone = model.conditioning(q), [model.conditioning(row) for row in q]
    np.testing.assert_array_equal(stacked.ratios, [each.ratios for each in alone])
    np.testing.assert_array_equal(stacked.error, [each.error for each in alone])
    assert list(stacked.coordinate) == [each.coordinate for each in alone]
    np.testing.assert_array_equal(model.configuration_derivatives(q), [model.configuration_derivatives(row) for row in q])
