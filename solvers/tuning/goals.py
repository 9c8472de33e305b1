"""What a tuned loop is to achieve: `Goal`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.state_space import read_linear
from titop.solvers.tuning.peaks import EVERYWHERE, Band

#: What a goal may be about.
KINDS = ("gain", "h2", "shape", "margins", "poles", "tracking", "rejection")


@dataclass(frozen=True)
class Weight:
    """A weight over frequency: a number, or a stable linear system with one input and one output."""

    system: Matrices

    @classmethod
    def read(cls, where: str, weight: Any) -> Weight:
        """Return a weight of a number, a transfer function or a state space.

        Raises
        ------
        ModelError
            For others, and for weights that are sampled, unstable or not scalar.
        """
        if isinstance(weight, int | float) and not isinstance(weight, bool):
            return cls(Matrices.constant(np.array([[float(weight)]])))
        system = read_linear(where, weight, "a number, a control.TransferFunction or a control.StateSpace")
        if (system.ninputs, system.noutputs) != (1, 1) or system.dt:
            expected = "one input and one output in continuous time"
            got = f"{system.ninputs} inputs, {system.noutputs} outputs, a step of {system.dt} s"
            raise ModelError(Finding("wrong-shape", where, got, expected, "give weights by channel as goals of their own"))
        result = cls(Matrices.of(system))
        if result.system.poles.size and result.system.poles.real.max() >= 0:
            advice = "move poles on the axis a little to the left"
            raise ModelError(
                Finding("unstable", where, f"a pole at {result.system.poles.real.max():.4g}", "a stable weight", advice)
            )
        return result

    @property
    def is_constant(self) -> bool:
        """Whether it is a number."""
        return not len(self.system.A)

    def sizes(self, omega: Array) -> Array:
        """Return its size (n) at frequencies (rad/s)."""
        if self.is_constant:
            return np.full(len(omega), abs(float(self.system.D[0, 0])))
        finite = np.where(np.isinf(omega), 0.0, omega)
        result = np.abs(self.system.responses(1j * finite)[:, 0, 0])
        return np.where(np.isinf(omega), abs(float(self.system.D[0, 0])), result)


@dataclass(frozen=True)
class Goal:
    """A goal of `tune`; made by the class methods. Its value is what was reached over what is allowed: met if at most one.

    Channels are named by the plant's signals. An input of a goal that is one of the plant's is a disturbance there; one that is
    an output of the plant is noise on that measurement; ``r_`` before an output is its reference. An output that is one of the
    plant's is its true value; one that is an input of the plant is what the controller gives to it.

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
    numbers : dict
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
    numbers: tuple[tuple[str, float], ...] = ()

    def __str__(self) -> str:
        where = ", ".join(self.at) if self.at else f"{', '.join(self.inputs)} -> {', '.join(self.outputs)}"
        numbers = ", ".join(f"{name} {value:g}" for name, value in self.numbers)
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
        """
        return cls(
            "gain", _names("input", input), _names("output", output), (), _positive("bound", bound), Weight.read("weight", weight),
            _band(band), hard, _names("opened", opened, some=False),
        )  # fmt: skip

    @classmethod
    def h2(cls, input: Any, output: Any, bound: float = 1.0, *, hard: bool = False, opened: Any = ()) -> Goal:
        """Return a limit of the H2 norm: the root of the sum of variances of outputs for white noise of unit density.

        Of a sampled loop, for independent samples of unit variance.

        Parameters
        ----------
        input, output : str or sequence of str
        bound : float
        hard : bool
        opened : str or sequence of str
            Inputs of the plant at which the loop is opened.
        """
        return cls(
            "h2", _names("input", input), _names("output", output), (), _positive("bound", bound), None, EVERYWHERE, hard,
            _names("opened", opened, some=False),
        )  # fmt: skip

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
        """
        return cls(
            "shape", (), (), _names("at", at), math.sqrt(2), Weight.read("target", target), _band(band), hard,
            _names("opened", opened, some=False),
        )  # fmt: skip

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
            The disk with the larger of both margins is required.
        disk : float, optional
            Its size, in place of these; 2 is a phase margin of 90 degrees.
        skew : float
            Zero for gains that rise as much as they fall.
        hard : bool
        band : (float, float), rad/s, optional
        opened : str or sequence of str
        """
        factor = 10 ** (_positive("gain", gain) / 20)
        by_phase = 2 * math.tan(math.radians(_positive("phase", phase)) / 2)
        size = max(2 * (factor - 1) / (factor + 1), by_phase) if disk is None else _positive("disk", disk)
        numbers = (("disk", size), ("skew", float(skew)))
        return cls(
            "margins",
            (),
            (),
            _names("at", at),
            1 / size,
            None,
            _band(band),
            hard,
            _names("opened", opened, some=False),
            numbers,
        )

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
            No pole is farther from zero.
        of : {"loop", "controller"}
            Whose poles: a controller's own stability is ``decay`` just above zero.
        hard : bool
        """
        if of not in ("loop", "controller"):
            raise ModelError(Finding("bad-value", "of", of, '"loop" or "controller"', "whose poles are meant"))
        numbers = tuple(
            (k, float(v)) for k, v in (("decay", decay), ("damping", damping), ("fastest", fastest)) if v not in (0, np.inf)
        )
        if not numbers or any(not v > 0 for _, v in numbers):
            raise ModelError(
                Finding("bad-value", "poles", dict(numbers), "a positive decay, damping or fastest pole", "such as decay=0.5")
            )
        return cls(
            "poles", (), (), (), 1.0, None, EVERYWHERE, hard, (), (*numbers, ("of controller", float(of == "controller")))
        )

    @classmethod
    def tracking(
        cls,
        output: Any,
        time: float,
        error: float = 0.001,  # noqa: tolerances
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
            Of a step, as a part of it: it limits the highest gain of the response to that of a pair of poles with this overshoot.
        hard : bool
        band : (float, float), rad/s, optional
        """
        numbers = (("time", _positive("time", time)), ("error", _positive("error", error)), ("peak", _positive("peak", peak)))
        if overshoot is not None:
            numbers = (*numbers, ("overshoot", _positive("overshoot", overshoot)))  # type: ignore[assignment]
        names = _names("output", output)
        return cls("tracking", (), (), names, 1.0, None, _band(band), hard, (), numbers)

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
        """
        return cls(
            "rejection", (), (), _names("at", at), 1.0, Weight.read("factor", factor), _band(band), hard,
            _names("opened", opened, some=False),
        )  # fmt: skip


def _names(where: str, names: Any, some: bool = True) -> tuple[str, ...]:
    """Return one name or several."""
    result = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Sequence) else ()
    if (some and not result) or not all(isinstance(name, str) for name in result):
        raise ModelError(Finding("wrong-type", where, names, "a signal's name or several", "such as 'hinge.q'"))
    return result


def _positive(where: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.floating) or not 0 < value < np.inf:
        raise ModelError(Finding("bad-value", where, value, "a positive number", "see the goal's description"))
    return float(value)


def _band(band: Any) -> Band:
    """Return a band checked."""
    if band is None:
        return EVERYWHERE
    try:
        low, high = (float(end) for end in band)
    except (TypeError, ValueError):
        low, high = 1.0, 0.0
    if not 0 <= low < high:
        raise ModelError(
            Finding("bad-value", "band", band, "two frequencies (rad/s) in ascending order", "such as (0.1, 10.0)")
        )
    return low, high
