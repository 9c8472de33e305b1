"""What a sampled linear controller does between steps, which go in *legs*: from an instant at which something happens on.

- `plan` (legs, 3 + nr): until when a leg goes (s); the row of the sample that is taken where it begins, or -1; the row whose
  commands act, or -1 without a controller; the references at the sample, less those of the operating point;
- `gains` (nx + nu + nv + 2, nr + nx + ny): the next states, inputs and efforts by references, states and what is measured;
  behind them, where the latter stands in a state, and its values at the operating point;
- `drives` (3 + nv, nu + nv): inputs and efforts at the operating point, their least and their most; what efforts follow from
  inputs, in as many columns;
- `signals` (rows, ny + nx + nu + nv): what is measured (before, its noise), states, inputs and efforts of the samples;
- `loads` (nu + nv): inputs and efforts that act beside, nv alone without a controller.
"""

from __future__ import annotations

from collections import namedtuple

from titop.solvers.kernels.spatial.algebra import copy
from titop.solvers.native.kernel import helper

Control = namedtuple("Control", "plan gains drives signals loads")

UNTIL, SAMPLE, ACTING, REFERENCES = range(4)
_RESTING, _LEAST, _MOST, _MOTORS = range(4)


@helper
def take_sample(p, control, y):
    """Take the sample at the beginning of leg p, at a state y."""
    plan, gains, signals = control.plan, control.gains, control.signals
    places, row, nr, n = gains.shape[0] - 2, int(plan[p, SAMPLE]), plan.shape[1] - REFERENCES, control.drives.shape[1]
    nx = places - n
    ny = gains.shape[1] - nr - nx
    for k in range(ny):
        signals[row, k] = y[int(gains[places, nr + nx + k])] + signals[row, k]
    for i in range(places):
        value = 0.0
        for k in range(nr):
            value += gains[i, k] * plan[p, REFERENCES + k]
        for k in range(nx):
            value += gains[i, nr + k] * signals[row, ny + k]
        for k in range(ny):
            value += gains[i, nr + nx + k] * (signals[row, k] - gains[places + 1, nr + nx + k])
        if i < nx:
            signals[row + 1, ny + i] = value
        else:
            signals[row, ny + i] = control.drives[_RESTING, i - nx] + value


@helper
def act(row, control, tau):
    """Write the efforts while the commands of a row act."""
    drives, signals, loads, nv = control.drives, control.signals, control.loads, tau.size
    if row < 0:
        copy(loads, tau)
        return
    nu = loads.size - nv
    first = signals.shape[1] - loads.size
    for k in range(nv):
        motors = 0.0
        for j in range(nu):
            u = signals[row, first + j] + loads[j]
            motors += drives[_MOTORS + k, j] * min(max(u, drives[_LEAST, j]), drives[_MOST, j])
        tau[k] = loads[nu + k] + signals[row, first + nu + k] + motors
