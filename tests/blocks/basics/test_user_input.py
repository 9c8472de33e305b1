"""Constructors given numbers at the ends of the range, masked arrays, words and wrong shapes: refused by name, or right."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt

#: 1e-160 squared and 1e160 squared leave the range of doubles; nobody means the others.
VALUES: tuple[Any, ...] = (
    1e-308,
    1e-160,
    1e100,
    1.7e308,
    0.0,
    -1.0,
    np.nan,
    np.inf,
    "x",
    None,
    {},
    [1, 2],
    [[1, 2], [3]],
    np.zeros((2, 2, 2)),
    1 + 1j,
    10**400,
)
MASKED = (np.ma.masked_array(1.0, mask=True), np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0]))

SHAPE, PARTICIPATION = np.zeros((6, 1)), np.zeros((1, 6))
SHAPE[1, 0], PARTICIPATION[0, 1] = 2.0, 0.5
FLEXIBLE = {
    "mass": 1.0,
    "com": [0.5, 0, 0],
    "inertia": [0.1, 0.1, 0.1],
    "participation": PARTICIPATION,
    "ports": {"C": [1, 0, 0]},
    "shapes": {"C": SHAPE},
}
BEAM = {"length": 1.0, "density": 1.0, "area": 1.0, "young": 1e4, "iy": 1e-4, "iz": 1e-4, "damping_ratio": 0.01}
ONE = {"axis": [0, 0, 1], "stiffness": 1.0, "damping": 0.1, "armature": 0.1, "rest": 0.1}
FREELY = {"stiffness": 1.0, "damping": 0.1, "armature": 0.1}


def moved(joint: tt.Joint) -> tt.System:
    """Return a system of one body on a joint."""
    s = tt.System("moved")
    s.connect("world", tt.RigidBody("b", 1.0, inertia=np.eye(3)), joint)
    return s


def floating(body: Any) -> tt.System:
    """Return a system of a body in free flight."""
    s = tt.System("floating")
    s.connect("world", body, tt.Free("base"))
    return s


def driven(add: Callable[[tt.System, tt.RigidBody], Any]) -> tt.System:
    """Return two hinged bodies to which something is added."""
    s, arm = moved(tt.Revolute("first")), tt.RigidBody("arm", 1.0, inertia=np.eye(3))
    s.connect(s["b"], arm, tt.Revolute("second", axis=[1, 0, 0]))
    add(s, arm)
    return s


#: Fields of each constructor that are usable, and the system for which it is made.
MAKERS: dict[str, tuple[dict[str, Any], Callable[..., tt.System]]] = {
    "RigidBody": (
        {"mass": 1.0, "com": [0, 0, 0.1], "inertia": np.eye(3), "ports": {"C": [0, 0, 1]}},
        lambda **k: floating(tt.RigidBody("b", **k)),
    ),
    "port": (
        {"position": [0, 0, 1], "rotation": np.eye(3)},
        lambda **k: floating(tt.RigidBody("b", 1.0, inertia=1.0, ports={"C": tt.Pose(**k)})),
    ),
    "modes": (FLEXIBLE | {"frequencies": [3.0], "damping_ratios": 0.01}, lambda **k: floating(tt.FlexibleBody("b", **k))),
    "matrices": (
        FLEXIBLE | {"modal_mass": [[1.0]], "modal_stiffness": [[9.0]], "modal_damping": [[0.1]]},
        lambda **k: floating(tt.FlexibleBody("b", **k)),
    ),
    "Beam": (BEAM, lambda **k: floating(tt.Beam("b", **k))),
    "Beam's options": (
        {
            "torsion_constant": 1e-4,
            "shear_modulus": 1e3,
            "shear_factors": 0.8,
            "modes": 2,
            "torsion_modes": 1,
            "axial_modes": 1,
        },
        lambda **k: floating(tt.Beam("b", **BEAM, **k)),
    ),
    "Revolute": (ONE, lambda **k: moved(tt.Revolute("j", **k))),
    "Screw": (ONE | {"pitch": 0.1}, lambda **k: moved(tt.Screw("j", **k))),
    "Universal": ({"axis1": [1, 0, 0], "axis2": [0, 1, 0], "rest": [0, 0]}, lambda **k: moved(tt.Universal("j", **k))),
    "Spherical": (FREELY | {"rest": [0, 0, 0, 1]}, lambda **k: moved(tt.Spherical("j", **k))),
    "Free": (FREELY | {"rest": [0, 0, 0, 0, 0, 0, 1]}, lambda **k: moved(tt.Free("j", **k))),
    "Friction": (
        {"coulomb": 0.1, "breakaway": 0.1, "stribeck_velocity": 0.1, "smoothing": 0.1},
        lambda **k: moved(tt.Revolute("j", friction=tt.Friction(**k))),
    ),
    "Limits": (
        {"lower": -1.0, "upper": 1.0, "velocity": 1.0, "effort": 1.0, "stiffness": 1.0, "dissipation": 1.0},
        lambda **k: moved(tt.Revolute("j", limits=tt.Limits(**k))),
    ),
    "CompliantClosure": (
        {"stiffness": 1.0, "damping": 1.0},
        lambda **k: driven(lambda s, arm: s.close_loop(s.world, arm, tt.CompliantClosure("c", **k))),
    ),
    "RigidClosure": (
        {"kind": "revolute", "axis": [0, 0, 1]},
        lambda **k: driven(lambda s, arm: s.close_loop(s.world, arm, tt.RigidClosure("c", **k))),
    ),
    "Gear": ({"ratio": 1.0, "offset": 0.0}, lambda **k: driven(lambda s, _: s.add_gear(tt.Gear("g", "first", "second", **k)))),
    "Load": ({"force": [1, 0, 0], "torque": [0, 0, 1]}, lambda **k: driven(lambda s, arm: s.add_load(tt.Load("l", arm, **k)))),
    "Motor": (
        {"gear": 2.0, "rotor_inertia": 0.1, "effort_limit": 3.0},
        lambda **k: driven(lambda s, _: s.add_actuator(tt.Motor("m", "first", **k))),
    ),
    "Thruster": (
        {"direction": [0, 0, 1], "max_thrust": 3.0},
        lambda **k: driven(lambda s, arm: s.add_actuator(tt.Thruster("t", arm, **k))),
    ),
    "System": ({"gravity": [0, 0, -9.81]}, lambda **k: tt.System("s", **k)),
}


@pytest.mark.parametrize("maker", MAKERS)
def test_every_number_is_refused_by_name_or_right(maker: str) -> None:
    """Forward and inverse dynamics agree within what conditioning tells, wherever no error is raised."""
    fields, make = MAKERS[maker]
    make(**fields).check()
    for field in fields:
        for value in VALUES:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                with contextlib.suppress(tt.ModelError):
                    system = make(**fields | {field: value})
                    system.check()
                    if maker in ("RigidBody", "Beam", "modes", "matrices", "Revolute", "Spherical"):
                        assert_round_trip(system.resolve())


def assert_round_trip(m: tt.Model) -> None:
    """Assert that inverse dynamics undo forward dynamics."""
    q, rest = m.random_configuration(np.random.default_rng(0)), np.zeros(m.nv)
    a = m.forward_dynamics(q, rest, np.ones(m.nv))
    size = np.abs(m.mass_matrix(q)) @ np.abs(a) + np.abs(m.passive_efforts(q, rest)) + 1.0
    assert np.abs((m.inverse_dynamics(q, rest, a) - 1.0) / size).max() < max(1e-13, m.conditioning(q).error)


@pytest.mark.parametrize("maker", MAKERS)
def test_masked_arrays_are_refused(maker: str) -> None:
    fields, make = MAKERS[maker]
    for field in fields:
        for value in MASKED:
            with pytest.raises(tt.ModelError):
                make(**fields | {field: value}).check()


def test_masked_states_are_refused() -> None:
    m = moved(tt.Planar("j")).resolve()
    hidden = np.ma.masked_array([1.0, 2.0, 3.0], mask=[0, 1, 0])
    for arguments in ((hidden, rest := np.zeros(3), rest), (rest, hidden, rest), (rest, rest, hidden)):
        for function in (m.forward_dynamics, m.inverse_dynamics):
            with pytest.raises(tt.ModelError, match="wrong-type"):
                function(*arguments)


def test_participation_at_the_end_of_the_range_is_named() -> None:
    with pytest.raises(tt.ModelError, match=r"b\.participation: got numbers up to 1\.7e\+308"):
        floating(tt.FlexibleBody("b", **FLEXIBLE | {"frequencies": [3.0], "participation": [0, 1.7e308, 0, 0, 0, 0]})).check()


@pytest.mark.parametrize("values", [{"length": 1e-160}, {"length": 1e100}, {"density": 1e-308}], ids=str)
def test_beams_out_of_range_are_named(values: dict[str, float]) -> None:
    with pytest.raises(tt.ModelError, match=r"b\.\w+: .*units"):
        floating(tt.Beam("b", **BEAM | values)).check()


@pytest.mark.parametrize("field", ["modes", "torsion_modes", "axial_modes"])
def test_ten_thousand_modes_are_refused_at_once(field: str) -> None:
    with pytest.raises(tt.ModelError, match=rf"b\.{field}: got 10000; expected a whole number from 0 to 50"):
        floating(tt.Beam("b", **BEAM, **{field: 10_000})).check()


RAGGED = [[1, 2], [3]]


@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda rod: tt.Tendon("t", rod, y=0.001, arms=RAGGED).check(), "t.arms"),
        (lambda rod: tt.Cable("c", arms=RAGGED).check(), "c.arms"),
        (lambda rod: tt.StrainBasis(lambda X: X, count=1, breaks=RAGGED), "basis.breaks"),
        (lambda rod: rod.section_poses(np.zeros(1), RAGGED), "rod.abscissas"),
    ],
)
def test_lists_of_any_length_are_refused_by_name(make: Callable[[tt.Rod], Any], where: str) -> None:
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e6, density=1000.0, strains={"bending_z": 0})
    try:
        findings = make(rod)[0]
    except tt.ModelError as error:
        findings = error.findings
    assert [(finding.code, finding.where, finding.expected) for finding in findings] == [
        ("wrong-type", where, "a list of numbers")
    ]


@pytest.mark.parametrize("value", ["no", 1, None, [True], np.ones(2)])
@pytest.mark.parametrize(
    ("make", "where"),
    [
        (lambda rod, value: tt.Tendon("t", rod, y=0.001, push=value), "t.push"),
        (lambda rod, value: tt.Tendon("t", rod, y=0.5, relative=value), "t.relative"),
        (lambda rod, value: tt.PressureChamber("c", rod, 1e-5, suction=value), "c.suction"),
        (lambda rod, value: tt.DistributedLoad("l", rod, force=[0, 1, 0], driven=value), "l.driven"),
        (lambda rod, value: tt.SoftTendon("t", soft_body(), [[0, 0, 0], [0, 0, 1]], push=value), "t.push"),
        (lambda rod, value: tt.SoftChamber("c", soft_body(), tt.Domain.cylinder(0.1, 1.0), suction=value), "c.suction"),
    ],
)
def test_switches_are_true_or_false(make: Callable[[tt.Rod, Any], tt.Block], where: str, value: Any) -> None:
    """Words are neither: "no" would be yes."""
    rod = tt.Rod("rod", 1.0, tt.Section.circle(0.01), young=1e6, density=1000.0, strains={"bending_z": 0})
    findings = [finding for finding in make(rod, value).check()[0] if finding.where == where]
    assert [(finding.code, finding.expected) for finding in findings] == [("wrong-type", "True or False")]
    for good in (True, False, np.bool_(True)):
        assert not [finding for finding in make(rod, good).check()[0] if finding.where == where]


def soft_body() -> tt.SoftBody:
    """Return a body that bends."""
    return tt.SoftBody("b", tt.Kinematics.constant_curvature(1.0), tt.Domain.cylinder(0.2, 1.0), 1000.0)


def geared(ratio: float) -> tt.System:
    """Return two wheels and a gear between them."""
    s = tt.System("geared")
    for name in ("left", "right"):
        s.connect("world", tt.RigidBody(f"{name}_wheel", 1.0, inertia=0.1), tt.Revolute(name))
    s.add_gear(tt.Gear("pair", "left", "right", ratio))
    return s


def motored(gear: float) -> tt.System:
    s = moved(tt.Revolute("j"))
    s.add_actuator(tt.Motor("motor", "j", gear=gear))
    return s


ABSURD: dict[str, tuple[Callable[[], tt.System], str]] = {
    "gear ratio": (lambda: geared(1e300), "pair.ratio"),
    "motor": (lambda: motored(1e300), "motor.gear"),
    "mass": (lambda: floating(tt.RigidBody("b", 1e308, inertia=1.0)), "b.mass"),
    "inertia": (lambda: floating(tt.RigidBody("b", 1.0, inertia=1e308)), "b.inertia"),
    "stiffness": (lambda: moved(tt.Revolute("j", stiffness=1e300)), "j.stiffness"),
    "stop": (lambda: moved(tt.Revolute("j", limits=tt.Limits(upper=1e300, stiffness=1.0))), "j.limits.upper"),
    "gravity": (lambda: tt.System("s", gravity=[0, 0, -1e300]), "s.gravity"),
}


@pytest.mark.parametrize("name", ABSURD)
def test_absurd_numbers_are_told_as_such(name: str) -> None:
    """Not as what becomes of them, no inertia or results that are not finite; one finding each."""
    make, where = ABSURD[name]
    with pytest.raises(tt.ModelError) as caught:
        make().resolve(engine="reference")
    assert [(finding.code, finding.where) for finding in caught.value.findings] == [("out-of-range", where)]


def test_absurd_rotations_and_parameters_are_told_as_such() -> None:
    with pytest.raises(tt.ModelError, match=r"pose\.rotation_vector: got numbers up to 1e\+300.*out-of-range"):
        tt.Pose.from_rotation_vector([0, 0, 0], [1e300, 0, 0])
    m = floating(tt.RigidBody("b", 1.0, inertia=1.0)).resolve()
    with pytest.raises(tt.ModelError, match=r"b\.mass: got 1e\+300.*out-of-range"):
        m.with_parameters({"b.mass": 1e300})


def test_numbers_of_stars_and_directions_of_any_length_are_none() -> None:
    """The negative control: the sun's mass and inertia are numbers as others, and of axes the direction alone counts."""
    sun = tt.RigidBody("sun", 2e30, inertia=6e46)
    a = floating(sun).resolve(engine="reference").forward_dynamics([0, 0, 0, 0, 0, 0, 1], np.zeros(6), [2e30, 0, 0, 0, 0, 6e46])
    np.testing.assert_allclose(a, [1, 0, -9.81, 0, 0, 1], atol=1e-12)  # rounding
    along = moved(tt.Prismatic("j", axis=[1e300, 0, 0])).resolve(engine="reference")
    assert along.mass_matrix([0.0]) == 1.0
