"""Every signal that can be named has a value."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from tests.closed_systems import closed_four_bar
from tests.solvers.signals.rigs import ROLES, rig
from tests.solvers.signals.test_signal_derivatives import read_twice
from tests.systems import random_state
from titop.solvers.signals.grammar import MEASURED, OUTPUT
from titop.solvers.signals.quantities import UNITS, Kind
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.values import SOURCES, JoinedValues, quantity_value


def test_every_kind_that_can_be_named_has_its_entries(model) -> None:
    named = {of.kind for role in ROLES.values() for of in role.quantities(model)}
    readable = {of.kind for role in (OUTPUT, MEASURED) for of in role.quantities(model)}
    readable |= {Kind.MOMENTUM, Kind.SPECIFIC_FORCE, Kind.LENGTH, Kind.VOLUME}  # of what this system has not
    readable |= {Kind.STRAIN, Kind.SECTION_WRENCH}  # of rods
    readable |= {Kind.OWN_STATE}  # of blocks with states of the first order
    readable |= {Kind.GAP, Kind.CONTACT_FORCE}  # of contacts
    readable |= {Kind.READING, Kind.READING_AT_ONCE}  # of drives
    readable |= {Kind.FILTERED, Kind.FILTERED_AT_ONCE}  # of sensors with filters
    readable |= {Kind.OBSERVATION}  # of star trackers and the like
    assert named - {Kind.PARAMETER, Kind.STATE} <= set(UNITS)
    assert set(SOURCES) == readable


def joined_as_alone(model: tt.Model, reference: tt.Model, state: list[np.ndarray]) -> set[Kind]:
    """Compare all values, read together and backwards, with those that another engine reads one by one; return their kinds."""
    quantities = [*OUTPUT.quantities(model), *MEASURED.quantities(model)]
    q, v, a, tau = state
    found = JoinedValues(model, quantities[::-1]).read(Snapshot(model, q, v, a, tau, None, None, model.neutral()))
    at = Snapshot(reference, q, v, a, tau, None, None, model.neutral())
    for of in quantities[::-1]:
        own, found = np.split(found, [len(of.entries)])
        expected = quantity_value(at, of)
        # rounding in sums of some hundreds of terms
        np.testing.assert_allclose(own, expected, rtol=0, atol=1e-10 * max(1.0, np.abs(expected).max()), err_msg=str(of))
    assert not len(found)
    return {of.kind for of in quantities}


@pytest.mark.parametrize("engine", ["compiled", "reference"])
@pytest.mark.parametrize("system", [read_twice, rig])
def test_values_read_together_are_those_read_alone(system, engine: str) -> None:
    model, reference = system().resolve(engine), system().resolve("reference")
    kinds = joined_as_alone(model, reference, list(random_state(model, np.random.default_rng(4))))
    assert {Kind.POSE, Kind.TWIST, Kind.REACTION, Kind.EFFORT} < kinds


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")  # a planar loop is redundant
def test_values_read_together_in_a_closed_loop() -> None:
    model, q, v = closed_four_bar(0.5, 2.0)
    tau = np.array([0.5, 0.0, 0.0])
    kinds = joined_as_alone(model, closed_four_bar(0.5, 2.0, "reference")[0], [q, v, model.forward_dynamics(q, v, tau), tau])
    assert Kind.REACTION in kinds


def test_a_position_is_read_in_a_gimbal_lock_of_angles_that_nobody_asked_for(recwarn: pytest.WarningsRecorder) -> None:
    s = tt.System("lock")
    s.connect("world", tt.RigidBody("b", 1.0, inertia=1.0, ports={"C": [0.2, 0, 0]}), tt.Revolute("hinge", axis=[0, 1, 0]))
    s.add_sensor(tt.PoseSensor("pose", s["b"].port("C")))
    model, still = s.resolve(), np.zeros(1)
    pose = next(of for of in OUTPUT.quantities(model) if of.kind == Kind.POSE)
    at = Snapshot(model, np.array([np.pi / 2]), still, still, still, None, None, still)
    place = JoinedValues(model, [pose.only(2), pose.only(0)]).read(at)
    np.testing.assert_allclose(place, [-0.2, 0.0], rtol=0, atol=1e-15)
    assert not recwarn.list
    with pytest.warns(tt.ModelWarning, match="gimbal-lock"):
        JoinedValues(model, [pose.only(2), pose.only(4)]).read(at)
