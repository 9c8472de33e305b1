"""Deformable bodies: rigid and modal ones as special cases, ports, consistency of the law, what is refused."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from tests.tolerances import ROUNDING

Array = NDArray[np.float64]
L, R, DENSITY = 0.3, 0.02, 1200.0
BOX = tt.Domain.box(0.03, 0.02, L)
BEND = tt.Kinematics.constant_curvature(L)


def soft(kinematics: Any = BEND, domain: Any = BOX, **fields: Any) -> tt.SoftBody:
    return tt.SoftBody("body", kinematics, domain, **({"density": DENSITY} | fields))


class TestRigid:
    """A body without coordinates is a rigid one of the same mass, center and inertia."""

    MASS = DENSITY * 0.03 * 0.02 * L
    INERTIA = np.diag([0.02**2 + L**2, 0.03**2 + L**2, 0.03**2 + 0.02**2]) * MASS / 12

    def system(self, body: Any) -> tt.Model:
        s = tt.System("rig", gravity=[0.3, -9.0, 2.0])
        s.connect("world", body, joint=tt.Free("base"))
        s.connect(body.port("tip"), tt.RigidBody("end", 0.1, [0, 0.1, 0], 0.01), joint=tt.Revolute("hinge", axis=[0, 1, 1]))
        return s.resolve(engine="reference")

    def test_it_moves_like_one(self) -> None:
        still = soft(lambda x, q: x, coordinates=())
        assert not still.reader.findings
        assert still.mass == pytest.approx(self.MASS, rel=1e-13)
        rigid = tt.RigidBody("body", self.MASS, [0, 0, L / 2], self.INERTIA, ports={"tip": [0, 0, L]})
        ours, theirs = self.system(still), self.system(rigid)
        rng = np.random.default_rng(0)
        q, v, tau = ours.random_configuration(rng), rng.normal(size=7), rng.normal(size=7)
        np.testing.assert_allclose(ours.mass_matrix(q), theirs.mass_matrix(q), **ROUNDING)
        np.testing.assert_allclose(ours.forward_dynamics(q, v, tau), theirs.forward_dynamics(q, v, tau), rtol=1e-9)
        np.testing.assert_allclose(ours.inverse_dynamics(q, v, tau), theirs.inverse_dynamics(q, v, tau), **ROUNDING)

    def test_density_may_be_a_function(self) -> None:
        """Denser towards the tip: ``rho (1 + z / L)`` has its center at 5/9 of the length."""
        graded = soft(lambda x, q: x, coordinates=(), density=lambda x: DENSITY * (1 + x[2] / L))
        masses = graded.mass_matrix(np.zeros(0))
        assert graded.mass == pytest.approx(1.5 * self.MASS, rel=1e-13)
        assert masses[0, 4] == pytest.approx(graded.mass * 5 / 9 * L, rel=1e-12)
        assert graded.parameters()["density"] == (1.0, "1")


@functools.cache
def modal() -> tt.SoftBody:
    """Return a body of two modes: linear in q, quadratic in z."""

    def place(x: Any, q: Any) -> Any:
        return x + sum(np.array(shape(x)) * value for shape, value in zip(SHAPES, q, strict=True))

    made = soft(place, coordinates=("a", "b"), material=tt.Material.linear(1e5, 0.3, 20.0))
    assert not made.reader.findings
    return made


SHAPES = (lambda x: [x[2] ** 2, 0.0 * x[0], -2 * x[2] * x[0]], lambda x: [0.0 * x[0], x[2] ** 2, -2 * x[2] * x[1]])


class TestModal:
    """``f = x + sum phi_k(x) q_k``: constant participation, inertia that is quadratic in q."""

    def test_inertia_is_that_of_its_points(self) -> None:
        """Each point by itself, in plain NumPy."""
        q = np.array([0.3, -0.2])
        masses = DENSITY * BOX.volumes
        phi = np.array([[shape(x) for shape in SHAPES] for x in BOX.points])  # k, n, 3
        places = BOX.points + np.einsum("kni,n->ki", phi, q)
        expected = np.zeros((8, 8))
        for mass, p, columns in zip(masses, places, phi, strict=True):
            skew = np.array([[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]])
            G = np.hstack([np.eye(3), -skew, columns.T])
            expected += mass * G.T @ G
        np.testing.assert_allclose(modal().mass_matrix(q), expected, **ROUNDING)

    def test_all_of_the_law_agrees_with_itself(self) -> None:
        """Subspaces with poses, gyroscopic terms with inertia, efforts with energy: by differences, inside `check_block`."""
        tt.check_block(modal())


def test_wrong_gyroscopic_terms_are_found() -> None:
    """Negative control of the check above."""

    class Wrong(tt.SoftBody):
        def gyroscopic(self, q: Array, v: Array, twist: Array) -> Array:
            return 1.01 * super().gyroscopic(q, v, twist)

    coarse = tt.Domain.box(0.03, 0.02, L, along=2, across=1)
    with pytest.raises(tt.ModelError, match="gyroscopic"):
        tt.check_block(Wrong("body", lambda x, q: [x[0] + q[0] * x[2] ** 2, x[1], x[2]], coarse, DENSITY, coordinates=("a",)))


class TestPorts:
    """A point, three points, or a function."""

    Q = np.array([0.8])

    def test_three_ways_to_say_one_frame(self) -> None:
        def frame(q: Any) -> tuple[Any, Any]:
            c, s, sinc, cosc = np.cos(q[0]), np.sin(q[0]), tt.Kinematics.sinc(q[0]), tt.Kinematics.cosc(q[0])
            return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]]), np.array([L * q[0] * cosc, 0.0, L * sinc])

        points = {"point": [0, 0, L], "points": [[0, 0, L], [0.01, 0, L], [0, 0.01, L]], "frame": frame}
        body = soft(ports=points)
        assert body.ports == ("point", "points", "frame")
        v, exact = np.array([0.5]), frame(self.Q)
        for port in body.ports:
            rotation, place = body.pose(port, self.Q)
            np.testing.assert_allclose(rotation, exact[0], atol=1e-13)
            np.testing.assert_allclose(place, exact[1], atol=1e-15)
            np.testing.assert_allclose(body.motion_subspace(port, self.Q), body.motion_subspace("frame", self.Q), atol=1e-12)
            rates = body.subspace_rate(port, self.Q, v), body.subspace_rate("frame", self.Q, v)
            np.testing.assert_allclose(*rates, atol=1e-11)

    def test_three_points_may_be_turned_and_off_the_axis(self) -> None:
        body = soft(ports={"side": [[0.015, 0, L], [0.015, 0, L - 0.01], [0.015, 0.01, L]]})
        rotation, place = body.pose("side", np.zeros(1))
        np.testing.assert_allclose(rotation, [[0, 0, 1], [0, 1, 0], [-1, 0, 0]], atol=1e-15)
        np.testing.assert_allclose(place, [0.015, 0, L])


def codes(body: tt.SoftBody) -> list[tuple[str, str]]:
    return [(finding.code, finding.where.removeprefix("body.")) for finding in body.reader.findings]


class TestBadInput:
    """What is wrong is told by name, with what was found and what to do."""

    @pytest.mark.parametrize(
        ("fields", "code", "field"),
        [
            ({"kinematics": lambda x, q: [x[0], x[1]]}, "wrong-shape", "kinematics"),
            ({"kinematics": lambda x, q: np.outer(x, x)}, "wrong-shape", "kinematics"),
            ({"kinematics": "bend"}, "wrong-type", "kinematics"),
            ({"kinematics": lambda x, q: [x[0] * np.sin(q[0]) / q[0], x[1], x[2]]}, "not-differentiable", "kinematics"),
            ({"kinematics": lambda x, q: [x[0] + q[0] * np.sqrt(x[2] - 1.0), x[1], x[2]]}, "not-differentiable", "kinematics"),
            ({"kinematics": lambda x, q: [x[0] + q[0], x[1], -x[2]]}, "folded", "kinematics"),
            ({"kinematics": lambda x, q: [x[0] + q[0], x[1], x[1]]}, "folded", "kinematics"),
            ({"kinematics": lambda x, q: [x[0] if q[0] > 0 else 0.0, x[1], x[2]]}, "bad-kinematics", "kinematics"),
            ({"kinematics": lambda x, q: [x[0] + q[1], x[1], x[2]]}, "bad-kinematics", "kinematics"),
            ({"domain": [[0, 0, 0]]}, "wrong-type", "domain"),
            ({"material": 1e5}, "wrong-type", "material"),
            ({"density": -1.0}, "bad-density", "density"),
            ({"density": lambda x: x[2] - 0.2}, "bad-density", "density"),
            ({"coordinates": ("a", "a")}, "bad-coordinates", "coordinates"),
            ({"coordinates": "a"}, "bad-coordinates", "coordinates"),
            ({"coordinates": None}, "bad-coordinates", "coordinates"),
            ({"units": ("m", "m")}, "wrong-shape", "units"),
            ({"scales": [1.0, 2.0]}, "wrong-shape", "scales"),
            ({"parameters": {"a b": 1.0}}, "bad-name", "parameters"),
            ({"ports": {"tip": [[0, 0, L], [0.01, 0, L], [0.01, 0.01, L]]}}, "bad-frame", "ports.tip"),
            ({"ports": {"tip": [0, L]}}, "wrong-type", "ports.tip"),
            ({"ports": {"P": [0, 0, L]}}, "bad-name", "P"),
            ({"ports": [0, 0, L]}, "wrong-type", "ports"),
        ],
    )
    def test_one_wrong_field(self, fields: dict[str, Any], code: str, field: str) -> None:
        plain: dict[str, Any] = {"kinematics": lambda x, q: [x[0] + q[0] * x[2], x[1], x[2]], "coordinates": ("a",)}
        assert not soft(**plain).reader.findings
        assert (code, field) in codes(soft(**(plain | fields)))

    def test_where_it_is_not_differentiable_or_folded_is_told(self) -> None:
        at = np.array([[0.0, 0.0, 0.1], [0.001, 0.002, 0.25]])
        domain = tt.Domain(at, [1e-6, 1e-6])
        for function in (
            lambda x, q: [x[0] + q[0] * np.sqrt(0.2 - x[2]), x[1], x[2]],
            lambda x, q: [x[0], x[1], x[2] * (0.3 - x[2])],
        ):
            (finding,) = soft(function, domain, coordinates=("a",), ports={}).reader.findings
            assert "[0.001, 0.002, 0.25]" in str(finding)

    def test_a_system_of_it_is_not_resolved(self) -> None:
        s = tt.System("rig")
        s.connect("world", soft(lambda x, q: [x[0], x[1]], coordinates=("a",)), joint=tt.Weld("clamp"))
        with pytest.raises(tt.ModelError, match="three numbers") as caught:
            s.resolve(engine="reference")
        assert (caught.value.code, caught.value.where) == ("wrong-shape", "body.kinematics")
