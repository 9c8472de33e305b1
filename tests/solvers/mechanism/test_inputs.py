"""Inputs of models and of simulations."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import titop as tt
from tests.actuated_systems import satellite
from tests.systems import random_state
from tests.tolerances import ROUNDING


@pytest.fixture(scope="module", params=["compiled", "reference"])
def model(request):
    return satellite().resolve(request.param)


@pytest.fixture
def state(model):
    return random_state(model, np.random.default_rng(3))


def test_names_units_and_ranges(model) -> None:
    assert model.input_names == ("drive", "thruster", "wheel/motor", "push.x", "push.y", "push.z", "twist")
    assert model.nu == 7
    assert model.mechanism.inputs.units == ("N m", "N", "N m", "N", "N", "N", "N m")
    assert model.mechanism.inputs.lower[:3].tolist() == [-0.5, 0, -0.2]
    assert model.mechanism.inputs.upper[:3].tolist() == [0.5, 5, 0.2]
    assert len(model.output_names) == len(model.output_units) == 1 + 3 + 3 + 1 + 1 + 6 + 6


def test_derivatives_by_directions_of_thrust_warn_of_nothing(model, state) -> None:
    """Complex steps go through the tables of inputs too, whose imaginary parts are not to be dropped on the way."""
    names = [
        name for name in model.parameters() if name.startswith(("thruster.", "push.")) and name.endswith((".x", ".y", ".z"))
    ]
    assert names
    q, v, _, tau = state
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.forward_dynamics_sensitivities(q, v, tau, names, u=np.ones(model.nu))


def test_inputs_of_a_simulation_in_every_form() -> None:
    s = tt.System("cart", gravity=[0, 0, 0])
    s.connect("world", tt.RigidBody("cart", 2.0), tt.Prismatic("rail", [1, 0, 0]))
    s.add_actuator(tt.Motor("motor", "rail", gear=3.0))
    m, t = s.resolve(), np.linspace(0, 1, 5)
    for u in ([4.0], {"motor": 4.0}, np.full((5, 1), 4.0), lambda t, q, v: {"motor": 4.0}, lambda t, q, v: [4.0]):
        trajectory = tt.simulate(m, t, [0], [0], u=u)
        assert trajectory.q[-1, 0] == pytest.approx(3.0, rel=1e-8)  # a = 3 * 4 / 2 over a second
        assert (trajectory.u == 4.0).all()
        assert (trajectory.tau == 0.0).all()


@pytest.mark.parametrize("u", [[1.0], {"drvie": 1.0}, [np.nan] * 7, "all", {"drive": np.inf}, np.ones((3, 7))])
def test_unusable_inputs(model, u) -> None:
    zero = np.zeros(model.nv)
    with pytest.raises(tt.ModelError):
        model.forward_dynamics(model.neutral(), zero, zero, u=u)


def test_no_efforts_stand_for_zero(model, state) -> None:
    q, v, _, _ = state
    zero = model.forward_dynamics(q, v, np.zeros(model.nv))
    np.testing.assert_allclose(model.forward_dynamics(q, v), zero, **ROUNDING)
    stacked = model.forward_dynamics(np.tile(q, (2, 1)), np.tile(v, (2, 1)))
    np.testing.assert_allclose(stacked[1], zero, **ROUNDING)


def test_reactions_depend_on_the_inputs_that_act(model, state) -> None:
    q, v, _, tau = state
    u = {"push.x": 5.0}
    a = model.forward_dynamics(q, v, tau, u=u)
    right, wrong = model.reaction("elbow", q, v, a, u=u), model.reaction("elbow", q, v, a)
    assert np.abs(right - wrong).max() > 1.0
    # what the joint transmits along its free axes is its effort and nothing else
    passive = model.reaction("elbow", q, v, model.forward_dynamics(q, v, u=u), u=u)
    axis = [0.0, 0.0, 0.0, 0.0, 1.0, 0.0]  # second axis of the joint, in the child's frame
    rotor = 0.01 * 10**2 * model.forward_dynamics(q, v, u=u)[model.coordinate_names.index("elbow.second")]
    assert passive @ axis == pytest.approx(-rotor, abs=1e-9)


@pytest.mark.parametrize("text", ["0.1", b"0.1", np.str_("0.1"), ["0.1"]])
def test_text_is_no_input(model, state, text) -> None:
    q, v, _, tau = state
    with pytest.raises(tt.ModelError, match=r"u\['drive'\].*expected a number"):
        model.forward_dynamics(q, v, tau, u={"drive": text})
    with pytest.raises(tt.ModelError, match=r"u\['drive'\].*expected a number"):
        tt.simulate(model, [0, 0.1], q, v, u={"drive": lambda t, q, v: text})


class Compared(str):
    """A name that counts how often it is compared with others."""

    count = 0
    __hash__ = str.__hash__

    def __eq__(self, other: object) -> bool:
        Compared.count += 1
        return str.__eq__(self, other)


def test_inputs_by_name_are_found_without_a_look_at_all_names() -> None:
    s = tt.System("row of carts")
    for k in range(30):
        s.connect("world", tt.RigidBody(f"cart{k}", 1.0 + k), tt.Prismatic(f"rail{k}", [1, 0, 0]))
        s.add_actuator(tt.Motor(f"motor{k}", f"rail{k}"))
    m = s.resolve()
    u, rest = np.arange(1.0, 31.0), np.zeros(m.nv)
    by_name = {Compared(f"motor{k}"): u[k] for k in reversed(range(30))}
    for found in (
        lambda: m.forward_dynamics(rest, rest, u=by_name),
        lambda: m.forward_dynamics_series(rest, rest, rest[None], u=by_name)[0],
    ):
        Compared.count = 0
        np.testing.assert_allclose(found(), u / (1.0 + np.arange(30)), rtol=1e-12)  # each cart alone
        assert Compared.count <= 3 * len(by_name)
