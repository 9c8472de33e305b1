"""Which test of a Lyapunov function a family and rates ask for: by multipliers, or at points."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, refuse
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import EPS
from titop.blocks.basics.user_input import read_count, read_number
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.lft.lft_model import LFTModel
from titop.solvers.linear.lpv_model import LPVModel
from titop.solvers.linear.state_space import middle_rate
from titop.solvers.robust.lyapunov_functions import Certificate, ParameterLyapunov, common_lyapunov, monomials
from titop.solvers.robust.uncertain_loop import UncertainLoop, balance, check_stable, check_tolerance, read_loop
from titop.solvers.robust.varying_members import FractionalFamily, SampledFamily, VaryingFamily

#: Highest degree of P, and values of each parameter on a grid of one or two, and of more.
_HIGHEST_DEGREE, _FEW, _MANY = 4, 5, 3

#: Corners of so many parameters are looked at.
_CORNERS = 8

#: Errors of rounding of poles, relative to the largest, a state.
_ROUNDING = 100 * EPS

#: States that move by so much of the largest motion of a pole, each in its own unit, are named.
_NAMED = 0.1


@dataclass
class LyapunovTest:
    """A test of a family with all ranges scaled by a factor, at a rate of decay.

    - `family`: members in units of time and states in which they are well scaled; of a linear fractional model, channels
      balanced;
    - `rates`: by name, in units per second;
    - `exponents` (terms, p): no unit;
    - `at_points`: whether it is tested at points, else by multipliers;
    - `states`: names of the members' states;
    - `rate`: unit (rad/s) of the members' poles;
    - `scales` (n): units of the members' states, in those of the model;
    - `period`: sample time (s), zero in continuous time.
    """

    family: VaryingFamily
    rates: dict[str, float]
    exponents: Array
    at_points: bool
    states: tuple[str, ...]
    rate: float
    scales: Array
    period: float = 0.0
    _searches: dict[float, ParameterLyapunov] = field(default_factory=dict)

    @property
    def names(self) -> tuple[str, ...]:
        """Of the parameters."""
        return self.family.names

    def search(self, factor: float, decay: float = 0.0) -> Certificate | str:
        """Return what shows a decay (1/s) with all ranges so many times as large, or why nothing does."""
        found = self._search(factor, decay / self.rate)
        if isinstance(found, str):
            return found
        return found._replace(P=found.P / self.scales[:, None] / self.scales, decay=found.decay * self.rate)

    def points(self) -> dict[str, Array]:
        """Return the values of the parameters, in their units, at which they were tested."""
        if not self.at_points:
            return {}
        rows = [self.family.values(s) for s in self._searches[1.0].members.s]
        return {name: np.array([row[name] for row in rows]) for name in self.names}

    def unstable(self, factor: float) -> dict[str, float]:
        """Return the parameters of the most unstable member, empty if none is known."""
        members = self.family.with_ranges(factor).all_members()
        growth = abscissa(members.A)
        worst = int(growth.argmax())
        return self.family.values(members.s[worst]) if growth[worst] > rounding_of_poles(members.A[worst]) else {}

    def slowest(self) -> float:
        """Return the least decay (1/s) of known members, which a family's cannot exceed."""
        return -float(abscissa(self.family.all_members().A).max()) * self.rate

    def _search(self, factor: float, decay: float) -> Certificate | str:
        """Search in the members' units."""
        family = self.family.with_ranges(factor)
        if not self.at_points:
            assert isinstance(family, FractionalFamily)
            return common_lyapunov(family.scaled_system, family.structure, decay)
        if factor not in self._searches:
            members = family.all_members()
            growth = abscissa(members.A)
            worst = members.A[int(growth.argmax())]
            if growth.max() > rounding_of_poles(worst):
                return "a member is unstable, or has no response"
            if growth.max() >= -rounding_of_poles(worst):
                return marginal_poles(worst, self.states, self.rate)
            bounds = np.array([self.rates.get(name, 0.0) / self.rate for name in self.names])
            self._searches[factor] = ParameterLyapunov(members, self.exponents, bounds, family.doubts(bounds[0]))
        return self._searches[factor].search(decay)


def read_test(
    given: Any, rates: Any, blocks: Any, controller: Any, degree: int, points: int | None, decay: bool, margin: bool, sign: Any
) -> LyapunovTest:
    """Return the test that the arguments of `lyapunov_stability` ask for.

    Raises `ModelError` for unusable arguments, and a nominal loop that is not stable.
    """
    if isinstance(given, LPVModel):
        unused = {"blocks": blocks, "points": points, "margin": margin or None}
        return _read_samples(given, rates, controller, degree, sign, unused)
    lft = given
    if controller is not None:
        if not isinstance(lft, LFTModel):
            got, advice = type(lft).__name__, "close the loop first"
            raise ModelError(Finding("wrong-type", "controller", got, "an LFTModel or an LPVModel to be closed", advice))
        lft = lft.close(controller, sign=sign)
    loop = read_loop(lft, blocks)
    check_stable(loop)
    loop = replace(loop, system=balance(loop.system, loop.structure))
    real = len(loop.structure.real)
    count = points or (_FEW if real <= 2 else _MANY)
    family = FractionalFamily(loop.uncertain, loop.structure, count)
    rates = read_rates(rates, family.names)
    at_points = bool(rates) or points is not None
    if at_points:
        _refuse_operators(loop, rates)
    else:  # members are needed to look for an unstable one alone
        family = replace(family, count=2 if real <= _CORNERS else 1)
    if loop.period and (rates or decay):
        name = "rates" if rates else "decay"
        advice = "leave it out: a common function holds for sampled loops too; or model the loop in continuous time"
        raise ModelError(Finding("sampled-loop", name, f"a step of {loop.period} s", "a loop in continuous time", advice))
    exponents = _exponents(rates, family.names, degree)
    return LyapunovTest(family, rates, exponents, at_points, loop.states, loop.rate, loop.scales, loop.period)


def _read_samples(
    model: LPVModel, rates: Any, controller: Any, degree: int, sign: Any, unused: Mapping[str, Any]
) -> LyapunovTest:
    """Return the test of a family of samples, for which other arguments have to be `unused`."""
    advice = "use tt.lft for ranges that may grow and grids of other points"
    given = [(name, value) for name, value in unused.items() if value is not None]
    refuse(Finding("not-of-samples", name, value, "nothing, for an LPVModel", advice) for name, value in given)
    if not model.valid.any():
        advice = "widen what tt.lpv may trim"
        raise ModelError(Finding("no-members", "family", "no valid point", "a family with equilibria", advice))
    if getattr(controller, "dt", None):
        got, advice = f"a step of {controller.dt} s", "give its continuous form, or use tt.lft and its close"
        raise ModelError(Finding("sampled-controller", "controller", got, "a controller in continuous time", advice))
    family = SampledFamily(model, controller, sign)
    family = replace(family, rate=middle_rate(family.grid().A[0]))
    rates = read_rates(rates, family.names)
    exponents, states = _exponents(rates, family.names, degree), family.states
    return LyapunovTest(family, rates, exponents, True, states, family.rate, np.ones(len(states)))


def _exponents(rates: Mapping[str, float], names: tuple[str, ...], degree: int) -> Array:
    """Return those of P: constant in parameters without rates."""
    return monomials(len(names), np.array([name in rates for name in names], dtype=bool), degree)


def read_rates(given: Any, names: tuple[str, ...]) -> dict[str, float]:
    """Return rates by name."""
    rates, advice = {}, "0 for a constant one; leave out what changes arbitrarily fast"
    for name, value in read_mapping("rates", given or {}).items():
        if name not in names:
            expected = "a parameter of the family"
            raise ModelError(Finding("unknown-parameter", "rates", name, expected, did_you_mean(name, names)))
        wrong = Finding("bad-rate", f"rates[{name!r}]", value, "a finite rate, in units per second", advice)
        rates[name] = read_number(wrong, lambda x: 0 <= x < np.inf)
    return rates


def _refuse_operators(loop: UncertainLoop, rates: Mapping[str, float]) -> None:
    others = [block.name for block in loop.structure.blocks if block.kind != "real"]
    if others:
        name, advice = "rates" if rates else "points", f"leave {'rates' if rates else 'points'} out, or these blocks"
        raise ModelError(Finding("not-real", name, ", ".join(others), "real blocks alone in a test at points", advice))


def check_numbers(degree: Any, points: Any, tolerance: Any) -> None:
    """Refuse numbers that are none."""
    read_count(Finding("bad-value", "degree", degree, f"1 to {_HIGHEST_DEGREE}", "2 is a good start"), 1, _HIGHEST_DEGREE)
    if points is not None:
        read_count(Finding("bad-value", "points", points, "2 or more", "leave it out for a choice"), 2)
    check_tolerance(tolerance)


def abscissa(A: Array) -> Array:
    """Return the largest real part of the poles (k) of members (k, n, n), infinite where there is no response."""
    result = np.full(len(A), np.inf)
    finite = np.isfinite(A).all(axis=(1, 2))
    result[finite] = np.linalg.eigvals(A[finite]).real.max(axis=1, initial=-np.inf)
    return result


def rounding_of_poles(A: Array) -> float:
    """Return by what poles of a member (n, n) are uncertain, zero where there is no response."""
    if not np.isfinite(A).all():
        return 0.0
    return float(_ROUNDING * len(A) * np.abs(np.linalg.eigvals(A)).max(initial=0.0))


def marginal_poles(A: Array, states: Sequence[str], rate: float) -> str:
    """Say which poles of a member (n, n; poles in parts of a rate in rad/s) neither decay nor grow, and of which states."""
    values, vectors = np.linalg.eig(A)
    rounding = rounding_of_poles(A)
    at = np.abs(values.real) <= rounding
    size, omega = np.abs(vectors[:, at]), np.abs(values[at].imag)
    moving = (size >= _NAMED * size.max(axis=0)).any(axis=1)
    names = ", ".join(name for name, moves in zip(states, moving, strict=True) if moves)
    where = ", ".join(dict.fromkeys(f"{w * rate:.4g}" for w in np.sort(np.where(omega <= rounding, 0.0, omega)).tolist()))
    return f"a member neither decays nor grows at {where} rad/s, in {names}: omit=, damp or control these states"
