"""The equations of equilibria: their derivatives, against differences; what balances, in closed loops too."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import satellite
from tests.closed_systems import four_bar, slider_crank, stewart
from tests.systems import Array, random_state, random_tree
from titop.solvers.equilibrium.equations import AccelerationEquations, EffortEquations
from titop.solvers.equilibrium.unknowns import TrimUnknowns


def central(residual: Callable[[Array], Array], x: Array) -> Array:
    """Return derivatives by central differences with a step of 1e-5."""
    ahead, behind = ([residual(x + sign * step) for step in 1e-5 * np.eye(len(x))] for sign in (1, -1))
    return (np.array(ahead) - np.array(behind)).T / 2e-5


def random_search(seed: int, moving: bool) -> tuple[TrimUnknowns, Array]:
    """Return every kind of unknown, at a random state of a random tree or of the satellite with its actuators, and a place."""
    rng = np.random.default_rng(seed)
    model = satellite().resolve() if seed == 0 else random_tree(rng, 4, passive=True, loads=True).resolve()
    q, v, _, tau = random_state(model, rng)
    names = [*model.coordinate_names, *(f"{n}.tau" for n in model.coordinate_names), *model.input_names]
    names += [f"{n}.v" for n in model.coordinate_names] if moving else []
    names += [name for name in model.parameters() if name.endswith("mass") and "wheel" not in name][:1]
    guess = tt.OperatingPoint(model, q, v if moving else None, tau, np.ones(model.nu) if model.nu else None)
    return TrimUnknowns(guess, names), 0.1 * rng.normal(size=len(TrimUnknowns(guess, names).entries))


@pytest.mark.parametrize("equations", [AccelerationEquations, EffortEquations])
@pytest.mark.parametrize("seed", range(4))
def test_slopes_against_differences(seed: int, equations: type[AccelerationEquations] | type[EffortEquations]) -> None:
    for moving in (False, True) if equations is AccelerationEquations else (False,):
        sought, x = random_search(seed, moving)
        tested = equations(sought)
        expected = central(tested.residual, x)
        assert np.abs(tested.derivatives(x) - expected).max() < 1e-6 * max(1.0, np.abs(expected).max())


@pytest.mark.parametrize("seed", range(4))
def test_the_balance_of_efforts(seed: int) -> None:
    """The mass matrix times the accelerations."""
    sought, x = random_search(seed, moving=False)
    point = sought.at(x)
    left = point.model.mass_matrix(point.q) @ point.residual / sought.sizes.efforts
    np.testing.assert_allclose(EffortEquations(sought).residual(x), left, atol=1e-10 * np.abs(left).max())


@pytest.mark.parametrize("build", [four_bar, slider_crank])
def test_the_balance_of_efforts_in_loops(build: Callable[[], tt.System]) -> None:
    """With multipliers that hold the loops closed all accelerations vanish; slopes as above, at a state that is open."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # of planar loops' redundant constraints
        model = build().resolve()
    rng = np.random.default_rng(0)
    sought = TrimUnknowns(tt.OperatingPoint(model, model.assemble(0.3 * rng.normal(size=model.nq))))
    balance = EffortEquations(sought)
    assert balance.multipliers == len(model.constraint_names)
    y = 0.1 * rng.normal(size=len(sought.entries) + balance.multipliers)
    expected = central(balance.residual, y)
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


def frame(foot: tt.Block, storeys: int, length: float = 1.0, mass: float = 1.0, time: float = 1.0) -> tt.Model:
    """Return two soft walls (2 GPa, 1 mm thick) that meet at the top, with ribs between; units of so many m, kg, s."""
    segment, base, young = 0.03 * length, 0.06 * length, 2e9 * mass / (length * time**2)
    density, strains = 1040.0 * mass / length**3, {"bending_y": 1, "elongation": 0, "shear_z": 0}
    s = tt.System("walls", gravity=[0, 0, -9.81 * length / time**2])
    lean, walls = np.arcsin(base / 2 / (storeys * segment)), {}
    for side, angle, joint in (("left", lean, foot), ("right", -lean, tt.Weld("foot_right"))):
        c, sine = np.cos(angle), np.sin(angle)
        R, wall = np.array([[sine, 0, -c], [0, 1, 0], [c, 0, sine]]), []
        for k in range(storeys):
            section = tt.Section.rectangle(0.025 * length, 0.001 * length)
            level = {"level": (segment, tt.Pose(rotation=R.T))}
            rod = tt.Rod(f"{side}{k}", segment, section, young, density, strains=strains, ports=level)
            if k:
                s.connect(wall[-1].port("tip"), rod, tt.Weld(f"{side}_weld{k}"))
            else:
                s.connect("world", rod, joint, tt.Pose(position=[-np.sign(angle) * base / 2, 0, 0], rotation=R))
            wall.append(rod)
        walls[side] = wall
    for k in range(storeys - 1):
        section, across = tt.Section.rectangle(0.01 * length, 0.001 * length), base * (1 - (k + 1) / storeys)
        rib = tt.Rod(f"rib{k}", across, section, young, density, strains=strains)
        s.connect(walls["left"][k].port("level"), rib, tt.Revolute(f"hinge{k}", axis=[0, 1, 0]))
        pin = tt.RigidClosure(f"pin{k}", directions=np.eye(6)[:, [0, 2]])
        s.close_loop(walls["right"][k].port("level"), rib.port("tip"), pin)
    top = tt.RigidClosure("top", directions=np.eye(6)[:, [0, 2, 4]])
    s.close_loop(walls["right"][-1].port("level"), walls["left"][-1].port("level"), top)
    return s.resolve()


@pytest.mark.parametrize("units", [(1.0, 1.0, 1.0), (2.0**-12, 2.0**20, 2.0**7)])
@pytest.mark.parametrize("storeys", [2, 5])
class TestSoftFrames:
    """On a slider that is held: the same frame with its foot welded, told by other equations, is in the same equilibrium."""

    def test_stand_on_held_sliders(self, storeys: int, units: tuple[float, float, float]) -> None:
        welded = tt.trim(frame(tt.Weld("foot"), storeys, *units))
        m = frame(tt.Prismatic("slider", axis=[1, 0, 0]), storeys, *units)
        others, k = [name for name in m.coordinate_names if name != "slider"], m.coordinate_names.index("slider")
        q = np.insert(welded.q, k, 0.0)
        _, effort = m.hybrid_dynamics(q, 0 * q, 0 * q, 0 * q, prescribed=["slider"])
        for guess in (None, q):  # strains are bounded by 1, slopes of 1e10 by their sizes: 1e-9 is a tenth of their rounding
            found = tt.trim(m, [*others, "slider.tau"], q=guess)
            assert found.q == pytest.approx(q, abs=1e-9 * np.abs(q).max())
            assert found.tau[k] == pytest.approx(effort[k], rel=1e-6)
            assert found.free == found.overdetermined == ()

    def test_of_more_unknowns_the_nearest_is_found(self, storeys: int, units: tuple[float, float, float]) -> None:
        """With the slider free to move too, either its place or its effort may be anything: one equilibrium of many."""
        m = frame(tt.Prismatic("slider", axis=[1, 0, 0]), storeys, *units)
        found = tt.trim(m, [*m.coordinate_names, "slider.tau"])
        assert {"slider", "slider.tau"} <= set(found.free)
        least = np.linalg.norm(found.q[m.coordinate_names.index("slider")]) / units[0]
        assert 0.0 < least < 0.03  # less than half of the frame


def test_a_rod_hangs_from_a_slider_that_is_held() -> None:
    """A rod of 1 m to a pin 0.9 m away: the slider's effort is the derivative of the energy of what hangs by its place."""
    s = tt.System("line", gravity=[0, 0, -9.81])
    s.world.add_port("pin", [0.9, 0, 0])
    section, strains = tt.Section.circle(0.004), {"bending_y": 5, "elongation": 2}
    rod = tt.Rod("rod", 1.0, section, 2e7, 0.2 / (np.pi * 0.004**2), strains=strains, points=8)
    s.connect("world", tt.RigidBody("block", 0.5), tt.Prismatic("slider", axis=[1, 0, 0]))
    s.connect(s["block"], rod, tt.Revolute("hinge", axis=[0, 1, 0]))
    s.close_loop(s.world.port("pin"), rod.port("tip"), tt.RigidClosure("end", directions=np.eye(6)[:, [0, 2]]))
    m = s.resolve()

    def hung(place: float) -> tt.OperatingPoint:
        guess = m.configuration({"slider": place, "hinge": 0.7, "rod.bending_y0": -1.4})
        return tt.trim(m, [*m.coordinate_names[1:], "slider.tau"], q=m.assemble(guess, fixed=["slider"]))

    found, step = hung(0.0), 1e-4
    middle = m.pose("rod.tip", found.q)[1][0] / 2
    assert m.center_of_mass(found.q)[0] * 0.7 / 0.2 == pytest.approx(middle, rel=1e-6)  # of the rod: it hangs symmetrically
    ahead, behind = (m.energy(hung(sign * step).q, 0 * found.v).potential for sign in (1, -1))
    assert found.tau[0] == pytest.approx((ahead - behind) / (2 * step), rel=1e-5)  # central differences of this step
    assert found.tau[0] < 0.0  # the rod pulls towards the pin, the effort holds against it


@pytest.mark.parametrize("angle", [0.3, 1.2, 2.5, -1.0])
def test_four_bars_with_a_held_crank(angle: float) -> None:
    """The crank's torque is the derivative of the potential energy by its angle, from closed configurations on both sides."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tt.ModelWarning)  # of planar loops' redundant constraints
        m = four_bar().resolve()

    def closed(q1: float) -> Array:
        return m.assemble(m.configuration({"q1": q1, "q2": 1.0, "q3": -2.0}), fixed=["q1"])

    found = tt.trim(m, ["q2", "q3", "q1.tau"], q=closed(angle) + np.array([0.0, 0.05, -0.05]))
    assert found.q == pytest.approx(closed(angle), abs=1e-9)  # the tolerance of trim
    step = 1e-5
    ahead, behind = (m.energy(closed(angle + sign * step), np.zeros(3)).potential for sign in (1, -1))
    assert found.tau[0] == pytest.approx((ahead - behind) / (2 * step), rel=1e-7)  # central differences of this step
