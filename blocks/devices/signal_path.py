"""Signal paths: filters, delays, errors and limits between a controller and its actuators and sensors."""

from __future__ import annotations

import copy
import inspect
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.paths import entry_of, owner_of
from titop.blocks.basics.spatial import Array, skew
from titop.blocks.basics.tolerances import TINY
from titop.blocks.basics.user_input import FieldReader, real_array
from titop.blocks.devices.path_filters import LinearFilter, read_filter
from titop.blocks.devices.path_noises import NoisySignal

#: Numbers that may be given for each channel, with what they have to be.
PER_CHANNEL = ("bias", "noise_density", "random_walk", "bias_instability", "quantum", "dead_zone", "rate_limit")

#: Numbers that are parameters, with their units: "" for that of the signal.
_PARAMETERS = {"bias": "", "scale_factor": "1", "misalignment": "rad"}


class SignalPath(NoisySignal):
    """What lies between a controller and an actuator, or between a sensor and a controller: ``path=`` of every device.

    In `simulate`, all elements act. A command to an actuator passes, in this order: sample and hold, dead zone, limits, rate
    limit, quantum, the errors (bias, random walk, noise), delay, and the filter, whose output acts on the system. A measurement
    passes the filter, misalignment and scale factor, sample and hold, the errors, dead zone, limits, rate limit, quantum, and
    delay; then a controller reads it. So filters stand next to the system: noise of an actuator is filtered, that of a sensor
    is not.

    In linear models, equilibria and `Model.outputs`, filter, misalignment and scale factor act. Dead zone, limits, rate limit
    and quantum have slope one there; errors are zero, but linear models have inputs of white noise if asked for: all of them
    with ``noise=True``, else by name: ``"gyro.noise"`` (`noise_density`), ``.walk``, ``.instability`` and ``.rounding`` (of the
    quantum of what is sampled). Each has the two-sided spectral density one: ``E[w(t) w(s)] = delta(t - s)``. So the covariance
    of the states P solves ``A P + P A^T + B B^T = 0``, and an output has the two-sided density ``|G(2 pi i f)|^2`` per Hz. In
    models that `LFTModel.close` samples each T seconds it is a sequence of variance 1 / T: ``P = A P A^T + B B^T / T``.
    What is sampled here is continuous there: well below half the sampling frequency its noise has the same density, and it is
    half a sample time earlier than what is held.
    In `linearize`, `lpv` and `lft` a delay is a Padé fraction of order 4, of gain one, and an error below ``4e-8 x^9`` at x,
    the delay times the frequency (rad/s): 2e-5 for x = 2. `Model.to_nlsys` refuses delays. Linear models do not know
    `sample_time`; sampled controllers of `LFTModel.close` do, and close loops with exact delays.

    A filter's states are first-order states of the model (`Model.state_names`), such as ``motor.lag[0]``; `trim` puts them to
    rest. In ``m.forward_dynamics(q, v, u=u, x=x)`` u is then the command, which a filter without feedthrough does not pass on
    at once: what acts follows from x. Inputs of actuators with filters come last among the inputs.

    Parameters
    ----------
    filter : control.StateSpace or control.TransferFunction, or a sequence of them, optional
        In continuous time and proper. With one input: for each channel of the device, or a sequence with one for each channel;
        or a state space with as many inputs and outputs as the device has channels. See `lag` and `second_order`.
    delay : float, s
        Exact in simulations. Commands that are neither sampled by a controller nor by the path have no exact delay: refused.
    sample_time : float, s, optional
        The signal is sampled at ``t[0] + k sample_time`` and held. By default a sensor is read when the controller samples, and
        an actuator follows each change of its command.
    bias : float or array_like (n,), in the signal's unit
        Constant error of each channel. A parameter, ``gyro.path.bias``; of each channel if several are given, ``.path.bias.0``.
    noise_density : float or array_like (n,), in the signal's unit per sqrt(Hz)
        White noise of the two-sided spectral density ``noise_density^2``: a sample's standard deviation is
        ``noise_density / sqrt(sample_time)``. (A one-sided density, over positive frequencies, is ``sqrt(2)`` times as large.)
        This differs from ``simulate(noise=)``, which is a standard deviation for each sample, whatever the sample time, and
        comes on top. It has no meaning without a sample time: `simulate` refuses it.
    random_walk : float or array_like (n,), in the signal's unit per s and sqrt(Hz)
        Intensity of the white noise whose integral is an error that begins at zero; its standard deviation is
        ``random_walk sqrt(t)``. At samples too.
    bias_instability : float or array_like (n,), in the signal's unit
        Flicker noise B of the two-sided density ``B^2 / (2 pi f)`` (IEEE Std 952): the Allan deviation is flat at 0.664 B, the
        number that data sheets often give instead. It is the sum of stationary first-order Gauss-Markov processes, one for
        each decade of `correlation_time`. Over whole decades their density is within 6 % of it from five times the lowest to a
        fifth of the highest frequency ``1 / (2 pi correlation_time)``, within 11 % at these. At samples too.
    correlation_time : (shortest, longest) or float, s
        Between these the noise is flicker. A single one makes it one Gauss-Markov process of the standard deviation
        `bias_instability`, whose Allan deviation is highest, 0.62 of this, at 1.9 correlation times.
    scale_factor : float or array_like (n,), optional
        Relative error of a sensor's scale: signals are ``1 + scale_factor`` times as large. A parameter if it is given, also
        as zero, ``gyro.path.scale_factor``.
    misalignment : array_like (3,), rad, optional
        Small rotation of the axes of a sensor that measures a vector in its port's axes: signals are then those in turned axes,
        ``s - misalignment x s``, to first order; turn the port for larger ones. Parameters if given, ``.path.misalignment.0``.
    quantum : float or array_like (n,), in the signal's unit
        Values are rounded to whole multiples; zero for none. In `spectrum`, `allan_deviation` and linear models the rounding
        errors of samples are white noise of the standard deviation ``quantum / sqrt(12)``, as they are where signals change by
        more than the quantum from sample to sample.
    dead_zone : float or array_like (n,), in the signal's unit
        Smaller absolute values become zero, and larger ones smaller by it.
    rate_limit : float or array_like (n,), in the signal's unit per s
        Largest rate of change, as the largest step from sample to sample over the sample time, which is needed.
    limits : (lower, upper), in the signal's unit, optional
        Numbers, or arrays (n,), to which values are limited: the range of a sensor.

    Raises
    ------
    ModelError
        For unusable numbers, and filters that are discrete, improper or no linear systems.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("drive", gravity=[0, 0, 0])
    >>> s.connect("world", tt.RigidBody("rotor", mass=1.0, inertia=2.0), tt.Revolute("shaft"))
    >>> s.add_actuator(tt.Motor("motor", "shaft", path=tt.SignalPath.lag(0.1)))
    >>> m = s.resolve(engine="reference")
    >>> m.state_names, m.state_rates([0.0], [0.0], u={"motor": 3.0}).tolist()
    (('motor.lag[0]',), [30.0])
    >>> m.forward_dynamics([0.0], [0.0], u={"motor": 3.0}, x=[1.0]).tolist()
    [0.5]

    A gyro of 0.15 degrees per root hour, 3 degrees per hour:

    >>> per_hour = np.radians(1.0) / 3600.0
    >>> gyro = tt.SignalPath(noise_density=9.0 * per_hour, bias_instability=3.0 * per_hour)  # rad/s/sqrt(Hz), rad/s
    >>> (gyro.allan_deviation([1.0, 100.0, 1000.0]) / per_hour).round(2).tolist()
    [9.15, 2.18, 1.99]
    """

    def __init__(
        self,
        filter: Any = None,
        delay: float = 0.0,
        sample_time: float | None = None,
        bias: Any = 0.0,
        noise_density: Any = 0.0,
        random_walk: Any = 0.0,
        quantum: Any = 0.0,
        dead_zone: Any = 0.0,
        rate_limit: Any = math.inf,
        limits: Any = None,
        bias_instability: Any = 0.0,
        correlation_time: Any = (1.0, 1e4),
        scale_factor: Any = None,
        misalignment: Any = None,
    ) -> None:
        reader = FieldReader("path")
        #: LinearFilter, or a tuple of one for each channel, or None.
        self.filter = read_filter(reader, filter)
        self.delay = reader.non_negative("delay", delay, "bad-time")
        self.sample_time = None if sample_time is None else reader.scalar("sample_time", sample_time)
        if self.sample_time is not None and self.sample_time <= 0:
            reader.report("bad-time", "sample_time", sample_time, "more than zero seconds", "leave it out for no sampling")
        given = bias, noise_density, random_walk, bias_instability, quantum, dead_zone, rate_limit
        read = [_read_per_channel(reader, name, value) for name, value in zip(PER_CHANNEL, given, strict=True)]
        #: Numbers, or arrays with one for each channel.
        self.bias, self.noise_density, self.random_walk, self.bias_instability, *read = read
        self.quantum, self.dead_zone, self.rate_limit = read
        #: The shortest and the longest, or one.
        self.correlation_time = _read_correlation(reader, correlation_time)
        self.scale_factor = None if scale_factor is None else _read_per_channel(reader, "scale_factor", scale_factor)
        self.misalignment = None if misalignment is None else reader.array("misalignment", misalignment, (3,))
        #: Lower and upper limit, or None.
        self.limits = None if limits is None else _read_limits(reader, limits)
        sizes = {name: np.size(each) for name in (*PER_CHANNEL, "scale_factor") if np.ndim(each := getattr(self, name))}
        if len(set(sizes.values())) > 1:
            reader.report("wrong-length", "channels", sizes, "one for each channel, or one for all", "count the channels")
        reader.raise_findings()

    @classmethod
    def lag(cls, time_constant: float, **others: Any) -> SignalPath:
        """Return a path whose filter is ``1 / (time_constant s + 1)``.

        Parameters
        ----------
        time_constant : float, s
            A parameter of the model: ``motor.path.time_constant``.
        **others
            As of `SignalPath`.
        """
        return cls(LinearFilter("lag", {"time_constant": time_constant}), **others)

    @classmethod
    def second_order(cls, frequency: float, damping: float, **others: Any) -> SignalPath:
        """Return a path whose filter is ``w^2 / (s^2 + 2 damping w s + w^2)``, w the frequency.

        Parameters
        ----------
        frequency : float, rad/s
        damping : float
            Both are parameters of the model: ``gyro.path.frequency``, ``gyro.path.damping``.
        **others
            As of `SignalPath`.
        """
        return cls(LinearFilter("second_order", {"frequency": frequency, "damping": damping}), **others)

    @property
    def filters(self) -> tuple[LinearFilter, ...]:
        """The different filters: none, one, or one for each channel."""
        return () if self.filter is None else self.filter if isinstance(self.filter, tuple) else (self.filter,)

    def channel_filters(self, count: int) -> list[LinearFilter]:
        """Return the filters of a device with `count` channels, whose states follow one another."""
        if len(self.filters) != 1 or self.filters[0].channels > 1:
            return list(self.filters)
        return list(self.filters) * count

    def law(self, count: int) -> tuple[Array, Array, Array, Array]:
        """Return A (k, k), B (k, n), C (n, k) and D (n, n) of the filter of `count` = n channels; the unit of time is s."""
        from scipy.linalg import block_diag

        if not self.filters:
            return np.zeros((0, 0)), np.zeros((0, count)), np.zeros((count, 0)), np.eye(count)
        laws = [each.law for each in self.channel_filters(count)]
        A, B, C, D = (block_diag(*matrices) for matrices in zip(*laws, strict=True))
        return A, B, C, D

    @property
    def is_scaled(self) -> bool:
        """Whether scale factors or a misalignment are given."""
        return self.scale_factor is not None or self.misalignment is not None

    def scaling(self, count: int) -> Array:
        """Return what misalignment and scale factors make of `count` = n channels: a matrix (n, n) without unit."""
        turned = np.eye(count) if self.misalignment is None else np.eye(3) - skew(self.misalignment)
        return turned if self.scale_factor is None else (1.0 + np.atleast_1d(self.scale_factor))[:, None] * turned

    def paces(self, count: int) -> list[Any]:
        """Return by what rates of states are multiplied to be polynomials in parameters, for `count` channels.

        They are the time constants (s) of lags, else 1.
        """
        return [each.numbers.get("time_constant", 1.0) for each in self.channel_filters(count) for _ in each.law[0]]

    def state_names(self, count: int) -> tuple[str, ...]:
        """Return the names of the filter's states, ``lag[0]``, for `count` channels."""
        kinds = [each.kind for each in self.channel_filters(count) for _ in range(each.order)]
        return tuple(f"{kind}[{k}]" for k, kind in enumerate(kinds))

    def state_units(self, units: Sequence[str]) -> tuple[str, ...]:
        """Return the units of the filter's states, for the `units` of the channels."""
        filters = self.channel_filters(len(units))
        if len(filters) < len(units):
            return ("1",) * sum(each.order for each in filters)
        return tuple(each for filter, unit in zip(filters, units, strict=True) for each in filter.state_units(unit))

    def parameters(self) -> dict[str, str]:
        """Return the names of the path's parameters, each with its unit: "" for that of the signal."""
        names = [(k, each) for k, each in enumerate(self.filters)]
        several = len(names) > 1
        units = {
            f"{name}.{k}" if several else name: unit
            for k, each in names
            for name, unit in LinearFilter.UNITS.get(each.kind, {}).items()
        }
        for name, unit in _PARAMETERS.items():
            size = np.shape(getattr(self, name))
            if getattr(self, name) is not None:
                units |= dict.fromkeys([f"{name}.{k}" for k in range(*size)] if size else [name], unit)
        return units

    def parameter(self, name: str) -> Any:
        """Return the value of the parameter called `name`."""
        stem, k = owner_of(name), entry_of(name)
        if stem in _PARAMETERS:
            return getattr(self, stem)[int(k)] if k else getattr(self, stem)
        return self.filters[int(k) if k else 0].numbers[stem]

    def with_parameters(self, values: Mapping[str, Any]) -> SignalPath:
        """Return a path with some parameters changed to `values`, by their names in `parameters`."""
        changed = copy.copy(self)
        for name, value in values.items():
            stem, k = owner_of(name), entry_of(name)
            if stem in _PARAMETERS:
                known = getattr(changed, stem)
                setattr(changed, stem, np.where(np.arange(len(known)) == int(k), value, known) if k else value)
                continue
            filters = [
                replace(each, numbers={**each.numbers, stem: value}) if j == (int(k) if k else 0) else each
                for j, each in enumerate(changed.filters)
            ]
            changed.filter = tuple(filters) if isinstance(changed.filter, tuple) else filters[0]
        return changed

    def findings(self, where: str, channels: int) -> list[Finding]:
        """Return what is wrong with the path, called `where` in messages, on a device with so many `channels`."""
        wrong = []
        sizes = {name: np.size(getattr(self, name)) for name in (*PER_CHANNEL, "scale_factor") if np.ndim(getattr(self, name))}
        if self.limits is not None and self.limits.ndim == 2:
            sizes["limits"] = self.limits.shape[1]
        filters = self.channel_filters(channels)
        sizes |= {"filter": sum(each.channels for each in filters)} if filters else {}
        for name, size in sizes.items():
            if size != channels:
                expected, advice = f"{channels}, one for each channel of the device", "give one for all, or one for each"
                wrong.append(Finding("wrong-length", f"{where}.{name}", f"{size} channels", expected, advice))
        if self.misalignment is not None and channels != 3:
            expected, advice = "a device of three channels: a vector in its port's axes", "leave it out"
            wrong.append(Finding("no-vector", f"{where}.misalignment", f"{channels} channels", expected, advice))
        for each in self.filters:
            for name, value in each.numbers.items():
                number = real_array(value)
                least = 0.0 if name == "damping" else TINY
                if number is None or number.ndim or not least <= number < np.inf:
                    expected = "zero or more" if name == "damping" else "a positive number"
                    wrong.append(Finding("bad-filter", f"{where}.{name}", value, expected, "leave the filter out for none"))
        return wrong

    def described(self) -> dict[str, Any]:
        """Return the arguments that differ from their defaults, as numbers, lists and tables, which files hold."""
        entries = {name: value.tolist() if isinstance(value, np.ndarray) else value for name, value in vars(self).items()}
        filters = [each.described() for each in self.filters]
        entries["filter"] = (filters if isinstance(self.filter, tuple) else filters[0]) if filters else None
        return {name: value for name, value in entries.items() if value != _DEFAULTS[name].default}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SignalPath) and self.described() == other.described()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"SignalPath({', '.join(f'{name}={value}' for name, value in self.described().items())})"


_DEFAULTS = inspect.signature(SignalPath).parameters


def _read_per_channel(reader: FieldReader, name: str, value: Any) -> Any:
    numbers = real_array(value)
    if numbers is None or numbers.ndim > 1 or not numbers.size:
        reader.report("wrong-type", name, value, "a number, or one for each channel", "give finite numbers")
        return 0.0
    if name == "rate_limit":
        if not (numbers > 0).all():
            reader.report("bad-rate", name, value, "more than zero", "leave it out for no limit")
    elif not np.isfinite(numbers).all():
        reader.report("not-finite", name, value, "finite numbers", "check the numbers")
    elif name not in _PARAMETERS and not (numbers >= 0).all():
        reader.report("negative", name, value, "zero or more", "give a size: zero for none")
    return numbers.item() if numbers.ndim == 0 else numbers


def _read_correlation(reader: FieldReader, value: Any) -> Any:
    times = real_array(value)
    if times is None or times.shape not in ((), (1,), (2,)) or not (np.diff([0.0, *times.flat, np.inf]) > 0).all():
        expected = "a positive number, or a shorter and a longer time"
        reader.report("bad-time", "correlation_time", value, expected, "write correlation_time=(1.0, 1e4)")
        return 1.0
    return float(times.item()) if times.size == 1 else tuple(times.tolist())


def _read_limits(reader: FieldReader, value: Any) -> Array:
    limits = real_array(value)
    if limits is None or limits.ndim not in (1, 2) or len(limits) != 2 or not (limits[0] <= limits[1]).all():
        reader.report("bad-limits", "limits", value, "a lower and an upper limit", "write limits=(-1.0, 1.0)")
        return np.array([-np.inf, np.inf])
    return limits
