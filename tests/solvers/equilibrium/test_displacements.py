"""Positions and rotations of free joints, each for itself."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.systems import Array
from titop.blocks.basics.spatial import rotation_exp
from titop.solvers.equilibrium.displacements import displace, displacement_jacobian


def flying(rng: np.random.Generator) -> tuple[tt.Model, Array]:
    """Return a body that flies, with another one on a ball joint and one that slides, somewhere."""
    s = tt.System("flying", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 3.0, inertia=[1, 2, 2.5])
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub, tt.RigidBody("arm", 1.0, inertia=0.1), tt.Spherical("ball"))
    s.connect(hub, tt.RigidBody("load", 1.0), tt.Prismatic("slide", axis=[1, 0, 0]))
    m = s.resolve()
    return m, m.integrate(m.neutral(), rng.normal(size=m.nv))


def test_go_along_the_axes_that_are_left_and_turn() -> None:
    rng = np.random.default_rng(0)
    m, q = flying(rng)
    dq = rng.normal(size=m.nv)
    moved = displace(m, q, dq)
    (rotation, position), (turned, place) = m.pose("hub", q), m.pose("hub", moved)
    np.testing.assert_allclose(place, position + rotation @ dq[:3], atol=1e-14)
    np.testing.assert_allclose(turned, rotation @ rotation_exp(dq[3:6]), atol=1e-14)
    np.testing.assert_allclose(m.difference(q, moved)[6:], dq[6:], atol=1e-14)


@pytest.mark.parametrize("seed", range(3))
def test_motions_are_their_derivatives(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, q = flying(rng)
    dq, step = rng.normal(size=m.nv), 1e-5
    here = displace(m, q, dq)
    found = [
        (m.difference(here, displace(m, q, dq + each)) - m.difference(here, displace(m, q, dq - each))) / (2 * step)
        for each in step * np.eye(m.nv)
    ]
    np.testing.assert_allclose(displacement_jacobian(m, dq), np.transpose(found), atol=1e-9)  # central differences of step 1e-5


def table() -> tt.Model:
    """Return a box on two contacts, its weight nearer to one, which a force may push down."""
    s = tt.System("table", gravity=[0, 0, -9.81])
    box = tt.RigidBody("box", 2.0, com=[0.05, 0, 0], inertia=[0.1, 0.1, 0.1], ports={"a": [0.2, 0, 0], "b": [-0.2, 0, 0]})
    s.connect("world", box, tt.Free("base"))
    for port in "ab":
        s.close_loop("world", box.port(port), tt.Contact(f"foot_{port}", radius=0.1, stiffness=2000.0))
    s.add_load(tt.Load("push", box.port("a"), force=[0, 0, -1.0], frame="world"))
    return s.resolve()


@pytest.mark.parametrize("height", [0.0, 0.05, 0.085])
def test_positions_that_are_no_unknowns_stay(height: float) -> None:
    """Only the height and the tilt of a box are sought."""
    point = tt.trim(table(), ["base.z", "base.ry"], q={"base": [0.3, 0, height, 0, 0, 0, 1]})
    assert point.q[:2] == pytest.approx([0.3, 0.0], abs=1e-15)
    assert abs(point.q[4]) > 1e-4


def test_shapes_keep_what_is_not_fitted() -> None:
    s = tt.System("body", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("box", 2.0, inertia=0.1), tt.Free("base"))
    measured = tt.Pose([0, 0, 1.0], rotation_exp(np.array([0, 0.7, 0])))
    fit = tt.fit_shape(s.resolve(), {"box": measured}, ["base.z", "base.ry"])
    assert fit.q == pytest.approx([0, 0, 1.0, 0, np.sin(0.35), 0, np.cos(0.35)], abs=1e-9)
    assert fit.q[:2].tolist() == [0.0, 0.0]


class TestPositionsAlongTheAxesOfTheFirstGuess:
    """Only height and tilt are sought: while one grows with the other, the box stays above where it is, whoever follows it."""

    unknowns = ("base.z", "base.ry")
    place = (0.3, 0.2, 0.085, 0, 0, 0, 1)
    forces = (-1.0, -10.0, -30.0)

    def test_in_families(self) -> None:
        m, name = table(), "push.force.z"
        points = tt.trim_along(m, name, self.forces, self.unknowns, q={"base": self.place})
        assert abs(points[-1].q[4] - points[0].q[4]) > 1e-2  # it tilts
        family = tt.lpv(m, {name: self.forces}, unknowns=self.unknowns, q={"base": self.place}, progress=False)
        for point, q, force in zip(points, family.q, self.forces, strict=True):
            alone = tt.trim(m, self.unknowns, q={"base": self.place}, parameters={name: force})
            assert point.q == pytest.approx(alone.q, abs=1e-9)  # the tolerance of trim
            assert q == pytest.approx(alone.q, abs=1e-9)
            assert point.q[:2] == pytest.approx(self.place[:2], abs=1e-14)

    def test_along_a_path(self) -> None:
        path = tt.equilibrium_path(
            table(), {"push.force.z": self.forces[::2]}, self.unknowns, q={"base": self.place}, progress=False
        )
        assert path.q[:, :2] == pytest.approx(np.tile(self.place[:2], (len(path.points), 1)), abs=1e-14)

    def test_axes_of_the_guess(self) -> None:
        """A box that leans already goes along its own axes, in all steps the same ones."""
        m = table()
        start = m.integrate(m.configuration({"base": self.place}), [0, 0, 0, 0, 0.05, 0])
        along = m.pose("box", start)[0][:, 2]
        for point in tt.trim_along(m, "push.force.z", self.forces, self.unknowns, q=start):
            assert np.cross(point.q[:3] - start[:3], along) == pytest.approx(0.0, abs=1e-14)
