"""Closed systems that are simulated, and how far their loops open."""

from __future__ import annotations

import numpy as np

from tests.closed_systems import bricard


def opening(trajectory):
    """Return the largest error of the closures (m, rad), and of their rates, at the output times."""
    model = trajectory.model
    errors = [np.abs(model.closure_error(q)).max() for q in trajectory.q]
    rates = [np.abs(model.closure_jacobian(q) @ v).max() for q, v in zip(trajectory.q, trajectory.v, strict=True)]
    return max(errors), max(rates)


def start_of_bricard():
    model = bricard().resolve()
    q = model.assemble(model.neutral())
    return model, q, model.assemble_velocity(q, [1.0, 0, 0, 0, 0])
