"""Linear fractional models from one sampling instant to the next.

Over an interval of length T inputs are held, and what uncertain factors return is a polynomial through its values at the s
points of Gauss, c_i; the nominal system in between is integrated exactly:

    x(t) = e^(A t) x + ∫ e^(A (t - τ)) (B_w w(τ) + B_u u(τ)) dτ,   w_i = Δ z(c_i T),   i = 1 .. s.

So nominal models are exact, and members up to terms of order T^(2 s), as with Runge-Kutta-Gauss methods (Hairer, Norsett,
Wanner 1993, II.7), of which this is the exponential kind. Each stage has the repetitions of the continuous model.

What a controller takes is read at an instant before the commands that begin there act, as `simulate` reads it. Of outputs that
depend on inputs at once it is what the inputs of the interval before make of them: these inputs are further states.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import factorial
from typing import NamedTuple

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.delta_blocks import Connectable, DeltaBlock, channel_order, slices
from titop.solvers.lft.fractions import Fractional, reach, reduce_static
from titop.solvers.linear.matrices import Matrices


class Window(NamedTuple):
    """A held input that acts on a column of B and D during a part of each interval, from `start` to `stop` of its length.

    One that is `read` belongs to what is read at the instant at which it begins; others act after that.
    """

    column: int
    start: float = 0.0
    stop: float = 1.0
    read: bool = False

    @property
    def at_instant(self) -> float:
        """What of it acts from the sampling instant on: one, or nothing."""
        return float(self.start == 0.0 < self.stop)

    @property
    def at_end(self) -> float:
        """What of it acts until the next instant, and is read there: one, or nothing."""
        return float(self.start < 1.0 == self.stop and not self.read)


class Channels(NamedTuple):
    """Where the channels of each real delta stand among inputs and outputs."""

    w: tuple[slice, ...] = ()
    z: tuple[slice, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Repetitions."""
        return tuple(part.stop - part.start for part in self.w)


def sample_channels(
    model: Connectable, period: float, stages: int, windows: Sequence[Window], taken: Sequence[int]
) -> tuple[Matrices, tuple[DeltaBlock, ...], list[int]]:
    """Return the matrices of M over a period (s), its inputs held, its blocks, and which inputs of M are kept as states.

    Inputs are channels, inputs of the model, then `windows`, whose columns count the inputs of the model alone, as `taken`
    counts its outputs. What complex and full blocks return is held too, of what they have at the sampling instants: of what is
    taken where they add to that.
    """
    M, blocks = model.M, model.blocks
    w, z = (slices([getattr(b, size) for b in blocks]) for size in ("repetitions", "columns"))
    real = [k for k, block in enumerate(blocks) if block.kind == "real"]
    channels = Channels(tuple(w[k] for k in real), tuple(z[k] for k in real))
    first, last = model.channels
    before = [last + k for k in taken]
    complex_ = []
    for k, block in enumerate(blocks):
        if block.kind != "real":
            complex_ += [Window(column, read=block.of_outputs) for column in range(w[k].start, w[k].stop)]
            if block.of_outputs and M.D[before, w[k]].any():
                before += range(z[k].start, z[k].stop)
    inputs = [Window(k) for k in range(first, M.ninputs)]
    moved = [window._replace(column=first + window.column) for window in windows]
    system = Matrices.of(M)
    held = [*complex_, *inputs, *moved]
    found = sample_fraction(system, channels, period, stages, held, before)
    kept = kept_columns(system, channels, held, before)
    sizes = dict(zip(real, found.sizes, strict=True))
    new = tuple(b._replace(repetitions=sizes[k], columns=sizes[k]) if k in sizes else b for k, b in enumerate(blocks))
    A, B, C, D = found.ports(M.nstates + len(kept))
    columns, rows = (
        channel_order(new, size, len(found.A), total) for size, total in (("repetitions", B.shape[1]), ("columns", len(C)))
    )
    return Matrices(A, B[:, columns], C[rows], D[np.ix_(rows, columns)]), new, kept


def sample_fraction(
    system: Matrices, channels: Channels, period: float, stages: int, windows: Sequence[Window], before: Sequence[int] = ()
) -> Fractional:
    """Return a system over an interval, as a fraction in its real deltas.

    - `system`: in continuous time;
    - `channels`: of the real deltas; without any the result is exact;
    - `period`: length of the interval (s);
    - `stages`: points at which channels are evaluated;
    - `windows`: what is held;
    - `before`: outputs that are read before what begins at the instant acts; the others are those with it.

    It leads from states, `kept_columns` among them, and windows to the states at the interval's end and the other outputs at
    its beginning.
    """
    A, B, C, D = system
    w, z = _positions(channels)
    columns = [window.column for window in windows]
    held_B, held_D = B[:, columns], D[:, columns]
    others, nodes, kept = np.setdiff1d(np.arange(len(C)), z), _Nodes(stages), kept_columns(system, channels, windows, before)
    times, n, first = stages + 1 + bool(kept), len(A), len(A) + len(kept) + len(windows)
    # rows over states, what is kept, what is held, and channels at the points, at the instant, and before
    everything = np.eye(first + times * len(w))
    x, x_kept, u = np.split(everything[:first], [n, n + len(kept)])
    by_time = everything[first:].reshape(times, len(w), len(everything))
    E, by_u, by_w = _end(A, B, w, period, nodes, windows)
    acting = [[window.at_end * (window.column == column) for window in windows] for column in kept]
    rows = [
        E @ x + by_u @ u + np.einsum("inm,imk->nk", by_w, by_time[:stages]),
        np.reshape(acting, (len(kept), len(windows))) @ u,
    ]
    at_instant = np.array([window.at_instant for window in windows])
    instants = [C @ x + held_D * at_instant @ u + D[:, w] @ by_time[stages]]
    read = instants[0][others]
    if kept:
        read_too = at_instant * [window.read for window in windows]
        instants.append(C @ x + D[:, kept] @ x_kept + held_D * read_too @ u + D[:, w] @ by_time[-1])
        at = np.isin(others, before)
        read[at] = instants[1][others[at]]
    rows.append(read)
    shares = nodes.shares(windows)
    for i, point in enumerate(nodes.points):
        E, by_w, by_u = nodes.propagate(A, B[:, w], held_B, period, float(point))
        inside = E @ x + np.einsum("ink,ik->nk", by_u, shares) @ u + np.einsum("inm,imk->nk", by_w, by_time[:stages])
        rows.append(C[z] @ inside + held_D[z] * shares[i] @ u + D[np.ix_(z, w)] @ by_time[i])
    rows += [instant[z] for instant in instants]
    return _fraction(np.vstack(rows), n + len(kept) + len(others), first, channels.sizes, times)


def kept_columns(system: Matrices, channels: Channels, windows: Sequence[Window], before: Sequence[int]) -> list[int]:
    """Return the columns on which outputs that are read `before` depend at once: their last values are states."""
    D, (w, z) = system.D, _positions(channels)
    rows = np.array(before, dtype=int)
    shown = reach(D[np.ix_(z, w)].T != 0, (D[np.ix_(rows, w)] != 0).any(axis=0))
    direct = (D[np.concatenate([rows, z[shown]])] != 0).any(axis=0)
    return sorted({window.column for window in windows if window.at_end and direct[window.column]})


def _positions(channels: Channels) -> tuple[Array, Array]:
    """Return where the channels of all deltas stand, among inputs and outputs."""
    w, z = (np.concatenate([np.zeros(0, dtype=int), *(np.r_[part] for part in parts)]) for parts in channels)
    return w, z


class _Nodes:
    """The points of Gauss in an interval of length one, and polynomials through values there."""

    def __init__(self, count: int) -> None:
        x, b = np.polynomial.legendre.leggauss(count)
        self.points, self.weights = (x + 1) / 2, b / 2
        #: Coefficients (powers, points) of the polynomials that are one at a point and zero at the others.
        self.coefficients = np.linalg.inv(np.vander(self.points, increasing=True))

    def shares(self, windows: Sequence[Window]) -> Array:
        """Return the values (points, windows) of polynomials with as many moments as possible of inputs that act in windows."""
        powers = np.arange(1, len(self.points) + 1)
        moments = [(window.stop**powers - window.start**powers) / powers for window in windows]
        return self.coefficients.T @ np.reshape(moments, (len(windows), -1)).T / self.weights[:, None]

    def propagate(self, A: Array, B_w: Array, B_u: Array, period: float, until: float) -> tuple[Array, Array, Array]:
        """Return the transition (n, n) and the responses (points, n, columns) to what has the value one at a point."""
        from scipy.linalg import expm

        B = np.hstack([B_w, B_u])
        n, m, count = len(A), B.shape[1], len(self.points)
        chain = np.zeros((n + count * m, n + count * m))
        chain[:n, :n], chain[:n, n : n + m] = A * period, B * period
        chain[n:, n:] = np.eye(count * m, k=m)
        found = expm(chain * until)[:n]
        powers = found[:, n:].reshape(n, count, m) * np.array([factorial(k) for k in range(count)])[:, None]
        by_node = np.einsum("nkm,ki->inm", powers, self.coefficients)
        return found[:, :n], by_node[:, :, : B_w.shape[1]], by_node[:, :, B_w.shape[1] :]


def _end(A: Array, B: Array, w: Array, period: float, nodes: _Nodes, windows: Sequence[Window]) -> tuple[Array, Array, Array]:
    """Return what states (n, n), windows (n, columns) and channels (points, n, columns) make of the states at the end."""
    held = B[:, [window.column for window in windows]]
    E, by_w, _ = nodes.propagate(A, B[:, w], held[:, :0], period, 1.0)
    once = _Nodes(1)
    times = {1.0 - edge for window in windows for edge in (window.start, window.stop)}
    until = {time: once.propagate(A, held[:, :0], held, period, time)[2][0] for time in times}
    columns = [until[1.0 - window.start][:, [k]] - until[1.0 - window.stop][:, [k]] for k, window in enumerate(windows)]
    return E, np.hstack([held[:, :0], *columns]), by_w


def over_cycle(steps: Sequence[Matrices], sizes: Sequence[int]) -> Fractional:
    """Return sampled models one after the other as one over all of their steps, as a fraction in their real deltas.

    `steps`: with the same states, inputs and outputs; the channels of the deltas come first; `sizes`: of each delta.

    It leads from states and inputs, which are held over the cycle, to the states at its end and the outputs at its beginning.
    Channels are those of all steps.
    """
    count, w, (outputs, inputs) = len(steps), sum(sizes), steps[0].D.shape
    n = len(steps[0].A)
    first = n + inputs - w  # where the channels of the first step begin
    width = first + count * w
    held = np.eye(inputs - w, width, n)
    x, shown, channels = np.eye(n, width), np.zeros((0, width)), []
    for k, (A, B, C, D) in enumerate(steps):
        u = np.vstack([np.eye(w, width, first + k * w), held])
        y = C @ x + D @ u
        shown = y[w:] if k == 0 else shown
        channels.append(y[:w])
        x = A @ x + B @ u
    return _fraction(np.vstack([x, shown, *channels]), n + outputs - w, first, tuple(sizes), count)


def _fraction(rows: Array, outputs: int, inputs: int, sizes: tuple[int, ...], times: int) -> Fractional:
    """Return rows as a fraction: channels that come several times, all of them one after the other, ordered by delta."""
    edges = np.cumsum([0, *sizes])
    order = [time * edges[-1] + k for a, b in pairwise(edges) for time in range(times) for k in range(a, b)]
    at = np.array(order, dtype=int)
    ordered = rows[np.r_[:outputs, outputs + at]][:, np.r_[:inputs, inputs + at]]
    (D, C), (B, A) = (np.split(part, [inputs], axis=1) for part in np.split(ordered, [outputs]))
    whole = Fractional(A, B, C, D, tuple(times * size for size in sizes))
    return reduce_static(whole) if len(at) else whole  # its states are inputs and outputs, and stay what they are
