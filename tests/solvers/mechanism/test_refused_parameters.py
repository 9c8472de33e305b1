"""`with_parameters` refuses what the constructor of a block refuses, whichever class and engine."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.contract.redefined_blocks import SYSTEMS, Change
from titop.blocks.contract.block import Block, with_number


def aboard(make: Callable[[tt.RigidBody], tt.CompositeDevice]) -> Callable[[Change], tt.System]:
    """Return what builds a body with a device."""

    def build(change: Change) -> tt.System:
        s, hub = tt.System("aboard", gravity=[0, 0, 0]), tt.RigidBody("hub", 100.0, inertia=10.0)
        s.connect("world", hub, tt.Free("base"))
        s.add_device(change(make(hub)))
        return s

    return build


WHEEL: dict[str, Any] = {"friction": tt.Friction(0.1), "damping": 0.1, "speed_limit": 30.0, "transverse_inertia": 0.1}
WHEEL |= {"static_imbalance": 1e-5, "jitter": "force", "harmonics": [(2, 1e-5, 1e-6)]}
Z, Y = [0, 0, 1], [0, 1, 0]
DEVICES = {
    "ReactionWheel": aboard(lambda hub: tt.ReactionWheel("block", hub, Z, 0.1, 5.0, 0.2, **WHEEL)),
    "ControlMomentGyro": aboard(lambda hub: tt.ControlMomentGyro("block", hub, Z, Y, 0.1, 2.0, speed=100.0)),
    "CylinderSlosh": aboard(lambda hub: tt.Slosh.cylinder("block", hub, 1.0, 2.0, 0.5, 1000.0)),
    "SphereSlosh": aboard(lambda hub: tt.Slosh.sphere("block", hub, 1.0, 0.5, 1000.0, "spring")),
    "TableSlosh": aboard(lambda hub: tt.Slosh.table("block", hub, 0.5, [0, 1], [1, 2], [0, 1], [0.5, 1], [1, 1], [0, 1])),
}


def refused(call: Callable[[], Any]) -> bool:
    try:
        return bool(call())
    except tt.ModelError as error:
        return "cannot-change" not in [finding.code for finding in error.findings]


def read_anew(block: Block, name: str, value: float) -> list[Any]:
    """Return what the constructor's reading of a field with the value in it, and the check, find wrong."""
    field, path, _ = block.parameter_fields().get(name, (name, (), ""))
    other, now = copy.copy(block), with_number(getattr(block, field), path, value)
    if field in block.symmetric_fields and path:
        now[path[::-1]] = value
    setattr(other, field, now)
    return other.check()[0]


def cases(build: Callable[[Change], tt.System], engine: str) -> Iterator[tuple[str, float, bool, bool]]:
    """Yield parameters and values, whether a block with the value is refused, and whether the model refuses it."""
    kept: list[Block] = []
    m = build(lambda block: kept.append(block) or block).resolve(engine)
    (block,) = kept
    known = m.parameters()
    for full, (x, _) in known.items():
        name = full.removeprefix("block.")
        if name != full and (name in block.parameter_fields() or hasattr(type(block), name)):
            for value in dict.fromkeys((-1, 0.0, -x)):
                there, here = (lambda: read_anew(block, name, value)), (lambda: m.with_parameters({full: value}) and False)  # noqa: B023
                yield full, value, refused(there), refused(here)


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # of usable values that are suspicious
@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("kind", [*SYSTEMS, *DEVICES])
def test_models_refuse_what_constructors_refuse(kind: str, engine: str) -> None:
    missed = [(name, value) for name, value, there, here in cases((SYSTEMS | DEVICES)[kind], engine) if there and not here]
    assert missed == []


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_some_values_are_refused_and_others_are_not() -> None:
    found = {kind: [*cases((SYSTEMS | DEVICES)[kind], "compiled")] for kind in ("ReactionWheel", "Curvilinear", "RigidBody")}
    assert ("block.damping", -1, True, True) in found["ReactionWheel"]
    assert ("block.armature", -1, True, True) in found["Curvilinear"]
    assert ("block.com.x", -1, False, False) in found["RigidBody"]


def test_ranges_of_uncertain_parameters_are_refused_likewise() -> None:
    m = DEVICES["ReactionWheel"](lambda wheel: wheel).resolve()
    with pytest.raises(tt.ModelError, match="negative-damping"):
        tt.lft(m, m.neutral(), {"block.damping": (-0.2, 0.2)}, ["block/motor"], ["hub.w"])
    assert tt.lft(m, m.neutral(), {"block.damping": (0.0, 0.2)}, ["block/motor"], ["hub.w"]).blocks


def test_axes_of_zeros_are_refused_where_no_kernel_knows_the_joint() -> None:
    class Hinge(tt.Revolute):
        def pose(self, port: str, q: Any) -> Any:
            return super().pose(port, q)

    s = tt.System("own")
    s.connect("world", tt.RigidBody("b", 1.0, inertia=1.0), Hinge("hinge", axis=[0, 0, 2.0]))
    m = s.resolve()
    for values, is_right in (({"hinge.axis.z": 0.0}, False), ({"hinge.axis.z": 0.0, "hinge.axis.x": 1.0}, True)):
        assert refused(lambda: m.with_parameters(values) and False) != is_right  # noqa: B023


class Pull(tt.Interaction):
    """A spring between two ports, whose force has a limit."""

    parameter_units = {"stiffness": "N/m", "limit": "N"}  # noqa: RUF012

    def __init__(self, name: str, stiffness: float, limit: float) -> None:
        super().__init__(name)
        self.stiffness, self.limit = stiffness, limit

    def wrenches(self, R: Any, r: Any, V1: Any, V2: Any) -> Any:
        force = min(self.stiffness, self.limit) * r
        return np.concatenate([force, np.zeros(3)]), np.concatenate([-R.T @ force, np.zeros(3)])


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_numbers_that_are_not_finite_are_refused_by_name(engine: str) -> None:
    for limit, is_right in ((5.0, True), (np.inf, False), (np.nan, False)):
        s = tt.System("pulled", gravity=[0, 0, 0])
        s.connect("world", body := tt.RigidBody("body", 1.0, inertia=1.0), tt.Prismatic("rail"))
        s.close_loop("world", body, Pull("pull", 3.0, limit))
        if is_right:
            assert s.resolve(engine).forward_dynamics([0.5], [0.0], [0.0]) == pytest.approx(-1.5)
        else:
            with pytest.raises(tt.ModelError, match=r"pull\.limit: got .*not-finite"):
                s.resolve(engine)
