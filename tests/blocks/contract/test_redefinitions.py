"""Whatever a subclass of a public class says anew, both engines follow it, or the compiled one refuses it by name.

Classes and functions are found by looking: who adds a class is asked for a system around it, who adds a function need not do
anything.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.blocks.contract.redefined_blocks import (
    REPEATED,
    SYSTEMS,
    Change,
    arm,
    carried,
    public_classes,
    redefinable,
    redefined,
    told,
)
from tests.refusals import ENGINES
from tests.systems import Array
from titop.blocks.basics.spatial import skew

#: Of functions that contradict each other.
pytestmark = [pytest.mark.filterwarnings("ignore::titop.ModelWarning"), pytest.mark.long]


#: What may be changed alone and contradicts nothing of which derivatives are made: poses and subspaces may not.
LAWFUL = {"mass_matrix", "gyroscopic", "passive_efforts"}


def differences(found: dict[str, Array], expected: dict[str, Array]) -> list[str]:
    """Return in what two models differ by more than other orders of summation, and differences of derivatives, do."""
    return [
        name
        for name, value in expected.items()
        if not np.allclose(found[name], value, rtol=1e-7, atol=1e-9 * max(1.0, np.abs(value).max(initial=0.0)))
    ]


#: What is wrong with some functions, changed alone, whichever engine follows them; laws of others are refused by `own-law`.
REFUSED = {"input_matrix": "idle-inputs", "integrate": "not-unit"}


def answer(
    kind: str, change: Change, engine: str, derivatives: bool = False, refused: str | None = None
) -> dict[str, Array] | None:
    """Return what a model with a subclass tells, None where it is `refused` by this code, naming the block."""
    try:
        return told(SYSTEMS[kind](change).resolve(engine), derivatives)
    except tt.ModelError as error:
        if error.code != refused or "block" not in str(error):
            raise
        return None


def test_every_class_has_a_system() -> None:
    assert public_classes().keys() == SYSTEMS.keys()


@pytest.mark.parametrize("kind", SYSTEMS)
def test_the_compiled_engine_follows_or_refuses(kind: str) -> None:
    names = [name for name in redefinable(public_classes()[kind]) if name not in REPEATED]
    lost = {}
    for name in names:
        lawful = kind in ("Rod", "SoftBody") and name in LAWFUL
        compiled = answer(kind, redefined(name), "compiled", lawful, REFUSED.get(name, "own-law"))
        if compiled is None:
            continue
        reference = answer(kind, redefined(name), "reference", lawful)
        assert reference is not None
        if differing := differences(compiled, reference):
            lost[name] = differing
    assert not lost


@pytest.mark.parametrize("kind", ["RigidBody", "FlexibleBody", "Rod", "SoftBody", "Universal", "Free"])
def test_what_is_said_again_may_be_said_by_a_subclass(kind: str) -> None:
    """Functions that repeat others, to the same effect."""
    names = [name for name in redefinable(public_classes()[kind]) if name in REPEATED]

    def apply(block: Any) -> Any:
        for name in names:
            block = redefined(name, change=False)(block)
        return block

    plain, own = (answer(kind, change, "compiled") for change in (lambda block: block, apply))
    assert plain is not None
    assert own is not None
    assert not differences(own, plain)


def test_what_is_changed_is_noticed() -> None:
    """Negative control: a mass matrix that one engine alone is told of."""
    plain, heavy = (answer("Rod", change, "reference", True) for change in (lambda block: block, redefined("mass_matrix")))
    assert plain is not None
    assert heavy is not None
    assert {"forward", "mass", "momentum", "forward by state"} <= set(differences(heavy, plain))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_rod_with_a_mass_of_its_own(engine: str) -> None:
    """A kilogram at its tip in the mass matrix: as a rod that carries a body of a kilogram there."""

    class Heavy(tt.Rod):
        gyroscopic = tt.Block.gyroscopic

        def mass_matrix(self, q: Array) -> Array:
            R, p = self.pose("tip", q)
            J = np.hstack([R.T, -R.T @ skew(p), self.motion_subspace("tip", q)[:3]])
            return super().mass_matrix(q) + J.T @ J

    given: Any = {"young": 1e7, "density": 1000.0, "strains": {"bending_y": 2}}
    systems = [tt.System("rod", gravity=[0, 0, -9.81]) for _ in range(2)]
    systems[0].connect("world", Heavy("rod", 0.5, tt.Section.circle(0.01), **given), tt.Weld("clamp"))
    systems[1].connect("world", rod := tt.Rod("rod", 0.5, tt.Section.circle(0.01), **given), tt.Weld("clamp"))
    systems[1].connect(rod.port("tip"), tt.RigidBody("tip", 1.0), tt.Weld("glue"))
    own, carrying = (s.resolve(engine) for s in systems)
    q, v = np.array([0.3, -0.1, 0.05]), np.array([1.0, 2.0, -1.0])
    np.testing.assert_allclose(own.mass_matrix(q), carrying.mass_matrix(q), rtol=1e-12)  # other orders of summation
    np.testing.assert_allclose(own.forward_dynamics(q, v), carrying.forward_dynamics(q, v), rtol=1e-9)
    for found, expected in zip(*(m.forward_dynamics_derivatives(q, v) for m in (own, carrying)), strict=True):
        # differences of second order along the coordinates, of complex steps
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


def test_a_function_of_one_block_alone_is_followed_by_those_that_repeat_it() -> None:
    """Given to an object, not a class; and inherited from beside the class that repeats it."""
    heavy, section = 3.0 * np.eye(8), tt.Section.circle(0.02)

    class Mixed:
        def mass_matrix(self, q: Array) -> Array:
            return heavy + 0.0 * q[0]

    class Beside(Mixed, tt.Rod):
        pass

    given: Any = {"young": 2e5, "density": 900.0, "strains": {"bending_y": 1}}
    alone, beside = (cls("rod", 0.4, section, **given) for cls in (tt.Rod, Beside))
    alone.mass_matrix = lambda q: heavy  # type: ignore[method-assign]
    for rod in (alone, beside):
        s = tt.System("one")
        s.connect("world", rod, tt.Weld("clamp"))
        np.testing.assert_allclose(s.resolve().mass_matrix(np.zeros(2)), heavy[6:, 6:], rtol=1e-15)


def test_systems_are_answered_alike_as_they_are() -> None:
    """Positive control of the comparison, with one of titop's own blocks."""
    plain = [told(carried(arm("block")).resolve(engine)) for engine in ENGINES]
    assert not differences(*plain)
