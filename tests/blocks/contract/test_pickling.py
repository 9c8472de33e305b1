"""What keeps a model from going to another process is told by the block and the field that hold it."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import titop as tt


def stretched(x: Any, q: Any) -> list[Any]:
    """Return where a point of a bar is that q stretches."""
    return [x[0] * (1.0 + q[0]), x[1], x[2]]


def soft(kinematics: Any) -> tt.SoftBody:
    return tt.SoftBody("soft", kinematics, tt.Domain.cylinder(0.01, 0.1), 1000.0, coordinates=("stretch",))


def rod(**fields: Any) -> tt.Rod:
    return tt.Rod("rod", 1.0, fields.pop("section", tt.Section.circle(0.01)), young=1e6, density=1000.0, **fields)


def on_world(body: Any) -> tt.System:
    s = tt.System("s")
    s.connect("world", body, tt.Revolute("hinge"))
    return s


def with_tendon() -> tt.System:
    body = rod()
    s = on_world(body)
    s.add_interaction(tt.Tendon("flexor", body, y=lambda X: 0.005 + 0.0 * X))
    return s


class Local:
    """Makes a class that only its function knows."""

    @staticmethod
    def body() -> tt.RigidBody:
        class Hidden(tt.RigidBody):
            pass

        return Hidden("hidden", 1.0, inertia=0.1)


CASES = {
    "kinematics": (lambda: on_world(soft(lambda x, q: stretched(x, q))), "soft.kinematics"),
    "reference strain": (
        lambda: on_world(rod(reference_strain=lambda X: np.array([0, 0, 0, 1.0, 0, 0]))),
        "rod.reference_strain",
    ),
    "section": (lambda: on_world(rod(section=tt.Section.circle(lambda X: 0.01 + 0.0 * X))), "rod.section"),
    "tendon": (with_tendon, "flexor.y"),
    "class": (lambda: on_world(Local.body()), "hidden"),
}


@pytest.mark.parametrize("name", CASES)
def test_lambdas_are_told_by_name(name: str) -> None:
    make, where = CASES[name]
    system = make()
    for thing in (system, system.resolve(engine="reference")):
        with pytest.raises(tt.ModelError, match="cannot-send") as caught:
            pickle.dumps(thing)
        assert caught.value.where == where
        assert "by def" in str(caught.value)


def curved(X: float) -> Any:
    """Return a reference strain."""
    return np.array([0, 0.1, 0, 1.0, 0, 0])


def test_functions_of_modules_go() -> None:
    """The negative control: what another process finds by its name."""
    model = on_world(rod(reference_strain=curved, strains={"bending_y": 0})).resolve(engine="reference")
    sent = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(sent.mass_matrix([0.1, 0.2]), model.mass_matrix([0.1, 0.2]))


@pytest.mark.parametrize("name", CASES)
def test_copies_hold_what_they_hold(name: str) -> None:
    """Copying is no sending: blocks with lambdas are copied as others are, deep or not."""
    for block in CASES[name][0]().blocks:
        for copied in (copy.copy(block), copy.deepcopy(block)):
            assert type(copied) is type(block)
            assert copied is not block
            assert vars(copied).keys() == vars(block).keys()


def test_deep_copies_share_nothing_that_can_change() -> None:
    body = tt.RigidBody("b", 1.0, [0, 0, 1], 0.1)
    load = tt.Load("push", body, force=[1, 0, 0])
    held, copied = copy.deepcopy([body, load])
    assert copied.target.block is held
    copied.force[0] = 7.0
    assert load.force[0] == 1.0
