"""Stability of families whose parameters change with time: `lyapunov_stability`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.robust.lyapunov_functions import Certificate
from titop.solvers.robust.lyapunov_tests import Request, read_test
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.workers import one_thread

#: How far beyond the ranges, and into them, a margin is looked for.
_WIDEST = 64.0

#: What looks for a Lyapunov function with all ranges so many times as large, at a rate of decay (1/s).
Search = Callable[..., Certificate | str]


@dataclass(frozen=True)
class LyapunovStability:
    """What is known of the stability of a family whose parameters change with time.

    Attributes
    ----------
    stable : bool or None
        True where a Lyapunov function was found and verified; False where a member with constant parameters is unstable;
        None where neither was found: a family may be stable without a function of this form.
    proof : bool
        Whether the function was proved to fall for all values of the parameters. Otherwise it was tested at `points` alone.
    decay : float
        States decay as ``exp(-decay t)`` or faster, 1/s; zero where nothing was found, not a number for a sampled loop.
    margin : float or None
        By how much all ranges may grow together with the same result (no unit, 64 at most), where it was asked for.
    parameters : tuple of str
    rates : dict
        The bounds, in units per second; parameters that are not named change arbitrarily fast.
    exponents : array (terms, p), no unit
        Of the p parameters, normalised to [-1, 1], in the terms of P: ``P(s) = sum_k P[k] prod_i s_i ** exponents[k, i]``.
    P : array (terms, n, n), no unit
        Of ``V = x^T P(s) x`` in the model's states, up to a factor. Normalised parameters are the deltas of an LFT, which of
        an angle are tangents; of a family of samples the distance from the middle of the points in half their range.
    points : dict of name to array (k,)
        Where the inequality was tested, in the parameters' units; empty for a proof by multipliers.
    residual : float
        Largest eigenvalue of the inequalities, recomputed from P, in parts of the decrease of the nominal member's own function
        (no unit): negative.
    member : dict
        Values of the parameters of an unstable member.
    status : str
        How far the search came.
    """

    stable: bool | None
    proof: bool
    decay: float
    margin: float | None
    parameters: tuple[str, ...]
    rates: dict[str, float]
    exponents: Array
    P: Array
    points: dict[str, Array]
    residual: float
    member: dict[str, float] = field(default_factory=dict)
    status: str = ""

    def __str__(self) -> str:
        if self.stable is False:
            return f"unstable with constant parameters {self.member}"
        if self.stable is None:
            return f"not shown: no Lyapunov function of this form was found ({self.status})"
        count = len(next(iter(self.points.values()), ()))
        how = "proved for all values" if self.proof else f"tested at {count} points, not proved between them"
        known = {name: f"{name} at {rate:g} or less" if rate else f"{name} constant" for name, rate in self.rates.items()}
        speeds = [known.get(name, name) for name in self.parameters]
        fast = "" if all(name in self.rates for name in self.parameters) else " (without a rate: arbitrarily fast)"
        return f"stable while parameters change: {', '.join(speeds)}{fast}; decay {self.decay:.4g} 1/s, {how}"


@one_thread()
def lyapunov_stability(
    family: Any,
    rates: Mapping[str, float] | None = None,
    blocks: Sequence[DeltaBlock] | None = None,
    controller: Any = None,
    degree: int = 2,
    points: int | None = None,
    decay: bool = False,
    margin: bool = False,
    tolerance: float = 0.01,
    progress: bool = True,
) -> LyapunovStability:
    """Show that a family is stable while its parameters change with time, by a Lyapunov function.

    Without `rates` parameters may change arbitrarily fast: one function ``x^T P x`` has to fall for all members (quadratic
    stability). Of a linear fractional model this is proved, by one matrix inequality with multipliers that are constant
    (Boyd, El Ghaoui, Feron, Balakrishnan 1994, chapter 5; Scherer 2001); for one parameter nothing is lost, for several the
    proof may fail though such a function exists. Complex and full blocks may be any causal operators of gain one.

    With rates, ``x^T P(s) x`` is a polynomial in the parameters (parameter-dependent Lyapunov function; Wu, Yang, Packard,
    Becker 1996), and falls at points of a grid for all rates within the bounds. Of a linear fractional model of one
    parameter the values between the points are proved, by eigenvalues; of several it is tested at random members between the
    points too, which is no proof. A family of samples is tested at its points, and half-way between them at interpolated
    members; that says nothing of the system between its samples.

    Parameters of a sampled loop change at its sampling instants, arbitrarily fast.

    A quadratic P in angles is worth its time: one that is linear shows much less of what is symmetric about the middle.

    What the search finds is verified by eigenvalues that are computed anew. A proof by multipliers takes some 3 s at 50 states
    and 14 repetitions, a quadratic P of one parameter 80 s; ten times as long with `decay` or `margin`.

    Parameters
    ----------
    family : LFTModel, LPVModel or control.StateSpace
        Stable. Of a state space the first channels are those of the blocks.
    rates : mapping of name to float
        Largest rate of a parameter, in its unit per second; 0 of one that is constant. Parameters that are left out change
        arbitrarily fast.
    blocks : sequence of DeltaBlock, optional
        For a state space.
    controller : control.StateSpace, optional
        Closes the loop of every member first, connected by names as in `LFTModel.close`.
    degree : int
        Of P in the parameters that have rates.
    points : int, optional
        Values of each parameter on the grid of a linear fractional model; by default 5 of one or two parameters, 3 of more.
        Without rates it asks for a test at points instead of a proof.
    decay : bool
        Find the highest decay that can be shown.
    margin : bool
        Find by how much all ranges of a linear fractional model may grow together.
    tolerance : float
        Relative, of decay and margin.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.

    Returns
    -------
    LyapunovStability

    Raises
    ------
    ModelError
        For unusable arguments, a nominal loop that is not stable, and where the solver is missing
        (``pip install "titop[robust]"``).

    See Also
    --------
    robust_stability : for parameters that are constant.

    Notes
    -----
    Members are linear models about points at which the parameters rest: ``dx/dt = A(p(t)) x`` is what is shown to be stable.
    What else a changing parameter does is left out: forces that grow with the rate of a drive that turns, and trims that move
    with it (see `lpv`). At low rates they are small.

    Examples
    --------
    An oscillator with a stiffness of 1 ± 0.15 and a damping ratio ζ of 0.1. A stiffness that changes arbitrarily fast is
    harmless up to ``2 ζ sqrt(1 - ζ²)``:

    >>> import control
    >>> import titop as tt
    >>> M = control.ss([[0, 1], [-1, -0.2]], [[0], [-0.15]], [[1, 0]], 0)
    >>> stiffness = [tt.DeltaBlock.real("k", 1, 0.85, 1.15)]
    >>> shown = tt.lyapunov_stability(M, blocks=stiffness, margin=True)
    >>> shown.stable, shown.proof, 1.31 < shown.margin < 1.33
    (True, True, True)
    """
    request = Request(family, rates, blocks, controller, degree, points, decay, margin, tolerance)
    test = read_test(request)
    with progress_bar(progress=progress, desc="Lyapunov functions", unit=" searches") as bar:

        def search(factor: float, rate: float = 0.0) -> Certificate | str:
            result = test.search(factor, rate)
            bar.update()
            return result

        found = search(1.0)
        reached = _margin(search, isinstance(found, Certificate), tolerance) if margin else None
        if decay and isinstance(found, Certificate):
            found = _fastest(search, found, test.slowest(), tolerance)
    stable: bool | None = True
    member: dict[str, float] = {}
    if isinstance(found, str):
        member, n = test.unstable(1.0), len(test.states)
        stable, found = False if member else None, Certificate(np.zeros((0, n, n)), 0.0, np.inf, found, False)
    return LyapunovStability(
        stable,
        found.proof,
        np.nan if test.period and stable else found.decay,
        reached,
        test.names,
        test.rates,
        test.exponents[: len(found.P)],
        found.P,
        test.points() if stable else {},
        found.residual,
        member,
        found.status,
    )


def _margin(search: Search, holds: bool, tolerance: float) -> float:
    """Return the largest factor of all ranges with which a search shows stability, zero if it was not found."""

    def holds_at(factor: float) -> bool:
        return isinstance(search(factor), Certificate)

    low, high = (1.0, 2.0) if holds else (0.5, 1.0)
    while holds and low < _WIDEST and holds_at(high):
        low, high = high, 2 * high
    while not holds and low > 1 / _WIDEST and not holds_at(low):
        low, high = low / 2, low
    if low <= 1 / _WIDEST:
        return 0.0
    while low < _WIDEST and high - low > tolerance * low:
        middle = (low + high) / 2
        low, high = (middle, high) if holds_at(middle) else (low, middle)
    return low


def _fastest(search: Search, found: Certificate, high: float, tolerance: float) -> Certificate:
    """Return the certificate of the highest decay (1/s) below one that is known, by bisection."""
    while high - found.decay > tolerance * high:
        middle = (found.decay + high) / 2
        better = search(1.0, middle)
        if isinstance(better, str):
            high = middle
        else:
            found = better
    return found
