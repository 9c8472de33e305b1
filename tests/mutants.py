"""What tests of mutated files share: how many there are, and what a model must do if it is made of one."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

import titop as tt

#: Mutants of a kind: as many as this environment variable says, if that is more than a test tries by itself.
VARIABLE = "TITOP_MUTANTS"


def how_many(few: int, share: int = 1) -> int:
    """Return how many mutants a test tries that has one of `share` equal shares of all of its kind."""
    return max(few, int(os.environ.get(VARIABLE, "0")) // share)


def assert_round_trip(model: tt.Model, q: Any, v: Any, tau: Any) -> None:
    """Hold inverse dynamics of forward dynamics to the efforts, as closely as the mass matrix allows.

    An elimination with symmetric pivots errs by a few hundred roundings times the condition number of the matrix scaled to a
    diagonal of ones (Demmel), against the sizes of what is added up; scaled, no unit matters.
    """
    if not model.nv:
        return
    with np.errstate(all="ignore"):
        a, M = model.forward_dynamics(q, v, tau), model.mass_matrix(q)
        assert np.isfinite(a).all()
        assert np.isfinite(M).all()
        found = model.inverse_dynamics(q, v, a)
        assert np.isfinite(found).all()
        terms = (tau, model.nonlinear_effects(q, v), model.passive_efforts(q, v), model.inverse_dynamics(q, v, 0 * a))
        scale = 1 / np.sqrt(np.diag(M))
        scaled = scale[:, None] * M * scale
        sizes = scale * np.abs(terms).sum(axis=0) + np.abs(scaled) @ np.abs(a / scale)
        if not np.isfinite(scaled).all() or not np.isfinite(sizes).all():
            return  # squares of the numbers leave double precision
        bound = 1e3 * np.finfo(float).eps * len(M) * np.linalg.cond(scaled) * np.linalg.norm(sizes)
        error = np.linalg.norm(scale * (found - tau))
    assert error <= bound or not np.isfinite(bound), (error, bound)
