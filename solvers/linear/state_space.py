"""Linear systems with named signals, as python-control holds them: made, read, signals found by name.

They are a subclass of ``control.StateSpace``, so that operations of python-control keep names and units, and that they pickle.
"""

from __future__ import annotations

import copyreg
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.notebook import counted, page, table
from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CANCELLED, SAME
from titop.solvers.signals.exported import Signal, exported_name, stems, table_of

if TYPE_CHECKING:
    from control import StateSpace


def named_system(
    matrices: Iterable[Array],
    states: Sequence[Signal],
    inputs: Sequence[Signal],
    outputs: Sequence[Signal],
    name: str,
    period: float | None = 0.0,
    operating_point: Mapping[str, Mapping[str, float]] | None = None,
) -> StateSpace:
    """Return matrices as a named system that carries its table of signals; with a sampling period (s) in discrete time.

    A `period` of None is python-control's, of systems in either time.

    `operating_point` has the values of `OperatingPoint.values_by_name`, where the point of the system is known.
    """
    if not inputs and 1 in (len(states), len(outputs)):
        got, expected = f"{len(states)} states, {len(outputs)} outputs and no inputs", "what python-control can hold"
        raise ModelError(Finding("no-inputs", "inputs", got, expected, "name an input, or take another state or output along"))
    system: StateSpace = _system_class()(matrices, states, inputs, outputs, exported_name(name), period)
    system.operating_point = operating_point
    return system


@cache
def _system_class() -> Any:
    """Return the class of named systems; python-control is imported here, not where titop is.

    From then on its own state spaces pickle, too, such as controllers that are sent to other processes.
    """
    import control

    copyreg.pickle(control.StateSpace, _reduce_plain)

    class SignalStateSpace(control.StateSpace):
        """A state space whose signals have paths and units, which operations of python-control keep."""

        def __init__(self, matrices: Any, states: Any, inputs: Any, outputs: Any, name: str, period: Any) -> None:
            super().__init__(
                *(matrix + 0.0 for matrix in matrices),  # no negative zeros
                *((period,) if period or period is None else ()),
                states=[signal.name for signal in states] or 0,
                inputs=[signal.name for signal in inputs] or 0,
                outputs=[signal.name for signal in outputs] or 0,
                name=name,
                remove_useless_states=False,
            )
            self.signals = table_of(states, inputs, outputs)
            self.operating_point = None

        def _repr_html_(self) -> str:
            names = *(f"d/dt {x}" if self.dt == 0 else f"next {x}" for x in self.state_labels), *self.output_labels
            rows = zip(names, np.block([[self.A, self.B], [self.C, self.D]]), strict=True)
            head = "", *self.state_labels, *self.input_labels
            matrices = table("A, B, C, D", ((name, *row) for name, row in rows), head)
            facts = sizes_text(self.nstates, self.ninputs, self.noutputs) + (f"; sample time {self.dt} s" if self.dt else "")
            return page(self.name, facts, matrices, *signal_tables(*named_signals(self)))

        def __reduce__(self) -> tuple[Any, ...]:
            matrices = self.A, self.B, self.C, self.D
            return named_system, (matrices, *named_signals(self), self.name, self.dt, self.operating_point)

        def _named(self, result: Any, states: Any, inputs: Any, outputs: Any) -> Any:
            if not isinstance(result, control.StateSpace):
                return result
            groups, labels = (states, inputs, outputs), (result.state_labels, result.input_labels, result.output_labels)
            x, u, y = (
                unlike(group, ()) if group is not None and len(group) == len(names) else [Signal(name, "") for name in names]
                for group, names in zip(groups, labels, strict=True)
            )
            return named_system((result.A, result.B, result.C, result.D), x, u, y, result.name, result.dt or 0.0)

        def _about(self, result: Any) -> Any:
            result.operating_point = self.operating_point
            return result

        def _joined(self, result: Any, other: Any, first: bool = True) -> list[Signal]:
            mine = named_signals(self)[0]
            more = getattr(result, "nstates", len(mine)) - len(mine)
            states = (
                named_signals(other)[0]
                if isinstance(other, control.StateSpace)
                else [Signal(f"x[{k}]", "") for k in range(more)]
            )
            return [*mine, *states] if first else [*states, *mine]

        def __getitem__(self, key: Any) -> Any:
            result, (states, *sides) = super().__getitem__(key), named_signals(self)
            known = table_of(*sides)
            return self._about(self._named(result, states, *([known[x] for x in labels] for labels in port_labels(result))))

        def __neg__(self) -> Any:
            return self._about(self._named(super().__neg__(), *named_signals(self)))

        def __add__(self, other: Any) -> Any:
            result, (_, inputs, outputs) = super().__add__(other), named_signals(self)
            return self._named(result, self._joined(result, other), inputs, outputs)

        def __radd__(self, other: Any) -> Any:
            return self + other

        def __rsub__(self, other: Any) -> Any:
            return -self + other

        def __mul__(self, other: Any) -> Any:
            result, (_, mine, outputs) = super().__mul__(other), named_signals(self)
            inputs = None if isinstance(other, np.ndarray) else mine
            inputs = named_signals(other)[1] if isinstance(other, control.StateSpace) else inputs
            return self._named(result, self._joined(result, other, first=False), inputs, outputs)

        def __rmul__(self, other: Any) -> Any:
            states, inputs, outputs = named_signals(self)
            if not isinstance(other, control.StateSpace):
                return self._named(super().__rmul__(other), states, inputs, None if isinstance(other, np.ndarray) else outputs)
            result = control.StateSpace.__mul__(other, self)  # what the inherited function does, without coming back here
            return self._named(result, self._joined(result, other), inputs, named_signals(other)[2])

        def __pow__(self, other: Any) -> Any:
            result = super().__pow__(other)
            if other != -1:
                return result
            states, inputs, outputs = named_signals(self)
            return self._about(self._named(result, states, outputs, inputs))

        def feedback(self, other: Any = 1, sign: float = -1) -> Any:
            result, (_, inputs, outputs) = super().feedback(other, sign), named_signals(self)
            return self._named(result, self._joined(result, other), inputs, outputs)

        def append(self, other: Any) -> Any:
            result, (_, inputs, outputs) = super().append(other), named_signals(self)
            if isinstance(other, control.StateSpace):
                _, more_inputs, more_outputs = named_signals(other)
                inputs, outputs = [*inputs, *more_inputs], [*outputs, *more_outputs]
            return self._named(result, self._joined(result, other), inputs, outputs)

        def sample(self, *args: Any, **kwargs: Any) -> Any:
            result = super().sample(*args, **kwargs)
            return self._about(self._named(result, *_relabel(named_signals(self), result)))

        def update_names(self, **kwargs: Any) -> None:
            groups = named_signals(self)
            super().update_names(**kwargs)
            self.signals = table_of(*_relabel(groups, self))

        def minreal(self, tol: float = 0.0) -> Any:
            _, inputs, outputs = named_signals(self)
            return self._named(super().minreal(tol), None, inputs, outputs)

    return SignalStateSpace


def _reduce_plain(system: Any) -> tuple[Any, ...]:
    """Return a state space of python-control for pickle: its functions, which do not pickle, are made again."""
    kept = {name: value for name, value in vars(system).items() if name not in ("updfcn", "outfcn")}
    return _plain_system, (system.A, system.B, system.C, system.D), kept


def _plain_system(*matrices: Array) -> StateSpace:
    import control

    return control.StateSpace(*matrices, remove_useless_states=False)


def _relabel(groups: Iterable[Sequence[Signal]], system: Any) -> Iterable[list[Signal]]:
    """Yield states, inputs and outputs by the labels that a system has for them: those that are new are paths."""
    labels = system.state_labels, system.input_labels, system.output_labels
    for each in zip(groups, labels, strict=True):
        yield [signal if signal.name == label else Signal(label, signal.unit) for signal, label in zip(*each, strict=True)]


def named_signals(M: StateSpace) -> tuple[list[Signal], list[Signal], list[Signal]]:
    """Return states, inputs and outputs of a named system."""
    table = getattr(M, "signals", {})
    groups = M.state_labels, M.input_labels, M.output_labels
    states, inputs, outputs = ([table.get(label, Signal(label, "")) for label in labels] for labels in groups)
    return states, inputs, outputs


def sizes_text(states: int, inputs: int, outputs: int) -> str:
    """Return the sizes of a linear model, such as ``"4 states, 1 input, 2 outputs"``."""
    return ", ".join(map(counted, (states, inputs, outputs), ("state", "input", "output")))


def signal_tables(*groups: Sequence[Signal]) -> Iterable[str]:
    """Yield tables, for notebooks, of states, inputs and outputs with their units."""
    yield from (table(name, group, is_open=False) for name, group in zip(("states", "inputs", "outputs"), groups, strict=True))


def period_of(system: Any) -> float:
    """Return the sample time (s) of a system, zero in continuous time, one where it is not told."""
    return 1.0 if system.dt is True else float(system.dt or 0.0)


def unlike(signals: Iterable[Signal], known: Iterable[Signal]) -> list[Signal]:
    """Return signals, those renamed whose names others have."""
    taken, result = {signal.name for signal in known}, []
    for signal in signals:
        path, count = signal.path, 1
        while exported_name(path) in taken:
            count += 1
            path = f"{signal.path}_{count}"
        taken.add(exported_name(path))
        result.append(Signal(path, signal.unit))
    return result


def signal_names(where: str, names: Any, some: bool = True) -> tuple[str, ...]:
    """Return one name or several of signals as a tuple.

    Raises `ModelError` for others, and for none where there have to be some.
    """
    result = (names,) if isinstance(names, str) else tuple(names) if isinstance(names, Iterable) else (names,)
    if (some and not result) or not all(isinstance(name, str) and name for name in result):
        raise ModelError(Finding("wrong-type", where, names, "a signal's name or several", "such as 'hinge.q'"))
    return result


def positions(where: str, names: Sequence[str], known: Sequence[Signal]) -> list[int]:
    """Return where signals stand among others; the name of a vector stands for all of its entries.

    Raises `ModelError` for names that are unknown, or there twice.
    """
    result: list[int] = []
    labels = [signal.name for signal in known]
    for name in names:
        found = [labels.index(exported_name(str(name)))] if exported_name(str(name)) in labels else []
        found = found or [k for k, signal in enumerate(known) if exported_name(str(name)) in stems(signal.path)]
        if not found:
            raise ModelError(Finding("unknown-signal", where, name, "a signal of the model", did_you_mean(name, labels)))
        if set(found) & set(result) or len(found) > len(set(found)):
            raise ModelError(Finding("given-twice", where, name, "each signal once", "leave one out"))
        result += found
    return result


def is_state_space(system: Any) -> bool:
    """Tell whether an object is a state space with named signals."""
    return all(hasattr(system, name) for name in ("A", "B", "C", "D", "dt", "input_labels", "output_labels"))


def read_linear(where: str, system: Any, expected: str = "a control.StateSpace or control.TransferFunction") -> StateSpace:
    """Return a linear system as a state space with the same signals: itself, or a transfer function (tf, zpk) realised.

    Channels of a transfer function with the same denominator share states, as many as its degree times the rank of the
    numerators: that of its rows or of its columns, whichever is less. The coordinates are those of the observer's or of the
    controller's canonical form, so that they follow the coefficients without jumps.

    Raises `ModelError` for what is neither, for more zeros than poles, and for NaN or infinity.
    """
    if not is_state_space(system):
        if not all(hasattr(system, name) for name in ("num", "den", "dt", "input_labels", "output_labels")):
            advice = "use control.ss or control.tf with names for its inputs and outputs"
            raise ModelError(Finding("wrong-type", where, system, expected, advice))
        system = _realise(where, system)
    _system_class()  # from here on it pickles
    refuse_not_finite(where, system)
    return system  # type: ignore[no-any-return]


def _realise(where: str, system: Any) -> StateSpace:
    import control

    shape = system.noutputs, system.ninputs
    groups: dict[tuple[float, ...], Array] = {}
    D = np.zeros(shape)
    for i, j in np.ndindex(shape):
        num, den = (np.trim_zeros(np.array(part[i][j], dtype=float), "f") for part in (system.num, system.den))
        if not (np.isfinite(num).all() and np.isfinite(den).all()):
            channel = f"{where}: {system.input_labels[j]} to {system.output_labels[i]}"
            raise ModelError(Finding("not-finite", channel, [num, den], "finite coefficients", "look at what it was made from"))
        if len(num) > len(den):
            raise ModelError(_improper(where, system, (i, j), len(num) - 1, len(den) - 1))
        num, den = np.concatenate([np.zeros(len(den) - len(num)), num]) / den[0], den / den[0]
        D[i, j] = num[0]
        if np.any(left := num[1:] - num[0] * den[1:]):
            groups.setdefault(tuple(den[1:].tolist()), np.zeros((len(left), *shape)))[:, i, j] = left
    A, B, C = (np.zeros((0, 0)), np.zeros((0, shape[1])), np.zeros((shape[0], 0)))
    for poles, numerators in groups.items():
        by_rows, by_columns = _observer_form(poles, numerators), _observer_form(poles, numerators.transpose(0, 2, 1))
        if len(by_columns[0]) < len(by_rows[0]):
            by_rows = by_columns[0].T, by_columns[2].T, by_columns[1].T
        A = np.block([[A, np.zeros((len(A), len(by_rows[0])))], [np.zeros((len(by_rows[0]), len(A))), by_rows[0]]])
        B, C = np.vstack([B, by_rows[1]]), np.hstack([C, by_rows[2]])
    names = {"inputs": system.input_labels, "outputs": system.output_labels, "name": system.name}
    return control.StateSpace(A, B, C, D, system.dt, remove_useless_states=False, **names)


def _observer_form(den: Sequence[float], numerators: Array) -> tuple[Array, Array, Array]:
    """Return A, B and C of numerators (n, rows, columns), highest power first, over one monic denominator without its 1."""
    n, rows, columns = numerators.shape
    side = numerators.transpose(1, 0, 2).reshape(rows, -1)
    mixing, parts = np.eye(rows)[:, side.any(axis=1)], side[side.any(axis=1)]
    left, sizes, right = np.linalg.svd(parts, full_matrices=False)
    if (rank := decided_rank(sizes, SAME * sizes[0])) < len(parts):
        mixing, parts = mixing @ left[:, :rank] * sizes[:rank], right[:rank]
    one = np.eye(n, k=1)
    one[:, 0] = -np.asarray(den)
    each = np.eye(len(parts))
    return np.kron(each, one), parts.reshape(-1, columns), mixing @ np.kron(each, np.eye(1, n))


def _improper(where: str, system: Any, channel: tuple[int, int], zeros: int, poles: int) -> Finding:
    s, expected = ("z", "no need of samples to come") if system.dt else ("s", "as many poles as zeros at least")
    advice = "delay it by a sample: divide by z" if system.dt else "filter the derivative: Kd s becomes Kd s / (T s + 1)"
    name = f"{where}: {system.input_labels[channel[1]]} to {system.output_labels[channel[0]]}"
    return Finding("improper", name, f"{s}^{zeros} over {s}^{poles}", expected, advice)


def refuse_not_finite(where: str, system: Any) -> None:
    """Refuse a state space with NaN or infinity in its matrices. Raises `ModelError` naming the entry."""
    for name in "ABCD":
        matrix = np.asarray(getattr(system, name))
        if not np.isfinite(matrix).all():
            row, column = (int(k) for k in np.argwhere(~np.isfinite(matrix))[0])
            advice = "look at what the system was made from"
            got, expected = matrix[row, column], "finite numbers"
            raise ModelError(Finding("not-finite", f"{name}[{row}, {column}] of {where}", got, expected, advice))


def port_labels(system: StateSpace) -> tuple[list[str], list[str]]:
    """Return the names of the inputs and of the outputs."""
    return list(system.input_labels), list(system.output_labels)


def paces(A: Array) -> Array:
    """Return the magnitudes of the poles of A, without those that are zero but for rounding."""
    poles = np.abs(np.linalg.eigvals(A))
    return poles[poles > np.sqrt(CANCELLED) * poles.max(initial=0.0)]


def middle_rate(A: Array) -> float:
    """Return the median of the `paces` (rad/s), one where there are none: a unit for times and frequencies."""
    rates = paces(A)
    return float(np.median(rates)) if len(rates) else 1.0
