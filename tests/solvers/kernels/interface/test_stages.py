"""The stages of general blocks: inverse dynamics without mass matrix, contracted slopes, and what Python is asked for."""

from __future__ import annotations

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import titop as tt
from examples.custom_block import ConstantCurvatureSegment
from tests.flexible import random_body, random_system
from titop.solvers.engines.compiled import law_tables
from titop.solvers.engines.compiled.python_laws import Callback
from titop.solvers.kernels.interface import layout, records
from titop.solvers.kernels.interface.stages import Call
from titop.solvers.kernels.laws import modal, modal_stages
from titop.solvers.kernels.laws.compiled_laws import CompiledLaw

Array = NDArray[np.float64]

STEP = 1e-30


def state(model: tt.Model, seed: int, bend: float = 1.0) -> tuple[Array, Array, Array]:
    """Return a configuration, with deformations of `bend` times the usual ones, and random rates and accelerations."""
    rng = np.random.default_rng(seed)
    q = model.random_configuration(rng)
    for name in ("near", "far", "side", "boom"):
        if any(coordinate.startswith(f"{name}.") for coordinate in model.configuration_names):
            where = [coordinate.startswith(f"{name}.") for coordinate in model.configuration_names]
            q[where] *= bend
    return q, rng.normal(size=model.nv), rng.normal(size=model.nv)


def error(found: Any, expected: Any) -> float:
    """Return the largest difference, relative to the largest entry."""
    found, expected = np.asarray(found), np.asarray(expected)
    return float(np.abs(found - expected).max() / np.abs(expected).max())


def wrenches(seed: int) -> dict[str, Array]:
    """Return wrenches on ports and reference frames of flexible and rigid bodies."""
    rng = np.random.default_rng(seed)
    return {port: rng.normal(size=6) for port in ("near.C0", "near.C1", "near", "boom.C", "side.C0", "tip")}


# Efforts differ by the rounding of sums of some hundred terms each: about 1e-14 of the largest.
ACCURACY = 1e-12


@pytest.mark.parametrize("bend", [1.0, 30.0])
def test_inverse_dynamics_of_flexible_bodies_need_no_terms(bend: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Port rotations of about 0.1 rad, and of about 3 rad."""
    system, at = random_system(np.random.default_rng(1)), wrenches(1)
    model, reference = system.resolve(), system.resolve("reference")
    arguments = *state(model, 1, bend), at
    found = model.inverse_dynamics(*arguments)
    assert error(found, reference.inverse_dynamics(*arguments)) < ACCURACY
    monkeypatch.setitem(law_tables.KINDS, tt.FlexibleBody, CompiledLaw("modal", modal.write_law))
    by_terms = system.resolve()
    assert error(found, by_terms.inverse_dynamics(*arguments)) < ACCURACY
    energy = model.energy(*arguments[:2])
    assert energy.elastic > 0.0
    assert error(energy, reference.energy(*arguments[:2])) < ACCURACY
    assert error(energy, by_terms.energy(*arguments[:2])) < ACCURACY  # which asks the body itself
    for joint in ("hinge", "ball", "glue"):
        assert error(model.reaction(joint, *arguments), by_terms.reaction(joint, *arguments)) < ACCURACY


def changed(stage: str, column: int, factor: float) -> Any:
    """Return the kind of flexible bodies with a stage that multiplies what it reads of its ports, or what it wrote."""
    law = modal_stages.LAW
    whole = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * len(Call._fields))(getattr(law, stage).address)

    def scaled(*words: int) -> None:
        call = Call(*words)
        record = np.ctypeslib.as_array((ctypes.c_double * records.law_size(call.n, call.ports)).from_address(call.law))
        if stage == "outward":
            assert whole(*words) == layout.OK
        for p in range(call.ports):
            record[records.port_at(call.n, p) + column :][:6] *= factor
        if stage != "outward":
            assert whole(*words) == layout.OK

    stages = {name: getattr(law, name) for name in ("terms", "outward", "inward", "slopes", "energy")}
    return SimpleNamespace(**stages | {stage: Callback(scaled, len(Call._fields))}, room=law.room)


@pytest.mark.parametrize(
    ("stage", "column"),
    [
        ("outward", layout.PORT_ACC),
        ("outward", layout.PORT_TWIST),
        ("inward", layout.PORT_WRENCH),
        ("slopes", layout.PORT_WRENCH),
    ],
)
def test_a_broken_stage_is_seen(stage: str, column: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control: a stage whose ports differ by a hundredth."""
    system, at = random_system(np.random.default_rng(1)), wrenches(1)
    arguments = *state(model := system.resolve(), 1), at
    expected = np.vstack([model.inverse_dynamics(*arguments), *model.inverse_dynamics_derivatives(*arguments)])
    for factor, sound in ((1.0, True), (1.01, False)):
        monkeypatch.setitem(law_tables.KINDS, tt.FlexibleBody, changed(stage, column, factor))
        other = system.resolve()
        found = np.vstack([other.inverse_dynamics(*arguments), *other.inverse_dynamics_derivatives(*arguments)])
        assert (error(found, expected) < ACCURACY) is sound


class Interpreted(tt.FlexibleBody):
    """A flexible body that answers through Python, since it has a function of its own."""

    def passive_efforts(self, q: Array, v: Array) -> Array:
        """Return the same."""
        return super().passive_efforts(q, v)


def mixed() -> tt.System:
    """Return a chain of a beam and a flexible body in Python, with loads on all ports and on their frames."""
    s, rng = tt.System("mixed", gravity=[0.4, 0, -9.81]), np.random.default_rng(5)
    beam = tt.Beam("boom", length=0.8, density=2700, area=1e-2, young=1e4, iy=1e-5, iz=2e-5)
    body = random_body(rng, "near")
    body.__class__ = Interpreted
    s.connect("world", beam, tt.Spherical("ball"))
    s.connect(beam.port("C"), body, tt.Revolute("hinge", axis=[0, 1, 1]))
    s.connect(body.port("C0"), tt.RigidBody("tip", 0.5, [0.1, 0.2, 0], 0.02), tt.Prismatic("slide", axis=[1, 1, 0]))
    for k, ref in enumerate((beam.port("C"), body.port("C0"), body.port("C1"), beam.port(None), body.port(None))):
        for frame in ("world", "port"):
            s.add_load(tt.Load(f"{frame}{k}", ref, force=rng.normal(size=3), torque=rng.normal(size=3), frame=frame))
    return s


def test_contracted_slopes_are_those_of_the_reference() -> None:
    model, reference = mixed().resolve(), mixed().resolve("reference")
    assert not model.is_compiled
    q, v, a = state(model, 3)
    found = model.inverse_dynamics_derivatives(q, v, a)
    steps = 1j * STEP * np.eye(model.nv)
    turned = [reference.integrate(q, step) for step in steps]
    expected = [
        np.array([reference.inverse_dynamics(at, v, a).imag / STEP for at in turned]).T,
        np.array([reference.inverse_dynamics(q, v + step, a).imag / STEP for step in steps]).T,
        reference.mass_matrix(q),
    ]
    for ours, exact in zip(found, expected, strict=True):  # both exact to rounding, as are the reference's own slopes
        assert error(ours, exact) < 1e-11


def test_python_is_asked_once_a_state() -> None:
    asked = []

    class Counting(ConstantCurvatureSegment):
        def law(self, q: Array, v: Array, twist: Array) -> Any:
            asked.append("law")
            return super().law(q, v, twist)

        def law_slopes(self, q: Array, v: Array, twist: Array, x: Array) -> Any:
            asked.append("slopes")
            return super().law_slopes(q, v, twist, x)

    s = tt.System("one")
    s.connect(
        "world", Counting("segment", 0.4, 0.03, 1000.0, stiffness=3.0, damping=0.01), tt.Revolute("hinge", axis=[0, 1, 0])
    )
    model = s.resolve()
    q, v, x = state(model, 0)
    for function, expected in (
        (model.forward_dynamics, ["law"]),
        (model.inverse_dynamics, ["law"]),
        (model.inverse_dynamics_derivatives, ["law", "slopes"]),
        (model.forward_dynamics_derivatives, ["law", "slopes"]),
    ):
        asked.clear()
        function(q, v, x)
        assert asked == expected


def with_ports(names: list[str]) -> tt.System:
    """Return a system with a flexible body that has these of seventy ports, four of which are in use."""
    rng = np.random.default_rng(4)
    whole = random_body(rng, "near", 3, 70)
    body = tt.FlexibleBody(
        "near",
        whole.mass,
        whole.com,
        whole.inertia,
        participation=whole.participation,
        ports={name: whole.port_poses[name] for name in names},
        shapes={name: whole.shapes[name] for name in names},
        modal_mass=whole.modal_mass,
        modal_stiffness=whole.modal_stiffness,
        modal_damping=whole.modal_damping,
    )
    s = tt.System("many ports", gravity=[0.4, 0, -9.81])
    s.connect("world", body, tt.Free("base"))
    s.connect(body.port("C3"), tt.RigidBody("tip", 0.5, [0.1, 0.2, 0], 0.02), tt.Revolute("hinge", axis=[1, 1, 0]))
    s.connect(body.port("C65"), tt.RigidBody("end", 0.4, [0.1, 0, 0.2], 0.03), tt.Revolute("pin", axis=[0, 1, 0]))
    s.add_load(tt.Load("push", body.port("C5"), force=[1.0, 2.0, 3.0], frame="world"))
    s.close_loop("world", body.port("C7"), tt.SpringDamper("strut", stiffness=30.0, damping=0.1, length=0.2))
    return s


FUNCTIONS = "forward_dynamics", "inverse_dynamics", "forward_dynamics_derivatives", "inverse_dynamics_derivatives"
USED_PORTS = ["C3", "C5", "C7", "C65"]


def test_ports_that_nobody_uses_change_nothing() -> None:
    few, many = with_ports(USED_PORTS).resolve(), with_ports([f"C{k}" for k in range(70)]).resolve()
    at = state(few, 2)
    for wrenches in (None, {"near.C5": [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]}):
        for function in (
            "forward_dynamics",
            "inverse_dynamics",
            "forward_dynamics_derivatives",
            "inverse_dynamics_derivatives",
        ):
            found, expected = (np.array(getattr(model, function)(*at, wrenches)) for model in (many, few))
            assert np.array_equal(found, expected), function
    assert np.array_equal(many.mass_matrix(at[0]), few.mass_matrix(at[0]))
    assert many.energy(*at[:2]) == few.energy(*at[:2])


@pytest.mark.parametrize("port", ["near.C3", "near.C4", "near.C65", "near.C69"])
def test_ports_that_nobody_uses_can_be_asked_and_pushed(port: str) -> None:
    system = with_ports([f"C{k}" for k in range(70)])
    model, reference = system.resolve(), system.resolve("reference")
    q, v, a = state(model, 2)
    for ours, exact in zip(model.pose(port, q), reference.pose(port, q), strict=True):
        assert error(ours, exact) < ACCURACY
    for function, arguments in (("jacobian", (q,)), ("twist", (q, v)), ("acceleration", (q, v, a))):
        assert error(getattr(model, function)(port, *arguments), getattr(reference, function)(port, *arguments)) < ACCURACY
    wrenches = {port: [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]}
    for function in ("forward_dynamics", "inverse_dynamics", "inverse_dynamics_derivatives"):
        found, expected = (getattr(engine, function)(q, v, a, wrenches) for engine in (model, reference))
        assert error(np.array(found), np.array(expected)) < ACCURACY
    assert error(model.accelerometer(port, q, v, a), reference.accelerometer(port, q, v, a)) < ACCURACY
    ours, exact = (engine.motion_slopes([port], q, v, a)[0] for engine in (model, reference))
    assert error(ours, exact) < ACCURACY


def test_a_sensor_at_a_port_that_carries_nothing() -> None:
    system = with_ports([f"C{k}" for k in range(70)])
    system.add_sensor(tt.Accelerometer("imu", system["near"].port("C4")))
    model, reference = system.resolve(), system.resolve("reference")
    at = state(model, 2)
    for wrenches in (None, {"near.C9": [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]}):
        assert error(model.outputs(*at, wrenches), reference.outputs(*at, wrenches)) < ACCURACY


def test_a_port_whose_use_is_not_told_is_seen() -> None:
    """The negative control: the bits say nothing of a port that carries a body."""
    model = with_ports(USED_PORTS).resolve()
    at = state(model, 2)
    expected = model.inverse_dynamics(*at)
    other = with_ports(USED_PORTS).resolve()
    other._ints[other._tables.elements["near"], layout.USED] &= ~1
    assert not np.allclose(other.inverse_dynamics(*at), expected)
