"""Classes of users whose attributes have names of titop's fields: defaults, properties, annotations, what is set early."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from typing import Any, ClassVar

import numpy as np
import pytest

import titop as tt
from titop.blocks.contract.block import overrides

COM, INERTIA = (0.1, 0.2, 0.3), (0.1, 0.2, 0.25)


def acceleration(body: tt.Block | None = None, joint: tt.Block | None = None, engine: str = "reference") -> float:
    system = tt.System("s")
    body = body or tt.RigidBody("body", 1.0, COM, INERTIA)
    system.connect("world", body, joint or tt.Revolute("hinge", [0, 1, 0], stiffness=2.0))
    return float(system.resolve(engine=engine).forward_dynamics([0.1], [0.2], [0.3])[0])


BEAM: dict[str, Any] = {"density": 1000.0, "area": 1e-4, "iy": 3e-9, "iz": 2e-9}


class Boom(tt.Beam):
    """Sets what a beam's constructor computes from before it does."""

    young: Any = 1e5
    parameter_units: ClassVar = {**tt.Beam.parameter_units, "price": "1"}

    def __init__(self, name: str) -> None:
        self.length = 2.0
        super().__init__(name, self.length, young=self.young, **BEAM)
        self.price = 3.0


class DefaultAxis(tt.Revolute):
    axis: Any = (0, 1, 0)
    stiffness: Any = 2.0

    def __init__(self, name: str) -> None:
        super().__init__(name, self.axis, stiffness=self.stiffness)


class Early(tt.Revolute):
    def __init__(self, name: str) -> None:
        self.axis, self.stiffness = [0, 1, 0], 2.0
        super().__init__(name, self.axis, stiffness=self.stiffness)


class Stored(tt.RigidBody):
    """Keeps its inertia elsewhere, in units of its own."""

    @property
    def inertia(self) -> Any:
        return self.percent / 100

    @inertia.setter
    def inertia(self, value: Any) -> None:
        self.percent = 100 * value


@dataclasses.dataclass(eq=False)
class Data(tt.RigidBody):
    mass: Any
    height: float
    com: Any = COM
    inertia: Any = INERTIA

    def __post_init__(self) -> None:
        super().__init__("body", self.mass, self.com, self.inertia)


class Mixin:
    com: Any = COM


class Mixed(Mixin, tt.RigidBody):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__("body", 1.0, self.com, INERTIA)


MADE = [
    lambda: {"joint": DefaultAxis("hinge")},
    lambda: {"joint": Early("hinge")},
    lambda: {"body": Stored("body", 1.0, COM, INERTIA)},
    lambda: {"body": Data(1.0, 2.0)},
    lambda: {"body": Mixed()},
]


@pytest.mark.parametrize("engine", ["reference", "compiled"])
@pytest.mark.parametrize("made", MADE)
def test_they_do_what_titops_own_do(made: Any, engine: str) -> None:
    expected = acceleration(engine=engine)
    for blocks in (made(), copy.deepcopy(made()), pickle.loads(pickle.dumps(made()))):
        assert acceleration(**blocks, engine=engine) == pytest.approx(expected, rel=1e-13), "another order of sums"


def test_what_is_set_later_is_read() -> None:
    body, joint = Stored("body", 1.0, COM, INERTIA), DefaultAxis("hinge")
    body.inertia, joint.axis, joint.stiffness = 0.7, [0, 3, 0], 5
    other = acceleration(tt.RigidBody("body", 1.0, COM, 0.7), tt.Revolute("hinge", [0, 1, 0], stiffness=5.0))
    assert acceleration(body, joint) == pytest.approx(other, rel=1e-13)
    body.inertia, joint.axis = "heavy", [0, 1]
    with pytest.raises(tt.ModelError) as caught:
        acceleration(body, joint)
    assert {finding.where for finding in caught.value.findings} == {"body.inertia", "hinge.axis"}


def test_beams_follow_what_is_set_later() -> None:
    boom = Boom("boom")
    assert np.array_equal(boom.natural_frequencies, tt.Beam("boom", 2.0, young=1e5, **BEAM).natural_frequencies)
    boom.young, boom.length = 2e5, 1
    assert np.array_equal(boom.natural_frequencies, tt.Beam("boom", 1.0, young=2e5, **BEAM).natural_frequencies)
    changed: Any = boom.with_parameters({"length": 1.5, "price": 5.0})
    assert np.array_equal(changed.natural_frequencies, tt.Beam("boom", 1.5, young=2e5, **BEAM).natural_frequencies)
    assert (type(changed), changed.price, boom.price) == (Boom, 5.0, 3.0)


@pytest.mark.parametrize("kind", [Stored, tt.RigidBody])
def test_parameters_change(kind: Any) -> None:
    system, given = tt.System("s"), np.diag([0.1, 0.9, 0.85])
    system.connect("world", kind("body", 1.0, COM, INERTIA), tt.Revolute("hinge", [0, 1, 0], stiffness=2.0))
    changed = system.resolve(engine="reference").with_parameters({"body.inertia.yy": 0.9, "body.inertia.zz": 0.85})
    expected = acceleration(tt.RigidBody("body", 1.0, COM, given))
    assert float(changed.forward_dynamics([0.1], [0.2], [0.3])[0]) == pytest.approx(expected, rel=1e-13)


def test_defaults_stay_those_of_the_class_and_redefine_no_law() -> None:
    assert DefaultAxis.axis == (0, 1, 0)
    assert Data.com == COM
    assert not hasattr(Data, "mass"), "only annotated: an argument without a default"
    assert overrides(DefaultAxis("hinge")) == ()
    assert overrides(Stored("body", 1.0, COM, INERTIA)) == ("inertia",)


def test_systems_have_defaults_too() -> None:
    class Moon(tt.System):
        gravity: Any = (0.0, 0.0, -1.62)

        def __init__(self) -> None:
            super().__init__("moon", self.gravity)

    moon = Moon()
    assert moon.gravity.tolist() == [0.0, 0.0, -1.62]
    moon.gravity = [0, 0, -1]
    assert moon.gravity.dtype == float
