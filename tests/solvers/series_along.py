"""Motions as polynomials of time, and what series must be along them: independent of power series but for these polynomials."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import titop as tt
from tests.systems import Array

#: Central differences of order 8, a unit step apart.
_WEIGHTS = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
#: Steps (s). Motions of order one change within some tenths of a second: differences err by 1e-10 parts, roundings by 1e-12.
STEP = 0.01
#: What differences are held to, relative to the largest entry of a derivative and of the differences that it is made of.
CLOSE = 1e-8


def moved(model: tt.Model, q: Array, v_series: Array, h: float) -> tuple[Array, Array]:
    """Return configuration and stack a time h after these, where velocities are polynomials of time with these derivatives.

    The configuration is integrated by Runge and Kutta's rule in 16 steps, to (h / 16)^5.
    """
    pieces = 16
    step = h / pieces
    for k in range(pieces):
        t = k * step
        one = _rate(model, q, at_time(v_series, t)[0])
        middle = at_time(v_series, t + step / 2)[0]
        two = _rate(model, q + step / 2 * one, middle)
        three = _rate(model, q + step / 2 * two, middle)
        four = _rate(model, q + step * three, at_time(v_series, t + step)[0])
        q = q + step / 6 * (one + 2 * two + 2 * three + four)
    return q, at_time(v_series, h)


def slope(function: Callable[[float], Any], step: float = STEP) -> Any:
    """Return the derivative at 0 of a function of time."""
    return sum(w / step * (np.asarray(function(k * step)) - np.asarray(function(-k * step))) for k, w in _WEIGHTS.items())


def assert_derivatives(series: Callable[[float], Array], step: float = STEP, close: float = CLOSE) -> Array:
    """Hold each row of a stack to differences of the row before it, and return the stack.

    Parameters
    ----------
    series : callable
        Returns the stack at a time; but for time 0 it may leave out the last row.
    """
    rows = series(0.0)
    expected = slope(lambda h: series(h)[: len(rows) - 1], step)
    assert np.isfinite(rows).all()
    for k, (row, differences) in enumerate(zip(rows[1:], expected, strict=True)):
        size = np.abs(row).max() + np.abs(rows[k]).max()
        np.testing.assert_allclose(row, differences, rtol=0, atol=close * size, err_msg=f"derivative of order {k + 1}")
    return rows


def assert_inverse(
    model: tt.Model, q: Array, v_series: Array, step: float = STEP, loads: Callable[[float], dict[str, Any]] | None = None
) -> Array:
    """Hold the series of inverse dynamics to these dynamics and to differences along the motion, and return it.

    Parameters
    ----------
    loads : callable, optional
        Returns wrenches and inputs with their derivatives at a time.
    """
    acting = loads or (lambda h: {})

    def series(h: float) -> Array:
        at, stack = moved(model, q, v_series, h)
        if h and len(stack) == 3:
            now = {name: first_rows(value) for name, value in acting(h).items()}
            return model.inverse_dynamics(at, stack[0], stack[1], **now)[None]
        return model.inverse_dynamics_series(at, stack, order=len(stack) - (3 if h and not loads else 2), **acting(h))

    rows = assert_derivatives(series, step)
    now = {name: first_rows(value) for name, value in acting(0.0).items()}
    start = model.inverse_dynamics(q, v_series[0], v_series[1], **now)
    # the same terms added up in another order
    np.testing.assert_allclose(rows[0], start, rtol=0, atol=1e-11 * (1 + np.abs(start).max()))
    return rows


def first_rows(load: Any) -> Any:
    """Return wrenches or inputs without their derivatives."""
    return {name: value[0] for name, value in load.items()} if isinstance(load, dict) else load[0]


def at_time(v_series: Array, t: float) -> Array:
    """Return a stack of derivatives a time t later, of a polynomial."""
    count = len(v_series)
    later = np.array([[t ** (j - k) / math.factorial(j - k) if j >= k else 0.0 for j in range(count)] for k in range(count)])
    return np.asarray(later @ v_series)


def _rate(model: tt.Model, q: Array, v: Array) -> Array:
    """Return how fast the configuration changes, written down anew."""
    rate, plain_q, plain_v = np.zeros(model.nq), np.ones(model.nq, bool), np.ones(model.nv, bool)
    for connection in model.mechanism.assembly.connections:
        joint = connection.joint
        if not isinstance(joint, tt.Free | tt.Spherical):
            continue
        in_q, in_v = model.mechanism.assembly.q_slices[joint.name], model.mechanism.assembly.v_slices[joint.name]
        plain_q[in_q], plain_v[in_v] = False, False
        x, y, z, w = q[in_q][-4:]
        a, b, c = v[in_v][-3:]
        rate[in_q.stop - 4 : in_q.stop] = 0.5 * np.array(
            [w * a + y * c - z * b, w * b + z * a - x * c, w * c + x * b - y * a, -x * a - y * b - z * c]
        )
        if isinstance(joint, tt.Free):
            r, u = np.array([x, y, z]), v[in_v][:3]
            across = np.cross(r, u)
            rate[in_q.start : in_q.start + 3] = u + 2 * (w * across + np.cross(r, across))
    rate[plain_q] = v[plain_v]
    return rate
