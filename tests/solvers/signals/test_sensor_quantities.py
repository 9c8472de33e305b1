"""A sensor is what its entry says."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.blocks.devices import sensors
from titop.solvers.signals.forms import SensorForm
from titop.solvers.signals.grammar import OUTPUT, read_name
from titop.solvers.signals.quantities import Kind, Quantity
from titop.solvers.signals.sensor_quantities import SENSORS
from titop.solvers.signals.snapshot import Snapshot
from titop.solvers.signals.values import quantity_value


def tumbler() -> tt.System:
    """Return two bodies in space, with a gyro and a pose sensor."""
    s = tt.System("tumbler", gravity=[0.3, 0, -9.81])
    hub = tt.RigidBody("hub", 2.0, com=[0.1, 0, 0], inertia=[0.3, 0.4, 0.5], ports={"C": [0.5, 0.1, 0]})
    tip = tt.RigidBody("tip", 0.2, com=[0.1, 0, 0], inertia=0.01, ports={"E": [0.2, 0, 0.1]})
    s.connect("world", hub, tt.Free("base"))
    s.connect(hub.port("C"), tip, tt.Revolute("hinge", axis=[0.3, 1, 0.2]))
    s.add_sensor(tt.Gyro("gyro", hub))
    s.add_sensor(tt.PoseSensor("pose", tip, "ZYX"))
    return s


def test_every_sensor_has_an_entry() -> None:
    assert set(SENSORS) == set(sensors.KINDS.__args__)


@pytest.mark.parametrize(
    ("kind", "entries", "compiled"),
    [
        (Kind.SPECIFIC_FORCE, (2, 0, 1), True),
        (Kind.PORT_ACCELERATION, (1, 3, 5), True),
        (Kind.TWIST, (0, 2, 4), True),
        (Kind.TWIST, (5, 3, 4), True),
        (Kind.PLACE, (2, 1, 0), True),
        (Kind.ANGLES, (2, 0, 1), True),
        (Kind.POSE, (5, 4, 0), True),
        (Kind.RATE, (4, 0, 1), True),
        (Kind.CONFIGURATION, (3, 2, 4), True),
        (Kind.ACCELERATION, (0, 3, 1), False),
    ],
)
def test_a_sensor_is_what_its_entry_says(
    monkeypatch: pytest.MonkeyPatch, kind: Kind, entries: tuple[int, ...], compiled: bool
) -> None:
    """In both engines, for stacked states too; kinds that the kernels do not know are read in Python."""
    monkeypatch.setitem(SENSORS, sensors.PoseSensor, lambda _, s: Quantity(kind, "tip.E", entries, s.output_names[:3]))
    m, reference = (tumbler().resolve(engine) for engine in ("compiled", "reference"))
    assert (m.mechanism.engine.calls.readings.sensors is not None) == compiled
    rng = np.random.default_rng(1)
    q, (v, a) = m.random_configuration(rng), rng.normal(size=(2, m.nv))
    found = m.outputs(q, v, a)
    expected = quantity_value(Snapshot(reference, q, v, a, np.zeros(m.nv), None, None), read_name(m, OUTPUT, "pose"))
    np.testing.assert_allclose(found[3:], expected, rtol=1e-10, atol=1e-10)  # rounding of sums of some ten terms
    np.testing.assert_allclose(found, reference.outputs(q, v, a), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(m.outputs(*(np.tile(x, (2, 1)) for x in (q, v, a))), [found, found], rtol=1e-12)
    assert len(set(np.round(expected, 9))) == 3, "the order of the entries matters"


class Numbered(tt.Gyro):
    """Rates, and readings that are numbered."""

    outputs = ("x", "rows[0].n[0]", "rows[0].n[1]", "rows[1]", "rows")


def test_names_of_sensors_are_found_among_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a search through all of them finds them: the first sensor with an output that is so called, or begins so."""
    s = tumbler()
    for cls, name in ((Numbered, "array"), (tt.Accelerometer, "array2"), (tt.ReactionSensor, "load")):
        s.add_sensor(cls(name, "hinge" if cls is tt.ReactionSensor else s["tip"]))
    monkeypatch.setitem(SENSORS, Numbered, lambda _, x: Quantity(Kind.PLACE, "tip", (2, 1, 0, 2, 1), x.output_names))
    m = s.resolve("reference")
    names = {path[:end] for path in m.output_names for end in range(len(path) + 1)} | {"nobody", "pose.theta[9]"}
    heard = 0
    for name in sorted(names):
        expected = None
        for sensor, of in zip(m.mechanism.assembly.sensors, m.mechanism.sensor_signals, strict=True):
            own = [k for k, path in enumerate(of.paths) if name in (sensor.name, path) or path.startswith(f"{name}[")]
            if own:
                expected = of.only(*own)
                break
        assert SensorForm().read(m, name) == expected
        heard += expected is not None
    assert heard == len(m.mechanism.assembly.sensors) + len(m.output_names) + len({"pose.theta", "array.rows[0].n"})


def test_a_changed_model_reads_with_its_own_numbers() -> None:
    """The angular momentum of a wheel, known by name in a model made of another with a lighter body."""
    s = tumbler()
    s.add_sensor(tt.WheelMomentum("h", "hinge"))
    m = s.resolve("reference")
    heavy, light = (SensorForm().read(model, "h") for model in (m, m.with_parameters({"tip.inertia.xx": 0.005})))
    assert heavy is not None
    assert light is not None
    assert heavy.factor > light.factor > 0
