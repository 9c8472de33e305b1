"""What tests of mutated files share: how many there are, and what a model must do if it is made of one."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import titop as tt

#: Mutants of a kind: as many as this environment variable says, if that is more than a test tries by itself.
VARIABLE = "TITOP_MUTANTS"
#: A few hundred roundings.
ROUNDINGS = 1e3 * np.finfo(float).eps


def how_many(few: int, share: int = 1) -> int:
    """Return how many mutants a test tries that has one of `share` equal shares of all of its kind."""
    return max(few, int(os.environ.get(VARIABLE, "0")) // share)


def assert_round_trip(model: tt.Model, q: Any, v: Any, tau: Any) -> None:
    """Hold inverse dynamics of forward dynamics to the efforts, as closely as the mass matrix allows.

    An elimination with symmetric pivots errs by a few hundred roundings times the condition number of the matrix scaled to a
    diagonal of ones (Demmel), against the sizes of what is added up, centrifugal terms that cancel included; scaled, no unit
    matters. With constraints the efforts may differ by what the constraints carry: `assert_constrained` looks at the others.
    """
    if not model.nv:
        return
    with np.errstate(all="ignore"):
        a, M = model.forward_dynamics(q, v, tau), model.mass_matrix(q)
        assert np.isfinite(a).all()
        assert np.isfinite(M).all()
        scale = 1 / np.sqrt(np.diag(M))
        scaled = scale[:, None] * M * scale
        terms = [tau, model.nonlinear_effects(q, v), model.passive_efforts(q, v), np.diag(M) * np.max(v * v)]
        if model.is_constrained:
            assert_constrained(model, q, v, tau, a, scale, scaled, terms)
            return
        found = model.inverse_dynamics(q, v, a)
        assert np.isfinite(found).all()
        terms.append(model.inverse_dynamics(q, v, 0 * a))
        sizes = scale * np.abs(terms).sum(axis=0) + np.abs(scaled) @ np.abs(a / scale)
        if not np.isfinite(scaled).all() or not np.isfinite(sizes).all():
            return  # squares of the numbers leave double precision
        bound = ROUNDINGS * len(M) * np.linalg.cond(scaled) * np.linalg.norm(sizes)
        error = np.linalg.norm(scale * (found - tau))
    assert error <= bound or not np.isfinite(bound), (error, bound)


def assert_constrained(model: tt.Model, q: Any, v: Any, tau: Any, a: Any, scale: Any, scaled: Any, terms: list[Any]) -> None:
    """Hold accelerations of a constrained model to its constraints, and efforts along the motions that these leave.

    Errors are bounded as those of the tree, the condition of the constraints (rows of one length) squared beside its own.
    """
    jacobian, bias = model.closure_jacobian(q), model.closure_bias(q, v)
    moved = np.linalg.norm(model.mechanism.scale.weights[:, None] * jacobian, axis=1)
    rows = moved > 1e-6 * moved.max(initial=0.0)  # the others no coordinate moves
    rows[len(rows) - len(model.mechanism.gear_constraints) :] = True  # gears do, however little it is beside the system's size
    jacobian, bias = jacobian[rows] * scale, bias[rows]
    lengths = np.linalg.norm(jacobian, axis=1)
    if not np.isfinite(scaled).all() or not np.isfinite(lengths).all():
        return
    jacobian, bias = jacobian / lengths[:, None], bias / lengths
    rank = model.closure_rank(q)
    strengths, motions = np.linalg.svd(jacobian)[1:]
    forces = model.nonlinear_effects(q, v) - model.passive_efforts(q, v) - tau
    sizes = scale * np.abs(terms).sum(axis=0) + np.abs(scaled) @ np.abs(a / scale)
    size = np.linalg.norm(sizes) + np.linalg.norm(bias) + np.linalg.norm(np.max(v * v) / scale)
    condition = np.linalg.cond(scaled) * (strengths[0] / strengths[rank - 1]) ** 2 if rank else 1.0
    bound = ROUNDINGS * len(scaled) * condition * size
    along = motions[rank:] @ (scaled @ (a / scale) + scale * forces)
    if np.isfinite(bound):
        assert np.linalg.norm(along) <= bound, (np.linalg.norm(along), bound)
        assert np.linalg.norm(jacobian @ (a / scale) + bias) <= bound, (np.linalg.norm(jacobian @ (a / scale) + bias), bound)
