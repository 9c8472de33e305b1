"""No unit matters: every function of a model, and every solver, answers the same in units of length, time and mass that are
powers of two from 2^-20 to 2^20, once its answer is scaled back.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy.linalg import matrix_balance

import titop as tt
from tests.solvers.scaled_systems import SI, Units
from tests.solvers.systems_in_units import SYSTEMS, Built, at
from tests.systems import Array
from titop.solvers.mechanism.scale import Scale

#: Powers of two of length, mass and time: velocities, forces and all else are in other units too. Even ones, so that Hertz's
#: root of a length is a power of two as well.
POWERS = [(20, -20, 12), (-16, 20, -20)]
UNITS = [Units(*(2.0**power for power in powers)) for powers in POWERS]

#: Of the largest entry, once units are gone: powers of two change no digit, but roots of odd ones, and libraries' own choices.
EXACT = 1e-12

#: Where less is asked for, by system, question and the beginning of the answer's name: how much, and why.
LOOSER = [
    ("lever", "", "", 1e-9, "differences of sixth order, whose steps are found by comparing numbers"),
    ("beam", "parameters", "", 1e-6, "sections of modal bodies are differentiated by differences"),
    ("beam", "dynamics", "", 1e-11, "modes are LAPACK's, of matrices that mix N/m and N m/rad; with Haswell's kernels 1.1e-12"),
    ("", "courses", "fixed", 1e-10, "twenty steps of Newton's method, each to a part of the tolerance"),
    ("", "courses", "", 1e-8, "the first step is scipy's, which has a time of its own; to the tolerance of steps"),
    ("", "uncertain", "at", 1e-10, "the condition of responses near resonances"),
    ("", "uncertain", "", 1e-2, "bounds are sought to a hundredth"),
]

#: What is not the same yet, by system, question and the beginning of the answer's name.
UNLIKE = [("slider_crank", "dynamics", "inverse", "efforts of least norm are those in the numbers' own units, N beside N m")]

#: Warnings are about numbers that look as if they were in other units: they are.
pytestmark = pytest.mark.filterwarnings("ignore::titop.ModelWarning")


class Scaled(NamedTuple):
    """A model in some units, with a state, and what its numbers are in parts of those in SI units."""

    m: tt.Model
    units: Units
    built: Built
    q: Array
    v: Array
    a: Array
    tau: Array
    x: Array
    u: Array
    wrenches: dict[str, Array]

    def of(self, *units: str) -> Array:
        return np.array([self.units.of(unit) for unit in units])

    @property
    def positions(self) -> Array:
        return self.of(*self.m.mechanism.assembly.configuration_units)

    @property
    def coordinates(self) -> Array:
        return self.of(*self.m.mechanism.assembly.coordinate_units)

    @property
    def rates(self) -> Array:
        return self.coordinates / self.units.time

    @property
    def accelerations(self) -> Array:
        return self.rates / self.units.time

    @property
    def efforts(self) -> Array:
        return self.units.effort / self.coordinates

    @property
    def constraints(self) -> Array:
        return self.of(*self.m.constraint_units)


@cache
def scaled(name: str, units: Units) -> Scaled:
    """Return a system of `SYSTEMS` in some units, in the same state."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built, plain = SYSTEMS[name](units), SYSTEMS[name](SI).system.resolve("reference")
        m = built.system.resolve()
    rng = np.random.default_rng(7)
    q, v = plain.configuration(built.q), plain.velocity(built.v)
    q = plain.integrate(q, 0.01 * rng.normal(size=plain.nv) * (np.array(plain.mechanism.assembly.coordinate_units) == "rad"))
    v = v + 0.1 * rng.normal(size=plain.nv)
    a, tau = rng.normal(size=(2, plain.nv))
    if plain.is_constrained:
        q = plain.assemble(q, fixed=built.options["fixed"])
        v = plain.assemble_velocity(q, v, fixed=built.options["fixed"])
        a = plain.assemble_acceleration(q, v, a, fixed=built.options["fixed"])
    one = Scaled(m, units, built, *np.zeros((6, 0)), {})
    port = m.port_names[-1] if m.port_names else m.body_names[-1]
    push = rng.normal(size=6) * one.of(*["N"] * 3, *["N m"] * 3)
    return one._replace(
        q=q * one.positions, v=v * one.rates, a=a * one.accelerations, tau=tau * one.efforts,
        u=rng.uniform(0.1, 0.3, m.nu) * one.of(*m.mechanism.inputs.units),
        x=rng.normal(size=m.nx) * one.of(*m.mechanism.inputs.state_units),
        wrenches={port: push},
    )  # fmt: skip


#: What a question answers: numbers, and what each is in parts of that in SI units.
Answers = dict[str, tuple[Any, Any]]


def over(rows: Any, columns: Any) -> Array:
    return np.divide.outer(np.asarray(rows), np.asarray(columns))


def dynamics(s: Scaled) -> Answers:
    """Forward and inverse dynamics, their parts and derivatives."""
    m, q, v, a, tau, acting = s.m, s.q, s.v, s.a, s.tau, {"wrenches": s.wrenches, "u": s.u, "x": s.x}
    c, r, e, b = s.coordinates, s.rates, s.efforts, s.accelerations
    names = ("q", "v", "third")
    answers: Answers = {
        "mass_matrix": (m.mass_matrix(q), over(e, b)),
        "inverse_mass_matrix": (m.inverse_mass_matrix(q), over(b, e)),
        "nonlinear_effects": (m.nonlinear_effects(q, v), e),
        "gravity_effects": (m.gravity_effects(q), e),
        "coriolis_matrix": (m.coriolis_matrix(q, v), over(e, r)),
        "passive_efforts": (m.passive_efforts(q, v), e),
        "forward_dynamics": (m.forward_dynamics(q, v, tau, **acting), b),
        "inverse_dynamics": (m.inverse_dynamics(q, v, a, **acting), e),
        "energy": (m.energy(q, v, s.x), s.units.effort),
        "conditioning": (m.conditioning(q).error, 1.0),
    }
    forward = m.forward_dynamics_derivatives(q, v, tau, **acting)
    inverse = m.inverse_dynamics_derivatives(q, v, a, **acting)
    answers |= {f"forward by {k}": (d, over(b, x)) for k, d, x in zip(names, forward, (c, r, e), strict=True)}
    answers |= {f"inverse by {k}": (d, over(e, x)) for k, d, x in zip(names, inverse, (c, r, b), strict=True)}
    if not m.is_constrained:
        prescribed = list(m.coordinate_names[:1])
        hybrid = m.hybrid_dynamics(q, v, tau, a, prescribed, **acting)
        answers |= {"hybrid a": (hybrid[0], b), "hybrid tau": (hybrid[1], e)}
        more = m.hybrid_dynamics_derivatives(q, v, tau, a, prescribed, **acting)
        columns = {"dq": c, "dv": r, "dtau": e, "da": b}
        for field, value in more._asdict().items():
            row, column = field.split("_")
            answers[f"hybrid {field}"] = value, over(b if row == "da" else e, columns[column])
    if m.nx:
        states = s.of(*m.mechanism.inputs.state_units)
        answers["state_rates"] = m.state_rates(q, v, s.x, s.u), states / s.units.time
    return answers


def motions(s: Scaled) -> Answers:
    """Motions, reactions and readings of every port and joint."""
    m, q, v, a = s.m, s.q, s.v, s.a
    twist = s.of(*["m/s"] * 3, *["rad/s"] * 3)
    motion = np.concatenate([twist / s.units.time, twist, s.of(*["m"] * 3, *["rad"] * 3)])
    answers: Answers = {"center_of_mass": (m.center_of_mass(q), s.units.length)}
    force = s.of(*["N"] * 3, *["N m"] * 3)
    answers["momentum"] = m.momentum(q, v), force * s.units.time
    for port in (*m.port_names, *m.body_names):
        answers[f"{port} motion"] = m.motion(port, q, v, a), motion
        answers[f"{port} jacobian"] = m.jacobian(port, q), over(twist, s.rates)
        answers[f"{port} accelerometer"] = m.accelerometer(port, q, v, a), s.of("m/s^2")
        of = m.motion_derivatives(port, q, v, a)
        answers[f"{port} dV_dq"] = of.dV_dq, over(twist, s.coordinates)
        answers[f"{port} dA_dq"] = of.dA_dq, over(twist / s.units.time, s.coordinates)
        answers[f"{port} dA_dv"] = of.dA_dv, over(twist / s.units.time, s.rates)
    acting = {"wrenches": s.wrenches, "u": s.u, "x": s.x}
    b = m.forward_dynamics(q, v, s.tau, **acting)
    for joint in m.joint_names:
        answers[f"{joint} reaction"] = m.reaction(joint, q, v, b, tau=s.tau, **acting), force
    answers["outputs"] = m.outputs(q, v, b, tau=s.tau, **acting), s.of(*m.output_units)
    if any(isinstance(loop.closure, tt.Contact) for loop in m.mechanism.interactions):
        found = m.contacts(q, v)
        answers |= {"gap": (found.gap, s.units.length), "force": (found.force, s.of("N")), "slip": (found.slip, s.of("m/s"))}
    return answers


def series(s: Scaled) -> Answers:
    """Time derivatives of efforts and accelerations."""
    m, orders = s.m, 3
    if m.nx or s.built.system.name in ("lever", "rod", "cantilever"):  # Python's functions; minutes of object arithmetic
        return {}
    rng = np.random.default_rng(3)
    further = rng.normal(size=(orders - 2, m.nv)) * s.accelerations / s.units.time ** np.arange(1, orders - 1)[:, None]
    v_series, powers = np.array([s.v, s.a, *further]), s.units.time ** -np.arange(0.0, orders - 1)[:, None]
    answers: Answers = {}
    if not m.is_constrained:
        answers["inverse series"] = m.inverse_dynamics_series(s.q, v_series), s.efforts * powers
        efforts = rng.normal(size=(orders - 1, m.nv)) * s.efforts * powers
        answers["forward series"] = m.forward_dynamics_series(s.q, s.v, efforts), s.accelerations * powers
    return answers


def closures(s: Scaled) -> Answers:
    """Constraints, and states that satisfy them."""
    m, q, v = s.m, s.q, s.v
    if not m.is_constrained:
        return {}
    fixed = s.built.options["fixed"]
    open_q = m.integrate(
        q, 0.05 * np.cos(np.arange(m.nv)) * np.where(m.mechanism.angular_coordinates, 1.0, 0.3) * s.coordinates
    )
    k = s.constraints
    first = [name for name in m.coordinate_names if name not in fixed][:1]
    return {
        "closure_error": (m.closure_error(open_q), k),
        "closure_jacobian": (m.closure_jacobian(q), over(k, s.coordinates)),
        "closure_bias": (m.closure_bias(q, v), k / s.units.time**2),
        "closure_rank": (m.closure_rank(q), 1.0),
        "assemble": (m.assemble(open_q, fixed=fixed), s.positions),
        "assemble_velocity": (m.assemble_velocity(q, v + 0.1 * s.rates, fixed=fixed), s.rates),
        "assemble_acceleration": (m.assemble_acceleration(q, v, s.a + 0.1 * s.accelerations, fixed=fixed), s.accelerations),
        "independent": ([m.coordinate_names.index(name) for name in m.independent_coordinates(q)], 1.0),
        "actuated": (m.inverse_dynamics(q, v, s.a, actuated=first), s.efforts),
    }


def parameters(s: Scaled) -> Answers:
    """Sensitivities by every parameter, and models with other parameters."""
    m, answers = s.m, {}
    if m.is_constrained:
        return {}
    # friction that is not there has default velocities, in SI units
    known = {name: unit for name, (_, unit) in m.parameters().items() if unit_known(unit) and ".friction." not in name}
    names = [*known][::5]
    found = m.forward_dynamics_sensitivities(s.q, s.v, s.tau, names, s.wrenches, s.u, s.x)
    for name in names:
        answers[name] = found[name], s.accelerations / s.units.of(known[name])
    return answers


def unit_known(unit: str) -> bool:
    try:
        SI.of(unit)
    except (NameError, SyntaxError):
        return False
    return True


def guess(s: Scaled) -> dict[str, Any]:
    """Return arguments of `trim`: where the system rests; the satellite spins its wheel."""
    given: dict[str, Any] = {"u": s.built.options["u"]} if "u" in s.built.options else {}
    if s.built.system.name == "satellite":
        return given | {"unknowns": ["drive", "panel"], "q": s.q, "v": {"shaft": 30.0 / s.units.time}}
    return given | {"q": s.m.configuration({"base.y": 0.098 * s.units.length}) if s.built.system.name == "floor" else s.q}


def equilibrium(s: Scaled) -> tt.OperatingPoint:
    return tt.trim(s.m, **guess(s))


def trimmed(s: Scaled) -> Answers:
    """An equilibrium, and its description."""
    point = equilibrium(s)
    values = np.sort(np.abs(point.eigenvalues)) * s.units.time
    return {
        "q": (point.q, s.positions),
        "v": (point.v, s.rates),
        "tau": (point.tau, s.efforts),
        "x": (point.x, s.of(*s.m.mechanism.inputs.state_units)),
        "eigenvalues": (values, 1.0),
        "stable": (len(point.growing), 1.0),
    }


def matrices(s: Scaled, system: Any, label: str = "") -> Answers:
    """Return the matrices of a state space, by the units that its table tells."""
    table = tt.signal_table(system)
    x, u, y = (
        s.of(*(table[name].unit for name in names))
        for names in (system.state_labels, system.input_labels, system.output_labels)
    )
    found = {"A": over(x / s.units.time, x), "B": over(x / s.units.time, u), "C": over(y, x), "D": over(y, u)}
    return {f"{label}{name}": (getattr(system, name), size) for name, size in found.items()}


def channels(s: Scaled) -> tuple[list[str], list[str]]:
    """Return inputs and outputs of the system: its joints' and actuators', a body's motion."""
    names = [name for name in s.m.coordinate_names if name in s.m.joint_names]
    return [*names[:2], *s.m.input_names], [f"{name}.q" for name in names] + [
        f"{s.m.body_names[-1]}.{part}" for part in ("v", "dv")
    ]


def linear(s: Scaled) -> Answers:
    """Linear models at equilibria, and at a state with accelerations."""
    inputs, outputs = channels(s)
    A, B = tt.linear_matrices(s.m, (s.q, s.v, s.tau))
    both = np.concatenate([s.coordinates, s.rates])
    answers: Answers = {"whole A": (A, over(both / s.units.time, both)), "whole B": (B, over(both / s.units.time, s.efforts))}
    answers |= matrices(s, tt.linearize(s.m, equilibrium(s), inputs, outputs))
    return answers | matrices(s, tt.linearize(s.m, (s.q, s.v, s.tau), inputs, outputs), "moving ")


def family(s: Scaled) -> Answers:
    """A family of linear models over a mass."""
    inputs, outputs = channels(s)
    name = mass_of(s)
    values = s.m.parameters()[name][0] * np.array([0.9, 1.0, 1.1])
    members = tt.lpv(s.m, {name: values}, inputs=inputs, outputs=outputs, progress=False, **guess(s))
    between = members.at({name: 0.5 * (values[0] + values[1])})
    return matrices(s, members.at({name: values[2]}), "last ") | matrices(s, between, "between ")


def mass_of(s: Scaled) -> str:
    return next(name for name in reversed(s.m.parameters()) if name.endswith(".mass"))


def response(system: Any, point: complex) -> Array:
    """Return the response of a state space, its states in units in which rows and columns are alike."""
    A, (scale, _) = matrix_balance(system.A, permute=False, separate=True)
    x = np.linalg.solve(point * np.eye(len(A)) - A, system.B / scale[:, None])
    return system.C @ (scale[:, None] * x) + system.D


def uncertain(s: Scaled) -> Answers:
    """A linear fractional model of what is stable or was made so, its robust stability and gain."""
    if s.built.system.name not in ("arm", "engine", "drive"):
        return {}
    inputs, outputs = channels(s)
    name = mass_of(s)
    model = tt.lft(s.m, equilibrium(s), {name: tt.percent(20)}, inputs, outputs)
    member, table = (
        model.at({name: s.m.parameters()[name][0] * 1.1}),
        tt.signal_table(tt.linearize(s.m, equilibrium(s), inputs, outputs)),
    )
    u, y = (s.of(*(table[name].unit for name in names)) for names in (member.input_labels, member.output_labels))
    answers: Answers = {f"at {w}": (response(member, 1j * w / s.units.time), over(y, u)) for w in (0.3, 3.0, 30.0)}
    if (np.linalg.eigvals(member.A).real < 0).all():
        stability = tt.robust_stability(model, margin=True, progress=False)
        gain = tt.worst_case_gain(model, inputs[0], outputs[0], progress=False)
        answers |= {"upper": (stability.upper, 1.0), "lower": (stability.lower, 1.0)}
        answers |= {"gain upper": (gain.upper, y[0] / u[0]), "gain lower": (gain.lower, y[0] / u[0])}
        bounds = tt.mu(model, np.array([0.5, 5.0]) / s.units.time, progress=False)
        answers |= {"mu upper": (bounds.upper, 1.0), "mu lower": (bounds.lower, 1.0)}
    return answers


def sections(s: Scaled) -> Answers:
    """Sections of a rod: where they stand, how they are strained, what they transmit."""
    m, q = s.m, s.q
    if s.built.system.name != "rod":
        return {}
    places = np.array([0.1, 0.4]) * s.units.length
    acting = {"u": s.u, "tau": np.zeros(m.nv)}
    a = m.forward_dynamics(q, s.v, **acting)
    return {
        "positions": (m.section_poses("rod", places, q)[1], s.units.length),
        "strains": (m.section_strains("rod", places, q), s.of(*["rad/m"] * 3, *["1"] * 3)),
        "stresses": (m.section_stresses("rod", places, q), s.of("Pa")),
        "wrenches": (m.section_wrenches("rod", places, q, s.v, a, **acting), s.of(*["N"] * 3, *["N m"] * 3)),
    }


def further(s: Scaled) -> Answers:
    """Lines and paths of equilibria, shapes from measured places, identification."""
    m, answers = s.m, {}
    answers["inertial"] = m.inertial_inverse_dynamics(s.q, s.v, s.a), s.efforts
    if s.built.system.name in ("arm", "drive"):
        name = mass_of(s)
        line = tt.trim_along(m, name, m.parameters()[name][0] * np.array([1.0, 1.5, 2.0]), **guess(s))
        answers["line"] = np.array([point.q for point in line]), s.positions
        pull = {"hinge.tau": (0.0, 0.5 * s.units.effort)}
        path = tt.equilibrium_path(m, pull, within=(0.0, 1.0), progress=False, **guess(s))
        answers |= {"path": (path.q, s.positions), "factors": (path.factors, 1.0)}
    if s.built.system.name == "rod":
        measured = {"rod.tip": m.pose("rod.tip", s.q)[1] + at(s.units, 0.0, 0.01, -0.02)}
        fit = tt.fit_shape(m, measured, ["rod.bending_y0", "rod.bending_z0"])
        answers["fit"] = fit.q, s.positions
    return answers


def courses(s: Scaled) -> Answers:
    """Simulations by an explicit, an implicit and a fixed-step method."""
    answers: Answers = {}
    if s.built.system.name == "lever":
        return answers
    span = 0.02 if s.built.system.name in ("cantilever", "rod") else 0.1
    times, atol = np.linspace(0.0, span, 3) * s.units.time, 1e-14 * min(s.coordinates.min(), s.rates.min())
    fixed = tt.GeneralizedAlpha(0.8, step=0.005 * s.units.time)
    for method in ("DOP853", "Radau", fixed):
        run = tt.simulate(s.m, times, s.q, s.v, 0.01 * s.tau, u=s.u, x0=s.x, method=method, atol=atol, progress=False)
        label = method if isinstance(method, str) else "fixed"
        answers |= {f"{label} q": (run.q[-1], s.positions), f"{label} v": (run.v[-1], s.rates)}
    return answers


QUESTIONS: dict[str, Callable[[Scaled], Answers]] = {
    each.__name__: each
    for each in (
        dynamics,
        motions,
        series,
        closures,
        parameters,
        trimmed,
        linear,
        family,
        uncertain,
        sections,
        further,
        courses,
    )
}


def differences(name: str, question: str, units: Units) -> dict[str, float]:
    """Return by how much answers in other units differ, in parts of the largest entry of each."""
    plain, other = (QUESTIONS[question](scaled(name, each)) for each in (SI, units))
    assert plain.keys() == other.keys()
    found = {}
    for label, (expected, ones) in plain.items():
        value, size = other[label]
        expected, value = (np.asarray(number) / np.asarray(one) for number, one in ((expected, ones), (value, size)))
        assert expected.shape == value.shape
        error = np.abs(value - expected).max(initial=0.0)
        found[label] = float(error / (np.abs(expected).max(initial=0.0) or 1.0))
    return found


def allowed(name: str, question: str, label: str) -> float:
    """Return by how much an answer may differ: not at all in a sense where it is known to be unlike."""
    if any(name == system and question == of and label.startswith(begin) for system, of, begin, _ in UNLIKE):
        return np.inf
    fits = (e for *key, e, _ in LOOSER if key[0] in ("", name) and key[1] in ("", question) and label.startswith(key[2]))
    return next(fits, EXACT)


@pytest.mark.parametrize("name", SYSTEMS)
@pytest.mark.parametrize("question", QUESTIONS)
def test_no_unit_matters(name: str, question: str) -> None:
    for units in UNITS:
        wrong = {
            label: error
            for label, error in differences(name, question, units).items()
            if not error <= allowed(name, question, label)
        }
        assert wrong == {}, units


@pytest.mark.parametrize(("name", "question", "begin"), [each[:3] for each in UNLIKE])
def test_what_is_unlike_still_is(name: str, question: str, begin: str) -> None:
    """Else it leaves the list."""
    found = [error for units in UNITS for label, error in differences(name, question, units).items() if label.startswith(begin)]
    assert max(found) > EXACT


def test_an_absolute_threshold_would_be_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """With a length that counts as one in any unit, inverse dynamics of the slider-crank choose other constraints."""
    monkeypatch.setattr(Scale, "comparable", lambda scale, jacobian: np.where(np.abs(jacobian) > 1e-3, jacobian, 0.0))
    with pytest.raises((AssertionError, tt.ModelError, tt.ConvergenceError)):
        test_no_unit_matters("slider_crank", "closures")


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("N m s/rad", 2.4), ("m sqrt(kg)", 2 * np.sqrt(3)), ("J s^2/(m sqrt(kg))^2", 1.0), ("N/m^1.5", 0.24 / 2**1.5)],
)
def test_units_of_the_tests(unit: str, expected: float) -> None:
    """Of two, three and five units a metre, a kilogram and a second."""
    assert Units(2.0, 3.0, 5.0).of(unit) == pytest.approx(expected, rel=1e-14)
