"""Linear fractional models: members, closed loops, samples, files."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.notebook import page_of, table
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import SAME
from titop.blocks.basics.user_input import read_array
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.control.controllers import Loop, naming, read_loops
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.lft.arithmetic import LFTArithmetic, outside, with_neglected
from titop.solvers.lft.delta_blocks import DeltaBlock, channel_counts, real_fraction
from titop.solvers.lft.feedback import Closing, closed_loop, read_closing
from titop.solvers.lft.fractions import close_deltas
from titop.solvers.lft.lft_files import load_lft, save_lft
from titop.solvers.lft.members import Family, coarse_findings, read_values, refuse_complex, response_error
from titop.solvers.lft.moving_equilibria import MovingCoordinate
from titop.solvers.lft.several_rates import join_closings, read_controllers
from titop.solvers.lft.uncertainty import Uncertain
from titop.solvers.linear.path_series import PathTiming, without_fractions
from titop.solvers.linear.state_space import named_signals, named_system, signal_tables, sizes_text

if TYPE_CHECKING:
    from control import StateSpace

#: Largest number of corners: of more, as many are drawn at random.
_CORNERS = 64

#: Number of members that are checked when a model is sampled.
_LOOKED_AT = 4


@dataclass(frozen=True, eq=False)
class LFTModel(LFTArithmetic):
    """A linear model closed by normalised uncertain blocks: ``w = Δ z``; made by `lft`.

    Attributes
    ----------
    M : control.StateSpace
        Inputs w then u, outputs z then y, the channels of each block together, in the order of `blocks`. Sampled (``M.dt``)
        after a sampled controller was closed.
    blocks : tuple of DeltaBlock
        Names, kinds, repetitions, ranges, and the least number of repetitions of any model with this response.
    uncertain : tuple of Uncertain
        The names of the system that each real block stands for.
    members : Family or None
        Makes members of the system by `linearize`, with all controllers closed since; None for loaded and composed models.
    error : float
        If laws or equilibria are fitted, the largest difference from members of the model that `lft` returned: see `check`.
    moving : tuple of MovingCoordinate
        Quantities of an equilibrium that depend on the parameters, and the accuracy of their fits.
    paths : tuple of PathTiming
        Delays and sample times of devices among inputs and outputs, which no controller uses yet; none of composed models.

    Notes
    -----
    Arguments of the methods: `values` maps names of uncertain parameters to physical values, `named` are the same as keywords
    with underscores for dots; omitted ones are nominal. Values may be the `member` of a result, which also names complex and
    full blocks. `deltas` are normalised values, one for each block (no unit). `n` is a number of random values, `seed` their
    seed. `path` is that of a file.

    Models are added, subtracted and multiplied with each other, with state spaces, matrices and numbers, as systems of
    python-control are: ``second * first``. Parameters of the same name are the same parameter. Results are composed models,
    which make no members of a system by `check` and `operating_point`: ask the models that they were made of.
    """

    M: StateSpace
    blocks: tuple[DeltaBlock, ...]
    uncertain: tuple[Uncertain, ...]
    members: Family | None = None
    error: float = 0.0
    moving: tuple[MovingCoordinate, ...] = ()
    paths: tuple[PathTiming, ...] = ()

    # -- members -------------------------------------------------------------------------------------------------------

    @property
    def nominal(self) -> StateSpace:
        """The member with nominal values."""
        return self.at()

    def at(self, values: Mapping[str, float] | None = None, **named: float) -> StateSpace:
        """Return the member at some values of the parameters.

        Write ``model.at({"hub.mass": 95.0})`` or ``model.at(hub_mass=95.0)``; complex and full blocks are zero.

        Raises
        ------
        ModelError
            For unknown names, complex blocks that are not zero, impossible values (a mass below zero), and values
            without a response (a singular mass matrix).
        """
        given = {**read_mapping("values", {} if values is None else values), **named}
        refuse_complex("at", given, self.blocks)
        deltas = self.deltas(given)
        if self.members is not None and (np.abs(deltas) > 1.0 + SAME).any():
            self.members.uncertainty.model_at(self.values(given))
        return self.closed_by(deltas)

    def deltas(self, values: Mapping[str, Any]) -> Array:
        """Return the normalised values (n, no unit) of the n blocks; zero for complex and full ones, nominal where omitted."""
        found, result = read_values("deltas", values, self.uncertain, self.blocks), np.zeros(len(self.blocks))
        for k, block in enumerate(self.blocks):
            value = found.get(block.name)
            if value is not None:
                result[k] = block.normalised(value)
                if np.isinf(result[k]):
                    advice = "take one a little off, or a nominal value in the middle of the range"
                    expected = "a value that is finite as a part of the range"
                    raise ModelError(Finding("no-member", block.name, value, expected, advice))
            elif block.centre != block.nominal:
                result[k] = block.normalised(block.nominal)
        return result

    def closed_by(self, deltas: Sequence[float] | Array) -> StateSpace:
        """Return the member at normalised values, one for each block; complex and full blocks are zero.

        Raises
        ------
        ModelError
            For a wrong number of values, and where the system has no response.
        """
        count = len(self.blocks)
        wrong = Finding("wrong-shape", "closed_by", deltas, f"{count} numbers, one of each block", "use at, or see deltas")
        numbers = read_array(wrong, lambda numbers: numbers.shape == (count,)).tolist()
        real = [x for x, block in zip(numbers, self.blocks, strict=True) if block.kind == "real"]
        try:
            small = close_deltas(real_fraction(self.M, self.blocks), [*real, None])
        except np.linalg.LinAlgError:
            small = None
        if small is None or not all(np.isfinite(part).all() for part in small[:4]):
            shown = ", ".join(
                f"{block.name} = {block.value(float(x)):.6g}"
                for x, block in zip(deltas, self.blocks, strict=True)
                if block.kind == "real"
            )
            advice = "a mass matrix is singular there: narrow the ranges"
            raise ModelError(Finding("ill-posed", "at", shown, "values at which the system has a response", advice))
        (w, z), (states, inputs, outputs) = self.channels, named_signals(self.M)
        return named_system(small[:4], states, inputs[w:], outputs[z:], str(self.M.name), float(self.M.dt or 0.0))

    @property
    def channels(self) -> tuple[int, int]:
        """Numbers of entries of w and z."""
        return channel_counts(self.blocks)

    def samples(self, n: int, seed: int = 0) -> list[dict[str, float]]:
        """Return n random sets of values, uniform in the ranges, by the first name of each parameter; see `at`.

        They do not depend on the order of the blocks: names are drawn in alphabetical order.
        """
        rng = np.random.default_rng(seed)
        real = sorted((block for block in self.blocks if block.kind == "real"), key=lambda block: block.name)
        return [{block.name: float(rng.uniform(block.lower, block.upper)) for block in real} for _ in range(n)]

    def corners(self, most: int = _CORNERS) -> list[dict[str, float]]:
        """Return the sets of values at the ends of all ranges; if there are more than `most`, as many random ones."""
        real = sorted((block for block in self.blocks if block.kind == "real"), key=lambda block: block.name)
        if 2 ** len(real) <= most:
            ends = [*itertools.product((0, 1), repeat=len(real))]
        else:
            ends = [tuple(row) for row in np.random.default_rng(0).integers(0, 2, (most, len(real))).tolist()]
        return [{b.name: (b.lower, b.upper)[end] for b, end in zip(real, row, strict=True)} for row in ends]

    def values(self, values: Mapping[str, Any]) -> dict[str, float]:
        """Return the values of all parameters of the system, from those of some names: for ``m.with_parameters``.

        Complex and full blocks are omitted: the system has no such dynamics. Angles, rates and gains are not
        parameters of a system; `operating_point` sets angles and rates.

        Raises
        ------
        ModelError
            For unknown names.
        """
        found, result = read_values("values", values, self.uncertain, self.blocks), dict[str, float]()
        for uncertain in self.uncertain:
            result |= uncertain.values(found.get(uncertain.name, uncertain.block.nominal))
        return result

    def operating_point(self, values: Mapping[str, Any] | None = None, **named: float) -> OperatingPoint:
        """Return the point of `lft` with a member's parameters, coordinates and rates, for `linearize` and `simulate`.

        Its efforts hold it, or keep the accelerations of the point of `lft`; `simulate` applies them. Complex and
        full blocks are omitted. A gain is not part of a system: a value other than one gives a `ModelWarning`.

        Returns
        -------
        OperatingPoint
            Of the changed model, ``point.model``.

        Raises
        ------
        ModelError
            For unknown names, values that a block rejects, and a loaded model.

        Examples
        --------
        >>> import titop as tt
        >>> s = tt.System("swing", gravity=[0, 0, -9.81])
        >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
        >>> m = s.resolve()
        >>> swing = tt.lft(m, m.neutral(), {"bob.mass": tt.percent(10)}, inputs=["hinge"], outputs=["hinge.q"])
        >>> swing.operating_point({"bob.mass": 1.9}).model.parameters()["bob.mass"]
        (1.9, 'kg')
        """
        members, wanted = self._members("operating_point"), self.values({**(values or {}), **named})
        gains = members.gains(wanted)
        advice = "multiply the signal where it is used"
        warn(Finding("gain-left-out", f"operating_point: {name}", wanted[name], "a gain of one", advice) for name in gains)
        return members.point_at(wanted)

    def check(self, n: int = 10, corners: bool = True, seed: int = 1) -> float:
        """Return the largest difference between members and the result of `linearize` for the changed model.

        Controllers that were closed are closed around each linear model: sampled ones around the exactly sampled model with
        held inputs; delays in continuous time are exact, not fractions. Complex and full blocks are zero.

        Parameters
        ----------
        n : int
            Number of random members.
        corners : bool
            Whether to compare members at the ends of the ranges too.
        seed : int

        Returns
        -------
        float
            Relative to the norm of the response, over 40 frequencies around the poles, up to half the sampling frequency.

        Raises
        ------
        ModelError
            For a loaded model, which cannot make members of its system.
        """
        members, worst = self._members("check"), 0.0
        for values in (*self.samples(n, seed), *(self.corners() if corners else ())):
            whole = self.values(values)
            worst = max(worst, response_error(self.at(values), partial(members.response, whole)))
        return worst

    def _members(self, where: str) -> Family:
        if self.members is None:
            advice = "ask the result of tt.lft itself, with the same values: files, sums and products hold matrices, no system"
            raise ModelError(Finding("no-model", where, "a loaded or composed model", "a model with its system", advice))
        return self.members

    # -- connections ---------------------------------------------------------------------------------------------------

    def close(self, controller: Any, stages: int = 1, delay: Any = 0.0, order: int = 4, sign: int = 1) -> LFTModel:
        """Return the loop closed by a controller, connected by names: ``u = u_outside + sign K y``.

        A sampled controller makes a sampled model, all inputs of which are held over each period, like the controller's. The
        nominal loop is exact, with its delays. In members, the effect of uncertain parameters is a polynomial over the period,
        through `stages` points. Its error decreases with the power ``2 stages`` of the period (``stages + 1`` if a delay is not
        a whole number of periods), and increases with the frequencies of the uncertain dynamics. `check` computes it; errors
        above 1 % of the response in some members give a `ModelWarning`. Each stage has the repetitions of the continuous model;
        outputs with a feedthrough from uncertain parameters (accelerations) need them once more. Complex and full blocks take
        and return sampled signals. A sampled model can be closed again, by controllers of its period.

        A sampled controller reads its inputs at the sampling instants before its commands there take effect, as in
        `simulate`. So, of outputs with a feedthrough from inputs (accelerations, reactions), it reads the values with the
        inputs of the period before, which are further states; the model's other outputs use the new inputs.

        Several controllers, of other rates too, may be listed as in `simulate`: alone, as `Loop` or as mappings. Those in
        continuous time are closed first. The others make a model sampled with the least common multiple of their sample times,
        at whose instants all have a sample; in between all is as above, exact, delays too. Inputs are held over this period,
        outputs are those at its beginning, uncertain parameters have the repetitions of each step.

        Devices with a `SignalPath` that a sampled controller uses are sampled, held and delayed exactly, as in `simulate`:
        commands by the sample times and delays of actuators, readings by those of sensors with a sample time. A sample time
        that divides the controller's changes delays alone; others count as further rates. Outputs of such sensors are what
        controllers read. Delays of other devices, and of those that a controller in continuous time uses, stay Padé fractions
        of order 4 (see `SignalPath`), as do all of composed models.

        In continuous time a delay is a Padé fraction, of gain one at all frequencies, with an error below
        ``order!^2 / ((2 order)! (2 order + 1)!) x^(2 order + 1)`` where x is the delay times the frequency: for order 4, below
        1e-4 up to x = 2.4 rad, 1e-2 up to 4 rad.

        Parameters
        ----------
        controller : control.StateSpace, control.TransferFunction or Loop, or a list of these
            Its inputs named as outputs of the model, its outputs as inputs of the model. Of a `Loop` the controller, sample
            time and delay count here; references, noise and operating points are for simulations.
        stages : int
            Points in each period, up to 6, for a continuous model closed by a sampled controller.
        delay : float or mapping of name to float, s
            Of the controller's outputs, whole sampling periods and parts of them; zero for outputs that are not named.
        order : int
            Order of fractions for delays in continuous time, up to 10.
        sign : {1, -1}
            `simulate` gives a K that takes y alone the error ``reference - y``: with ``sign=-1`` the same K makes the same loop
            here, its references zero. A K that also takes the references, by inputs ``r_<output>``, gets the outputs
            themselves in both, with ``sign=1``; here its references are further inputs of the loop. Of several controllers
            the sign is that of those that take y alone.

        Returns
        -------
        LFTModel
            With the same inputs, outputs and blocks, and further inputs for references that K takes; sampling changes the
            blocks' repetitions. The model's states are followed by inputs of the period before, named ``input.before``, the
            states of the controller, and those of delays.

        Raises
        ------
        ModelError
            For unknown names, sample times other than the model's or without a common multiple, unusable delays, ill-posed
            algebraic loops, and controllers of sampled models that read outputs with a feedthrough from inputs: close these
            first. For devices of sampled models that are sampled or delayed, and for complex and full blocks in loops of
            several rates.

        Examples
        --------
        >>> import control
        >>> import titop as tt
        >>> s = tt.System("swing", gravity=[0, 0, -9.81])
        >>> s.connect("world", tt.RigidBody("bob", mass=2.0, com=[0, 0, -1]), joint=tt.Revolute("hinge", axis=[0, 1, 0]))
        >>> m = s.resolve()
        >>> swing = tt.lft(m, m.neutral(), {"bob.mass": tt.percent(10)}, inputs=["hinge"], outputs=["hinge.v"])
        >>> K = control.ss([], [], [], [[-3.0]], 0.05, inputs=["hinge_v"], outputs=["hinge"])
        >>> loop = swing.close(K, delay=0.02)
        >>> loop.M.dt, loop.blocks[0].repetitions, loop.check() < 1e-3
        (0.05, 1, True)
        """
        several, model = isinstance(controller, Loop | Mapping | list | tuple), self
        continuous, sampled = read_controllers(read_loops(Loop(controller, delay=delay)))
        for k, loop in continuous:
            with naming(k if several else None):
                model = model._closed_by(read_closing(model, loop.controller, stages, loop.delay, order, sign, mixed=several))
        return model._closed_by(join_closings(model, model.paths, sampled, stages, order, sign, several)) if sampled else model

    def _closed_by(self, closing: Closing) -> LFTModel:
        open_loop = replace(self, M=without_fractions(self.M, closing.timed)) if closing.timed else self
        M, blocks = closed_loop(open_loop, closing)
        known = {block.name: block for block in blocks}
        uncertain = tuple(each._replace(block=known[each.name]) for each in self.uncertain)
        members = self.members
        if members is not None:
            members = members._replace(closings=(*members.closings, closing), timed=(*members.timed, *closing.timed))
        (w, z), (_, inputs, outputs) = self.channels, named_signals(self.M)
        joined = {inputs[w + k].path for k in closing.driven} | {outputs[z + k].path for k in closing.taken}
        paths = tuple(timing for timing in self.paths if timing.path not in joined)
        result = replace(self, M=M, blocks=blocks, uncertain=uncertain, members=members, paths=paths)
        if closing.sampling:
            warn(coarse_findings(closing, ((open_loop.at(x), result.at(x)) for x in result.samples(_LOOKED_AT))))
        return result

    def append(
        self, name: Any, signals: str | Sequence[str] = (), weight: Any = 1.0, kind: str = "multiplicative", outputs: Any = ()
    ) -> LFTModel:
        """Return the model with neglected dynamics: a stable Δ(s) with a gain of at most one, and a weight.

        Or ``append(system)``: with a known system behind some outputs, such as a sensor or a weight, its inputs named as these.
        Outputs are then those of the system, and those of the model that it does not take; see `prepend`.

        Multiplicative: signals become ``(1 + Δ W) signals``; at inputs these are neglected dynamics of actuators, at outputs of
        sensors. Additive: outputs become ``outputs + Δ W inputs``, for neglected modes. Several signals have one full block.

        Append before closing: inputs and outputs of a closed loop lie outside of it, so that blocks there are in no loop,
        and do not affect its stability; a `ModelWarning` says so.

        Parameters
        ----------
        name : str, LFTModel or control.StateSpace
            Of the new block: complex for one signal, full for several; or the known system, without other arguments.
        signals : str or sequence of str
            Only inputs or only outputs; for additive blocks inputs. The name of a vector stands for its entries.
        weight : float, control.StateSpace, control.TransferFunction, or sequence of one for each signal
            Size over frequency, stable, relative or in units of the outputs over those of the inputs. One with one input and
            output is applied to each signal; another takes all signals, and may have any number of outputs.
        kind : {"multiplicative", "additive"}
        outputs : str or sequence of str
            The outputs to which an additive block adds.

        Raises
        ------
        ModelError
            For unknown signals, names already in use, and unusable weights.
        """
        if not isinstance(name, str):
            if signals or outputs:
                expected, advice = "a system alone", "name its inputs as the outputs that it takes"
                raise ModelError(Finding("bad-value", "append: signals, outputs", (signals, outputs), expected, advice))
            return self._append_system(name)
        M, block = with_neglected(self, name, signals, weight, kind, outputs)
        result = replace(self, M=M, blocks=(*self.blocks, block))
        if M.dt or (self.members and self.members.closings):
            warn(outside(result))
        return result

    def save(self, path: str | Path) -> None:
        """Write the model to a ``.npz``, ``.mat`` (MATLAB) or ``.nc`` (netCDF) file; `load` reads them.

        A ``.mat`` file has ``A, B, C, D``, delta channels first, and ``blk`` in the form of mussv: ``[-r 0]`` for a real block
        repeated r times, ``[r 0]`` for a complex one, ``[rows columns]`` for a full one.

        Raises
        ------
        ModelError
            If the path has another suffix.
        """
        save_lft(path, self.M, self.blocks, self.uncertain, self.error, self.moving, self.paths)

    @classmethod
    def load(cls, path: str | Path) -> LFTModel:
        """Read a file written by `save`.

        Raises
        ------
        ModelError
            If the file is not such a file.
        """
        return cls(*load_lft(path))

    def _repr_html_(self) -> str:
        head = "name", "kind", "repetitions", "least", "nominal", "most", "unit"
        rows = ((b.name, b.kind, b.repetitions, b.lower, b.nominal, b.upper, b.unit) for b in self.blocks)
        (states, inputs, outputs), (w, z) = named_signals(self.M), self.channels
        return page_of(self, table("blocks", rows, head), *signal_tables(states, inputs[w:], outputs[z:]))

    def __repr__(self) -> str:
        blocks = ", ".join(f"{block.name}: {block.repetitions}" for block in self.blocks)
        w, z = self.channels
        sizes = sizes_text(self.M.nstates, self.M.ninputs - w, self.M.noutputs - z)
        return f"LFTModel({self.M.name!r}, {blocks}; {sizes})"
