"""Unstable equilibria that a search strays to, and the stable ones where systems settle and to which they creep."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from scipy.optimize import fsolve

import titop as tt
from tests.closed_systems import slider_crank
from tests.refusals import refusal
from tests.solvers.equilibrium.test_load_steps import LARGEST, truss
from tests.solvers.equilibrium.test_trim import parallel_pendulum
from tests.systems import Array
from titop.blocks.basics.errors import Finding
from titop.solvers.equilibrium import settling
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.unknowns import TrimUnknowns

GRAVITY, STIFFNESS, RADIUS = 9.81, 1e6, 0.01
#: Corners and the centre of mass of a box of 10 kg.
HALF, COM = (0.3, 0.2), (0.02, 0.1)


def box() -> tt.Model:
    """Return a box that may stand with its four corners on the floor."""
    s = tt.System("box", gravity=[0, 0, -GRAVITY])
    corners = {f"p{i}": [x, y, 0] for i, (x, y) in enumerate([(-1, -1), (1, -1), (1, 1), (-1, 1)] * np.array(HALF))}
    b = tt.RigidBody("b", 10.0, com=[COM[0], 0, COM[1]], inertia=[0.2, 0.3, 0.4], ports=corners)
    s.connect("world", b, tt.Free("base"))
    for i in range(4):
        s.close_loop("world", b.port(f"p{i}"), tt.Contact(f"c{i}", RADIUS, STIFFNESS, friction=0.5, dissipation=0.2))
    return s.resolve()


def standing() -> tuple[float, float]:
    """Return height and tilt of the box that stands flat, by statics: forces ``k d^1.5`` under its left and right corners."""

    def left(unknown: Array) -> Array:
        height, tilt = unknown
        sides = np.array([-HALF[0], HALF[0]])
        depths = RADIUS - (height - sides * np.sin(tilt))
        forces = 2 * STIFFNESS * np.maximum(depths, 0.0) ** 1.5
        arms = sides * np.cos(tilt) - (COM[0] * np.cos(tilt) + COM[1] * np.sin(tilt))
        return np.array([forces.sum() - 10.0 * GRAVITY, forces @ arms])

    height, tilt = fsolve(left, [RADIUS - 8e-4, 0.0], xtol=1e-13)
    return float(height), float(tilt)


def placed(m: tt.Model, height: float, about_y: float) -> Array:
    q = m.neutral()
    q[2] = height
    return m.integrate(q, [0, 0, 0, 0, about_y, 0])


def told(m: tt.Model, **arguments: Any) -> tuple[tt.OperatingPoint, list[str]]:
    """Return what trim finds and the warnings of it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        point = tt.trim(m, **arguments)
    return point, [str(each.message) for each in caught]


class TestBoxes:
    """Above the floor, where nothing tells a search where to go."""

    @pytest.mark.parametrize("about_y", [0.0, 0.3, 1.0])
    @pytest.mark.parametrize("height", [0.0095, 0.03, 0.05, 0.5])
    def test_stand_flat_where_stability_is_preferred(self, height: float, about_y: float) -> None:
        m = box()
        point = tt.trim(m, q=placed(m, height, about_y), prefer="stable")
        expected_height, tilt = standing()
        rotation, position = m.pose("b", point.q)
        assert position[2] == pytest.approx(expected_height, abs=1e-9)  # the tolerance of trim
        assert rotation[0, 2] == pytest.approx(np.sin(tilt), abs=1e-8)
        assert point.stability == "neutral"  # it may slide and turn

    @pytest.mark.parametrize("about_y", [0.0, 0.3, 1.0])
    @pytest.mark.parametrize("height", [0.03, 0.05])
    def test_on_edge_are_told(self, height: float, about_y: float) -> None:
        m = box()
        point, words = told(m, q=placed(m, height, about_y))
        unstable = point.stability == "unstable"
        assert unstable or m.pose("b", point.q)[1][2] == pytest.approx(standing()[0], abs=1e-9)
        assert any("an unstable equilibrium away from the guess" in each for each in words) == unstable


@pytest.mark.parametrize("units", [(1.0, 1.0), (2.0**-10, 2.0**8), (2.0**12, 2.0**-7)])
class TestPendulums:
    """Units of so many m and s."""

    def pendulum(self, length: float, time: float) -> tt.Model:
        s = tt.System("swing", gravity=[0, 0, -GRAVITY * length / time**2])
        s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, -length]), tt.Revolute("hinge", axis=[0, 1, 0]))
        return s.resolve()

    @pytest.mark.parametrize("angle", [0.5, 1.2])
    def test_next_to_hanging_hang(self, angle: float, units: tuple[float, float]) -> None:
        point, words = told(self.pendulum(*units), q=[angle])
        assert point.q[0] == pytest.approx(0.0, abs=1e-9)
        assert not words

    def test_next_to_the_upright_stand_without_a_word(self, units: tuple[float, float]) -> None:
        point, words = told(self.pendulum(*units), q=[3.0])
        assert point.q[0] == pytest.approx(np.pi, abs=1e-9)
        assert not words

    def test_that_stray_to_the_upright_are_told(self, units: tuple[float, float]) -> None:
        """From 1.8 rad gravity turns it down, but steps of Newton's method up."""
        point, words = told(self.pendulum(*units), q=[1.8])
        assert point.q[0] == pytest.approx(np.pi, abs=1e-9)
        assert len(words) == 1
        assert "most of all in hinge; expected the equilibrium next to the guess: it creeps to another one, neutral" in words[0]
        assert 'prefer="stable"' in words[0]

    @pytest.mark.parametrize("angle", [1.8, 3.0, np.pi])
    def test_hang_where_stability_is_preferred(self, angle: float, units: tuple[float, float]) -> None:
        point, words = told(self.pendulum(*units), q=[angle], prefer="stable")
        assert np.sin(point.q[0] / 2) == pytest.approx(0.0, abs=1e-9)
        assert not words


def test_closed_loops_settle() -> None:
    """A deck on two cranks, upright, hangs below its hinges."""
    m = parallel_pendulum()
    upright = {"hinge": np.pi, "knee": -np.pi, "second": np.pi}
    assert tt.trim(m, q=upright).stability == "unstable"
    point = tt.trim(m, q=upright, prefer="stable")
    assert m.pose("deck", point.q)[1][2] == pytest.approx(-1.0, abs=1e-9)
    assert np.abs(m.closure_error(point.q)).max() < 1e-9  # the tolerance of trim


def test_what_snaps_through_settles_beyond() -> None:
    """A shallow truss under more than its largest load: no raising of it leads there, but the truss comes to rest below."""
    m = truss(1.01 * LARGEST)
    with pytest.warns(tt.ModelWarning, match="that raising the loads does not lead to"):
        point = tt.trim(m, prefer="stable")
    assert point.residual == pytest.approx(0.0, abs=1e-6)  # of 10 m/s^2
    assert not len(point.growing)


def test_some_coordinates_settle_while_others_stay() -> None:
    m = box()
    point = tt.trim(m, ["base.z", "base.ry"], q=placed(m, 0.05, 0.0), prefer="stable")
    height, tilt = standing()
    assert point.q[:3] == pytest.approx([0.0, 0.0, height], abs=1e-9)
    assert m.pose("b", point.q)[0][0, 2] == pytest.approx(np.sin(tilt), abs=1e-8)


def test_where_nothing_stands_the_unstable_one_is_not_lost() -> None:
    class Hill(tt.Block):
        coordinates, ports = ("x",), ("C",)

        def pose(self, port: str, q: Any) -> Any:
            return np.eye(3) + 0 * q[0], np.array([q[0], 0 * q[0], 0 * q[0]])

        def elastic_energy(self, q: Any) -> Any:
            return -0.5 * q[0] ** 2

    s = tt.System("hill", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", 1.0), Hill("top"))
    with pytest.raises(tt.ConvergenceError, match="no stable equilibrium is found") as caught:
        tt.trim(s.resolve(), q=[0.1], prefer="stable", max_iterations=20)
    assert caught.value.found.q == pytest.approx([0.0], abs=1e-9)


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    [
        ({"prefer": "stablest"}, "unknown-preference", "'stable' or None"),
        ({"prefer": "stable", "unknowns": ["hinge.tau"], "q": [0.3]}, "unusable-preference", "hinge.tau"),
        ({"prefer": "stable", "v": [1.0]}, "unusable-preference", "moving"),
    ],
)
def test_preferences_are_read(arguments: dict[str, Any], code: str, text: str) -> None:
    with refusal(code, text):
        tt.trim(TestPendulums().pendulum(1.0, 1.0), **arguments)


def chain(count: int, joint: type) -> tt.Model:
    """Return a chain of bars from the world, along x at neutral, whose revolute joints turn about changing axes."""
    s, carrier = tt.System("chain", gravity=[0, 0, -9.81]), "world"
    for k in range(count):
        bar = tt.RigidBody(f"bar{k}", mass=1.0 + k % 3, com=[0.2, 0.01 * k, 0], inertia=[0.1] * 3, ports={"end": [0.4, 0, 0]})
        turning = {} if joint is tt.Spherical else {"axis": [[0, 1, 0], [1, 1, 0], [0, 1, 1]][k % 3]}
        s.connect(carrier, bar, joint=joint(f"joint{k}", **turning))
        carrier = bar.port("end")
    return s.resolve()


def accelerations(point: OperatingPoint) -> float:
    """Return the largest acceleration left at rest (rad/s^2)."""
    m = point.model
    return float(np.abs(m.forward_dynamics(point.q, np.zeros(m.nv), np.zeros(m.nv))).max())


@pytest.mark.parametrize(("count", "joint"), [(3, tt.Revolute), (12, tt.Revolute), (12, tt.Spherical)])
def test_chains_come_to_rest_from_any_guess(count: int, joint: type) -> None:
    """Accelerations left are rounding beside the 10 to 100 rad/s^2 of a chain that falls: 1e-6 is a part of 1e-7 of these."""
    m, rng = chain(count, joint), np.random.default_rng(1)
    for _ in range(6):
        assert accelerations(tt.trim(m, q=m.random_configuration(rng))) < 1e-6


def parallel_chain() -> tt.Model:
    """Return three bars about parallel axes, horizontal at neutral."""
    s, carrier = tt.System("chain", gravity=[0, 0, -9.81]), "world"
    for k in range(3):
        bar = tt.RigidBody(f"bar{k}", mass=1.0, com=[0.2, 0, 0], inertia=[0.1] * 3, ports={"end": [0.4, 0, 0]})
        s.connect(carrier, bar, joint=tt.Revolute(f"joint{k}", axis=[0, 1, 0]))
        carrier = bar.port("end")
    return s.resolve()


def test_a_horizontal_chain_hangs() -> None:
    """On a vertical below the first joint, to what Newton's method leaves."""
    m = parallel_chain()
    point = tt.trim(m)
    assert accelerations(point) < 1e-6
    np.testing.assert_allclose(m.pose("bar2.end", point.q)[1][:2], 0.0, atol=1e-8)


def test_what_has_no_matrix_of_closures_does_not_grow(monkeypatch: pytest.MonkeyPatch) -> None:
    m = slider_crank().resolve()
    guess = TrimUnknowns(OperatingPoint(m, m.assemble([0.7, -1.0, 0.3])))
    assert np.isfinite(settling._growth(guess))
    monkeypatch.setattr(settling, "efforts_of_motions", lambda point, motions: np.zeros_like(motions))
    assert settling._growth(guess) == 0.0


def test_singular_configurations_on_the_way_are_no_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is told is what the search itself has found."""

    def meet(unknowns: TrimUnknowns, _: int) -> TrimUnknowns:
        raise tt.ModelError(Finding("singular-closure", "loop", "1 independent constraint", "2", "move away"))

    monkeypatch.setattr(settling, "creep", meet)
    with pytest.raises(tt.ConvergenceError, match="no equilibrium near the guess"):
        tt.trim(parallel_chain())
    with pytest.raises(tt.ConvergenceError, match="no stable equilibrium is found"):
        tt.trim(parallel_chain(), q=[-np.pi / 2, 0.0, 0.0], prefer="stable")


def test_without_creeping_it_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: Newton's method and scipy's trust region both end where accelerations are least, not zero."""
    monkeypatch.setattr(settling, "creep", lambda unknowns, _: unknowns)
    with pytest.raises(tt.ConvergenceError, match="no equilibrium near the guess"):
        tt.trim(parallel_chain())


def test_what_nowhere_comes_to_rest_is_refused() -> None:
    """A body that falls freely: the error is that of the search from the guess."""
    s = tt.System("stone", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("stone", mass=1.0), joint=tt.Prismatic("fall", axis=[0, 0, 1]))
    m = s.resolve()
    with pytest.raises(tt.ConvergenceError, match="fall"):
        tt.trim(m)
    assert np.isfinite(settling.creep(TrimUnknowns(OperatingPoint(m, m.neutral())), 20).guess.q).all()
