"""Units of signals, everywhere the same."""

from __future__ import annotations

import re

import control
import numpy as np
import pytest

import titop as tt
from examples.compiled_block import Telescope
from tests.solvers.signals.rigs import rig
from titop.solvers.equilibrium.continuation import unit_of
from titop.solvers.signals.grammar import OUTPUT, read_name
from titop.solvers.signals.quantities import units_of

#: Of the coordinates of `rig`, with those of their efforts: the work of both is in J.
COORDINATES = {
    "lift": ("m", "N"),
    "boom.extension": ("m", "N"),
    "boom.slosh": ("m", "N"),
    "hinge": ("rad", "N m"),
    "segment.bend": ("rad", "N m"),
}


def expected_units() -> dict[str, str]:
    """Return the unit of every signal of the coordinates, by path."""
    units: dict[str, str] = {}
    for name, (unit, effort) in COORDINATES.items():
        units |= {f"{name}.q": unit, f"{name}.v": f"{unit}/s", f"{name}.a": f"{unit}/s^2", f"{name}.tau": effort, name: effort}
    return units


def test_units_in_signal_tables(model) -> None:
    units, outputs = expected_units(), [f"{name}.{end}" for name in COORDINATES for end in ("q", "v", "a", "tau")]
    systems = [
        tt.linearize(model, tt.trim(model), [*COORDINATES], outputs),
        model.to_nlsys([*COORDINATES], outputs),
        tt.block_system(model, tt.trim(model), "boom"),
        tt.block_system(model, tt.trim(model), "segment"),
    ]
    for system in systems:
        table = {signal.path: signal.unit for signal in tt.signal_table(system).values()}
        known = {path: unit for path, unit in table.items() if path in units}
        assert known == {path: units[path] for path in known}
        assert len(known) >= 4
    assert model.output_units[:2] == ("m", "rad/s")
    assert dict(zip(model.input_names, model.mechanism.inputs.units, strict=True)) == {"slide": "N", "bender": "N m"}


def test_units_of_equilibria_and_families(model) -> None:
    units = expected_units() | {name: unit for name, (unit, _) in COORDINATES.items()}  # as unknowns, names are coordinates
    for name in (*COORDINATES, *(f"{name}.{end}" for name in COORDINATES for end in ("q", "v", "tau"))):
        assert unit_of(model, name) == units[name]
    family = tt.lpv(model, {"segment.bend.q": [0.0, 0.01], "slide": [0.0]}, unknowns=[*model.coordinate_names[:4], "bender"])
    assert family.units == {"segment.bend.q": "rad", "slide": "N"}
    text = str(tt.trim(model, v={"lift": 0.0}))
    for name, (unit, _) in COORDINATES.items():
        assert re.search(rf"^  {re.escape(name)} = \S+ {unit}$", text, re.MULTILINE)


def test_units_of_trajectories(model) -> None:
    K = control.ss(
        [], [], [], -np.eye(2), inputs=["boom_extension_q", "segment_bend_v"], outputs=["boom_extension", "segment_bend"]
    )
    run = tt.simulate(model, [0, 0.05, 0.1], model.neutral() + 0.01, model.velocity(), controller=K, sample_time=0.05)
    data = run.to_xarray()
    units = expected_units()
    for axis in ("configuration", "coordinate"):
        names, found = data[axis].values.tolist(), data[f"{axis}_unit"].values.tolist()
        assert dict(zip(names, found, strict=True)) == {name: unit for name, (unit, _) in COORDINATES.items()}
    assert data["commanded_signal_unit"].values.tolist() == ["N", "N m"]
    assert data["measured_signal_unit"].values.tolist() == [units["boom.extension.q"], units["segment.bend.v"]]
    assert data["reference_signal_unit"].values.tolist() == data["measured_signal_unit"].values.tolist()
    titles = [axis.get_title() for axis in run.plot().axes if axis.get_visible()]
    assert titles == [f"{name} [{unit}]" for name, (unit, _) in COORDINATES.items()]
    beyond = {finding.where: f"{finding.value} {finding.expected}" for finding in run.violations()}
    assert re.search(r" m at t = .* and 0.001 m$", beyond["boom.extension position"])
    assert re.search(r" rad at t = .* and 0.001 rad$", beyond["segment.bend position"])


def test_units_of_parameters_are_those_of_the_coordinates(model) -> None:
    units = {name: unit for name, (_, unit) in model.parameters().items()}
    assert (units["stop.limits.upper"], units["stop.limits.stiffness"]) == ("rad", "N m/rad^1.5")
    assert units["buffer.limits.upper"] == "m"
    s = rig()
    s.add_actuator(tt.Motor("winch", "lift"))
    s.add_actuator(tt.Motor("servo", "hinge"))
    s.add_gear(tt.Gear("pair", driver="segment.bend", driven="boom.slosh", ratio=0.1))
    s.add_interaction(tt.Cable("cord", arms=[0.1, 1.0]), s["boom"].port("C"), s["tip"].port("E"), "hinge", "lift")
    units = {name: unit for name, (_, unit) in s.resolve().parameters().items()}
    assert (units["winch.rotor_inertia"], units["servo.rotor_inertia"]) == ("kg", "kg m^2")
    assert (units["pair.ratio"], units["pair.offset"]) == ("m/rad", "m")
    assert (units["cord.arms.0"], units["cord.arms.1"]) == ("m/rad", "1")


def test_units_that_titop_does_not_know() -> None:
    """The work of an effort along its coordinate is in J whatever the unit; without a unit, everything counts in parts."""
    s = tt.System("jelly")
    jelly = Telescope("jelly")
    jelly.units = ("m sqrt(kg)", "mm")
    s.connect("world", jelly, tt.Weld("weld"))
    m = s.resolve()
    assert units_of(m, read_name(m, OUTPUT, "jelly.tau")) == ("J/(m sqrt(kg))", "J/mm")
    assert units_of(m, read_name(m, OUTPUT, "jelly.q")) == ("m sqrt(kg)", "mm")
    jelly.units = ()
    assert units_of(m, read_name(s.resolve(), OUTPUT, "jelly.q")) == ("m sqrt(kg)", "mm"), "the model keeps its own"
    assert units_of(s.resolve(), read_name(m, OUTPUT, "jelly.extension.v")) == ("1/s",)
    jelly.units = ("m",)
    with pytest.raises(tt.ModelError, match=r"jelly\.units: got .*expected 2 units, or none.*bad-units"):
        s.resolve()
