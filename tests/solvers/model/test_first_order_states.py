"""States of the first order: both engines, derivatives, stacked states, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import titop as tt
from tests.stated_systems import DragInPython, LaggingJoint, MaxwellJoint, body, interacting, jointed
from titop.blocks.basics.complex_steps import complex_step

#: Both engines compute the same sums, a few hundred terms of size 100 at most.
ROUNDING = 1e-11
SYSTEMS = {"compiled": interacting, "python": lambda: interacting(DragInPython), "joints": jointed}


def state(m: tt.Model, seed: int = 0) -> tuple[Any, Any, Any, Any, Any]:
    """Return q, v, x, u and tau without special values."""
    rng = np.random.default_rng(seed)
    return m.random_configuration(rng), *(rng.normal(size=n) for n in (m.nv, m.nx, m.nu, m.nv))


def test_names_and_sizes() -> None:
    m = interacting().resolve(engine="reference")
    assert (m.nx, m.state_names) == (4, ("motor.effort", "drag.sx", "drag.sy", "drag.sz"))
    assert jointed().resolve(engine="reference").state_names == ("driven.effort", "rail.bristle", "soft.creep")
    assert m.mechanism.inputs.state_units == ("N m", "N", "N", "N")


def test_a_state_acts_as_its_effort() -> None:
    m = interacting().resolve()
    q, v, x, u, tau = state(m)
    x[1:] = 0.0
    pushed = tau.copy()
    pushed[0] += x[0]
    np.testing.assert_allclose(m.forward_dynamics(q, v, tau, x=x, u=u), m.forward_dynamics(q, v, pushed), rtol=ROUNDING)
    assert not np.allclose(m.forward_dynamics(q, v, tau, x=x), m.forward_dynamics(q, v, tau))
    by_name = m.forward_dynamics(q, v, tau, x={"motor.effort": x[0]})
    np.testing.assert_array_equal(by_name, m.forward_dynamics(q, v, tau, x=x))


@pytest.mark.portable
@pytest.mark.parametrize("make", SYSTEMS.values(), ids=SYSTEMS)
def test_engines_agree(make: Callable[[], tt.System]) -> None:
    s = make()
    m, reference = s.resolve(), s.resolve(engine="reference")
    q, v, x, u, tau = state(m)
    given = {"x": x, "u": u}
    for function in ("forward_dynamics", "inverse_dynamics", "forward_dynamics_derivatives", "inverse_dynamics_derivatives"):
        for one, other in zip(
            np.atleast_2d(getattr(m, function)(q, v, tau, **given)),
            np.atleast_2d(getattr(reference, function)(q, v, tau, **given)),
            strict=True,
        ):
            np.testing.assert_allclose(one, other, rtol=ROUNDING, atol=ROUNDING)
    imposed = m.coordinate_names[:1]
    for one, other in zip(*(each.hybrid_dynamics(q, v, tau, v, imposed, **given) for each in (m, reference)), strict=True):
        np.testing.assert_allclose(one, other, rtol=ROUNDING, atol=ROUNDING)
    np.testing.assert_allclose(m.state_rates(q, v, x, u), reference.state_rates(q, v, x, u), rtol=ROUNDING, atol=ROUNDING)


@pytest.mark.parametrize("make", SYSTEMS.values(), ids=SYSTEMS)
def test_derivatives_of_rates_and_efforts(make: Callable[[], tt.System]) -> None:
    s = make()
    m, reference = s.resolve(), s.resolve(engine="reference")
    q, v, x, u, tau = state(m)
    found, efforts = m.state_rates_derivatives(q, v, x, u), m.state_efforts(q, v, x, u)

    def rates(dq: Any, dv: Any, dx: Any, du: Any) -> Any:
        return reference.state_rates(reference.integrate(q, dq), v + dv, x + dx, u + du)

    nothing = [np.zeros(n) for n in (m.nv, m.nv, m.nx, m.nu)]
    for k, matrix in enumerate((found.by_q, found.by_v, found.by_x, found.by_u)):
        expected = complex_step(lambda step, k=k: rates(*nothing[:k], step, *nothing[k + 1 :]), nothing[k])
        np.testing.assert_allclose(matrix, expected, rtol=1e-11, atol=1e-11)  # two complex steps, of one vector field
    step = 1e-6
    moved = [[m.inverse_dynamics(q, v, tau, u=u, x=x + sign * dx) for sign in (1, -1)] for dx in step * np.eye(m.nx)]
    differences = np.array([(behind - ahead) / (2 * step) for ahead, behind in moved]).T
    np.testing.assert_allclose(efforts, differences, atol=1e-7 * np.abs(efforts).max())  # central differences


@pytest.mark.parametrize("make", SYSTEMS.values(), ids=SYSTEMS)
def test_stacked_states(make: Callable[[], tt.System]) -> None:
    m = make().resolve()
    rows = [state(m, seed) for seed in range(3)]
    q, v, x, u, tau = (np.array(part) for part in zip(*rows, strict=True))
    a = m.forward_dynamics(q, v, tau, x=x, u=u)
    rates = m.state_rates(q, v, x, u)
    by_x = m.state_rates_derivatives(q, v, x, u).by_x
    for k, row in enumerate(rows):
        np.testing.assert_allclose(a[k], m.forward_dynamics(row[0], row[1], row[4], x=row[2], u=row[3]), rtol=ROUNDING)
        np.testing.assert_array_equal(rates[k], m.state_rates(*row[:4]))
        np.testing.assert_array_equal(by_x[k], m.state_rates_derivatives(*row[:4]).by_x)
    np.testing.assert_allclose(
        m.forward_dynamics(q, v, tau, x=x[0])[1], m.forward_dynamics(q[1], v[1], tau[1], x=x[0]), rtol=ROUNDING
    )


def test_lists_are_read_too() -> None:
    m = jointed().resolve()
    q, v, x, u, tau = state(m)
    expected = m.forward_dynamics(q, v, tau, x=x, u=u)
    np.testing.assert_array_equal(m.forward_dynamics(*(part.tolist() for part in (q, v, tau)), x=x.tolist(), u=u), expected)


def test_parameters_of_blocks_with_states_change() -> None:
    m, other = jointed().resolve(), jointed()
    q, v, x, u, tau = state(m)
    changed = m.with_parameters({"soft.stiffness": 8.0, "b.mass": 3.0})
    blocks = {block.name: block for block in other.blocks}
    blocks["soft"].stiffness, blocks["b"].mass = 8.0, 3.0
    expected = other.resolve(engine="reference")
    np.testing.assert_allclose(
        changed.forward_dynamics(q, v, tau, x=x, u=u), expected.forward_dynamics(q, v, tau, x=x, u=u), rtol=ROUNDING
    )
    assert changed.state_names == m.state_names


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"x": [1.0]}, "wrong-length"),
        ({"u": np.zeros(5)}, "wrong-length"),  # of as many as inputs and states together
        ({"x": {"nothing": 1.0}}, "unknown-state"),
        ({"x": [np.nan, 0.0, 0.0, 0.0]}, "not-finite"),
        ({"x": "many"}, "wrong-type"),
    ],
)
@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_wrong_states_are_refused(given: Any, code: str, engine: str) -> None:
    m = interacting().resolve(engine=engine)
    q, v, *_, tau = state(m)
    with pytest.raises(tt.ModelError) as refusal:
        m.forward_dynamics(q, v, tau, **given)
    assert refusal.value.code == code


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_stacked_states_beside_a_single_configuration_are_refused(engine: str) -> None:
    m = interacting().resolve(engine=engine)
    q, v, *_, tau = state(m)
    for given in ({"x": np.ones((3, m.nx))}, {"u": np.ones((3, m.nu))}):
        for call in (
            lambda given=given: m.forward_dynamics(q, v, tau, **given),
            lambda given=given: m.inverse_dynamics(q, v, v, **given),
            lambda given=given: m.state_rates(q, v, **given),
            lambda given=given: m.forward_dynamics_derivatives(q, v, tau, **given),
        ):
            with pytest.raises(tt.ModelError, match="3 stacked ones; expected one, as of q and v"):
                call()


def test_models_without_states_take_none() -> None:
    s = tt.System("plain")
    s.connect("world", body("only"), tt.Revolute("hinge"))
    m = s.resolve()
    np.testing.assert_array_equal(m.forward_dynamics([0.1], [0.2], x=[]), m.forward_dynamics([0.1], [0.2]))
    assert m.state_rates([0.1], [0.2]).shape == (0,)
    with pytest.raises(tt.ModelError, match="shape"):
        m.forward_dynamics([0.1], [0.2], x=[1.0])


def test_time_derivatives_are_refused() -> None:
    m = jointed().resolve()
    with pytest.raises(tt.ModelError) as refusal:
        m.forward_dynamics_series(m.neutral(), np.zeros(m.nv), np.zeros((2, m.nv)))
    assert refusal.value.code == "no-series"


WRONG: dict[str, tuple[type, dict[str, Any], str]] = {
    "signal": (MaxwellJoint, {"state_names": ("q",)}, "duplicate-name"),
    "twice": (MaxwellJoint, {"state_names": ("one", "one")}, "duplicate-name"),
    "dotted": (MaxwellJoint, {"state_names": ("o.ne",)}, "bad-name"),
    "text": (MaxwellJoint, {"state_names": "creep"}, "wrong-type"),
    "input": (LaggingJoint, {"state_names": ("command",)}, "duplicate-name"),
    "units": (MaxwellJoint, {"state_units": ("m", "m")}, "bad-units"),
    "rates": (MaxwellJoint, {"state_rates": lambda self, q, v, x, u: np.zeros(2)}, "wrong-shape"),
    "infinite": (MaxwellJoint, {"state_rates": lambda self, q, v, x, u: np.full(1, np.inf)}, "not-finite"),
    "efforts": (MaxwellJoint, {"state_efforts": tt.Block.state_efforts}, "block-fails"),
}


@pytest.mark.parametrize(("base", "own", "code"), WRONG.values(), ids=WRONG)
def test_wrong_blocks_are_refused(base: type, own: dict[str, Any], code: str) -> None:
    s = tt.System("wrong")
    s.connect("world", body("only"), type("Wrong", (base,), own)("wrong"))
    with pytest.raises(tt.ModelError) as refusal:
        s.resolve()
    assert refusal.value.code == code


def test_states_on_quaternions_are_refused() -> None:
    own = {"state_names": ("s",), "state_efforts": lambda self, q, v, x: 0 * v, "state_rates": lambda self, q, v, x, u: x}
    s = tt.System("wrong")
    s.connect("world", body("only"), type("Wrong", (tt.Spherical,), own)("wrong"))
    with pytest.raises(tt.ModelError) as refusal:
        s.resolve()
    assert refusal.value.code == "idle-states"


@pytest.mark.parametrize(
    ("own", "code"),
    [
        ({"state_rates": lambda self, motion: np.zeros(2)}, "wrong-shape"),
        ({"state_rates": tt.Interaction.state_rates, "compiled_law": None}, "no-rates"),
        ({"state_names": ("stiff", "stiff", "sz")}, "duplicate-name"),
    ],
)
def test_wrong_interactions_are_refused(own: dict[str, Any], code: str) -> None:
    with pytest.raises(tt.ModelError) as refusal:
        interacting(type("Wrong", (DragInPython,), own)).resolve()
    assert refusal.value.code == code


def test_check_block_accepts_them() -> None:
    tt.check_block(LaggingJoint("driven"))
    tt.check_block(MaxwellJoint("soft"))


@pytest.mark.parametrize("method", ["state_rates", "act"])
def test_check_block_refuses_what_is_no_number_anywhere(method: str) -> None:
    nothing = {
        "state_rates": lambda self, motion: np.nan * motion.x,
        "act": lambda self, motion: (np.zeros((0, 6)), np.nan * motion.q),
    }
    with pytest.raises(tt.ModelError, match=rf"lost\.{method}: got \[nan") as refusal:
        tt.check_block(type("Lost", (StoringSpring,), {method: nothing[method]})("lost"))
    assert refusal.value.code == "not-finite"


class StoringSpring(tt.Interaction):
    """A spring of 20 N m/rad in series with a damper of 3 N m s/rad, which says what it stores."""

    port_counts, coordinate_counts, state_names = (0, 0), (1, 1), ("creep",)

    def act(self, motion: Any) -> Any:
        return np.zeros((0, 6)), -20.0 * (motion.q - motion.x)

    def stored(self, motion: Any) -> Any:
        return 10.0 * ((motion.q - motion.x) ** 2).sum()

    def state_rates(self, motion: Any) -> Any:
        return 20.0 * (motion.q - motion.x) / 3.0


@pytest.mark.parametrize("engine", ["compiled", "reference"])
def test_energy_is_what_the_damper_has_left(engine: str) -> None:
    tt.check_block(StoringSpring("spring"))
    s = tt.System("swinging", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("wheel", mass=1.0, inertia=2.0), tt.Revolute("hinge"))
    s.add_interaction(StoringSpring("spring"), "hinge")
    m = s.resolve(engine=engine)
    run = tt.simulate(m, np.linspace(0, 1, 201), [0.3], [0.0], x0=[0.1], rtol=1e-10, atol=1e-12, progress=False)
    energy, lost = run.energy().sum(axis=1), 3.0 * (20.0 * (run.q[:, 0] - run.x[:, 0]) / 3.0) ** 2
    assert energy[0] == pytest.approx(10.0 * 0.2**2)
    added = 0.005 / 3.0 * (lost[0] + lost[-1] + 4.0 * lost[1::2].sum() + 2.0 * lost[2:-1:2].sum())
    np.testing.assert_allclose(energy[0] - energy[-1], added, rtol=1e-6)  # Simpson's rule, of fourth order
    assert m.energy(run.q[-1], run.v[-1]).elastic != pytest.approx(m.energy(run.q[-1], run.v[-1], run.x[-1]).elastic)
