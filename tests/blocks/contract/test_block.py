"""Blocks as objects: snapshots, copies with other parameters, and their inputs' names."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics.spatial import Array
from titop.blocks.contract.block import overrides_method


class Rope(tt.Block):
    """A block of one's own, with parameters and two inputs, one of them without a name."""

    coordinates = ("slack",)
    ports = ("C",)
    inputs = ("", "heat")
    parameter_units: ClassVar = {"length": "m", "tension": "N"}

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.length, self.tension = 2.0, 3.0
        self.knots, self.labels, self.marks = np.zeros(2), {"a": 1}, [1.0]


def test_later_changes_do_not_reach_a_snapshot() -> None:
    rope = Rope("rope")
    taken = rope.snapshot()
    rope.length = 5.0
    rope.knots[0], rope.labels["b"] = 1.0, 2
    rope.marks.append(2.0)
    assert isinstance(taken, Rope)
    assert (taken.length, taken.knots.tolist(), taken.labels, taken.marks) == (2.0, [0.0, 0.0], {"a": 1}, [1.0])


def _ported() -> list[tt.RigidBody | tt.FlexibleBody]:
    flexible = tt.FlexibleBody(
        "panel", 2.0, inertia=0.5, frequencies=[3.0], participation=np.zeros((1, 6)), ports={"A": [1, 0, 0]}
    )
    return [tt.RigidBody("hub", 2.0, inertia=0.1, ports={"A": [1, 0, 0]}), flexible]


@pytest.mark.parametrize("body", _ported(), ids=lambda body: type(body).__name__)
def test_bodies_with_changed_parameters_share_no_ports_with_the_original(body: tt.RigidBody | tt.FlexibleBody) -> None:
    changed = body.with_parameters({"mass": 3.0})
    assert isinstance(changed, tt.RigidBody | tt.FlexibleBody)
    changed.port_poses["A"], changed.com[0] = tt.Pose([0, 5, 0]), 7.0
    assert (body.port_poses["A"].position.tolist(), body.com[0]) == ([1.0, 0.0, 0.0], 0.0)


def test_names_that_are_no_parameters_of_a_block_are_refused() -> None:
    for block in (*_ported(), Rope("rope"), tt.SpringDamper("spring", 2.0), tt.Revolute("hinge")):
        for name in ("mas", "mass.x"):
            with pytest.raises(tt.ModelError, match=rf"{block.name}\.{name}.*\[unknown-parameter\]"):
                block.with_parameters({name: 1.0})


def test_whole_numbers_become_those_that_constructors_make_of_them() -> None:
    for body in _ported():
        changed = body.with_parameters({"mass": 3})
        assert isinstance(changed, tt.RigidBody | tt.FlexibleBody)
        assert type(changed.mass) is float


def test_changed_parameters_are_those_of_the_copy_alone() -> None:
    rope = Rope("rope")
    changed = rope.with_parameters({"tension": 7.0})
    assert changed.parameters() == {"length": (2.0, "m"), "tension": (7.0, "N")}
    assert rope.parameters() == {"length": (2.0, "m"), "tension": (3.0, "N")}


def test_an_input_without_a_name_goes_by_the_blocks() -> None:
    assert Rope("rope").input_names == ("rope", "rope.heat")


def test_inputs_that_do_nothing_are_said() -> None:
    with pytest.raises(NotImplementedError, match="'rope' does not say what its inputs do"):
        Rope("rope").input_matrix(np.zeros(1))
    plain = tt.RigidBody("body", mass=1.0)
    assert plain.input_matrix(np.zeros(0)).shape == (0, 0)


@pytest.mark.parametrize("name", ["a.b", "", "a b", "ä/ö\n"])
def test_names_that_no_path_can_hold_are_found(name: str) -> None:
    errors, _ = Rope(name).check()
    assert [finding.code for finding in errors] == ["bad-name"]


def test_a_class_or_one_object_may_have_its_own_form_of_a_method() -> None:
    class Heavier(tt.RigidBody):
        def mass_matrix(self, q: Array | None = None) -> Array:
            return 2.0 * super().mass_matrix(q)

    plain, single = tt.RigidBody("body", mass=1.0), tt.RigidBody("other", mass=1.0)
    single.mass_matrix = lambda q=None: np.eye(6)  # type: ignore[method-assign, assignment, misc]
    asked = [overrides_method(block, "mass_matrix", tt.RigidBody) for block in (plain, Heavier("heavy", mass=1.0), single)]
    assert asked == [False, True, True]
