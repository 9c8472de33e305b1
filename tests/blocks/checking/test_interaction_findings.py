"""What is wrong with the functions of an interaction of one's own is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.refusals import ENGINES
from titop.blocks.contract.target_motion import TargetMotion
from titop.blocks.interactions.interaction import Interaction


class Lifting(tt.Interaction):
    """Pushes the second port, and nothing else."""

    def wrenches(self, R: Any, r: Any, V1: Any, V2: Any) -> Any:
        return 0.0 * V1, np.array([0, 0, 1.0, 0, 0, 0]) + 0.0 * V2


class Outside(Lifting):
    external = True


class Feeding(tt.SpringDamper):
    def wrenches(self, R: Any, r: Any, V1: Any, V2: Any) -> Any:
        return super().wrenches(R, r, -V1, -V2)


class Forgetful(tt.SpringDamper):
    def energy(self, R: Any, r: Any) -> Any:
        return 0.0


class Squared(tt.Cable):
    def act(self, motion: TargetMotion) -> Any:
        return super().act(motion._replace(u=motion.u**2))


@pytest.mark.parametrize(
    ("block", "said"),
    [
        (Lifting("lift"), "wrenches that add up to nothing"),
        (Feeding("feed", 1.0, 2.0), "what opposes the motion"),
        (Forgetful("spring", 1.0), "that the stored energy loses"),
        (Squared("squared"), "inputs that act linearly"),
    ],
    ids=lambda x: getattr(x, "name", ""),
)
def test_check_block_tells_what_is_wrong(block: Any, said: str) -> None:
    with pytest.raises(tt.ModelError, match=said):
        tt.check_block(block)


def test_wrenches_from_outside_are_told_unless_they_are_meant() -> None:
    def between(interaction: Interaction, first: Any) -> tt.System:
        s = tt.System("s")
        one, two = (tt.RigidBody(name, mass=1.0, inertia=1.0) for name in ("one", "two"))
        s.connect("world", one, tt.Free("float"))
        s.connect(one, two, tt.Revolute("hinge"))
        s.close_loop("world" if first == "world" else one, two, interaction)
        return s

    (finding,) = between(Lifting("lift"), "one").check()
    assert finding.code == "unbalanced-wrenches"
    assert finding.where == "lift"
    assert not between(Outside("lift"), "one").check()
    assert not between(Lifting("lift"), "world").check()


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"wrenches": lambda *_: (np.zeros(5), np.zeros(6))}, r"pull.wrenches.*two wrenches of six numbers"),
        ({"wrenches": lambda *_: None}, r"pull.wrenches.*two wrenches of six numbers"),
        ({"wrenches": lambda *_: np.zeros((2, 6)), "gaps": lambda *_: 0.5}, r"pull.gaps.*a vector of real numbers"),
        ({"wrenches": lambda *_: np.zeros((2, 6)), "energy": lambda *_: None}, r"pull.stored.*return a number"),
        ({"wrenches": lambda *_: np.zeros((2, 6)), "energy": lambda *_: np.zeros(3)}, r"pull.stored.*return a number"),
        ({}, r"pull: got Mine.*define wrenches"),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
def test_functions_that_return_other_things_are_told_by_name(fields: dict[str, Any], said: str, engine: str) -> None:
    s = tt.System("two", gravity=[0, 0, 0])
    for k in range(2):
        s.connect("world", tt.RigidBody(f"body{k}", 1.0, inertia=1.0), tt.Prismatic(f"slide{k}"))
    pull = type("Mine", (tt.Interaction,), fields)("pull")
    s.close_loop(s["body0"], s["body1"], pull)
    with pytest.raises(tt.ModelError, match=said):
        s.resolve(engine)
