"""Integrators agree, keep to tolerances and steps, and say when they give up."""

from __future__ import annotations

import io
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import titop as tt
import titop.solvers.support.progress
from tests.solvers.simulation.simulated_models import GRAVITY, Array, largest, pendulum, single_body, slider


def stiff() -> tt.Model:
    """Return a slow mass with a light one behind a damped spring, a ten thousand times faster."""
    s = tt.System("stiff", gravity=[0, 0, -GRAVITY])
    heavy, light = tt.RigidBody("heavy", mass=1.0, com=[0, 0, -0.1]), tt.RigidBody("light", mass=0.1)
    s.connect("world", heavy, tt.Revolute("slow", axis=[1, 0, 0], stiffness=3.0))
    s.connect(heavy, light, tt.Prismatic("fast", stiffness=1e4, damping=500.0))
    return s.resolve()


@pytest.mark.parametrize("method", ["Radau", "BDF", "LSODA", "RK45", "RK23"])
def test_integrators_agree_on_a_stiff_system(method: str) -> None:
    t, start = np.linspace(0, 0.5, 6), ([0.5, 0.0], [0.0, 0.0])
    exact = tt.simulate(stiff(), t, *start, rtol=1e-9, atol=1e-11)
    found = tt.simulate(stiff(), t, *start, method=method, rtol=1e-7, atol=1e-9)
    # a hundred to a thousand steps of relative errors of 1e-7
    assert largest(found.q - exact.q) < 1e-5
    assert largest(exact.q[0] - exact.q[-1]) > 1e-2


def test_tolerances_matter() -> None:
    model, t = pendulum().resolve(), [0, 10]
    exact = tt.simulate(model, t, [2.5], [0], rtol=1e-12, atol=1e-14).q
    errors = [largest(tt.simulate(model, t, [2.5], [0], rtol=rtol, atol=rtol).q - exact) for rtol in (1e-4, 1e-7, 1e-10)]
    assert errors[0] > 100 * errors[1] > 1e4 * errors[2] > 0


def test_largest_step() -> None:
    """A kick shorter than the integrator's steps is missed unless they are bounded."""

    def kick(t: float, q: Array, v: Array) -> list[float]:
        return [2000.0 if 0.5 < t < 0.501 else 0.0]

    speeds = [tt.simulate(slider(2.0), [0, 1], [0], [0], kick, max_step=step).v[-1, 0] for step in (np.inf, 2e-4)]
    assert speeds[0] == 0
    assert speeds[1] == pytest.approx(1.0, rel=1e-2)  # the kick's edges fall within steps


@pytest.mark.parametrize("method", ["DOP853", "RK45", "RK23", "LSODA", "BDF", "Radau"])
@pytest.mark.parametrize("outputs", [2, 201])
def test_giving_up(method: str, outputs: int) -> None:
    """With ``dv/dt = v^2`` the velocity is infinite after a second; the message says so, however coarse the output."""
    with pytest.raises(tt.ConvergenceError) as caught:
        tt.simulate(slider(1.0), np.linspace(0, 2, outputs), [0.0], [1.0], tau=lambda t, q, v: v**2, method=method)
    reached = float(str(caught.value).split("gave up after t = ")[1].split(" s")[0])
    assert 0.98 < reached < 1.01


@pytest.mark.parametrize("tau", [None, lambda t, q, v: [0.0, 0.0]], ids=["compiled", "python"])
def test_a_state_without_inertia(tau: Any) -> None:
    """A point mass on the first axis of a universal joint: nothing resists the first angle."""
    model = single_body(tt.RigidBody("bob", mass=1.0, com=[0, 0, -1]), tt.Universal("cross"))
    with pytest.raises((tt.ModelError, tt.ConvergenceError)):
        tt.simulate(model, [0, 1], [0.3, np.pi / 2], [1.0, 0.4], tau)


def test_progress_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(titop.solvers.support.progress, "SHOW_AFTER", 0.0)
    arguments = pendulum().resolve(), [0, 10, 20], [2.5], [0]
    shown, plain = Terminal(), io.StringIO()
    for stream, progress, visible in ((shown, True, True), (shown, False, False), (plain, True, False)):
        stream.truncate(0)
        monkeypatch.setattr(sys, "stderr", stream)
        found = tt.simulate(*arguments, progress=progress)
        assert ("20.0" in stream.getvalue()) == visible
        assert np.array_equal(found.q, tt.simulate(*arguments, progress=False).q)


WELDED = """
import numpy as np, titop as tt
s = tt.System("rock")
s.connect("world", tt.RigidBody("rock", mass=1.0), tt.Weld("ground"))
trajectory = tt.simulate(s.resolve(), [0, 1, 2], [], [])
assert trajectory.q.shape == (3, 0)
assert not trajectory.motion("rock").any()
"""


def test_a_system_without_coordinates_stays_where_it_is() -> None:
    """In a process of its own: integrators of compiled code may abort on an empty state."""
    result = subprocess.run([sys.executable, "-c", WELDED], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
