"""Statics under large loads: bends, columns and trusses against closed forms, and what is said where equilibria end."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.special import ellipe, ellipk

import titop as tt
from tests.blocks.bodies.rods.rod_systems import SECTION, YOUNG, clamped
from tests.closed_systems import stewart
from tests.example_scripts import script
from titop.blocks.basics.spatial import Array
from titop.solvers.equilibrium import trim as trimming
from titop.solvers.equilibrium.equations import stands
from titop.solvers.equilibrium.settling import with_part_of_loads

#: Of a clamped column with E I = length = 1.
BUCKLING = np.pi**2 / 4


def bend(order: int) -> tuple[tt.Model, tt.Rod]:
    """Return the bend of Bathe and Bolourchi under its whole load; see `test_rod_statics`."""
    radius = 100.0
    rod = tt.Rod(
        "bend",
        radius * np.pi / 4,
        tt.Section.rectangle(1.0, 1.0),
        1e7,
        1000.0,
        poisson=0.0,
        strains="timoshenko",
        basis=order,
        points=order + 3,
        reference_strain=[0.0, 0.0, 1 / radius, 1.0, 0.0, 0.0],
    )
    return clamped(rod, force=[0.0, 0.0, 600.0], frame="world", engine="compiled"), rod


@pytest.mark.parametrize("order", [2, 3, 4])
def test_a_large_load_at_once(order: int) -> None:
    """To 0.1 % of the modern values, as with load steps; accelerations in the place of efforts lead elsewhere."""
    model, rod = bend(order)
    reached = np.array([46.90, 15.56, 53.60])
    np.testing.assert_allclose(rod.pose("tip", tt.trim(model).q)[1], reached, atol=1e-3 * np.linalg.norm(reached))


def column(force: float, side: float) -> tuple[tt.Model, tt.Rod]:
    """Return a column under a force in parts of its buckling load, and a small one across."""
    rod = tt.Rod("column", 1.0, SECTION, YOUNG, 1000.0, strains={"bending_z": 6}, points=12)
    return clamped(rod, force=[-force * BUCKLING, side, 0.0], frame="world", engine="compiled"), rod


def buckled(force: float) -> tuple[float, float]:
    """Return the tip of a buckled column: the elastica, Timoshenko and Gere, Theory of Elastic Stability, 2.7."""
    n = np.sqrt(force * BUCKLING)
    k = brentq(lambda k: ellipk(k * k) - n, 1e-6, 1 - 1e-9)
    return 2 * ellipe(k * k) / n - 1, 2 * k / n


class TestColumn:
    @pytest.mark.parametrize("force", [1.5, 3.0])
    def test_loads_raised_in_steps_buckle_it(self, force: float) -> None:
        """The side load, 1e-3, moves the tip by no more than 1e-3 of it there, E I and length being one."""
        model, rod = column(force, 1e-3)
        point = tt.trim(model)
        assert stands(point)
        np.testing.assert_allclose(rod.pose("tip", point.q)[1][:2], buckled(force), atol=1e-3)

    def test_a_guess_is_kept_to(self) -> None:
        """Next to the straight column, which does not stand, when that is asked for."""
        model, rod = column(1.5, 1e-3)
        point = tt.trim(model, q=model.neutral())
        assert point.stability == "unstable"
        assert np.abs(rod.pose("tip", point.q)[1][1]) < 2e-3

    def test_below_its_load_it_bends_by_the_amplified_side_load(self) -> None:
        """By ``(tan u / u - 1) side / force`` with ``u^2 = force``, to second order in the side load."""
        model, rod = column(0.9, 1e-4)
        u, side = np.sqrt(0.9 * BUCKLING), 1e-4
        expected = side / (0.9 * BUCKLING) * (np.tan(u) / u - 1)
        assert rod.pose("tip", tt.trim(model).q)[1][1] == pytest.approx(expected, rel=1e-4)

    @pytest.mark.parametrize("force", [0.99, 1.01])
    def test_the_straight_one_stands_below_its_load_only(self, force: float) -> None:
        model, _ = column(force, 0.0)
        assert stands(tt.trim(model)) == (force < 1.0)


RISE, STIFFNESS = 0.2, 1000.0
LENGTH = float(np.hypot(1.0, RISE))


def push_of(height: float) -> float:
    """Return the push that holds the apex of a shallow truss at a height."""
    return STIFFNESS * (LENGTH / np.hypot(1.0, height) - 1.0) * height


#: At ``1 + height^2 = length^(2/3)`` the push is largest.
LARGEST = push_of(np.sqrt(LENGTH ** (2 / 3) - 1.0))


def truss(push: float) -> tt.Model:
    """Return half of a shallow truss: an apex on a rail, a bar from it to a foot 1 m away."""
    s, apex, foot = tt.System("truss", gravity=[0, 0, 0]), tt.RigidBody("apex", 1.0), tt.RigidBody("foot", 1.0)
    s.connect("world", apex, tt.Prismatic("drop", axis=[0, 0, -1]), tt.Pose([0, 0, RISE]))
    s.connect("world", foot, tt.Weld("ground"), tt.Pose([1, 0, 0]))
    s.close_loop(apex, foot, tt.SpringDamper("bar", stiffness=STIFFNESS, length=LENGTH))
    s.add_load(tt.Load("push", apex, force=[0, 0, -push], frame="world"))
    return s.resolve()


class TestSnapThrough:
    def test_up_to_the_limit(self) -> None:
        point = tt.trim(truss(0.99 * LARGEST))
        assert push_of(RISE - point.q[0]) == pytest.approx(0.99 * LARGEST, rel=1e-8)  # trim's tolerance
        assert stands(point)

    @pytest.mark.parametrize("push", [1.01, 1.5])
    def test_beyond_the_last_part_of_the_load_is_told(self, push: float) -> None:
        with pytest.raises(tt.ConvergenceError, match=f"end near {1 / push:.4g} of the whole load.*trim_along") as raised:
            tt.trim(truss(push * LARGEST))
        assert "an acceleration of drop, " in str(raised.value)  # what is left

    def test_what_is_found_elsewhere_comes_with_a_warning(self, monkeypatch: pytest.MonkeyPatch) -> None:
        model = truss(1.01 * LARGEST)
        snapped = tt.trim(model, q=[0.45])
        monkeypatch.setattr(trimming, "stands", lambda _: False)  # what is found at once
        search = trimming.search
        monkeypatch.setattr(trimming, "search", lambda *a, **kw: search(*a, **kw) if "wider" in kw else snapped)
        with pytest.warns(tt.ModelWarning, match=r"end near 0\.9901 of the whole load.*other-branch"):
            assert tt.trim(model) is snapped

    def test_past_limit_points_along_a_coordinate(self) -> None:
        points = tt.trim_along(truss(0.1), "drop", [0.0, 2 * RISE], ["push.force.z"], steps=8)
        heights = [RISE - point.q[0] for point in points]
        pushes = [-point.parameters["push.force.z"] for point in points]
        assert pushes == pytest.approx([push_of(height) for height in heights], abs=1e-8)
        assert [stands(point) for point in points] == [height**2 > LENGTH ** (2 / 3) - 1.0 for height in heights]


def test_rigid_mechanisms_have_no_load_steps() -> None:
    """A pendulum keeps no shape without its weight; the guess decides, and nobody is warned."""
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, -1]), tt.Revolute("hinge", axis=[0, 1, 0]))
    model = s.resolve()
    assert not stands(with_part_of_loads(tt.trim(model), 0.0))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert tt.trim(model, q=[3.0]).stability == "unstable"


def test_a_part_of_all_loads() -> None:
    """Efforts, inputs, wrenches, weight and loads alike."""
    rod = tt.Rod("rod", 1.0, SECTION, YOUNG, 1000.0, basis=1, points=3)
    model = clamped(rod, gravity=[0.0, 0.0, -9.81], force=[0.0, 1.0, 0.5], engine="compiled")
    whole = tt.OperatingPoint(model, model.neutral(), tau=np.ones(model.nv), wrenches={"rod.tip": np.arange(6.0)})
    part = with_part_of_loads(whole, 0.25)
    np.testing.assert_allclose(part.residual, 0.25 * whole.residual, rtol=1e-12)  # at rest without strain nothing else acts
    assert with_part_of_loads(whole, 1.0) is whole


def test_a_part_of_loads_along_rods() -> None:
    """Those that an input drives by the input."""
    rod = tt.Rod("rod", 1.0, SECTION, young=YOUNG, density=1000.0, strains={"bending_z": 1})
    s = tt.System("loaded", gravity=[0, 0, 0])
    s.connect("world", rod, tt.Weld("clamp"))
    s.add_interaction(tt.DistributedLoad("wind", rod, force=[0, 0.1, 0], scale=2.0))
    s.add_interaction(tt.DistributedLoad("jets", rod, force=[0, 0.1, 0], driven=True))
    whole = tt.trim(s.resolve(engine="reference"), u={"jets.amplitude": 1.0})
    part, zero = with_part_of_loads(whole, 0.25), np.zeros(2)
    efforts = [point.model.inverse_dynamics(zero, zero, zero, u=point.u) for point in (whole, part)]
    np.testing.assert_allclose(efforts[1], 0.25 * efforts[0], rtol=1e-14)  # rounding
    assert np.abs(efforts[0]).max() > 0.01


def potential(model: tt.Model, q: Array, tensions: Array) -> float:
    """Return the energy (J) of shape, weight and constant tensions: these keep as much as their tendons shorten."""
    rest = np.zeros(model.nv)
    return float(model.energy(q, rest).potential + tensions @ model.outputs(q, rest, rest)[::2])


@pytest.fixture(scope="module")
def manipulator() -> tt.Model:
    """Return the manipulator of key M with tendons at the paper's points."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # of so few points along a helix
        return script("cable_driven_manipulator")["build"](along=(5, 5)).resolve()


@pytest.mark.filterwarnings("ignore:.*overlapping-sections")
class TestTensions:
    """Key M, 4.5: random tensions of 0 to 100 N from rest, under which sections of the tip overlap now and then."""

    def test_all_sets_are_held(self, manipulator: tt.Model) -> None:
        rng = np.random.default_rng(0)
        points = [tt.trim(manipulator, u=rng.uniform(0.0, 100.0, 5)) for _ in range(40)]
        assert {point.stability for point in points} == {"stable"}

    def test_an_equilibrium_has_the_least_energy_around(self, manipulator: tt.Model) -> None:
        """Found again by minimising it without derivatives of the model, to the root of what energy is rounded to."""
        tensions = np.random.default_rng(1).uniform(0.0, 100.0, 5)
        found = tt.trim(manipulator, u=tensions).q
        least = minimize(lambda q: potential(manipulator, q, tensions), 0.9 * found, method="BFGS")
        # rounding of energies, sums of some hundred terms
        assert potential(manipulator, found, tensions) <= least.fun + 1e-11 * abs(least.fun)
        tips = [manipulator.pose("rod.tip", q)[1] for q in (found, least.x)]
        np.testing.assert_allclose(tips[0], tips[1], atol=1e-5)  # m; differences of an energy of 100 J end at 1e-6 J/rad

    @pytest.mark.filterwarnings("ignore:.*points")
    def test_where_none_is_found_sections_that_overlap_are_named(self) -> None:
        """Pressed so hard a stretch of tendon shrinks to nothing, where the energy has a kink in the place of a minimum."""
        model = script("cable_driven_manipulator")["build"]().resolve()
        tensions = np.array([[98, 91, 97, 96, 99], [93, 95, 94, 87, 99], [82, 95, 60, 73, 96], [83, 97, 88, 95, 97]], float)
        for u in tensions:
            with pytest.raises(tt.ConvergenceError, match=r"rod has a stretch of -0\.\d+ on its inner side, at X = 0.5 m"):
                trimming.trim(model, u=u)


@pytest.mark.long
def test_a_platform_that_collapses() -> None:
    """Six soft legs that bend aside at a third of the weight: refused with what to try, which finds where it stands then."""
    m = stewart(5, gravity=9.81).resolve()
    with pytest.raises(tt.ConvergenceError, match=r'equilibria end near 0\.34.* of the whole load.*ask for prefer="stable"'):
        tt.trim(m)
    with pytest.warns(tt.ModelWarning, match="other-branch"):
        fallen = tt.trim(m, prefer="stable")
    assert not len(fallen.growing)
    assert fallen.q[2] < -0.3  # below the feet's height of a third and more
    np.testing.assert_allclose(m.closure_error(fallen.q), 0, atol=1e-9)
    a = m.forward_dynamics(fallen.q, np.zeros(m.nv))
    assert np.abs(a).max() < 1e-6 * 9.81, "what trim allows of terms that balance"
