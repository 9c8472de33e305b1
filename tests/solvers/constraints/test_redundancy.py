"""Redundant closures: which warn, and that the cure which a warning names is one."""

from __future__ import annotations

import ast
import re
import warnings
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import LENGTHS, bricard, closed_four_bar, four_bar, slider_crank
from tests.mechanisms import windows
from tests.refusals import ENGINES, refusal


def warned(s: tt.System, engine: str = "compiled") -> list[str]:
    """Return what warns when a system is resolved."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        s.resolve(engine)
    return [str(one.message) for one in caught]


def cure(message: str) -> dict[str, Any]:
    """Return the arguments of the closure that a warning asks for."""
    found = re.search(r"RigidClosure\('\w+', (kind=.*?)\) leaves out what follows", message)
    assert found, message
    call = ast.parse(f"f({found[1]})", mode="eval").body
    assert isinstance(call, ast.Call)
    return {str(one.arg): ast.literal_eval(one.value) for one in call.keywords}


def turned(closure: tt.RigidClosure) -> tuple[tt.System, np.ndarray]:
    """Return a four-bar linkage in an oblique plane, and that plane's normal in the axes of its bodies."""
    normal = np.array([0.48, 0.6, 0.64])
    first = np.cross(normal, [0, 0, 1.0]) / np.linalg.norm(np.cross(normal, [0, 0, 1.0]))
    s = tt.System("oblique", gravity=[0, 0, -9.81])
    s.world.add_port("ground", LENGTHS[0] * first)
    end: Any = "world"
    for k, length in enumerate(LENGTHS[1:]):
        inertia = 0.1 * length**2 * (np.eye(3) - np.outer(first, first)) + 1e-3 * np.eye(3)
        link = tt.RigidBody(f"link{k}", 1.0, com=length / 2 * first, inertia=inertia, ports={"end": length * first})
        s.connect(end, link, tt.Revolute(f"q{k}", axis=normal))
        end = link.port("end")
    s.close_loop(s.world.port("ground"), end, closure)
    return s, normal


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_meant_does_not_warn(engine: str) -> None:
    assert not warned(four_bar(tt.RigidClosure("pin", "revolute", redundant=True)), engine)
    assert len(warned(four_bar(tt.RigidClosure("pin", "revolute")), engine)) == 1
    twice = np.column_stack([np.eye(6)[:, :2], np.eye(6)[:, 0]])
    assert not warned(four_bar(tt.RigidClosure("pin", directions=twice, redundant=True)), engine)
    assert len(warned(four_bar(tt.RigidClosure("pin", directions=twice)), engine)) == 2


def test_others_warn_still() -> None:
    s = windows(2, spatial=True)
    s["pin2"].redundant = True
    assert [message.split(":")[0] for message in warned(s)] == ["pin1"]


def test_the_closure_that_repeats_another_is_to_be_left_out() -> None:
    def double(**second: Any) -> tt.System:
        s = four_bar(tt.RigidClosure("pin", "planar_revolute"))
        s.close_loop(s.world.port("ground"), s["rocker"].port("end"), tt.RigidClosure("twin", "planar_revolute", **second))
        return s

    (message,) = warned(double())
    assert message.startswith("twin: got offset1, offset2")
    assert "leave it out; redundant=True if it is meant" in message
    assert not warned(double(redundant=True))


@pytest.mark.parametrize("kind", ["revolute", "spherical", "universal"])
def test_a_pin_in_a_plane(kind: str) -> None:
    """The cure leaves two constraints, no warning and the same motion."""
    planar, q, v = closed_four_bar()
    a = planar.forward_dynamics(q, v, np.zeros(3))
    (message,) = warned(four_bar(tt.RigidClosure("pin", kind, axis2=[1, 0, 0])))
    found = cure(message)
    assert found == {"kind": "planar_revolute", "axis": [0.0, 0.0, 1.0]}
    s = four_bar(tt.RigidClosure("pin", **found))
    assert not warned(s)
    model = s.resolve()
    assert model.closure_rank(q) == len(model.constraint_names) == 2
    assert model.forward_dynamics(q, v, np.zeros(3)) == pytest.approx(a, abs=1e-12)  # rounding of numbers of ten


@pytest.mark.parametrize("kind", ["revolute", "spherical"])
def test_an_oblique_plane(kind: str) -> None:
    s, normal = turned(tt.RigidClosure("pin", kind, **({"axis": [0.48, 0.6, 0.64]} if kind == "revolute" else {})))
    found = cure(warned(s)[0])
    assert found["kind"] == "planar_revolute"
    assert abs(normal @ found["axis"]) == pytest.approx(1.0, abs=1e-11)  # said with twelve digits
    assert not warned(turned(tt.RigidClosure("pin", **found))[0])


def test_a_slider() -> None:
    found = cure(warned(slider_crank())[0])
    assert (found["kind"], found["axis"]) == ("planar_prismatic", [1.0, 0.0, 0.0])
    assert np.abs(found["axis2"]) == pytest.approx([0, 0, 1])
    before, other = slider_crank().resolve(), slider_crank(closure=tt.RigidClosure("slide", **found))
    q = before.assemble([0.5, -0.7, 0.2])
    v = before.assemble_velocity(q, [1.0, 0.0, 0.0])
    assert not warned(other)
    after = other.resolve()
    assert after.closure_rank(q) == len(after.constraint_names) == 2
    expected = before.forward_dynamics(q, v, np.zeros(3))
    assert after.forward_dynamics(q, v, np.zeros(3)) == pytest.approx(expected, abs=1e-11)
    assert np.abs(expected).max() > 1.0


def test_a_mechanism_that_is_not_planar() -> None:
    """One direction of Bricard's pin follows from the others: a cylinder would do."""
    found = cure(warned(bricard())[0])
    assert found["kind"] == "cylindrical"


def test_bad_input() -> None:
    with refusal("wrong-type", "redundant"):
        four_bar(tt.RigidClosure("pin", "revolute", redundant="yes")).resolve()  # type: ignore[arg-type]
    with refusal("parallel-axes", "pin.axis2"):
        four_bar(tt.RigidClosure("pin", "planar_prismatic", axis=[1, 0, 0], axis2=[2, 0, 0])).resolve()
