"""Signals found by their names, made unlike others, and scaled by gains of their name, of a vector or of an owner."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import titop as tt
from titop.solvers.lft.labels import gains_of, positions, unlike
from titop.solvers.signals.exported import Signal

KNOWN = [Signal("gyro.x", "rad/s"), Signal("gyro.y", "rad/s"), Signal("hub.C.F[0]", "N"), Signal("hub.C.F[1]", "N")]


def test_entries_and_vectors() -> None:
    """Dotted or as they are exported."""
    assert positions("signals", ["hub.C.F", "gyro_y"], KNOWN) == [2, 3, 1]
    assert positions("signals", ["hub_C_F[1]", "gyro"], KNOWN) == [3, 0, 1]
    with pytest.raises(tt.ModelError, match="unknown-signal"):
        positions("signals", ["gyr"], KNOWN)
    with pytest.raises(tt.ModelError, match="given-twice"):
        positions("signals", ["gyro", "gyro.x"], KNOWN)


def test_names_that_are_taken() -> None:
    found = unlike([Signal("gyro.x", ""), Signal("gyro_x", ""), Signal("x[0]", "")], KNOWN)
    assert [signal.path for signal in found] == ["gyro.x_2", "gyro_x_3", "x[0]"]


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
