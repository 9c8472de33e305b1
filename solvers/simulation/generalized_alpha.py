"""The generalised-alpha scheme on the configuration manifold, for stiff systems and closed loops.

The equations of motion and the closures, for configurations themselves (index 3), are solved at the end of every step by
Newton's method with analytic derivatives. The step is taken in the tangent space, so that quaternions need no chart::

    q1 = integrate(q0, h v0 + h^2 ((1/2 - beta) w0 + beta w1))      v1 = v0 + h ((1 - gamma) w0 + gamma w1)
    (1 - alpha_m) w1 + alpha_m w0 = (1 - alpha_f) a1 + alpha_f a0

The averaged accelerations w approximate those at ``t + offset h``, ``offset = alpha_m - alpha_f``. Quantities that depend on
the step are rescaled when it changes: ``w - a`` in proportion to h, and the part of the velocity that violates the constraints
in proportion to h^2. That part is as small as the scheme's own error. Removing it would make the multipliers oscillate; it is
removed from the results only.

First-order states, the model's and those of a continuous controller, follow by the trapezoidal rule,
``x1 = x0 + h (f0 + f1) / 2``. Newton's method for the coordinates needs x1 at every state (q, v) that it tries: that of a
linear controller is the solution of linear equations, those of the model follow by inner Newton steps.

Sources: Chung and Hulbert (1993); Arnold and Bruels, Multibody System Dynamics 18 (2007) 185; Bruels, Cardona and Arnold,
Mechanism and Machine Theory 48 (2012) 121; key M, section 3.2.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import read_number
from titop.solvers.control.continuous_loop import ContinuousLoop
from titop.solvers.control.control_loop import ControlledModel
from titop.solvers.control.loop_signals import Command
from titop.solvers.model.prepared import FollowingStates
from titop.solvers.simulation.driven_model import DrivenModel


@dataclass(frozen=True)
class GeneralizedAlpha:
    """The generalised-alpha scheme, as ``method`` of `simulate`; ``"generalized-alpha"`` stands for its defaults.

    Implicit, of second order, unconditionally stable for linear systems; enforces rigid closures and gears on position level
    (index 3). It suits stiff compliant closures and springs, at tolerances of 1e-3 to 1e-6. Errors are relative to the recent
    extent of coordinates and rates; for a body's own coordinates the largest extent of the same unit counts. Vibrations are
    resolved where their amplitudes exceed the tolerances, in q and in v. For lightly damped flexible bodies this may take more
    steps than an explicit integrator; a fixed step does not resolve vibrations that are faster than it. Stops and contacts that
    are hit within a step are resolved, however stiff. States of continuous controllers follow by the trapezoidal rule.

    After Chung and Hulbert (1993), on configuration manifolds after Arnold and Bruels (Multibody System Dynamics 18, 2007) and
    Bruels, Cardona and Arnold (Mechanism and Machine Theory 48, 2012); key M, section 3.2.

    Parameters
    ----------
    spectral_radius : float
        The factor that remains of the fastest vibrations after a step, from 0 (nothing) to 1 (no damping at all: the
        trapezoidal rule, which keeps the energy of linear vibrations). Slow vibrations are hardly damped in any case. With
        constraints 0.95 at most: the multipliers need some damping.
    step : float, s, optional
        Fixed step; shortened a little, so that equal steps lead to the last output time, and halved where Newton's
        method fails. By default the step length follows from `rtol` and `atol`.

    Raises
    ------
    ModelError
        For numbers out of range.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("swing", gravity=[0, 0, 0])
    >>> s.connect("world", tt.RigidBody("mass", mass=1.0), joint=tt.Prismatic("slide", stiffness=1e6))
    >>> trajectory = tt.simulate(s.resolve(), [0, 1], [1e-3], [0.0], method=tt.GeneralizedAlpha(0.5, step=0.01))
    >>> trajectory.statistics["steps"], bool(abs(trajectory.q[-1, 0]) < 1e-12)
    (100, True)
    """

    spectral_radius: float = 0.8
    step: float | None = None

    def __post_init__(self) -> None:
        expected, advice = "a number from 0 to 1", "0.8 suits most simulations"
        read_number(Finding("bad-radius", "spectral_radius", self.spectral_radius, expected, advice), lambda x: 0 <= x <= 1)
        step = 1.0 if self.step is None else self.step
        wrong = Finding("bad-step", "step", step, "a positive number (s) or None", "None adapts the step")
        read_number(wrong, lambda x: 0 < x < np.inf)

    def check_step(self, longest: float) -> None:
        """Reject a fixed step that is longer than the longest one allowed.

        Parameters
        ----------
        longest : float, s

        Raises
        ------
        ModelError
        """
        if self.step is not None and self.step > longest:
            expected, advice = f"no more than max_step, {longest:g} s", "shorten the fixed step, or leave max_step out"
            raise ModelError(Finding("bad-step", "step", self.step, expected, advice))

    @cached_property
    def coefficients(self) -> Coefficients:
        """The scheme's coefficients (Chung and Hulbert, Journal of Applied Mechanics 60, 1993), and those of its errors."""
        radius = float(self.spectral_radius)
        alpha_m, alpha_f = (2 * radius - 1) / (radius + 1), radius / (radius + 1)
        offset = alpha_m - alpha_f
        gamma = 0.5 - offset
        beta = 0.25 * (gamma + 0.5) ** 2
        curvature = 0.5 * (1 - alpha_f) - (1 - alpha_m) * (0.5 + offset)
        errors = beta + offset / 2 - 1 / 6, curvature + gamma * (0.5 + offset) - 1 / 6
        return Coefficients(alpha_m, alpha_f, beta, gamma, offset, *errors)


class Coefficients(NamedTuple):
    """Coefficients of the scheme; a step's errors are ``error_q h^3 da/dt`` in q and ``error_v h^3 d2a/dt2`` in v."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float
    offset: float
    error_q: float
    error_v: float

    @property
    def share(self) -> float:
        """Derivative of a1 by w1."""
        return (1 - self.alpha_m) / (1 - self.alpha_f)


class FirstOrderStates(NamedTuple):
    """First-order states x and their rates (nx), and the command if they are a controller's."""

    x: Array
    rate: Array
    command: Command | None = None


def model_states(plant: DrivenModel, t: float, q: Array, v: Array) -> FirstOrderStates | None:
    """Return the model's first-order states in effect on a plant, and their rates; None if it has none."""
    return FirstOrderStates(plant.x, plant.model.state_rates(q, v, u=plant.inputs(t, q, v))) if plant.model.nx else None


class TrapezoidalStep:
    """A step of some first-order states. `h` (s)."""

    def __init__(self, begin: FirstOrderStates, h: float) -> None:
        self._begin, self._h, self._half = begin, h, 0.5 * h
        self._known = begin.x + self._half * begin.rate
        #: The inverse of ``1 - h/2 df/dx``, which damps small differences.
        self._inverse = np.eye(len(begin.x))

    def error(self, before: FirstOrderStates | None, last: float, end: FirstOrderStates, rtol: float, atol: Array) -> float:
        """Return the error of the step relative to the tolerances, after damping by the step, from the last three rates.

        - `before`: the beginning of the step before; without it the error is unknown, and zero is returned;
        - `last` (s): the length of the step before.
        """
        h, begin = self._h, self._begin
        if before is None or not last or not len(end.x):
            return 0.0
        bend = ((end.rate - begin.rate) / h - (begin.rate - before.rate) / last) / (0.5 * (h + last))
        scale = atol + rtol * np.maximum(np.abs(end.x), np.abs(begin.x))
        return float(np.abs(self._inverse @ (h**3 / 12 * bend) / scale).max())


class ModelStep(TrapezoidalStep):
    """A step of the model's states; see `TrapezoidalStep`."""

    def __init__(self, plant: DrivenModel, begin: FirstOrderStates, h: float) -> None:
        super().__init__(begin, h)
        self._plant = plant
        self.following = FollowingStates(self._half, self._known, begin.x + h * begin.rate)

    def end(self, t: float, q: Array, v: Array) -> FirstOrderStates:
        """Return the states where the step ends with q and v, and put them into effect; NaN if none are found."""
        plant, u = self._plant, self._plant.inputs(t, q, v)
        assert u is not None
        states = plant.model.mechanism.engine.states
        plant.x, self._inverse = states.following(q, v, u, self._known, self.following.x, self._half)
        return FirstOrderStates(plant.x, (plant.x - self._known) / self._half)


class ControllerStep(TrapezoidalStep):
    """A step of the states of a continuous controller; see `TrapezoidalStep`."""

    def __init__(self, loop: ContinuousLoop, plant: ControlledModel, begin: FirstOrderStates, h: float) -> None:
        super().__init__(begin, h)
        self._loop, self._plant = loop, plant
        self._inverse: Array = np.linalg.inv(np.eye(len(begin.x)) - self._half * loop.K.A)

    def end(self, t: float, q: Array, v: Array, a: Array) -> FirstOrderStates:
        """Return the states, and the command, where the step ends with q, v and accelerations `a`."""
        loop, K = self._loop, self._loop.K
        error = loop.error(self._plant, t, q, v, a)
        x = self._inverse @ (self._known + self._half * (K.B @ error))
        return FirstOrderStates(x, K.A @ x + K.B @ error, loop.command(x, error))


def cubic(first: FirstOrderStates, last: FirstOrderStates, h: float, s: float) -> Array:
    """Return the states within a step of length h, after the part s of it, by a cubic."""
    change = last.x - first.x
    bend = s * (1 - s) * ((1 - s) * (h * first.rate - change) - s * (h * last.rate - change))
    return first.x + s * change + bend
