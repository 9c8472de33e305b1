"""Sensitivities where a parameter reaches farther than its block, in systems without coordinates, and beside odd names."""

from __future__ import annotations

import copy
import pickle
import runpy
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import refusal
from tests.solvers.sensitivities.whole_systems import by_parameter, efforts
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import Block

Segment = runpy.run_path(str(Path(__file__).parents[3] / "examples" / "custom_block.py"))["ConstantCurvatureSegment"]

#: Both ways round the same numbers otherwise; differences where functions lose imaginary parts.
EXACT, BY_DIFFERENCES = 1e-12, 1e-7


class Attraction(tt.Interaction):
    """What pulls two ports together by the product of numbers of the blocks that it was made with."""

    own_field = "bodies"

    def __init__(self, name: str, *bodies: Block, real: bool = False) -> None:
        super().__init__(name)
        self.bodies, self.real = bodies, real

    @property
    def own_blocks(self) -> tuple[Block, ...]:  # type: ignore[override]
        return self.bodies

    def among(self, blocks: Mapping[str, Block]) -> tt.Interaction:
        changed = copy.copy(self)
        changed.bodies = tuple(blocks[body.name] for body in self.bodies)
        return changed

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        strength: Any = np.prod([body.mass if isinstance(body, tt.RigidBody) else body.damping[0, 0] for body in self.bodies])
        pull = (float(np.real(strength)) if self.real else strength) * r / np.sqrt(r @ r) ** 3
        return np.concatenate([pull, 0 * pull]), np.concatenate([-R.T @ pull, 0 * pull])


class Geared(tt.Revolute):
    """A hinge whose armature loses imaginary parts."""

    def mass_matrix(self, q: Array) -> Array:
        return np.real(super().mass_matrix(q))


def pair(beside: Callable[..., tuple[Block, ...]], real: bool = False, hinge: type[tt.Revolute] = tt.Revolute) -> tt.System:
    """Return two bodies that attract each other by numbers of some blocks."""
    s = tt.System("pair")
    one = tt.RigidBody("one", 2.0, [0.1, 0, 0], 0.1, {"end": [0.3, 0.1, 0]})
    two = tt.RigidBody("two", 3.0, [0.1, 0, 0], 0.1, {"end": [0.3, 0.1, 0.2]})
    joint = hinge("hinge", [1, 1, 0], damping=0.7)
    s.connect("world", one, joint)
    s.connect("world", two, tt.Universal("cross"), tt.Pose([1, 0, 0]))
    s.add_interaction(Attraction("pull", *beside(one, two, joint), real=real), one.port("end"), two.port("end"))
    s.add_actuator(tt.Motor("motor", "hinge", gear=3.0, rotor_inertia=0.02))
    return s


STATE = np.array([0.3, -0.2, 0.4]), np.array([0.5, 0.1, -0.3]), np.array([0.2, 0.7, -0.4])


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize(("real", "tolerance"), [(False, EXACT), (True, BY_DIFFERENCES)])
@pytest.mark.parametrize(("name", "numbers"), [("one.mass", lambda a, b, _: (a, b)), ("hinge.damping", lambda a, b, j: (j,))])
def test_parameters_of_blocks_with_which_interactions_were_made(
    name: str, numbers: Callable[..., tuple[Block, ...]], real: bool, tolerance: float, engine: str
) -> None:
    """Of the body and the joint themselves too, which the regressor and the joint alone would answer for."""
    m = pair(numbers, real).resolve(engine)
    found = m.inverse_dynamics_sensitivities(*STATE, [name], u=[0.4])[name]
    value = m.parameters()[name][0]
    ahead, behind = (m.with_parameters({name: value + step}).inverse_dynamics(*STATE, u=[0.4]) for step in (1e-4, -1e-4))
    np.testing.assert_allclose(found, (ahead - behind) / 2e-4, rtol=0, atol=1e-7)  # efforts are quadratic in it at most
    if not real:
        expected = by_parameter(m, name, efforts(m, *STATE, {}, np.array([0.4])))
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * np.abs(expected).max())


def test_changed_masses_reach_interactions() -> None:
    """As in a model that is built with them."""
    changed = pair(lambda a, b, _: (a, b)).resolve().with_parameters({"one.mass": 5.0})
    s = pair(lambda a, b, _: (a, b))
    s["one"].mass = 5.0
    np.testing.assert_allclose(changed.inverse_dynamics(*STATE), s.resolve().inverse_dynamics(*STATE), rtol=1e-14)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_a_motor_on_a_joint_that_loses_imaginary_parts() -> None:
    """A rotor turns gear^2 times: closed forms."""
    m = pair(lambda a, b, _: (a, b), hinge=Geared).resolve()
    found = m.inverse_dynamics_sensitivities(*STATE, ["motor.rotor_inertia", "motor.gear"], u=[0.4])
    assert found["motor.rotor_inertia"][0] == pytest.approx(9.0 * STATE[2][0], rel=1e-9)
    assert found["motor.gear"][0] == pytest.approx(2 * 3.0 * 0.02 * STATE[2][0] - 0.4, rel=1e-9)


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_systems_without_coordinates(engine: str) -> None:
    s = tt.System("stone")
    s.connect("world", tt.RigidBody("stone", 1.0, [0.1, 0, 0], 0.1), tt.Weld("glue"))
    m, nothing = s.resolve(engine), np.zeros(0)
    for names in (["gravity.x"], ["stone.mass", "stone"], []):
        for function in (m.inverse_dynamics_sensitivities, m.forward_dynamics_sensitivities):
            found = function(nothing, nothing, nothing, names)
            assert {name: found[name].shape for name in names} == {n: (0, 6) if n == "stone" else (0,) for n in names}


def test_names_like_those_of_what_moves_ports() -> None:
    s = tt.System("names")
    hub = tt.RigidBody("hub", 1.0, [0.1, 0, 0], 0.1, {"top": [0.1, 0, 0]})
    s.connect("world", hub, tt.Revolute("low", [1, 0, 0]))
    like = tt.RigidBody("hub/top/moved", 1.0, [0.1, 0, 0], 0.1, {"top": [0.2, 0, 0]})
    s.connect(hub.port("top"), like, tt.Revolute("high", [1, 1, 0]))
    s.connect(like.port("top"), tt.RigidBody("end", 1.0, [0.1, 0, 0], 0.1), tt.Revolute("hub/top/moved/by", [0, 1, 0]))
    m = s.resolve()
    for name in ("hub.top.position.y", "hub/top/moved.top.position.y"):
        expected = by_parameter(m, name, efforts(m, *STATE, {}, np.zeros(0)))
        found = m.inverse_dynamics_sensitivities(*STATE, [name])[name]
        np.testing.assert_allclose(found, expected, rtol=0, atol=EXACT * np.abs(expected).max())


@pytest.mark.parametrize("what", ["load", "spring"])
def test_nothing_acts_on_blocks_that_stand_for_joints(what: str) -> None:
    """Models do not know their ports: the body that hangs there has the same place."""
    s, segment = tt.System("segment"), Segment("segment", 0.6)
    s.connect("world", tt.RigidBody("hub", 2.0, [0.1, 0.2, 0.3], 0.1), segment)
    if what == "load":
        s.add_load(tt.Load("push", segment.port("C"), [1, 2, 3]))
    else:
        s.add_interaction(tt.SpringDamper("push", stiffness=20.0, length=0.2), "world", segment.port("C"))
    with refusal("not-a-body", "push"):
        s.resolve()


def test_what_was_found_is_not_pickled_and_not_kept_for_other_values() -> None:
    m = pair(lambda a, b, _: (b,)).resolve()
    found = m.inverse_dynamics_sensitivities(*STATE, ["one.end.position.x"], u=[0.4])["one.end.position.x"]
    assert not any("sensitivities" in name for name in m.__getstate__())
    other = m.with_parameters({"two.mass": 4.0}).inverse_dynamics_sensitivities(*STATE, ["one.end.position.x"], u=[0.4])
    assert np.abs(other["one.end.position.x"] - found).max() > 1e-3
    plain = tt.System("plain")
    plain.connect("world", tt.RigidBody("bob", 1.0, [1, 0, 0]), tt.Revolute("hinge", [0, 1, 1]))
    m = plain.resolve()
    m.inverse_dynamics_sensitivities([0.1], [0.2], [0.3], ["hinge.axis.x"])
    again = pickle.loads(pickle.dumps(m)).inverse_dynamics_sensitivities([0.1], [0.2], [0.3], ["hinge.axis.x"])
    assert np.abs(again["hinge.axis.x"]).max() > 0


def test_a_wrench_on_the_reference_frame_of_a_body_that_hangs_by_a_port() -> None:
    """It stays where it is in the body, however the body hangs."""
    s = tt.System("hung")
    body = tt.RigidBody("body", 1.0, [0.1, 0, 0], 0.1, {"end": [0.3, 0.1, 0.2]})
    s.connect("world", body.port("end"), tt.Universal("joint"))
    m, wrenches = s.resolve(), {"body": np.arange(1.0, 7.0)}
    state = tuple(x[:2] for x in STATE)
    found = m.inverse_dynamics_sensitivities(*state, ["body.end.position.y"], wrenches)["body.end.position.y"]
    expected = by_parameter(m, "body.end.position.y", efforts(m, *state, wrenches, np.zeros(0)))
    np.testing.assert_allclose(found, expected, rtol=0, atol=EXACT * np.abs(expected).max())


@pytest.mark.parametrize("names", [5, None, [3], [["hub.mass"]], {"one.mass", 3}])
def test_names_that_are_none_are_refused(names: Any) -> None:
    m = pair(lambda a, b, _: (b,)).resolve()
    for function in (m.inverse_dynamics_sensitivities, m.forward_dynamics_sensitivities):
        with refusal("wrong-type", "names"):
            function(*STATE, names)


def test_coriolis_matrices_know_nothing_of_interactions() -> None:
    """Beside an interaction as without: inertia alone makes them."""
    m = pair(lambda a, b, _: (b,)).resolve()
    reference = pair(lambda a, b, _: (b,)).resolve("reference")
    expected = reference.coriolis_matrix(*STATE[:2])
    np.testing.assert_allclose(m.coriolis_matrix(*STATE[:2]), expected, rtol=0, atol=EXACT * np.abs(expected).max())
