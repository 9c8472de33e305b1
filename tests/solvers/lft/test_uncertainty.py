"""What is refused of uncertain parameters, by name; gains of signals, of vectors or of owners."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.lft.satellites import INPUTS, OUTPUTS, arm, bent, satellite, still
from titop.solvers.lft.uncertainty import gains_of


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"hub.mas": (1, 2)}, r"hub\.mas.*did you mean 'hub\.mass'.*unknown-parameter"),
        ({"hub.mass": (210.0, 230.0)}, r"hub\.mass.*nominal-outside"),
        ({"hub.mass": (230.0, 150.0)}, "no-range"),
        ({"hub.mass": "wide"}, "no-range"),
        ({"hub.com.z": (0.5, 0.6)}, "nominal-outside"),
        ({}, "no-parameter"),
        ({"hub.mass": tt.percent(10), ("hub.mass", "panel_left.mass"): tt.percent(5)}, "given-twice"),
        ({("sada_right.q", "hub.mass"): tt.percent(5)}, "no-range"),
        ({"panel_left.mass": tt.percent(5), "panel_left.mass_scale": tt.percent(5)}, r"panel_left\.mass.*given-twice"),
        ({("panel_left.mode1.stiffness", "panel_left.mode1.frequency"): tt.percent(5)}, r"mode1\.frequency.*given-twice"),
        ({"panel_left.mode1.participation.z": tt.percent(60)}, r"exceeds the rigid body's by .* % along z.*bad-range"),
        ({"panel_left.mass_scale": (-0.1, 1.1)}, r"panel_left\.mass_scale.*> 0.*bad-range"),
        ({"sada_right.q": (-2.2, 2.2)}, r"252 degrees.*quarters=\['sada_right\.q'\].*wide-angle"),
        ({"base.rx.q": (-0.1, 0.1)}, "not-rational"),
        ({"hub.mass": (-5.0, 230.0)}, r"hub\.mass = -5.*negative-mass.*bad-range"),
        ({"panel_right.mass": (2.0, 30.0)}, r"panel_right\.mass = 2.*bad-range"),
        ({"panel_right.tip.position.x": tt.percent(5)}, r"panel_right\.tip\.position\.x.*idle-parameter"),
    ],
)
def test_refused(parameters: Any, message: str) -> None:
    m = satellite()
    with pytest.raises(tt.ModelError, match=message):
        tt.lft(m, still(m), parameters, INPUTS, OUTPUTS)


@pytest.mark.parametrize("name", ["j1.axis.x", "f.direction.x"])
def test_directions_are_not_rational(name: str) -> None:
    m = arm()
    value = m.parameters()[name][0]
    with pytest.raises(tt.ModelError, match="not-rational"):
        tt.lft(m, bent(m), {name: (value - 0.1, value + 0.1)}, ["mot"], ["j1.q"])


def test_rotations_about_two_axes_are_not_rational() -> None:
    m = arm()
    both = {"b1.C.rotation.x": (-0.1, 0.1), "b1.C.rotation.y": (-0.1, 0.1)}
    with pytest.raises(tt.ModelError, match=r"b1\.C\.rotation\.x.*fits=\['b1\.C\.rotation\.x'\].*not-rational"):
        tt.lft(m, bent(m), both, ["mot"], ["j1.q"])


def test_percentages() -> None:
    assert tt.percent(15) == (-15, 15)
    assert tt.percent(-10, 20) == (-10, 20)


def test_names_tied_by_a_percentage() -> None:
    """Each goes to the ends of its own range: angles by tangents of their own, negative values with the opposite sign."""
    m = arm()
    point = bent(m)
    model = tt.lft(m, point, {("j1.q", "j2.q"): tt.percent(20), ("b2.mass", "b1.mass"): tt.percent(10)}, ["mot"], ["j3.a"])
    ends = model.values({"j1.q": 0.48})
    assert ends["j2.q"] == pytest.approx(-0.84, rel=1e-12)  # 20 % more than -0.7
    assert model.deltas({"j2.q": -0.84}) == pytest.approx(model.deltas({"j1.q": 0.48}), abs=1e-12)
    assert model.check(5) < 1e-9  # see `test_lft`


@pytest.mark.filterwarnings("ignore:.*no-equilibrium")
@pytest.mark.parametrize("spin", [0.0, 600.0])
def test_wheels_do_not_hide_accelerations_of_the_point(spin: float) -> None:
    """A balanced wheel pushes nothing by spinning: what accelerates beside it is kept, and told."""
    s = tt.System("wheeled", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 20.0, [0, 0.1, 0], [2, 3, 4.0], ports={"a": [0.5, 0, 0], "b": [0, 0.2, 0]})
    arm = tt.RigidBody("arm", 3.0, [0, 0.5, 0], [0.1, 0.2, 0.3], ports={"e": [0, 1, 0]})
    s.connect("world", hub, tt.Spherical("base"))
    s.connect(hub.port("a"), arm, tt.Revolute("j", [0, 0, 1], stiffness=0.6))
    s.connect(arm.port("e"), tt.RigidBody("tip", 2.0, [0.1, 0.2, 0.3], [0.1, 0.1, 0.15]), tt.Revolute("tj", [0, 1, 0]))
    s.add_actuator(tt.ReactionWheel("w", hub.port("b"), [1, 1, 0], 0.1, 1.0))
    m = s.resolve()
    point = m.configuration({"j": 0.4}), m.velocity({"w": spin})
    model = tt.lft(m, point, {"arm.mass": tt.percent(10)}, ["hub.a.T"], ["j.q", "tj.q"], reduce=False)
    assert model.check(4) < 1e-9
    with pytest.warns(tt.ModelWarning, match="no-equilibrium"):
        tt.linearize(m, point, ["hub.a.T"], ["j.q"])


# -- gains ------------------------------------------------------------------------------------------------------------------

#: Responses computed in two ways, beside their size.
ROUNDING = 1e-9


@cache
def swing() -> tt.Model:
    s = tt.System("swing", gravity=[0, 0, -9.81])
    s.connect("world", tt.RigidBody("bob", 2.0, com=[0, 0, -1]), tt.Revolute("h", axis=[0, 1, 0], damping=0.3))
    return s.resolve()


@pytest.mark.parametrize(
    ("name", "factors"), [("h.gain", [1.2, 1.2]), ("h.q.gain", [1.2, 1.0]), (("h.gain", "h.v.gain"), [1.2, 1.44])]
)
def test_a_gain_called_as_a_signal_scales_that_one_alone(name: str | tuple[str, ...], factors: list[float]) -> None:
    """The joint's own name is that of its effort: outputs follow once, not twice."""
    model = tt.lft(swing(), swing().neutral(), {name: (0.5, 1.5)}, ["h"], ["h.q", "h.v"])
    first = name if isinstance(name, str) else name[0]
    ratio = model.at({first: 1.2})(1j)[:, 0] / tt.linearize(swing(), swing().neutral(), ["h"], ["h.q", "h.v"])(1j)[:, 0]
    assert ratio == pytest.approx(np.array(factors), rel=ROUNDING)
    assert model.check(3) < ROUNDING


def test_the_name_of_an_owner_scales_all_its_outputs() -> None:
    """There is no signal of the name: here the bob is turned, and the joint is looked at."""
    model = tt.lft(swing(), swing().neutral(), {"h.gain": (0.5, 1.5)}, ["bob.T"], ["h.q", "h.v"])
    right = tt.linearize(swing(), swing().neutral(), ["bob.T"], ["h.q", "h.v"])
    assert model.at(h_gain=1.2)(1j) == pytest.approx(1.2 * right(1j), rel=ROUNDING)


def test_what_could_be_inputs_or_outputs_is_refused() -> None:
    with pytest.raises(tt.ModelError, match=r"h\.gain.*it could be h\.a\.gain, h\.q\.gain, h\.tau\.gain.*ambiguous-gain"):
        tt.lft(swing(), swing().neutral(), {"h.gain": (0.5, 1.5)}, ["h.a"], ["h.q", "h.tau"])


def test_names_of_vectors_and_of_their_entries() -> None:
    """The nearest name that is given; one that a signal has is none of what lies below."""
    paths = ["gyro[0]", "gyro[1]", "imu.dv[0]", "imu.w[0]"]
    names = ["gyro[1].gain", "gyro.gain", "imu.gain", "imu.w.gain"]
    assert gains_of(names, [], paths)[1] == ["gyro.gain", "gyro[1].gain", "imu.gain", "imu.w.gain"]
    assert gains_of(names, ["imu"], paths) == (["imu.gain"], ["gyro.gain", "gyro[1].gain", None, "imu.w.gain"])
    assert gains_of(["gyro.gain"], [], ["tacho"]) == ([], [None])
