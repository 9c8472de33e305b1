"""What models with other parameters share with the first, what they find anew, and that they are light."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Iterator
from functools import cached_property

import numpy as np
import pytest

import titop as tt
from tests.mechanisms import windows
from titop.solvers.mechanism.shared import structural

NEAR, FAR, MOVED = {"leg0.mass": 1.5}, {"leg0.com.y": 0.01}, {"leg0.end.position.x": 1.01}


def kept(model: tt.Model, kind: type) -> dict[str, object]:
    """Return the properties of a kind that a model's mechanism keeps by now."""
    attributes = {name: attribute for each in type(model.mechanism).__mro__ for name, attribute in vars(each).items()}
    return {name: found for name, found in vars(model.mechanism).items() if type(attributes.get(name)) is kind}


@pytest.fixture
def asked() -> tt.Model:
    """A closed linkage that was asked for everything, with a wrong number of constraints, to be known by."""
    model = windows(1).resolve()
    for name in dir(model.mechanism):
        getattr(model.mechanism, name)
    vars(model.mechanism)["generic_rank"] = model.mechanism._geometric["generic_rank"] = 99
    return model


@pytest.mark.parametrize("change", [NEAR, FAR, MOVED])
def test_what_holds_of_the_structure_is_shared_and_nothing_else(asked: tt.Model, change: dict[str, float]) -> None:
    """Whatever a class declares: what is marked is the same object, what is not is another or not there."""
    changed = asked.with_parameters(change)
    assert len(kept(asked, structural)) > 20
    assert len(kept(asked, cached_property)) > 5
    for name, value in kept(asked, structural).items():
        assert getattr(changed.mechanism, name) is value, name
    for name, value in kept(asked, cached_property).items():
        assert vars(changed.mechanism).get(name) is not value, name


@pytest.mark.parametrize(("change", "rank"), [(NEAR, 99), (FAR, 99), (MOVED, 2)])
def test_constraints_are_counted_anew_where_ports_move(asked: tt.Model, change: dict[str, float], rank: int) -> None:
    assert asked.with_parameters(change).mechanism.generic_rank == rank


def test_what_one_finds_others_have() -> None:
    """Whichever is asked first."""
    model = windows(1).resolve()
    changed = model.with_parameters(NEAR)
    assert "parameter_names" not in vars(model)
    assert (
        changed.mechanism.parameter_names
        is model.mechanism.parameter_names
        is model.with_parameters(NEAR).mechanism.parameter_names
    )


@pytest.fixture
def no_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_changed_model_that_computed_nothing_is_freed_at_once(no_collection: None) -> None:
    """Its memory serves the next: it has no engine, which knows its model."""
    model = windows(1).resolve()
    changed = model.with_parameters(NEAR)
    told = weakref.ref(changed)
    del changed
    assert told() is None
    used = model.with_parameters(NEAR)
    used.mass_matrix(used.neutral())
    told = weakref.ref(used.mechanism)
    del used
    assert told() is not None  # a mechanism and its engine know each other


def test_a_changed_model_crosses_processes_before_and_after_it_is_used() -> None:
    model = windows(1).resolve()
    changed = model.with_parameters(NEAR)
    q, zeros = model.mechanism.regular_configuration, np.zeros(model.nv)
    sent = pickle.loads(pickle.dumps(changed))
    expected = changed.forward_dynamics(q, zeros, zeros)
    for other in (sent, pickle.loads(pickle.dumps(changed)), sent.with_parameters(NEAR)):
        np.testing.assert_array_equal(other.forward_dynamics(q, zeros, zeros), expected)  # the same kernels
    assert abs(model.forward_dynamics(q, zeros, zeros) - expected).max() > 0.01
