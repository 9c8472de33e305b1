"""Derivatives of many quantities at one state: each is its own, whatever was asked for before."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.solvers.linear.linear_equations import motions
from titop.solvers.signals.derivatives import derivative_of
from titop.solvers.signals.grammar import OUTPUT, read_name
from titop.solvers.signals.snapshot import Snapshot, SnapshotDerivatives
from titop.solvers.signals.system_inputs import SystemInputs


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
