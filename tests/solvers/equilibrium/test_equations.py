"""The equations of equilibria: their derivatives, against differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import satellite
from tests.closed_systems import four_bar, slider_crank, stewart
from tests.systems import random_state, random_tree
from titop.solvers.equilibrium.effort_balance import Balance
from titop.solvers.equilibrium.equations import differences, equation_derivatives
from titop.solvers.equilibrium.unknowns import Unknowns


@pytest.mark.parametrize("seed", range(4))
def test_slopes_against_differences(seed: int) -> None:
    """Of every kind of unknown, at a random state of a random tree or of the satellite with its actuators."""
    rng = np.random.default_rng(seed)
    model = satellite().resolve() if seed == 0 else random_tree(rng, 4, passive=True, loads=True).resolve()
    q, v, _, tau = random_state(model, rng)
    names = list(model.coordinate_names)
    unknowns = [*names, *(f"{n}.v" for n in names), *(f"{n}.tau" for n in names), *model.input_names]
    unknowns += [name for name in model.parameters() if name.endswith("mass") and "wheel" not in name][:1]
    searched = Unknowns(tt.OperatingPoint(model, q, v, tau, np.ones(model.nu) if model.nu else None), unknowns)
    x = 0.1 * rng.normal(size=len(searched.entries))
    for moving in (False, True):
        found = equation_derivatives(searched, x, moving)
        expected = differences(searched, x, True)[: len(found)]
        size = max(1.0, np.abs(expected).max())
        assert np.abs(found - expected).max() < 1e-6 * size  # central differences with a step of 1e-5


@pytest.mark.parametrize("seed", range(4))
def test_the_balance_of_efforts(seed: int) -> None:
    """The mass matrix times the accelerations; its derivatives against differences, with the same step as above."""
    rng = np.random.default_rng(seed)
    model = satellite().resolve() if seed == 0 else random_tree(rng, 4, passive=True, loads=True).resolve()
    q, _, _, tau = random_state(model, rng)
    names = [*model.coordinate_names, *(f"{n}.tau" for n in model.coordinate_names), *model.input_names]
    guess = tt.OperatingPoint(model, q, tau=tau, u=np.ones(model.nu) if model.nu else None)
    searched = Unknowns(guess, names)
    balance, x = Balance(searched), 0.1 * rng.normal(size=len(searched.entries))
    point = searched.at(x)
    left = model.mass_matrix(point.q) @ point.residual / searched.sizes.efforts
    np.testing.assert_allclose(balance.residual(x), left, atol=1e-10 * np.abs(left).max())
    ahead, behind = ([balance.residual(x + sign * step) for step in 1e-5 * np.eye(len(x))] for sign in (1, -1))
    expected = (np.array(ahead) - np.array(behind)).T / 2e-5
    assert np.abs(balance.derivatives(x) - expected).max() < 1e-6 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("build", [four_bar, slider_crank])
def test_the_balance_of_efforts_in_loops(build: Callable[[], tt.System]) -> None:
    """With multipliers that hold the loops closed all accelerations vanish; slopes as above, at a state that is open."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # of planar loops' redundant constraints
        model = build().resolve()
    rng = np.random.default_rng(0)
    searched = Unknowns(tt.OperatingPoint(model, model.assemble(0.3 * rng.normal(size=model.nq))))
    balance = Balance(searched)
    assert balance.held == len(model.constraint_names)
    y = 0.1 * rng.normal(size=len(searched.entries) + balance.held)
    ahead, behind = ([balance.residual(y + sign * step) for step in 1e-5 * np.eye(len(y))] for sign in (1, -1))
    expected = (np.array(ahead) - np.array(behind)).T / 2e-5
    assert np.abs(balance.derivatives(y) - expected).max() < 1e-6 * max(1.0, np.abs(expected).max())


def satellite_with_boom(boom: str) -> tt.Model:
    """Return a free hub with a stiff boom of 4 m: its springs push a radian away, but not where it is."""
    s = tt.System("satellite", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 500.0, inertia=[300.0, 250.0, 220.0], ports={"root": [1, 0, 0]})
    s.connect("world", hub, tt.Free("base"))
    joint: tt.Weld | tt.Revolute = tt.Weld("root")
    block: tt.Beam | tt.Rod | tt.RigidBody
    if boom == "beam":
        block = tt.Beam("boom", length=4.0, density=2700.0, area=3e-4, young=70e9, iy=2e-8, iz=2e-8, modes=0)
    elif boom == "rod":
        block = tt.Rod("boom", 4.0, tt.Section.circle(0.01), young=70e9, density=2700.0, strains="timoshenko")
    else:
        block = tt.RigidBody("boom", 3.0, inertia=[1.0, 4.0, 4.0])
        joint = tt.Revolute("root", axis=[0, 1, 0], stiffness=1e9)
    s.connect(hub.port("root"), block, joint)
    return s.resolve()


@pytest.mark.parametrize("boom", ["beam", "rod", "hinged"])
class TestStiffBooms:
    @pytest.mark.parametrize("axis", [0, 1])
    @pytest.mark.parametrize("torque", [2.0, 1e-3, 1e-6, 1e-9])
    def test_excuse_no_torque(self, boom: str, torque: float, axis: int) -> None:
        with pytest.raises(tt.ConvergenceError, match=r"an acceleration of base\.r"):
            tt.trim(satellite_with_boom(boom), wrenches={"hub": torque * np.eye(6)[3 + axis]})

    def test_come_to_rest_from_anywhere(self, boom: str) -> None:
        """But for rounding of springs bent by a hundredth, which leave 1e9 N m/rad * 0.01 rad * 1e-16 and less of efforts."""
        model = satellite_with_boom(boom)
        guess = model.integrate(model.neutral(), 0.01 * np.random.default_rng(1).normal(size=model.nv))
        resting = tt.trim(model, q=guess)
        assert model.passive_efforts(resting.q, resting.v)[6:] == pytest.approx(0.0, abs=1e-9)


def test_what_a_stiff_boom_bears() -> None:
    """Equal torques at both ends twist a rod of 4 m by ``T L / (G J)``, and accelerate nothing."""
    model, shear, torque = satellite_with_boom("rod"), 70e9 / (2 * 1.3), 2.0
    wrenches = {"hub": [0, 0, 0, -torque, 0, 0], "boom.tip": [0, 0, 0, torque, 0, 0]}
    rotations = [model.pose(port, tt.trim(model, wrenches=wrenches).q)[0] for port in ("hub", "boom.tip")]
    between = rotations[0].T @ rotations[1]
    twist = torque * 4.0 / (shear * np.pi * 0.01**4 / 2)
    assert np.arctan2(between[2, 1], between[1, 1]) == pytest.approx(twist, rel=1e-9)


def platform(seed: int, length: float = 1.0, mass: float = 1.0, time: float = 1.0) -> tt.Model:
    """Return a platform in the plane on a telescopic leg with a spring at rest; units of so many m, kg, s."""
    x, y = length * np.random.default_rng(seed).normal(size=2)
    c, sine = np.array([x, y]) / np.hypot(x, y)
    s = tt.System("leg", gravity=[0, 0, 0])
    s.world.add_port("foot", rotation=[[c, -sine, 0], [sine, c, 0], [0, 0, 1]])
    about = mass * length**2
    plate = tt.RigidBody("plate", 50.0 * mass, inertia=3.0 * about, ports={"p": [0.1 * length, 0.2 * length, 0]})
    lower = tt.RigidBody("lower", 4.0 * mass, com=[0.3 * length, 0, 0], inertia=0.05 * about)
    upper = tt.RigidBody("upper", 2.0 * mass, com=[-0.25 * length, 0, 0], inertia=0.03 * about)
    s.connect("world", plate, tt.Planar("f"), [x - 0.1 * length, y - 0.2 * length, 0])
    s.connect(s.world.port("foot"), lower, tt.Revolute("u", axis=[0, 0, 1]))
    spring = tt.Prismatic("l", axis=[1, 0, 0], stiffness=2e4 * mass / time**2)
    s.connect(lower, upper, spring, [float(np.hypot(x, y)), 0, 0])
    s.close_loop(upper, plate.port("p"), tt.RigidClosure("c", directions=np.eye(6)[:, :2]))
    return s.resolve()


@pytest.mark.parametrize("units", [(1.0, 1.0, 1.0), (2.0**-20, 1.0, 1.0), (2.0**20, 2.0**-10, 2.0**-15)])
@pytest.mark.parametrize("seed", range(6))
class TestWhereNothingActs:
    """A spring at rest: what is left of accelerations is rounding, and so is every term; the guess is the equilibrium."""

    def test_every_search_stays(self, seed: int, units: tuple[float, float, float]) -> None:
        m, size = platform(seed, *units), units[0] * np.array([1, 1, 1 / units[0], 1 / units[0], 1])
        q = m.assemble(m.neutral())
        for off in (0.0, 1e-15, 1e-12, 1e-6):
            guess = m.integrate(q, off * size * np.random.default_rng(seed).normal(size=5))
            found = tt.trim(m, q=guess)
            assert np.abs(m.difference(q, found.q) / size).max() < 3.0 * off + 1e-14  # rounding of places of order one
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # none is away from an equilibrium
            tt.linearize(m, q, ["l"], ["l.q"])
            masses = [50.0 * units[1], 60.0 * units[1]]
            points = tt.trim_along(m, "plate.mass", masses, q=q)
            assert tt.lpv(m, {"plate.mass": masses}, points, inputs=["l"], progress=False).valid.all()
        path = tt.equilibrium_path(m, {"l.tau": (0.0, units[0] * units[1] / units[2] ** 2)}, q=q, progress=False)
        assert path.complete

    def test_what_acts_is_told(self, seed: int, units: tuple[float, float, float]) -> None:
        """A force across the leg, a part of 1e-12 of its stiffness times a metre: no spring holds the platform against it."""
        m, force = platform(seed, *units), 2e-8 * units[0] * units[1] / units[2] ** 2
        c, sine = m.pose("lower", m.neutral())[0][:2, 0]
        with pytest.raises(tt.ConvergenceError, match="no equilibrium"):
            tt.trim(m, ["l"], wrenches={"plate.p": [-force * sine, force * c, 0, 0, 0, 0]})


@pytest.mark.parametrize("seed", range(4))
def test_platforms_on_springs_stay(seed: int) -> None:
    """Six legs at rest, without gravity: closed to rounding, the guess is the equilibrium."""
    m = stewart(seed).resolve()
    q = m.assemble(m.neutral())
    assert np.abs(m.difference(q, tt.trim(m, q=q).q)).max() < 1e-13  # rounding of places of order one
