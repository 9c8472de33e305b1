"""Derivatives of the reference engine where users' functions lose imaginary parts: by differences, as the compiled engine's."""

from __future__ import annotations

import numpy as np
import pytest

import titop as tt
from titop.blocks.basics import complex_steps
from titop.blocks.basics.spatial import Array


class Dragged(tt.RigidBody):
    """Drag by the cube of the speed, and a spring to the origin; real numbers alone."""

    def applied_efforts(self, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        force = -3.0 * np.real(twist[:3]) ** 3 - np.real(rotation).T @ np.real(position)
        return np.concatenate([force, 0 * force])


class Real(tt.Interaction):
    """A spring that is the stiffer the longer it is; real numbers alone."""

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        pull = 3.0 * np.real(r) * float(np.real(r @ r))
        return np.concatenate([pull, 0 * pull]), np.concatenate([-np.real(R).T @ pull, 0 * pull])


def system(kind: str) -> tt.System:
    s = tt.System(kind)
    body = (Dragged if kind == "block" else tt.RigidBody)("body", 1.0, [0.1, 0, 0], 0.1, {"end": [0.5, 0.2, 0]})
    s.connect("world", body.port("end"), tt.Universal("joint"), tt.Pose([0.3, 0, 0.1]))
    if kind == "interaction":
        s.close_loop("world", body, Real("spring"))
    return s


@pytest.mark.parametrize("kind", ["block", "interaction"])
@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_both_engines_agree(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Differences of sixth order on both sides; complex steps alone would see nothing of what acts."""
    models = [system(kind).resolve(engine) for engine in ("compiled", "reference")]
    q, v, a = np.random.default_rng(0).normal(size=(3, 2))
    for function in ("inverse_dynamics_derivatives", "forward_dynamics_derivatives"):
        one, two = (np.array(getattr(m, function)(q, v, a)) for m in models)
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-8 * np.abs(one).max())
    monkeypatch.setattr(models[1].mechanism.engine.derivatives, "_method", complex_steps.complex_step)
    blind = np.array(models[1].inverse_dynamics_derivatives(q, v, a))
    one = np.array(models[0].inverse_dynamics_derivatives(q, v, a))
    assert np.abs(blind - one).max() > 0.01 * np.abs(one).max()


@pytest.mark.filterwarnings("ignore::titop.ModelWarning")
def test_complex_states_are_refused() -> None:
    """Their imaginary parts would be taken for the steps' own; functions that are no derivatives take them."""
    model = system("block").resolve("reference")
    q, v, a = np.full(2, 0.1), np.full(2, 0.1 + 1e-3j), np.ones(2)
    for derivatives in (
        lambda: model.inverse_dynamics_derivatives(q, v, a),
        lambda: model.forward_dynamics_derivatives(q, v, a),
        lambda: model.hybrid_dynamics_derivatives(q, v, a, a, ["joint.first"]),
        lambda: model.motion_derivatives("body.end", q, v, a),
    ):
        with pytest.raises(tt.ModelError, match="state: got complex numbers; expected real numbers"):
            derivatives()
    assert model.inverse_dynamics(q, v, a).dtype == complex
