"""Linear fractional models: members as `linearize` makes them of the changed model, repetitions as few as there can be."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.solvers.lft.satellites import INPUTS, OUTPUTS, arm, bent, satellite, still, tied

#: Beside the response's norm, at each of 40 frequencies: what the reduction may change is 1e-11 of it, near a weakly damped
#: resonance times up to a hundred.
EXACT = 1e-9


@pytest.mark.portable
@pytest.mark.parametrize(
    ("names", "given", "repetitions"),
    [
        ("hub.mass", tt.percent(15), 3),
        ("hub.inertia.zz", tt.percent(15), 1),
        ("hub.inertia.xy", (-10.0, 10.0), 2),
        (tied("panel_*.mass"), tt.percent(10), 5),
        (tied("panel_*.com.x"), (2.2, 2.5), 4),
        (tied("panel_*.mode1.frequency"), tt.percent(20), 4),
        ("panel_right.mode1.stiffness", tt.percent(20), 1),
        ("panel_right.mode1.participation.z", (3.3, 3.6), 2),
        ("panel_right.mass_scale", tt.percent(20), 6),
        ("hub.right.rotation.x", (-0.5, 0.4), 8),
        (tied("panel_*.mode2.damping"), tt.percent(50), 2),
        ("sada_right.stiffness", tt.percent(30), 1),
        ("sada_right.damping", tt.percent(30), 1),
        (tied("sada_*.q"), (-1.5, 1.2), 8),
        ("hub.right.position.x", (0.8, 1.2), 4),
        ("wheels.x.gain", (0.9, 1.2), 1),
        ("gyro.gain", tt.percent(5), 3),
    ],
)
def test_repetitions_of_a_satellite(names: str | tuple[str, ...], given: object, repetitions: int) -> None:
    """As many as the least that any model of the response has, and as known in closed form."""
    m = satellite()
    outputs = ("gyro",) if names == "gyro.gain" else OUTPUTS
    model = tt.lft(m, still(m), {names: given}, INPUTS, outputs)
    assert [(block.repetitions, block.degree) for block in model.blocks] == [(repetitions, repetitions)]
    assert model.check(10) < EXACT


def test_tied_drives_of_a_symmetric_satellite() -> None:
    """Two drives on opposite sides turn alike where only their common axis is driven: one repetition, two elsewhere."""
    m, stiffness = satellite(symmetric=True), {tied("sada_*.stiffness"): tt.percent(30)}
    alike = tt.lft(m, still(m), stiffness, ["wheels.x"], ["gyro.x"])
    assert [(block.repetitions, block.degree) for block in alike.blocks] == [(1, 1)]
    assert tt.lft(m, still(m), stiffness, INPUTS, OUTPUTS).blocks[0].repetitions == 2
    assert alike.check(5) < EXACT


def test_many_at_once() -> None:
    """Random members and all corners of five parameters, some tied, some off the middle of their range, two angles."""
    m = satellite()
    parameters = {
        "hub.mass": (150.0, 230.0),
        tied("panel_*.mode1.frequency"): tt.percent(-10, 30),
        tied("sada_*.stiffness"): tt.percent(30),
        ("sada_right.q", "sada_left.q"): (-1.0, 1.5),
        "panel_left.mass": tt.percent(10),
    }
    model = tt.lft(m, still(m), parameters, INPUTS, OUTPUTS)
    assert [block.repetitions for block in model.blocks] == [3, 4, 2, 8, 3]
    assert model.check(40) < EXACT


def test_nominal_off_the_middle() -> None:
    """With all deltas zero the model is the nominal one, at -1 and 1 those at the ends of the ranges."""
    m = satellite()
    model = tt.lft(m, still(m), {"hub.mass": (150.0, 230.0), "sada_right.q": (-0.4, 1.5)}, INPUTS, OUTPUTS)
    s = 0.7j
    nominal = tt.linearize(m, still(m), INPUTS, OUTPUTS)
    assert model.nominal(s) == pytest.approx(nominal(s), rel=1e-9)
    assert model.closed_by([-1.0, 1.0])(s) == pytest.approx(model.at({"hub.mass": 150.0, "sada_right.q": 1.5})(s), rel=1e-9)
    assert model.at({"hub.mass": 150.0})(s) != pytest.approx(nominal(s), rel=1e-3)  # a mass does matter


def _arm_parameters() -> list[str]:
    left_out = ("axis", "friction", "rest", "direction", "jet.torque", "j1.placement", "T.position", "T.rotation")
    names = arm().parameters()
    return [name for name in names if not any(part in name for part in left_out) and "j2.armature" not in name]


@pytest.mark.parametrize("name", [name for name in _arm_parameters() if name != "j3.armature"])
def test_arm_under_gravity_each_alone(name: str) -> None:
    """Every parameter of an arm that loads and gravity bend away from its neutral configuration."""
    m = arm()
    value = m.parameters()[name][0]
    reach = 0.2 * abs(value) or 0.01
    model = tt.lft(m, bent(m), {name: (value - reach, value + 1.4 * reach)}, ("mot", "j2", "f", "b2.C"), ARM_OUTPUTS)
    assert model.check(3) < EXACT


ARM_OUTPUTS = ("j1.q", "j3.a", "b3.E.dv", "b3.E.w", "j2.reaction", "b2.C.v", "acc")


def test_arm_under_gravity_all_together() -> None:
    m = arm()
    parameters = {"j1.q": (0.0, 0.9), "j2.q": (-1.4, 0.9), "j3.q": (-0.1, 0.3), "b2.mass": (1.5, 2.7), "b3.com.x": (0.1, 0.5)}
    model = tt.lft(m, bent(m), parameters | {"gravity.z": (-10.0, -8.0)}, ("mot", "f"), ARM_OUTPUTS)
    assert model.check(10) < EXACT


def test_moving_arm() -> None:
    """About a motion: gyroscopic terms of masses, and of a rate that is itself uncertain."""
    m = arm()
    point = (bent(m)[0], np.array([0.3, 0.5, -0.2]), bent(m)[2])
    for parameters in ({"b2.mass": (1.5, 2.7), "b3.com.x": (0.1, 0.5)}, {"j2.v": (0.1, 1.0), "b2.inertia.yy": (0.15, 0.3)}):
        with pytest.warns(tt.ModelWarning, match="no-equilibrium"):
            model = tt.lft(m, point, parameters, ("mot", "f"), ARM_OUTPUTS)
        assert model.check(6) < EXACT


def test_an_angle_over_a_full_turn() -> None:
    """By the tangent of its quarter in one model, or in arcs of its half, each about a point in it."""
    m = arm()
    q, v, _ = bent(m)
    whole = tt.lft(m, bent(m), {"j2.q": (-4.1, 2.2)}, ("mot",), ("j1.q",), quarters=["j2.q"])
    assert whole.check(10) < EXACT
    for low in np.linspace(-np.pi, np.pi, 4)[:-1]:
        arc = np.array([q[0], low + 1.0, q[2]])
        part = tt.lft(m, (arc, v, m.inverse_dynamics(arc, v, v)), {"j2.q": (low, low + 2.1)}, ("mot",), ("j1.q",))
        assert part.check(5) < EXACT
    assert whole.blocks[0].repetitions == 2 * part.blocks[0].repetitions


def test_held_and_driven_coordinates() -> None:
    """Coordinates that are held, and one whose acceleration is an input, its effort an output."""
    m = satellite()
    parameters = {"hub.mass": tt.percent(20), tied("panel_*.mass"): tt.percent(10)}
    model = tt.lft(
        m, still(m), parameters, ["sada_right.a", "wheels"], ["sada_right.tau", "gyro"], hold=["sada_left", "base.x"]
    )
    assert model.check(6) < EXACT


def test_omitted_coordinates() -> None:
    m = satellite()
    position = ["base.x", "base.y", "base.z"]
    model = tt.lft(m, still(m), {"hub.mass": tt.percent(20)}, INPUTS, ["gyro"], omit=position, reduce=False)
    assert "base_x" not in model.M.state_labels
    assert "sada_right_q" in model.M.state_labels
    with pytest.raises(tt.ModelError, match=r"sada_right.*not-omissible"):
        tt.lft(m, still(m), {"hub.mass": tt.percent(20)}, INPUTS, ["gyro"], omit=["sada_right"])


def test_omitted_coordinates_that_uncertain_angles_turn() -> None:
    """Where the satellite is goes through the angles' channels, and no member depends on it."""
    m, angles = satellite(), {tied("sada_*.q"): (-1.5, 1.2)}
    position = ["base.x", "base.y", "base.z"]
    model = tt.lft(m, still(m), angles, INPUTS, ["gyro"], omit=position, reduce=False)
    assert model.check(5) < EXACT
    assert model.M.nstates == tt.linearize(m, still(m), INPUTS, ["gyro"], position).nstates
    with pytest.raises(tt.ModelError, match=r"sada_right.*not-omissible"):
        tt.lft(m, still(m), angles, INPUTS, ["gyro"], omit=["sada_right"])


def test_a_wheels_spin() -> None:
    """The gyroscopic stiffness of a wheel is linear in its spin: a rate of its own."""
    s = tt.System("wheel", gravity=[0, 0, 0])
    hub = tt.RigidBody("hub", 50.0, inertia=[10.0, 12.0, 14.0], ports={"w": [0.1, 0, 0]})
    s.connect("world", hub, joint=tt.Spherical("base"))
    s.add_actuator(tt.ReactionWheel("wheel", hub.port("w"), [0, 0, 1], inertia=0.2, mass=3.0))
    m = s.resolve()
    v = np.zeros(m.nv)
    v[m.coordinate_names.index("wheel")] = 100.0
    model = tt.lft(m, (m.neutral(), v), {"wheel.v": (50.0, 200.0)}, ["hub.w.T"], ["hub.w.w"], omit=["wheel.q"])
    assert model.check(10) < EXACT
    assert model.blocks[0].repetitions == model.blocks[0].degree == 2


def test_outputs_that_are_read_otherwise_are_named() -> None:
    m = arm()
    with pytest.raises(tt.ModelError, match=r"with b3\.E\.r\[0\], b3\.E\.r\[1\], b3\.E\.r\[2\]; .*inexact-output"):
        tt.lft(m, bent(m), {"j2.q": (-1.0, -0.4)}, ["mot"], ["j1.q", "b3.E.r"])
    exact = tt.lft(m, bent(m), {"j2.q": (-1.0, -0.4)}, ["mot"], ["j1.q", "b3.E.v"])
    assert exact.check(5) < 1e-9  # rounding of responses


def test_tied_names_do_not_contradict_each_other() -> None:
    m = satellite()
    model = tt.lft(m, still(m), {tied("panel_*.mass"): tt.percent(10)}, INPUTS, OUTPUTS)
    names = model.uncertain[0].values(1.05 * model.blocks[0].nominal)
    assert model.at(names)(1j) == pytest.approx(model.at(dict([next(iter(names.items()))]))(1j), rel=EXACT)
    name, value = list(names.items())[1]
    with pytest.raises(tt.ModelError, match=f"{name}.*contradiction"):
        model.at({**names, name: 1.01 * value})


def test_sections_of_rods() -> None:
    """What a rod transmits beside an uncertain spring; in a loop closures carry what the spring does not, and it is refused."""
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.02), young=1e8, density=1000.0, strains={"bending_z": 1}, ports={"mid": 0.4})
    crank = tt.RigidBody("crank", 1.0, inertia=[0.1, 0.1, 0.1], ports={"end": [0.5, 0, 0]})
    s = tt.System("swing", gravity=[0, -9.81, 0])
    s.connect("world", crank, tt.Revolute("hinge", stiffness=90.0))
    s.connect(crank.port("end"), rod, tt.Revolute("pin", stiffness=30.0))
    arguments: tuple[Any, ...] = {"hinge.stiffness": tt.percent(20)}, ["hinge"], ["rod.mid.section"]
    m = s.resolve()
    assert tt.lft(m, tt.trim(m), *arguments).check(5) < EXACT
    s.world.add_port("far", [1.5, 0.1, 0.0])
    s.close_loop(rod.port("tip"), s.world.port("far"), tt.RigidClosure("rail", directions=np.eye(6)[:, 1:2]))
    m = s.resolve()
    with pytest.raises(tt.ModelError, match="inexact-output"):
        tt.lft(m, tt.trim(m, q=m.assemble(m.neutral())), *arguments)
