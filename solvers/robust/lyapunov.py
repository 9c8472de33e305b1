"""Stability of families whose parameters change with time: `lyapunov_stability`."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from titop.blocks.basics.notebook import attributes_page, member_text
from titop.blocks.basics.spatial import Array
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.linear.state_space import read_linear
from titop.solvers.robust.lyapunov_functions import Certificate
from titop.solvers.robust.lyapunov_tests import check_numbers, read_test
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.workers import one_thread

#: Range of factors, beyond and within the ranges, in which a margin is sought.
_WIDEST = 64.0

#: A search for a Lyapunov function with all ranges scaled by a factor, at a rate of decay (1/s).
Search = Callable[..., Certificate | str]


@dataclass(frozen=True)
class LyapunovStability:
    """The result of a test of stability with time-varying parameters.

    Attributes
    ----------
    stable : bool or None
        True if a Lyapunov function was found and verified; False if a member with constant parameters is unstable;
        None if neither was found: a family may be stable without a function of this form.
    proof : bool
        Whether the function provably decreases for all values of the parameters. Otherwise it was tested at `points` only.
    decay : float
        States decay as ``exp(-decay t)`` or faster, 1/s; zero if nothing was found, NaN for a sampled loop.
    margin : float or None
        Factor (no unit, at most 64) by which all ranges may grow with the same result, if requested.
    parameters : tuple of str
    rates : dict
        Bounds of the rates, in units per second; other parameters may change arbitrarily fast.
    exponents : array (terms, p), no unit
        Of the p parameters, normalised to [-1, 1], in the terms of P: ``P(s) = sum_k P[k] prod_i s_i ** exponents[k, i]``.
    P : array (terms, n, n), no unit
        Of ``V = x^T P(s) x`` in the model's states, up to a factor. Normalised parameters are the deltas of an LFT, tangents
        for angles; for a family of samples, the distance from the middle of the points over half their range.
    points : dict of name to array (k,)
        Where the inequality was tested, in the parameters' units; empty for a proof by multipliers.
    residual : float
        Largest eigenvalue of the inequalities, recomputed from P, relative to the decrease of the nominal member's own
        function (no unit): negative.
    member : dict
        Values of the parameters of an unstable member.
    status : str
        How far the search got.
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

    _repr_html_ = attributes_page

    def __str__(self) -> str:
        if self.stable is False:
            return f"unstable with constant parameters {member_text(self.member)}"
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
    sign: int = 1,
) -> LyapunovStability:
    """Show that a family is stable while its parameters change with time, by a Lyapunov function.

    Without `rates` parameters may change arbitrarily fast: a common function ``x^T P x`` has to decrease for all members
    (quadratic stability). For a linear fractional model this is proved by one matrix inequality with constant multipliers
    (Boyd, El Ghaoui, Feron, Balakrishnan 1994, chapter 5; Scherer 2001). For one parameter the condition is also necessary; for
    several the proof may fail although such a function exists. Complex and full blocks may be any causal operators of gain one.

    With rates, ``x^T P(s) x`` is a polynomial in the parameters (parameter-dependent Lyapunov function; Wu, Yang, Packard,
    Becker 1996), and decreases at points of a grid for all rates within the bounds. For a linear fractional model of one
    parameter the values between the points are covered by a proof, with eigenvalues; for several parameters the function is
    also tested at random members between the points, which is no proof. A family of samples is tested at its points, and at
    interpolated members half-way between them; this says nothing about the system between its samples.

    Parameters of a sampled loop change at its sampling instants, arbitrarily fast.

    For angles a quadratic P is worth its time: a linear one shows much less if the system is symmetric about the middle.

    The result of the search is verified with recomputed eigenvalues. A proof by multipliers takes some 3 s with 50 states
    and 14 repetitions, a quadratic P of one parameter 80 s; ten times as long with `decay` or `margin`.

    Parameters
    ----------
    family : LFTModel, LPVModel or control.StateSpace
        Stable. The first channels of a state space are those of the blocks.
    rates : mapping of name to float
        Largest rate of a parameter, in its unit per second; 0 for a constant one. Omitted parameters may change arbitrarily
        fast.
    blocks : sequence of DeltaBlock, optional
        For a state space.
    controller : control.StateSpace or control.TransferFunction, optional
        Closes the loop of every member first, connected by names as in `LFTModel.close`.
    degree : int
        Degree of P in the parameters that have rates.
    points : int, optional
        Values of each parameter on the grid of a linear fractional model; by default 5 for one or two parameters, 3 for more.
        Without rates it requests a test at points instead of a proof.
    decay : bool
        Find the highest decay that can be proved.
    margin : bool
        Find the factor by which all ranges of a linear fractional model may grow together.
    tolerance : float
        Relative tolerance of decay and margin.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.
    sign : {1, -1}
        Of the controller, as in `LFTModel.close`.

    Returns
    -------
    LyapunovStability

    Raises
    ------
    ModelError
        For unusable arguments, an unstable nominal loop, and if the solver is missing
        (``pip install "titop[robust]"``).

    See Also
    --------
    robust_stability : for parameters that are constant.

    Notes
    -----
    Members are linear models about points with constant parameters: the stability shown is that of ``dx/dt = A(p(t)) x``.
    Other effects of a changing parameter are neglected: forces that grow with the rate of a rotating drive, and trims that move
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
    controller = None if controller is None else read_linear("controller", controller)
    check_numbers(degree, points, tolerance)
    test = read_test(family, rates, blocks, controller, degree, points, decay, margin, sign)
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
