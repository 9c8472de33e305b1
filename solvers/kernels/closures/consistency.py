"""Whether loops are closed, and whether accelerations keep them so."""

from __future__ import annotations

from titop.blocks.basics.tolerances import CONSISTENT, OPEN, SAME
from titop.solvers.native.kernel import helper

#: As in `titop.solvers.constraints.branch`: what counts as open.
_OPEN = 0.1 * OPEN


@helper
def opened(error):
    """Return whether loops are open by more than rounding and an integrator leave."""
    worst = 0.0
    for i in range(error.size):
        worst = max(worst, abs(error[i]))
    return worst > _OPEN


@helper
def contradicted(jacobian, error, bias, v, a, alone):
    """Return whether accelerations leave more than rounding of the constraints' second derivatives, the loops being closed.

    `alone` are the accelerations without closures.
    """
    rest, terms, rounded, rate = 0.0, 0.0, 0.0, 0.0
    for i in range(error.size):
        if abs(error[i]) > _OPEN:
            return False
        left, scale, before, speed = bias[i], abs(bias[i]), 0.0, 0.0
        for j in range(a.size):
            left += jacobian[i, j] * a[j]
            scale += abs(jacobian[i, j] * a[j])
            before += abs(jacobian[i, j] * alone[j])
            speed += abs(jacobian[i, j] * v[j])
        rest, terms, rounded, rate = max(rest, abs(left)), max(terms, scale), max(rounded, before), max(rate, speed)
    return rest > SAME * rounded + CONSISTENT * (terms + rate * rate)


@helper
def opening(error, jacobian, second, v, a, first_gear):
    """Return whether accelerations, or the configuration, open the loops by more than a simulation does.

    `second` are the second derivatives ``J a + bias`` of the rigid closures, the constraints before `first_gear`.
    """
    if opened(error):
        return True
    rest, terms, rate = 0.0, 0.0, 0.0
    for i in range(error.size):
        along, scale, speed = 0.0, 0.0, 0.0
        for j in range(a.size):
            along += jacobian[i, j] * a[j]
            scale += abs(jacobian[i, j] * a[j])
            speed += abs(jacobian[i, j] * v[j])
        left = second[i] if i < first_gear else along
        rest, terms, rate = max(rest, abs(left)), max(terms, scale + abs(left - along)), max(rate, speed)
    return rest > CONSISTENT * (terms + rate * rate)
