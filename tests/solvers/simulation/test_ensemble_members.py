"""Ensembles: a member is its own simulation, whatever runs beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import control
import numpy as np
import pytest

import titop as tt
from tests.flexible import random_body

T = np.linspace(0, 1, 11)


def spring() -> tt.Model:
    """Return a mass on a spring with a motor on its rail."""
    s = tt.System("spring", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("mass", mass=2.0), tt.Prismatic("rail", axis=[1, 0, 0], stiffness=8.0, damping=0.2))
    s.add_actuator(tt.Motor("motor", "rail"))
    return s.resolve()


def arm() -> tt.Model:
    """Return two links with friction and a stop, on a free base."""
    s, base = tt.System("arm"), tt.RigidBody("base", mass=5.0, inertia=np.diag([1.0, 2.0, 3.0]))
    s.connect("world", base, tt.Free("free"))
    first = tt.RigidBody("first", mass=1.0, com=[0.3, 0, 0], inertia=0.1)
    friction, limits = tt.Friction(coulomb=0.1, smoothing=0.1), tt.Limits(upper=0.2, stiffness=1e3)
    s.connect(base, first, tt.Revolute("one", axis=[0, 1, 0], friction=friction, limits=limits))
    return s.resolve()


def four_bar() -> tt.Model:
    """Return a loop with one degree of freedom."""
    s = tt.System("loop", gravity=[0, -9.81, 0])
    left = tt.RigidBody("left", mass=1.0, inertia=0.1, ports={"tip": [0.0, 1.0, 0.0]})
    top = tt.RigidBody("top", mass=1.0, inertia=0.1, ports={"tip": [1.0, 0.0, 0.0]})
    right = tt.RigidBody("right", mass=1.0, inertia=0.1, ports={"tip": [0.0, 1.0, 0.0]})
    s.world.add_port("foot", position=[1.0, 0.0, 0.0])
    s.connect("world", left, tt.Revolute("a", axis=[0, 0, 1]))
    s.connect(left.port("tip"), top, tt.Revolute("b", axis=[0, 0, 1]))
    s.connect(s.world.port("foot"), right, tt.Revolute("c", axis=[0, 0, 1]))
    s.close_loop(top.port("tip"), right.port("tip"), tt.RigidClosure("pin", kind="planar_revolute", axis=[0, 0, 1]))
    return s.resolve()


def sampled() -> Any:
    """Return a discrete controller with a state."""
    return control.ss([[0.9]], [[0.1]], [[1.0]], [[2.0]], 0.05, inputs=["rail_q"], outputs=["motor"])


def kinds() -> dict[str, tuple[tt.Model, dict[str, Any], Callable[[int], dict[str, Any]]]]:
    """Return, for some systems, the model, the arguments of five members, and those of each alone."""
    rng = np.random.default_rng(0)
    spring_q, arm_v, damping, u = rng.normal(size=(5, 1)), rng.normal(size=(5, 7)), rng.uniform(0, 1, 5), rng.normal(size=5)
    base = arm()
    seeds = [5, 3, 2, 8, 1]
    gains = [tt.Controller(lambda t, x, y, r, k=k: (x, -k * y), [], ["rail.q"], ["motor"], 0.1) for k in range(5)]
    loop = four_bar()
    turning = np.array([loop.assemble_velocity(loop.neutral(), [w, 0, 0], fixed=["a"]) for w in (0.0, 0.5, 1.0, 2.0, -1.0)])
    return {
        "free": (
            spring(),
            {"q0": spring_q, "v0": [0.0], "parameters": {"rail.damping": damping, "mass.mass": 3.0}, "u": {"motor": u}},
            lambda k: {"q0": spring_q[k], "v0": [0.0], "u": {"motor": u[k]}},
        ),
        "noisy": (
            spring(),
            {"q0": spring_q, "v0": [0.0], "controller": sampled(), "noise": 0.1, "seeds": seeds},
            lambda k: {"q0": spring_q[k], "v0": [0.0], "controller": sampled(), "noise": 0.1, "seed": seeds[k]},
        ),
        "controllers": (
            spring(),
            {"q0": spring_q, "v0": [0.0], "controller": tt.each(gains), "noise": 0.1},
            lambda k: {
                "q0": spring_q[k], "v0": [0.0], "controller": gains[k], "noise": 0.1,
                "seed": np.random.SeedSequence(0, spawn_key=(k,)),
            },
        ),
        "stop and attitude": (
            base, {"q0": base.neutral(), "v0": arm_v}, lambda k: {"q0": base.neutral(), "v0": arm_v[k]},
        ),
        "loop": (loop, {"q0": loop.neutral(), "v0": turning}, lambda k: {"q0": loop.neutral(), "v0": turning[k]}),
    }  # fmt: skip


KINDS = kinds()


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_has_the_bits_of_its_own_simulation(kind: str) -> None:
    model, together, alone = KINDS[kind]
    ensemble = tt.simulate(model, T, **together)
    assert len(ensemble) == 5
    assert not ensemble.failures
    for k in range(5):
        values = {name: np.resize(column, 5)[k] for name, column in together.get("parameters", {}).items()}
        single = tt.simulate(model.with_parameters(values), T, **alone(k))
        for name in ("t", "q", "v", "a", "tau", "u", "x"):
            assert np.array_equal(getattr(ensemble[k], name), getattr(single, name)), name
        assert [c.y.tobytes() for c in ensemble[k].controls] == [c.y.tobytes() for c in single.controls]
        assert np.array_equal(ensemble.q[k], single.q)
        assert np.array_equal(ensemble.v[k], single.v)
    assert len({member.q.tobytes() for member in ensemble}) == 5  # negative control: members differ


@pytest.mark.parametrize("kind", KINDS)
def test_the_grouping_of_members_changes_no_bit(kind: str) -> None:
    model, together, _ = KINDS[kind]
    whole, order = tt.simulate(model, T, **together), [3, 0, 4, 2, 1]

    def chosen(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: chosen(column) for name, column in value.items()}
        if type(value).__name__ == "Each":
            return tt.each([value.values[k] for k in order])
        return [value[k] for k in order] if len(np.shape(value)) and len(value) == 5 else value

    turned = {name: value if name == "controller" and kind == "noisy" else chosen(value) for name, value in together.items()}
    if kind == "controllers":
        turned["seeds"] = [np.random.SeedSequence(0, spawn_key=(k,)) for k in order]
    other = tt.simulate(model, T, **turned)
    assert np.array_equal(other.q, whole.q[order])
    assert not np.array_equal(other.q, whole.q)  # negative control: another order is seen


def test_members_follow_the_closed_form() -> None:
    """A damped oscillator from rest at one: ``exp(-d t) (cos w t + d/w sin w t)``."""
    stiffness, damping = np.array([2.0, 8.0, 30.0]), np.array([0.0, 0.4, 4.0])
    given = {"rail.stiffness": stiffness, "rail.damping": damping}
    ensemble = tt.simulate(spring(), T, [1.0], [0.0], parameters=given)
    d = damping[:, None] / 4
    w = np.sqrt(stiffness[:, None] / 2 - d**2)
    expected = np.exp(-d * T) * (np.cos(w * T) + d / w * np.sin(w * T))
    assert ensemble.q[..., 0] == pytest.approx(expected, abs=1e-7)  # ten times rtol, within steps of one second
    assert ensemble.parameters["rail.stiffness"].tolist() == stiffness.tolist()


def test_first_order_states_and_starts_are_stacked_too() -> None:
    s = tt.System("motor", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("rotor", mass=1.0, inertia=0.1), tt.Revolute("hinge", damping=0.01))
    s.add_actuator(tt.DCMotor("motor", "hinge", resistance=1.0, torque_constant=0.1, inductance=0.5))
    m = s.resolve()
    name = m.state_names[0]
    first = tt.simulate(m, [0, 0.5], [0.0], [0.0], x0={name: [0.0, 1.0]})
    whole = tt.simulate(m, [0, 0.5, 1.0], [0.0], [0.0], x0=[[0.0], [1.0]])
    assert np.array_equal(first.x[:, 0, 0], [0.0, 1.0])
    second = tt.simulate(m, [0.5, 1.0], start=first)
    assert second.q[:, -1] == pytest.approx(whole.q[:, -1], abs=1e-8)  # steps end elsewhere
    assert abs(whole.q[1, -1, 0]) > 1e-3


def test_doubts_are_told_once() -> None:
    with pytest.warns(tt.ModelWarning) as told:
        tt.simulate(spring(), T, [[1.0], [2.0], [3.0]], [0.0], rtol=1e-15, parameters={"rail.damping": [0.1, -0.1, -0.2]})
    texts = [str(each.message) for each in told]
    assert sum("fine-tolerance" in text for text in texts) == 1
    assert any("member 0" in text and "of each kind" in text for text in texts)
    assert sum("negative-damping" in text for text in texts) == 1


def test_members_that_fail_are_kept_with_their_message() -> None:
    m = spring()
    ensemble = tt.simulate(m, T, [[1.0], [np.nan], [2.0]], [0.0])
    assert list(ensemble.failures) == [1]
    assert "not-finite" in ensemble.failures[1]
    assert np.isnan(ensemble.q[1]).all()
    assert not np.isnan(ensemble.q[[0, 2]]).any()
    with pytest.raises(tt.ConvergenceError, match="member 1 has no trajectory"):
        ensemble[1]
    with pytest.raises(tt.ModelError, match="not-finite"):  # all fail
        tt.simulate(m, T, [[np.nan], [np.nan]], [0.0])


@pytest.mark.parametrize("seed", [lambda k: np.random.default_rng(k), lambda k: np.random.PCG64(k)])
def test_generators_as_seeds_draw_what_they_draw_alone(seed: Callable[[int], Any]) -> None:
    fails = tt.Controller(lambda t, x, y, r: (x, -y if y[0] < 2.5 else y * np.nan), [], ["rail.q"], ["motor"], 0.1)
    given = {"v0": [0.0], "controller": fails, "noise": 0.1}
    ensemble = tt.simulate(spring(), T, [[1.0], [2.0], [3.0]], seeds=[seed(k) for k in range(3)], **given)
    assert list(ensemble.failures) == [2]
    for k in (0, 1):
        single = tt.simulate(spring(), T, [k + 1.0], seed=seed(k), **given)
        assert np.array_equal(ensemble[k].q, single.q)
        after = [tt.simulate(spring(), T + 1, start=one, **given | {"v0": None}) for one in (ensemble[k], single)]
        assert np.array_equal(after[0].q, after[1].q)


def test_an_error_of_the_users_own_is_one_members_failure() -> None:
    own = tt.Controller(lambda t, x, y, r: (x, -y if y[0] < 1.5 else y * [][0]), [], ["rail.q"], ["motor"], 0.1)
    ensemble = tt.simulate(spring(), T, [[1.0], [2.0], [0.5]], [0.0], controller=own)
    assert ensemble.failures == {1: "IndexError: list index out of range"}
    with pytest.raises(IndexError):
        tt.simulate(spring(), T, [[3.0], [2.0]], [0.0], controller=own)


def test_an_ensemble_goes_on_with_its_parameters_and_failures() -> None:
    given = {"mass.mass": [1.0, 2.0, 8.0]}
    first = tt.simulate(spring(), T, [[1.0], [np.nan], [2.0]], [0.0], parameters=given)
    second = tt.simulate(spring(), T + 1, start=first)
    assert second.parameters["mass.mass"].tolist() == given["mass.mass"]
    single = tt.simulate(spring().with_parameters({"mass.mass": 8.0}), T + 1, start=first[2])
    assert np.array_equal(second[2].q, single.q)
    assert list(second.failures) == [1]
    assert "member 1 has no trajectory" in second.failures[1]
    third = tt.simulate(spring(), T + 1, start=first, parameters={"mass.mass": 2.0})
    assert third[0].model.parameters()["mass.mass"][0] == 2.0


def test_doubts_name_their_member() -> None:
    s, panel = tt.System("hinged", gravity=[0, 0, 0]), random_body(np.random.default_rng(0), "panel")
    s.connect("world", panel, tt.Revolute("hinge", axis=[0, 0, 1]))
    model, fast = s.resolve(), 0.15 * panel.natural_frequencies[0]
    spins = [model.velocity({"hinge": spin}) for spin in (0.0, 0.1 * fast, fast, 0.2 * fast)]
    with pytest.warns(tt.ModelWarning, match="^member 2: panel: got a spin"):
        tt.simulate(model, [0.0, 0.01], model.neutral(), spins)


def test_ctrl_c_keeps_the_members_before() -> None:
    def stop(t: float, q: np.ndarray, v: np.ndarray) -> list[float]:
        if q[0] > 1.5:
            raise KeyboardInterrupt
        return [0.0]

    with pytest.raises(tt.SweepInterrupt, match="after 2 of 3") as stopped:
        tt.simulate(spring(), T, [[1.0], [1.2], [2.0]], [0.0], tau=stop)
    assert stopped.value.found.q.shape == (2, 11, 1)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"q0": [[1.0], [2.0]], "v0": [[0.0]] * 3}, "wrong-length"),
        ({"seeds": [1, 2], "parameters": {"rail.damping": [0.0, 0.1, 0.2]}}, "wrong-length"),
        ({"u": {"motor": [1.0, 2.0]}, "q0": [[1.0]]}, "wrong-length"),
        ({"parameters": {"rail.dampin": [0.0]}}, "unknown-parameter"),
        ({"parameters": {"rail.damping": ["a", "b"]}}, "wrong-type"),
        ({"parameters": {"rail.damping": [[0.1, 0.2]]}}, "wrong-type"),
        ({"parameters": {"rail.damping": [0.1, np.inf]}}, "wrong-type"),
        ({"parameters": [1.0]}, "wrong-type"),
        ({"q0": np.empty((0, 1))}, "wrong-length"),
        ({"u": {"motor": []}}, "wrong-length"),
        ({"tau": tt.each([tt.each([[1.0], [2.0]]), [3.0]])}, "stacked-twice"),
        ({"q0": tt.each([[[1.0], [2.0]], [[3.0], [4.0]]])}, "stacked-twice"),
        ({"seeds": 3}, "wrong-type"),
        ({"seeds": tt.each([1, 2]), "q0": [[1.0]]}, "wrong-length"),
        ({"seeds": []}, "wrong-type"),
        ({"q0": [[1.0, 2.0], [3.0, 4.0]]}, "wrong-length"),
        ({"q0": [[1.0], [2.0]], "seed": np.random.default_rng(0)}, "bad-seed"),
        ({"q0": [[1.0], [2.0]], "t": [0.0, 0.0]}, "bad-times"),
    ],
)
def test_wrong_stacks_are_refused(wrong: dict[str, Any], code: str) -> None:
    with pytest.raises(tt.ModelError) as refused:
        tt.simulate(spring(), **({"t": T, "q0": [1.0], "v0": [0.0]} | wrong))
    assert refused.value.code == code


@pytest.mark.parametrize("values", ["ab", {"a": 1}, 3, []])
def test_each_takes_a_sequence(values: Any) -> None:
    with pytest.raises(tt.ModelError, match="a value for each member"):
        tt.each(values)
