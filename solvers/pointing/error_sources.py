"""What acts on an input of a control loop: `ErrorSource`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import is_finite, is_row, read_array, read_number, real_array
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import period_of, read_linear

#: What acts, and how a constant is distributed over an ensemble of systems.
SourceKind = Literal["noise", "harmonic", "bias", "transient", "bounded"]
Distribution = Literal["fixed", "uniform", "gaussian"]


@dataclass(frozen=True)
class ErrorSource:
    """What acts on one input of a loop, made by `noise`, `spectrum`, `harmonic`, `bias`, `transient` or `bounded`.

    Spectral densities are one-sided, over positive frequencies in Hz, in the square of the input's unit per Hz: the variance is
    their integral over f from zero to infinity (to half the sampling frequency of a sampled loop).

    Attributes
    ----------
    kind : {"noise", "harmonic", "bias", "transient", "bounded"}
    density : callable or None
        Of noise: from frequencies (n, Hz) to one-sided densities (n).
    places : array (n,), Hz
        Where a table has its points.
    poles : array (n,), rad/s
        Of a shaping filter.
    period : float or None
        Sample time (s) of a shaping filter, zero in continuous time.
    band : (float, float), Hz
        Of a line: the frequencies that it may have.
    amplitude : callable or None
        Of a line: from frequencies (n, Hz) to amplitudes (n).
    size : float
        Of a bias and of what is bounded, in the input's unit; a standard deviation where that is Gaussian.
    distribution : {"fixed", "uniform", "gaussian"}
        Of a bias.
    signal : (times, values)
        Of a transient: s, and in the input's unit.

    Examples
    --------
    >>> import titop as tt
    >>> tt.ErrorSource.noise(0.5).density([1.0, 10.0]).tolist()
    [0.5, 0.5]
    """

    kind: SourceKind
    density: Callable[[Any], Array] | None = None
    places: Any = ()
    poles: Any = ()
    period: float | None = None
    band: tuple[float, float] = (0.0, 0.0)
    amplitude: Callable[[Any], Array] | None = None
    size: float = 0.0
    distribution: Distribution = "fixed"
    signal: tuple[Array, Array] | None = None

    @classmethod
    def noise(cls, density: float = 1.0, filter: Any = None) -> ErrorSource:
        """Return white noise, through a shaping filter if there is one.

        Parameters
        ----------
        density : float, in the unit per sqrt(Hz)
            Root of the two-sided density, as `SignalPath` has it; one for the noise inputs of ``linearize(noise=True)``. The
            one-sided density is ``2 density^2``. Of a sampled loop: independent samples of variance ``density^2 / period``.
        filter : control.TransferFunction or control.StateSpace, optional
            Of one input and one output, with the sample time of the loop. An integrator is allowed: a random walk.

        Raises
        ------
        ModelError
            For a density that is negative or no number, and filters of other sizes or unstable ones.

        Examples
        --------
        >>> import control, titop as tt
        >>> walk = tt.ErrorSource.noise(1e-6, control.tf([1.0], [1.0, 0.0]))
        """
        size = _number("density", density)
        if filter is None:
            return cls("noise", density=lambda f: np.full(np.shape(f), 2 * size**2))
        system, period = read_linear("filter", filter), period_of(filter)
        if (system.ninputs, system.noutputs) != (1, 1):
            got, advice = f"{system.ninputs} inputs, {system.noutputs} outputs", "give one source for each input"
            raise ModelError(Finding("wrong-shape", "filter", got, "one input and one output", advice))
        matrices = Matrices.of(system)
        poles = matrices.poles_in_time(period)
        if not ((poles.real < 0) | (poles == 0)).all():
            worst = poles[np.argmax(poles.real)]
            expected, advice = "stable poles, or an integrator", "noise through others has no spectrum"
            raise ModelError(Finding("unstable", "filter", f"a pole at {worst:.6g} rad/s", expected, advice))

        def shaped(f: Any) -> Array:
            omega = 2j * np.pi * np.asarray(f, dtype=float)
            points = np.exp(omega * period) if period else omega
            return 2 * size**2 * np.abs(matrices.responses(points)[:, 0, 0]) ** 2

        return cls("noise", density=shaped, poles=poles[poles != 0], period=period)

    @classmethod
    def spectrum(cls, density: Any) -> ErrorSource:
        """Return stationary Gaussian noise of a given spectrum.

        Parameters
        ----------
        density : callable, or (frequencies, densities)
            One-sided density, in the square of the unit per Hz, as a function of frequencies (n, Hz), or as a table of
            increasing frequencies, straight between its points on logarithmic axes, nothing beyond them. That of a path is
            two-sided: ``lambda f: 2 * path.spectrum(f)``.

        Raises
        ------
        ModelError
            For tables that do not increase, and densities that are not positive; by `pointing_budget` for functions that do
            not return a number, zero or more, for each frequency.

        Examples
        --------
        >>> import titop as tt
        >>> tt.ErrorSource.spectrum(([0.1, 10.0], [1.0, 1e-2])).density([1.0, 20.0]).round(12).tolist()
        [0.1, 0.0]
        """
        if callable(density):
            return cls("noise", density=lambda f: density(np.asarray(f, dtype=float)))
        expected, advice = "a function of f, or (frequencies, densities), two or more", "sort the table by frequency"
        wrong = Finding("bad-spectrum", "density", density, expected, advice)
        table = read_array(wrong, lambda a: a.ndim == 2 and len(a) == 2 and a.shape[1] >= 2 and (np.diff(a[0]) > 0).all())
        if not (table > 0).all() or not np.isfinite(table).all():
            advice = "leave out points without density: a table is straight on logarithmic axes"
            raise ModelError(Finding("bad-spectrum", "density", density, "positive frequencies and densities", advice))
        known, (low, high) = np.log(table), table[0, [0, -1]]

        def tabled(f: Any) -> Array:
            f = np.asarray(f, dtype=float)
            inside = np.interp(np.log(np.clip(f, low, high)), *known)
            return np.where((f < low) | (f > high), 0.0, np.exp(inside))

        return cls("noise", density=tabled, places=table[0])

    @classmethod
    def harmonic(cls, frequency: Any, amplitude: Any) -> ErrorSource:
        """Return a sinusoid of any phase: a line of a wheel, a drive or a cooler.

        Lines at several frequencies are several sources of the input.

        Parameters
        ----------
        frequency : float or (float, float), Hz
            Of a range, the frequency is taken that is worst for each metric and output.
        amplitude : float or callable
            In the input's unit, not its root mean square; or a function of frequencies (n, Hz), as of an imbalance, whose
            sign does not matter.

        Raises
        ------
        ModelError
            For frequencies that are negative or not ascending, and negative amplitudes.

        Examples
        --------
        >>> import titop as tt
        >>> wheel = tt.ErrorSource.harmonic((10.0, 60.0), lambda f: 2e-6 * (2 * tt.np.pi * f) ** 2)
        """
        expected, advice = "a frequency (Hz), or two in ascending order", "give (low, high) for a range"
        wrong = Finding("bad-value", "frequency", frequency, expected, advice)
        ends = read_array(wrong, lambda f: f.shape in ((), (1,), (2,)) and is_finite(f) and 0 <= f.flat[0] <= f.flat[-1])
        band = float(ends.flat[0]), float(ends.flat[-1])
        if callable(amplitude):
            return cls("harmonic", band=band, amplitude=lambda f: amplitude(np.asarray(f, dtype=float)))
        size = _number("amplitude", amplitude)
        return cls("harmonic", band=band, amplitude=lambda f: np.full(np.shape(f), size))

    @classmethod
    def bias(cls, size: float, distribution: Distribution = "fixed") -> ErrorSource:
        """Return a constant, of any sign.

        Parameters
        ----------
        size : float
            In the input's unit: its bound, or where it is ``"gaussian"`` the standard deviation.
        distribution : {"fixed", "uniform", "gaussian"}
            Over the ensemble of systems.

        Raises
        ------
        ModelError
            For negative sizes and other distributions.

        Examples
        --------
        >>> import titop as tt
        >>> alignment = tt.ErrorSource.bias(5e-6, "gaussian")
        """
        if distribution not in ("fixed", "uniform", "gaussian"):
            expected, advice = "fixed, uniform or gaussian", "take the nearest of these, with the same standard deviation"
            raise ModelError(Finding("bad-value", "distribution", distribution, expected, advice))
        return cls("bias", size=_number("size", size), distribution=distribution)

    @classmethod
    def transient(cls, values: Any, times: Any = (0.0,)) -> ErrorSource:
        """Return a signal that is known: its worst value after the loop counts.

        Parameters
        ----------
        values : float or array_like (n,)
            In the input's unit: a step, or values at times. Zero before the first, straight between, held after the last.
        times : array_like (n,), s

        Raises
        ------
        ModelError
            For different numbers of both, none, and times that do not increase.

        Examples
        --------
        >>> import titop as tt
        >>> shadow = tt.ErrorSource.transient([0.0, 1e-4], [0.0, 20.0])
        """
        t, u = real_array(times), real_array(values)
        fits = t is not None and u is not None and t.shape == (u.shape or (1,)) and is_row(t) and is_finite(u)
        if t is None or u is None or not fits or (np.diff(t) <= 0).any():
            got, advice = f"values {values}, times {times}", "a step needs no times"
            raise ModelError(Finding("bad-signal", "transient", got, "a value for each of increasing times", advice))
        return cls("transient", signal=(t, np.atleast_1d(u)))

    @classmethod
    def bounded(cls, bound: float) -> ErrorSource:
        """Return any signal whose absolute value is at most `bound`, in the input's unit: its worst case is the peak gain.

        Raises
        ------
        ModelError
            For a negative bound.

        Examples
        --------
        >>> import titop as tt
        >>> drag = tt.ErrorSource.bounded(1e-5)
        """
        return cls("bounded", size=_number("bound", bound))

    def over(self, f: Array, where: str) -> Array:
        """Return densities of noise (n; unit of the input squared per Hz), or amplitudes of a line (n; units of the input).

        Parameters
        ----------
        f : array (n,), Hz
        where : str
            What messages call the source.

        Raises
        ------
        ModelError
            If a user's function does not return a size for each frequency.

        Examples
        --------
        >>> import numpy as np, titop as tt
        >>> tt.ErrorSource.harmonic(2.0, lambda f: -3.0 * f).over(np.array([2.0]), "torque").tolist()
        [6.0]
        """
        function, name = (self.density, "density") if self.kind == "noise" else (self.amplitude, "amplitude")
        assert function is not None
        found = real_array(given := function(f))
        fits = found is not None and found.shape in ((), f.shape)
        sizes = np.broadcast_to(found if fits else np.nan, f.shape)  # type: ignore[arg-type]
        sizes = sizes if self.kind == "noise" else np.abs(sizes)
        if (wrong := ~(np.isfinite(sizes) & (sizes >= 0))).any():
            got: Any = f"{sizes[wrong][0]:.6g} at {f[wrong][0]:.6g} Hz" if fits else given
            expected, advice = "a finite number, zero or more, for each frequency", "check the function, by an array of them"
            raise ModelError(Finding("bad-spectrum", f"{name} of {where}", got, expected, advice))
        return sizes


def _number(where: str, value: Any) -> float:
    wrong = Finding("bad-value", where, value, "a number, zero or more", "signs do not matter: give the size")
    return read_number(wrong, lambda number: 0 <= number < np.inf)
