"""Flexible bodies that tests share."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import titop as tt

Array = NDArray[np.float64]


def panel(**fields: Any) -> tt.FlexibleBody:
    """Return a cantilever's first two bending modes in one plane, with fields replaced."""
    given: dict[str, Any] = {
        "mass": 1.0,
        "com": [0.5, 0, 0],
        "inertia": [0.001, 1 / 12, 1 / 12],
        "frequencies": [3.516, 22.03],
        "participation": [[0, 0.783, 0, 0, 0, 0.5688], [0, 0.434, 0, 0, 0, 0.0908]],
        "ports": {"C": [1, 0, 0]},
        "shapes": {"C": [[0, 0], [2, -2], [0, 0], [0, 0], [0, 0], [2.75, -9.56]]},
        "damping_ratios": 0.005,
    }
    return tt.FlexibleBody("panel", **(given | fields))


def static_and_dynamic(body: tt.FlexibleBody, a_p: Array, w_c: Array) -> dict[str, tuple[Array, Array]]:
    """Return acceleration at C and reaction at P in the model, without deformation and in static equilibrium.

    The base moves as prescribed; loads and motion are so small that their products, which a linear model does not know, are
    below rounding.
    """
    tiny = 1e-14
    s = tt.System("one", gravity=[0, 0, 0])
    s.connect("world", body, tt.Free("base"))
    model = s.resolve()
    wrenches, prescribed = {f"{body.name}.C": tiny * w_c}, np.concatenate([tiny * a_p, np.zeros(body.nv)])
    static = np.linalg.solve(body.matrices.stiffness, body.shapes["C"].T @ w_c - body.participation @ a_p)
    result = {}
    for name, eta in (("high", np.zeros(body.nv)), ("static", static)):
        q = np.concatenate([model.neutral()[:7], tiny * eta])
        v, tau = np.zeros(model.nv), np.zeros(model.nv)
        a, _ = model.hybrid_dynamics(q, v, tau, prescribed, ["base"], wrenches)
        at_c = model.motion(f"{body.name}.C", q, v, a)[:6]
        result[name] = at_c / tiny, model.reaction("base", q, v, a, wrenches) / tiny
    return result
