"""What a tuned loop is to achieve: `Goal`."""

from __future__ import annotations

import cmath
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME, SINGULAR, TINY
from titop.blocks.basics.user_input import read_number
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.peaks import EVERYWHERE, Band
from titop.solvers.linear.state_space import read_linear, signal_names

#: What a goal may be about.
KINDS = ("gain", "h2", "shape", "margins", "poles", "tracking", "rejection")


@dataclass(frozen=True, eq=False)
class Weight:
    """A weight over frequency: a number, or a stable linear system with one input and one output."""

    system: Matrices

    @classmethod
    def read(cls, where: str, weight: Any) -> Weight:
        """Return a weight of a number, a transfer function or a state space.

        Raises `ModelError` for others, and for weights that are sampled, unstable, not scalar or not positive.
        """
        if isinstance(weight, Real):
            return cls(Matrices.constant(np.array([[_positive(where, weight)]])))
        system = read_linear(where, weight, "a number, a control.TransferFunction or a control.StateSpace")
        if (system.ninputs, system.noutputs) != (1, 1) or system.dt:
            expected = "one input and one output in continuous time"
            got = f"{system.ninputs} inputs, {system.noutputs} outputs, a step of {system.dt} s"
            raise ModelError(Finding("wrong-shape", where, got, expected, "give weights by channel as goals of their own"))
        result = cls(Matrices.of(system))
        if (worst := result.system.poles.real.max(initial=-np.inf)) >= 0:
            advice = "move poles on the axis a little to the left"
            raise ModelError(Finding("unstable", where, f"a pole at {worst:.4g}", "a stable weight", advice))
        if not (result.system.D.any() or result.sizes(result.places).any()):
            raise ModelError(Finding("bad-value", where, "zero at all frequencies", "a weight", "leave it out for one"))
        return result

    @property
    def is_constant(self) -> bool:
        """Whether it is a number."""
        return not len(self.system.A)

    @cached_property
    def inverse(self) -> Matrices | None:
        """One over it as a system, perhaps unstable; None where it has fewer zeros than poles."""
        A, B, C, D = self.system
        return Matrices(A - B @ C / D, B / D, -C / D, 1 / D) if D[0, 0] else None

    @cached_property
    def _fraction(self) -> tuple[float, Array, Array]:
        """A rate (rad/s), and numerator and denominator in s over that."""
        A, B, C, D = self.system
        rate = float(np.exp(np.mean(np.log(np.abs(self.system.poles))))) if len(A) else 1.0
        bottom = np.poly(A / rate)
        return rate, np.poly((A - B @ C) / rate) + (float(D[0, 0]) - 1) * bottom, bottom

    @cached_property
    def extremes(self) -> Array:
        """Frequencies (n, rad/s) at which its size is locally extreme, by the squares of numerator and denominator."""
        rate, *both = self._fraction
        N, M = (_square_on_axis(one) for one in both)
        squares = np.roots(np.polysub(np.polymul(np.polyder(N), M), np.polymul(N, np.polyder(M))))
        return rate * np.sqrt(squares.real[squares.real > 0])

    @cached_property
    def places(self) -> Array:
        """Frequencies (n, rad/s) at which its size may have a peak or a hole, however narrow, and beside these."""
        if self.is_constant:
            return np.zeros(0)
        rate, top, bottom = self._fraction
        roots = rate * np.concatenate([np.roots(top), np.roots(bottom)])
        sides = [np.abs(roots), *(np.abs(roots.imag) + side * np.abs(roots.real) for side in (-1, 0, 1))]
        every = np.concatenate([*sides, self.extremes])
        return np.unique(every[every > 0])

    def sizes(self, omega: Array) -> Array:
        """Return its size (n) at frequencies (rad/s)."""
        if self.is_constant:
            return np.full(len(omega), abs(float(self.system.D[0, 0])))
        rate, top, bottom = self._fraction
        s = 1j * np.where(np.isinf(omega), 0.0, omega / rate)
        result = np.abs(np.polyval(top, s) / np.polyval(bottom, s))
        return np.where(np.isinf(omega), abs(float(self.system.D[0, 0])), result)


def _square_on_axis(polynomial: Array) -> Array:
    """Return ``|p(jω)|²`` as a polynomial in ω², highest power first as in p."""
    turned = np.polymul(polynomial, polynomial * (-1.0) ** np.arange(len(polynomial))[::-1])[::2]  # p(s) p(-s), powers of s²
    return np.asarray(turned * (-1.0) ** np.arange(len(turned))[::-1])


@dataclass(frozen=True, eq=False)
class Goal:
    """A goal of `tune`; made by the class methods, which refuse wrong values by a `ModelError`.

    Its value is what was reached over what is allowed: met if at most one.

    Channels are named by the plant's signals; the name of a vector stands for its entries. An input of a goal that is one of
    the plant's is a disturbance there; one that is an output of the plant is noise on that measurement; ``r_`` before an output
    is its reference. An output that is one of the plant's is its true value; one that is an input of the plant is what the
    controller gives to it.

    Attributes
    ----------
    kind : str
    inputs, outputs : tuple of str
    at : tuple of str
        Inputs or outputs of the plant at which a loop is looked at.
    bound : float
    weight : Weight or None
    band : (float, float), rad/s
    hard : bool
        Hard goals are met, soft ones made as good as these allow.
    opened : tuple of str
        Inputs of the plant that the controller does not reach meanwhile.
    of : {"loop", "controller"}
        Whose poles are meant.
    numbers : mapping of str to float
        Of the kind, by name.

    Examples
    --------
    >>> import titop as tt
    >>> goal = tt.Goal.margins("hinge.tau", gain=6.0, phase=45.0, hard=True)
    >>> round(goal.bound, 3)
    1.207
    """

    kind: str
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    at: tuple[str, ...] = ()
    bound: float = 1.0
    weight: Weight | None = None
    band: Band = EVERYWHERE
    hard: bool = False
    opened: tuple[str, ...] = ()
    of: str = "loop"
    numbers: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        where = ", ".join(self.at) if self.at else f"{', '.join(self.inputs)} -> {', '.join(self.outputs)}"
        numbers = ", ".join(f"{name} {value:g}" for name, value in self.numbers.items())
        return " ".join(part for part in (self.kind, where if self.at or self.inputs else "", numbers) if part)

    @classmethod
    def gain(
        cls,
        input: Any,
        output: Any,
        bound: float = 1.0,
        weight: Any = 1.0,
        *,
        hard: bool = False,
        band: Band | None = None,
        opened: Any = (),
    ) -> Goal:
        """Return a limit of a gain: the highest singular value over frequency, times the size of a weight.

        Parameters
        ----------
        input, output : str or sequence of str
        bound : float
            In output units over input units.
        weight : float, control.TransferFunction or control.StateSpace
        hard : bool
        band : (float, float), rad/s, optional
            Where it counts.
        opened : str or sequence of str
            Inputs of the plant at which the loop is opened.

        Examples
        --------
        >>> import titop as tt
        >>> print(tt.Goal.gain("hub.T", "tracker.theta", 0.1, band=(0.1, 10.0)))
        gain hub.T -> tracker.theta
        """
        u, y, size = signal_names("input", input), signal_names("output", output), _positive("bound", bound)
        return cls("gain", u, y, bound=size, weight=Weight.read("weight", weight), **_common(hard, band, opened))

    @classmethod
    def h2(cls, input: Any, output: Any, bound: float = 1.0, *, hard: bool = False, opened: Any = ()) -> Goal:
        """Return a limit of the H2 norm: the root of the sum of variances of outputs for white noise of unit density.

        Of a sampled loop, for independent samples of unit variance. In continuous time infinite where the channels have
        feedthrough, that of the controller included: give it a lag, or ``proper=False``.

        Parameters
        ----------
        input, output : str or sequence of str
        bound : float
        hard : bool
        opened : str or sequence of str
            Inputs of the plant at which the loop is opened.

        Examples
        --------
        >>> import titop as tt
        >>> print(tt.Goal.h2("gyro", "wheel", 0.02))
        h2 gyro -> wheel
        """
        u, y = signal_names("input", input), signal_names("output", output)
        return cls("h2", u, y, bound=_positive("bound", bound), **_common(hard, None, opened))

    @classmethod
    def shape(cls, at: Any, target: Any, *, hard: bool = False, band: Band | None = None, opened: Any = ()) -> Goal:
        """Return a shape of an open loop: gains as high as the target's where this is above one, as low where it is below.

        The value is the highest of ``|target| σ(S)`` and ``σ(T) / |target|``, over the root of two: near the crossover both are
        about one at a phase margin of 60 degrees.

        Parameters
        ----------
        at : str or sequence of str
            Inputs or outputs of the plant.
        target : control.TransferFunction or control.StateSpace
            As many poles as zeros, stable both: no integrator, but a slow pole.
        hard : bool
        band : (float, float), rad/s, optional
        opened : str or sequence of str

        Examples
        --------
        >>> import control, titop as tt
        >>> print(tt.Goal.shape("motor", control.tf([0.01, 2.0], [1.0, 0.01])))
        shape motor
        """
        place, weight = signal_names("at", at), Weight.read("target", target)
        low, high = _band(band)
        if high == np.inf and not weight.system.D.all():
            advice = "add a zero far above the crossover, or give a band"
            raise ModelError(Finding("bad-value", "target", "fewer zeros than poles", "as many zeros as poles", advice))
        ends = np.array([low, high])
        every = np.concatenate([ends, weight.places[(weight.places > low) & (weight.places < high)]])
        sizes = weight.sizes(every)
        if sizes.min() <= SINGULAR * sizes.max():
            where = f"a zero at {every[sizes.argmin()]:.4g} rad/s"
            advice = "move zeros off the axis, or give a band without them"
            raise ModelError(Finding("bad-value", "target", where, "a target above zero", advice))
        return cls("shape", at=place, bound=math.sqrt(2), weight=weight, **_common(hard, band, opened))

    @classmethod
    def margins(
        cls,
        at: Any,
        gain: float = 6.0,
        phase: float = 45.0,
        disk: float | None = None,
        skew: float = 0.0,
        *,
        hard: bool = False,
        band: Band | None = None,
        opened: Any = (),
    ) -> Goal:
        """Return stability margins, by the disk of gains and phases that the loop may take (Seiler, Packard and Gahinet 2020).

        Several places are changed independently at once, each in its own unit.

        Parameters
        ----------
        at : str or sequence of str
        gain : float, dB
        phase : float, degrees
            The least disk that has both margins is required.
        disk : float, optional
            Its size, in place of these; 2 is a phase margin of 90 degrees.
        skew : float
            Zero for gains that rise as much as they fall.
        hard : bool
        band : (float, float), rad/s, optional
        opened : str or sequence of str

        Examples
        --------
        >>> import titop as tt
        >>> print(tt.Goal.margins(["roll", "pitch"], gain=6.0, phase=45.0, hard=True))
        margins roll, pitch disk 0.828427, skew 0
        """
        skew = read_number(Finding("bad-value", "skew", skew, "a finite number", "see the goal's description"))
        factor = 10 ** (_positive("gain", gain) / 20)
        angle = math.radians(_positive("phase", phase, 180.0, "degrees; 30 to 60 are common"))
        ends = factor, 1 / factor, cmath.exp(1j * angle)
        needed = max(2 * abs(f - 1) / max(abs(1 - skew + (1 + skew) * f), TINY) for f in ends)
        numbers = {"disk": needed if disk is None else _positive("disk", disk), "skew": skew}
        place, bound = signal_names("at", at), 1 / numbers["disk"]
        return cls("margins", at=place, bound=bound, numbers=numbers, **_common(hard, band, opened))

    @classmethod
    def poles(
        cls, decay: float = 0.0, damping: float = 0.0, fastest: float = np.inf, *, of: str = "loop", hard: bool = False
    ) -> Goal:
        """Return a region for all poles.

        Parameters
        ----------
        decay : float, 1/s
            Each pole's real part is at most minus this.
        damping : float
            Each pole's damping ratio is at least this.
        fastest : float, rad/s
            No pole is farther from zero. Sampled loops with delays have such that are: `tune` refuses it for them.
        of : {"loop", "controller"}
            Whose poles: a controller's own stability is ``decay`` just above zero.
        hard : bool

        Examples
        --------
        >>> import titop as tt
        >>> print(tt.Goal.poles(decay=0.1, damping=0.5))
        poles decay 0.1, damping 0.5
        """
        if of not in ("loop", "controller"):
            raise ModelError(Finding("bad-value", "of", of, '"loop" or "controller"', "whose poles are meant"))
        numbers = {"decay": decay, "damping": damping, "fastest": fastest}
        most = {"damping": 1 + SAME}
        numbers = {n: _positive(n, value, most.get(n, np.inf)) for n, value in numbers.items() if not _is_left_out(value)}
        if not numbers:
            raise ModelError(Finding("bad-value", "poles", 0.0, "a decay, damping or fastest pole", "such as decay=0.5"))
        return cls("poles", hard=_common(hard)["hard"], numbers=numbers, of=of)

    @classmethod
    def tracking(
        cls,
        output: Any,
        time: float,
        error: float = 0.001,
        peak: float = 1.5,
        overshoot: float | None = None,
        *,
        hard: bool = False,
        band: Band | None = None,
    ) -> Goal:
        """Return how outputs follow their references: the error's gain rises with frequency, as that of a lag of first order.

        Parameters
        ----------
        output : str or sequence of str
            Outputs of the plant that the controller takes.
        time : float, s
            Response time: the error's gain passes one at about ``2 / time``.
        error : float
            Gain of the error at rest.
        peak : float
            Highest gain of the error.
        overshoot : float, optional
            Of a step, as a part of it: it limits the response's gain to the highest of a pair of poles with this overshoot.
        hard : bool
        band : (float, float), rad/s, optional

        Examples
        --------
        >>> import titop as tt
        >>> print(tt.Goal.tracking("hinge.q", time=2.0, overshoot=0.1))
        tracking hinge.q time 2, error 0.001, peak 1.5, overshoot 0.1
        """
        numbers = {"time": time, "error": error, "peak": peak} | ({} if overshoot is None else {"overshoot": overshoot})
        most, advice = {"error": 1.0, "overshoot": 1.0}, "a part of one: 0.1 for 10 percent"
        numbers = {
            name: _positive(name, value, most[name], advice) if name in most else _positive(name, value)
            for name, value in numbers.items()
        }
        if numbers["peak"] <= 1:
            advice = "fast references are not followed: their error's gain is one"
            raise ModelError(Finding("bad-value", "peak", peak, "a number above one", advice))
        return cls("tracking", at=signal_names("output", output), numbers=numbers, **_common(hard, band))

    @classmethod
    def rejection(cls, at: Any, factor: Any, *, hard: bool = False, band: Band | None = None, opened: Any = ()) -> Goal:
        """Return how much less disturbances act at places than without the controller.

        Parameters
        ----------
        at : str or sequence of str
            Inputs or outputs of the plant.
        factor : float, control.TransferFunction or control.StateSpace
            By which they are divided, over frequency; give a number with a band.
        hard : bool
        band : (float, float), rad/s, optional
        opened : str or sequence of str

        Examples
        --------
        >>> import titop as tt
        >>> print(tt.Goal.rejection("hinge", 10.0, band=(0.0, 0.1)))
        rejection hinge
        """
        return cls("rejection", at=signal_names("at", at), weight=Weight.read("factor", factor), **_common(hard, band, opened))


def _common(hard: Any, band: Any = None, opened: Any = ()) -> dict[str, Any]:
    if not isinstance(hard, bool | np.bool_):
        raise ModelError(Finding("bad-value", "hard", hard, "True or False", "hard goals are met before soft ones"))
    return {"hard": bool(hard), "band": _band(band), "opened": signal_names("opened", opened, some=False)}


def _positive(where: str, value: Any, below: float = np.inf, advice: str = "see the goal's description") -> float:
    limit = f", below {below:g}" if below < np.inf else ""
    return read_number(Finding("bad-value", where, value, f"a positive number{limit}", advice), lambda x: 0 < x < below)


def _is_left_out(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and float(value) in (0.0, np.inf)


def _band(band: Any) -> Band:
    if band is None:
        return EVERYWHERE
    try:
        low, high = (float(end) for end in band)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not 0 <= low < high:
        expected = "two frequencies (rad/s) in ascending order"
        raise ModelError(Finding("bad-value", "band", band, expected, "such as (0.1, 10.0)"))
    return low, high
