"""Models as objects."""

from __future__ import annotations

import copy
import functools
import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import titop as tt

PAGES = Path(tt.__file__).parent / "examples" / "pages"


def test_models_travel_to_other_processes() -> None:
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", mass=1.0, com=[0, 0, -1]), tt.Revolute("pivot", axis=[1, 0, 0]))
    model = s.resolve()
    first = model.forward_dynamics([0.3], [0.1])
    assert model.inverse_dynamics([0.3], [0.1], first) == pytest.approx(0.0, abs=1e-12)
    model.mass_matrix([0.3])
    model.forward_dynamics_derivatives([0.3], [0.1])
    model.inverse_dynamics_derivatives([0.3], [0.1], first)
    tt.linear_matrices(model, ([0.3], [0.1], [0.0]))
    model.gravity_effects([0.3])
    model.nonlinear_effects([0.3], [0.1])
    assert sum(isinstance(value, functools.partial) for value in vars(model.mechanism.engine.calls).values()) > 4
    travelled = pickle.loads(pickle.dumps(model))
    assert travelled.forward_dynamics([0.3], [0.1]) == first
    assert travelled.with_parameters({"bob.mass": 2.0}).mass_matrix([0.3]).item() == pytest.approx(2.0)


def members(model: tt.Model) -> list[str]:
    """Return the names that a model shows."""
    return [name for name in dir(model) if not name.startswith("_")]


def undocumented(names: list[str]) -> set[str]:
    """Return which of some names do not stand in the table of the reference page."""
    _, _, table = (PAGES / "reference.md").read_text(encoding="utf8").partition("### All members of a model")
    return set(names) - set(re.findall(r"\w+", table.partition("\n## ")[0]))


def pendulum() -> tt.Model:
    s = tt.System("pendulum")
    s.connect("world", tt.RigidBody("bob", mass=1.0, com=[0, 0, -1]), tt.Revolute("pivot", axis=[1, 0, 0]))
    return s.resolve()


def test_every_member_stands_in_the_reference() -> None:
    names = members(pendulum())
    assert undocumented(names) == set()
    assert undocumented([*names, "apart"]) == {"apart"}  # the negative control


def test_few_classes_stand_above_a_model() -> None:
    def above(kind: type) -> int:
        return len(kind.__mro__) - 1  # without `object`

    class Deeper(type("Deep", (tt.Model,), {})):  # type: ignore[misc]
        """The negative control."""

    assert above(tt.Model) <= 3 < above(Deeper)


def test_models_of_a_kind_of_ones_own_stay_of_it() -> None:
    class Named(tt.Model):
        note = "mine"

    model = Named(pendulum().mechanism)
    model.where = "here"
    changed = model.with_parameters({"bob.mass": 2.0})
    assert isinstance(changed, Named)
    assert not hasattr(changed, "where")
    assert isinstance(copy.copy(model), Named)
    assert copy.copy(model).where == "here"
    np.testing.assert_array_equal(copy.deepcopy(model).mass_matrix([0.1]), model.mass_matrix([0.1]))


def test_random_configurations_are_a_stack_that_functions_take() -> None:
    s = tt.System("s")
    s.connect("world", tt.RigidBody("body", 1.0, inertia=1.0), tt.Free("base"))
    m = s.resolve("reference")
    stack = m.random_configuration(np.random.default_rng(0), 3)
    rng = np.random.default_rng(0)
    np.testing.assert_array_equal(stack, [m.random_configuration(rng) for _ in range(3)])
    assert m.mass_matrix(stack).shape == (3, 6, 6)
    assert m.random_configuration(rng, 0).shape == (0, 7)
    for wrong in (None, 0, np.random):
        with pytest.raises(tt.ModelError, match="default_rng"):
            m.random_configuration(wrong, 2)  # type: ignore[arg-type]
    with pytest.raises(tt.ModelError, match="count"):
        m.random_configuration(rng, 2.5)  # type: ignore[arg-type]
