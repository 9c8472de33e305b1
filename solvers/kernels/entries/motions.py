"""From derivatives to jets and back, and what moves along: for kernels along motions (`pair.along`)."""

from __future__ import annotations

import numpy as np

from titop.solvers.kernels.interface import layout
from titop.solvers.kernels.interface.stages import floats_at, integral, jet_type, place_of
from titop.solvers.kernels.tree.kinematics import write_rates
from titop.solvers.native.kernel import helper, shared
from titop.solvers.native.signatures import ORDERS

#: What the kernels' text (`pair`) names.
__all__ = ["ORDERS", "configuration_along", "jet_type", "layout", "move", "np", "put_derivatives", "take_derivatives"]


@helper
def put_derivatives(derivatives, first, jets):
    """Turn derivatives (orders, n), from the row `first` on, into jets (n); derivatives that are not given are zero."""
    coefficients = floats_at(place_of(jets), jets.size, ORDERS)
    for j in range(jets.size):
        scale = 1.0
        for k in range(ORDERS):
            scale /= max(k, 1)
            coefficients[j, k] = scale * derivatives[first + k, j] if first + k < derivatives.shape[0] else 0.0


@helper
def take_derivatives(jets, derivatives):
    """Turn jets (n) into derivatives (orders, n)."""
    coefficients, scale = floats_at(place_of(jets), jets.size, ORDERS), 1.0
    for k in range(derivatives.shape[0]):
        scale *= max(k, 1)
        for j in range(jets.size):
            derivatives[k, j] = scale * coefficients[j, k]


@helper
def move(accelerations, v):
    """Let velocities change by accelerations: each time one more order is right."""
    for j in range(v.size):
        v[j] = integral(v[j], accelerations[j])


@shared
def configuration_along(ints, q, v):
    """Return configurations as jets, from where they begin and the velocities' jets."""
    along, rates = np.empty(q.size, jet_type()), np.empty(q.size, jet_type())
    for j in range(q.size):
        along[j] = q[j]
    for _ in range(ORDERS - 1 if q.size > v.size else 1):  # each pass makes one more order right
        write_rates(ints, along, v, rates)
        for j in range(q.size):
            along[j] = integral(along[j], rates[j])
    return along
