"""Derivatives of many quantities at one state: each is its own, whatever was asked for before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import titop as tt
from tests.systems import Array, random_state, random_tree
from titop.solvers.linear.linear_equations import motions
from titop.solvers.mechanism.port_motion import position_and_angles
from titop.solvers.signals import values
from titop.solvers.signals.grammar import OUTPUT, read_name
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.snapshot import Snapshot, SnapshotDerivatives
from titop.solvers.signals.system_inputs import SystemInputs
from titop.solvers.signals.values import derivative_of


def read_twice() -> tt.System:
    """Return an arm of which several sensors read the same in other ways."""
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e8, density=1e3, strains={"bending_z": 1})
    hub = tt.RigidBody("hub", 1.0, com=[0.1, 0, 0], inertia=[0.2, 0.3, 0.4], ports={"C": [0.3, 0, 0.1]})
    s = tt.System("arm", gravity=[0.5, 0, -9.81])
    s.connect("world", hub, tt.Spherical("ball"))
    s.connect(hub.port("C"), rod, tt.Revolute("hinge", axis=[0, 1, 0.2]))
    s.add_interaction(tt.Tendon("tendon", rod, y=0.005))
    for sequence in ("XYZ", "ZXZ"):
        s.add_sensor(tt.PoseSensor(f"pose{sequence}", hub.port("C"), sequence))
    for inertia in (1.0, 2.0):
        s.add_sensor(tt.WheelMomentum(f"h{inertia:.0f}", "hinge", inertia))
    for place, port in enumerate((hub, hub.port("C"))):
        s.add_sensor(tt.Accelerometer(f"acc{place}", port))
        s.add_sensor(tt.Gyro(f"gyro{place}", port))
    return s


class Moved:
    """A state of the arm, and its linear equations."""

    def __init__(self) -> None:
        self.model, rng = read_twice().resolve(), np.random.default_rng(3)
        q, (v, tau) = self.model.random_configuration(rng), rng.normal(size=(2, self.model.nv))
        self.inputs = SystemInputs(self.model, ["hinge", "tendon", "rod.tip"])
        self.motion = motions([tt.OperatingPoint(self.model, q, v, tau)], self.inputs)
        self.at: Snapshot = Snapshot(self.model, q, v, self.motion.a[0], tau, None, None, q)

    def change(self) -> SnapshotDerivatives:
        return SnapshotDerivatives(lambda matrix: matrix, *self.motion[2:6]).at(0)


@pytest.mark.parametrize("backwards", [False, True])
def test_what_was_read_before_changes_nothing(backwards: bool) -> None:
    moved = Moved()
    names = [name for name in OUTPUT.names(moved.model) if not name.endswith(".tau")]
    assert {"poseXYZ.x", "poseZXZ", "h1", "h2", "hinge.reaction", "rod.tip.section", "tendon.rate"} < set(names)
    shared = moved.change()
    for name in names[:: -1 if backwards else 1]:
        of = read_name(moved.model, OUTPUT, name)
        together, alone = (derivative_of(moved.at, change, of, moved.inputs) for change in (shared, moved.change()))
        assert np.array_equal(together, alone), name
    once, twice = (derivative_of(moved.at, shared, read_name(moved.model, OUTPUT, name), moved.inputs) for name in ("h1", "h2"))
    assert np.array_equal(2 * once, twice)
    assert once.any()


STEP, CLOSE = 1e-6, 1e-6  # central differences of numbers near 10, their second derivatives below 1e4


@pytest.mark.parametrize("sequence", ["XYZ", "ZYX", "ZXZ"])
def test_small_turns_change_the_angles(sequence: str) -> None:
    rotation = Rotation.from_euler(sequence, [0.4, 0.7, -1.1])
    found = values.angles_by_rotation("hub", rotation.as_matrix(), sequence)
    for column, axis in zip(found.T, np.eye(3), strict=True):
        ahead, behind = ((rotation * Rotation.from_rotvec(s * STEP * axis)).as_euler(sequence) for s in (1, -1))
        np.testing.assert_allclose(column, (ahead - behind) / (2 * STEP), rtol=0, atol=CLOSE)


@pytest.mark.parametrize(("sequence", "middle"), [("XYZ", np.pi / 2), ("ZXZ", 0.0)])
def test_in_a_gimbal_lock_there_is_no_derivative(sequence: str, middle: float) -> None:
    locked = Rotation.from_euler(sequence, [0.4, middle, 0.0]).as_matrix()
    with pytest.raises(tt.ModelError, match=r"hub\.theta.*gimbal-lock"):
        values.angles_by_rotation("hub", locked, sequence)


class Moving:
    """A tree at a state, and how it changes when coordinates, rates and accelerations do."""

    def __init__(self) -> None:
        self.model = random_tree(np.random.default_rng(2), 5).resolve()
        self.q, self.v, self.a, tau = random_state(self.model, np.random.default_rng(0))
        self.at = Snapshot(self.model, self.q, self.v, self.a, tau, None, None)
        nv = self.model.nv
        whole = np.vstack([np.eye(nv, 2 * nv, nv), np.zeros((nv, 2 * nv))])
        nothing = np.zeros((2 * nv, nv)), np.zeros((nv, 2 * nv)), np.zeros((nv, nv))
        by_input = nothing[0].copy()
        by_input[nv:] = np.eye(nv)  # inputs are accelerations here
        self.change = SnapshotDerivatives(lambda matrix: matrix, whole, by_input, nothing[1], nothing[2])

    def differences(self, function: Any) -> Array:
        """Return differences of ``function(q, v, a)`` by displacements, rates and accelerations."""
        nv, columns = self.model.nv, []
        for direction in np.eye(3 * nv):
            ends = []
            for sign in (1, -1):
                dq, dv, da = (sign * STEP * part for part in np.split(direction, 3))
                ends.append(function(self.model.integrate(self.q, dq), self.v + dv, self.a + da))
            columns.append((ends[0] - ends[1]) / (2 * STEP))
        return np.array(columns).T


@pytest.fixture(scope="module")
def moving() -> Moving:
    return Moving()


PORT_KINDS = [Kind.TWIST, Kind.PORT_ACCELERATION, Kind.PLACE, Kind.SPECIFIC_FORCE, Kind.ANGLES, Kind.POSE]


@pytest.mark.parametrize("kind", PORT_KINDS, ids=lambda kind: kind.name)
def test_changes_are_those_of_differences(moving: Moving, kind: Kind) -> None:
    model, port = moving.model, moving.model.port_names[-1]
    of = Quantity(kind, port, tuple(range(3 if kind in (Kind.PLACE, Kind.SPECIFIC_FORCE, Kind.ANGLES) else 6)), ())
    found = derivative_of(moving.at, moving.change, of, SystemInputs(model, []))
    read = {
        Kind.PORT_ACCELERATION: lambda q, v, a: model.motion(port, q, v, a)[:6],
        Kind.TWIST: lambda q, v, a: model.motion(port, q, v, a)[6:12],
        Kind.PLACE: lambda q, v, a: model.motion(port, q, v, a)[12:15],
        Kind.ANGLES: lambda q, v, a: model.motion(port, q, v, a)[15:],
        Kind.SPECIFIC_FORCE: lambda q, v, a: model.accelerometer(port, q, v, a),
        Kind.POSE: lambda q, v, a: position_and_angles(model.mechanism, port, q, "XYZ"),
    }[kind]
    expected = moving.differences(read)
    np.testing.assert_allclose(found, expected, rtol=0, atol=CLOSE * max(1.0, np.abs(expected).max()))
    assert np.abs(expected).max() > 0.1
