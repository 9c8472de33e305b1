"""Equilibria in closed loops with coordinates that are held: their efforts, and what is soft beside what is stiff."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import four_bar
from tests.systems import Array


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
