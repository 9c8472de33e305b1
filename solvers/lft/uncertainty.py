"""What is uncertain: names of parameters, coordinates and gains with their ranges, read from what users give."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.paths import owner_of, parts_of, split_end
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import CLOSE, EPS, EXACT
from titop.blocks.basics.user_input import is_range, read_array, read_number
from titop.blocks.contract.description import CommonParameter, Share
from titop.graph.network.assembly import Assembly
from titop.solvers.arguments.reading import Percent, read_mapping
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.lft.delta_blocks import DeltaBlock
from titop.solvers.lft.polynomials import Irrational, MatrixFunction, Polynomial, interpolate
from titop.solvers.mechanism.system_parameters import followed
from titop.solvers.model.model import Model
from titop.solvers.model.parameters import changed_model

#: Angles whose range is wider than this (rad) are to be split, or to enter by the tangent of their quarter.
WIDEST_HALF, WIDEST_QUARTER = math.radians(240.0), math.radians(480.0)

#: Last parts of names of coordinates, rates and inputs.
_ANGLE, _RATE, _INPUT = "q", "v", "u"
#: Last part of the names of gains.
_GAIN = "gain"
#: Names of the gains of signals, None where there is none.
Gains = list[str | None]


class NamedRange(NamedTuple):
    """One name of an uncertain number: ``middle + half d``, d in [-1, 1] the value of a delta.

    An angle enters by the tangent of a `part` of it, its half or quarter: `half` is this tangent where d is 1. Negative is the
    `half` of what shrinks where the first name of the delta grows: by a percentage of a negative value. Where the model has no
    parameter of the name, `shares` are those that follow from it.
    """

    path: str
    delta: str
    middle: float
    half: float
    part: int = 0
    shares: tuple[Share, ...] = ()

    def at(self, d: float) -> float:
        """Return the value where the delta is `d`."""
        return self.middle + (self.part * math.atan(self.half * d) if self.part else self.half * d)

    def delta_at(self, value: float) -> float:
        """Return the delta at a value."""
        return (math.tan((value - self.middle) / self.part) if self.part else value - self.middle) / self.half

    def parameters(self, value: float) -> dict[str, float]:
        """Return what a value of the name says of parameters of the model."""
        if self.shares:
            return {share.name: share.factor * value**share.exponent for share in self.shares}
        return {self.path: value}


class Uncertain(NamedTuple):
    """Names with one delta. `block`: range, unit and nominal value of the first name."""

    block: DeltaBlock
    members: tuple[NamedRange, ...]

    @property
    def name(self) -> str:
        """Of the delta: the first of its names."""
        return self.block.name

    @property
    def middle(self) -> float:
        """Where deltas are zero, on the scale on which what enters goes from -1 to 1; zero where that is rounding."""
        first = self.members[0]
        delta = first.delta_at(self.block.centre)
        return delta if abs(delta) > 4 * EPS * (1.0 + abs(first.middle / ((first.part or 1) * first.half))) else 0.0

    def values(self, value: float) -> dict[str, float]:
        """Return the value of every parameter of the model for one of the first name."""
        result: dict[str, float] = {}
        for member in self.members:
            result |= member.parameters(member.at(self.members[0].delta_at(value)))
        return result


class Uncertainty:
    """All that is uncertain about a model.

    `parameters` and `fits` are those of `lft`, `quarters` angles that enter by the tangent of their quarter. As an attribute,
    `fits` has the tolerances of deltas in which laws may be fitted.

    Raises `ModelError` for unknown names, names given twice, and ranges that are none.
    """

    def __init__(self, point: OperatingPoint, parameters: Any, quarters: Sequence[str] = (), fits: Any = ()) -> None:
        self.point, self.known = point, point.model.mechanism.parameters()
        self.common = common_parameters(point.model.mechanism.assembly)
        self._quarters = {quarters} if isinstance(quarters, str) else set(quarters)
        given = read_mapping("parameters", parameters)
        if not given:
            advice = "use tt.linearize for none"
            raise ModelError(Finding("no-parameter", "parameters", parameters, "one parameter at least", advice))
        tied = [(key if isinstance(key, tuple) else (key,), value) for key, value in given.items()]
        self._given = {name for names, _ in tied for name in names}
        self.all = tuple(self._read(*each) for each in tied)
        self._by_path: dict[str, NamedRange] = {}
        self._cache: dict[tuple[float, ...], dict[str, float]] = {}
        named = (f"{device.name}.{entry}" for device in point.model.mechanism.assembly.devices for entry in device.parameters())
        self._of_devices = tuple(name for name in named if name in self._given)
        taken: dict[str, str] = {}
        for uncertain in self.all:
            for member in uncertain.members:
                for name in member.parameters(member.middle):
                    if name in taken:
                        found, advice = f"{member.path} and {taken[name]}, both change it", "leave one out"
                        raise ModelError(Finding("given-twice", f"parameters: {name}", found, "each name once", advice))
                    taken[name] = member.path
                self._by_path[member.path] = member
        for device, parts in self.reached.items():
            for name in sorted(set(parts) & set(taken) - {device}):
                found, advice = f"{device} and {taken[name]}, both change it", "leave one out"
                raise ModelError(Finding("given-twice", f"parameters: {name}", found, "each name once", advice))
        for name in sorted(self._quarters - set(self._by_path)):
            raise ModelError(Finding("unknown-angle", "quarters", name, "an angle among the parameters", "add it there"))
        self.fits = self._read_fits(fits)

    def at(self, path: str) -> NamedRange | None:
        """Return the range of a name; None where it is certain."""
        return self._by_path.get(path)

    def __getitem__(self, path: str) -> NamedRange:
        """Return the range of an uncertain name."""
        return self._by_path[path]

    def deltas(self, paths: Sequence[str]) -> list[str]:
        """Return the deltas of uncertain names, each once."""
        return [*dict.fromkeys(self[path].delta for path in paths)]

    def paths(self) -> list[str]:
        """Return all names."""
        return [*self._by_path]

    def vector(self, paths: Sequence[str], nominal: Array) -> Polynomial:
        """Return a vector by the names of its entries; those that are not uncertain are nominal."""
        value, slopes = np.array(nominal, dtype=float), []
        if following := self.reaching(paths, following=True):

            def column(deltas: Mapping[str, float]) -> Array:
                values = self.values_at(deltas)
                return np.array([[values.get(path, x)] for path, x in zip(paths, value, strict=True)])

            names = [*following, *filter(self.at, paths)]
            whole = polynomial_of(column, self.deltas(names), self, {self[name].delta: name for name in names}.__getitem__)
            return whole.transform(lambda column: column[:, 0])
        for k, path in enumerate(paths):
            if member := self.at(path):
                value[k] = member.middle
                slopes.append((member.delta, member.half * np.eye(len(paths))[k]))
        return Polynomial.affine(value, slopes)

    def beyond(self, path: str) -> Polynomial:
        """Return by how much a parameter differs from that in the middle of all ranges (1, 1)."""
        number = self.vector([path], np.zeros(1)).column()
        return number._replace(matrices=tuple(x if any(e) else 0.0 * x for e, x in zip(*number[1:], strict=True)))

    def values_at(self, deltas: Mapping[str, float]) -> dict[str, float]:
        """Return the value of every name where normalised numbers d have these values, zero by default; of angles, too.

        What follows from parameters of devices is included.
        """
        own = {path: member.at(deltas.get(member.delta, 0.0)) for path, member in self._by_path.items()}
        return own | self._followers(tuple(own[path] for path in self._of_devices))

    def of_block(self, name: str) -> list[str]:
        """Return the names that are parameters of a block, in its order, or of a device from which such follow."""
        return self.reaching([path for path in self.known if owner_of(path) == name and ".placement." not in path])

    # -- devices: parameters of parts that follow from others ------------------------------------------------------------

    def reaching(self, paths: Iterable[str], following: bool = False) -> list[str]:
        """Return the names among some paths, and those of devices from which one of them follows; only these if `following`."""
        asked = set(paths) if self._of_devices else set()
        devices = [name for name in self._of_devices if not asked.isdisjoint(self.reached[name])]
        own = () if following else (path for path in paths if path in self._by_path and path not in self.reached)
        return [*own, *devices]

    def of_parts(self, names: Sequence[str]) -> list[str]:
        """Return names of parameters of blocks, with those that follow from devices in place of these."""
        return [*dict.fromkeys(part for name in names for part in self.reached.get(name, (name,)))]

    @cached_property
    def reached(self) -> dict[str, tuple[str, ...]]:
        """By name of a device's parameter: the parameters of parts that follow."""
        middle = np.array([self[name].at(0.3 + 0.1 / (k + 2)) for k, name in enumerate(self._of_devices)])
        result: dict[str, tuple[str, ...]] = {}
        here = self._numbers(tuple(middle)) if self._of_devices else {}
        for k, name in enumerate(self._of_devices):
            there = self._numbers((*middle[:k], self[name].at(-0.6), *middle[k + 1 :]))
            result[name] = tuple(path for path, x in there.items() if x != here[path])
        return result

    def _followers(self, values: tuple[float, ...]) -> dict[str, float]:
        """Return what follows where the uncertain parameters of devices have some values."""
        if not values:
            return {}
        numbers = self._numbers(values)
        return {path: numbers[path] for paths in self.reached.values() for path in paths}

    def _numbers(self, values: tuple[float, ...]) -> dict[str, float]:
        """Return all parameters of devices' parts there; cached."""
        if values not in self._cache:
            own = dict(zip(self._of_devices, values, strict=True))
            devices, _ = followed(self.point.model.mechanism.assembly.devices, own)
            self._cache[values] = {path: x for device in devices for path, x in device.numbers.items()}
        return self._cache[values]

    def model_at(self, values: Mapping[str, float]) -> Model:
        """Return the model with some values by path. Raises `ModelError` as `Model.with_parameters`."""
        changed = {path: x for path, x in self.model_values(values).items() if x != self.known[path][0]}
        return changed_model(self.point.model, changed) if changed else self.point.model

    def model_values(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return those of some values by path that are parameters of the model, and those that follow from them."""
        result = {path: value for path, value in values.items() if path in self.known}
        for path, value in values.items():
            if path in self.common:
                result |= self[path].parameters(value)
        return result

    # -- reading -----------------------------------------------------------------------------------------------------

    def _read(self, names: tuple[str, ...], given: Any) -> Uncertain:
        if not names:
            advice = 'write {("left.mass", "right.mass"): tt.percent(10)}'
            raise ModelError(Finding("no-parameter", "parameters", names, "names that are tied to each other", advice))
        nominal, unit = zip(*(self._nominal(name) for name in names), strict=True)
        bounds = [self._bounds(name, value, given) for name, value in zip(names, nominal, strict=True)]
        turning = [one_unit == "rad" and self._turns(name) for name, one_unit in zip(names, unit, strict=True)]
        part = 0
        if any(turning):
            if not all(turning):
                raise ModelError(Finding("mixed-tie", "parameters", names, "angles alone", "tie angles to angles"))
            part = 4 if self._quarters & set(names) else 2
            width, widest = bounds[0][1] - bounds[0][0], WIDEST_HALF if part == 2 else WIDEST_QUARTER
            if width > widest:
                found, advice = f"{math.degrees(width):.0f} degrees", _split(names[0], part)
                expected = f"{math.degrees(widest):.0f} degrees or less"
                raise ModelError(Finding("wide-angle", f"parameters[{names[0]!r}]", found, expected, advice))
        members = []
        for name, value, (lower, upper) in zip(names, nominal, bounds, strict=True):
            if name in self.common and lower <= 0:
                found = f"{lower:.6g} to {upper:.6g}"
                raise ModelError(Finding("bad-range", f"parameters[{name!r}]", found, "values > 0", "narrow the range"))
            half = (upper - lower) / 2
            if isinstance(given, Percent) and value * nominal[0] < 0:
                half = -half  # all grow by the same percentage
            shares = self.common[name].shares if name in self.common else ()
            entering = math.tan(half / part) if part else half
            members.append(NamedRange(name, names[0], (lower + upper) / 2, entering, part, shares))
        (lower, upper), first = bounds[0], names[0]
        block = DeltaBlock(first, "real", 0, 0, lower, upper, nominal=nominal[0], unit=unit[0], degree=None, part=part)
        return Uncertain(block, tuple(members))

    def _turns(self, name: str) -> bool:
        """Tell whether a name is an angle about one axis: a joint's, or that of a rotation about an axis of its frame."""
        stem, end = split_end(name)
        owner, what = split_end(stem)
        if what != "rotation":
            return end == _ANGLE
        others = {other for other in rotation_names(owner) if other != name}
        return not others & self._given and not any(self.known[other][0] for other in others)

    def _read_fits(self, fits: Any) -> dict[str, float]:
        names = (fits,) if isinstance(fits, str) else fits
        given = dict(names) if isinstance(names, Mapping) else dict.fromkeys(names, CLOSE)
        result: dict[str, float] = {}
        for name, tolerance in given.items():
            member = self.at(name)
            if member is None:
                advice = did_you_mean(name, self.paths())
                raise ModelError(Finding("unknown-parameter", "fits", name, "a name among the parameters", advice))
            wrong = Finding("bad-tolerance", f"fits[{name!r}]", tolerance, "a number > 0 and < 1", "try 1e-4")
            result[member.delta] = read_number(wrong, lambda x: 0 < x < 1)
        return result

    def _nominal(self, name: Any) -> tuple[float, str]:
        model, point = self.point.model, self.point
        if name in self.known:
            return self.known[name]
        if name in self.common:
            return self.common[name][:2]
        if isinstance(name, str):
            stem, end = split_end(name)
            if end == _GAIN and stem:
                return 1.0, "1"
            if end in (_ANGLE, _RATE) and stem in model.coordinate_names:
                k = model.coordinate_names.index(stem)
                unit = model.mechanism.assembly.coordinate_units[k]
                if end == _RATE:
                    return float(point.v[k]), f"{unit}/s"
                if not model.mechanism.has_plain_coordinates(k):
                    advice = "its rotation is no rational function of a vector: choose a joint of plain coordinates"
                    raise ModelError(Finding("not-rational", "parameters", name, "a coordinate that is a number", advice))
                return float(point.q[model.mechanism.assembly.place(stem)[0]]), unit
            if end == _INPUT and stem in model.input_names:
                k = model.input_names.index(stem)
                if k not in model.mechanism.inputs.columns:
                    expected, advice = "an input that is a wrench on a port", "leave it out: efforts that hold the point follow"
                    raise ModelError(Finding("not-rational", "parameters", name, expected, advice))
                return 0.0 if point.u is None else float(point.u[k]), model.mechanism.inputs.units[k]
        names = [*self.known, *self.common, *(f"{name}.{end}" for name in model.coordinate_names for end in (_ANGLE, _RATE))]
        expected = "a parameter of the model, a coordinate (hinge.q), a rate (wheel.v), an input (jet.u) or a gain (motor.gain)"
        raise ModelError(Finding("unknown-parameter", "parameters", name, expected, did_you_mean(name, names)))

    def _bounds(self, name: str, nominal: float, given: Any) -> tuple[float, float]:
        where = f"parameters[{name!r}]"
        if isinstance(given, Percent):
            lower, upper = given.about(where, nominal)
        else:
            wrong = Finding("no-range", where, given, "two rising finite numbers", "write (90, 110) or tt.percent(15)")
            lower, upper = read_array(wrong, is_range).tolist()
        if not lower <= nominal <= upper:
            found, advice = f"{lower:.6g} to {upper:.6g}", "change the model or the range"
            raise ModelError(Finding("nominal-outside", where, found, f"a range that holds the nominal {nominal:.6g}", advice))
        return lower, upper


def _split(name: str, part: int) -> str:
    whole = "tt.lft_arcs makes several models, each of an arc"
    return whole if part == 4 else f"quarters=[{name!r}] covers up to 480 degrees with twice the repetitions; or {whole}"


def rotation_names(path: str) -> list[str]:
    """Return the names of the components of a pose's rotation vector."""
    return [f"{path}.rotation.{axis}" for axis in "xyz"]


def common_parameters(assembly: Assembly) -> dict[str, CommonParameter]:
    """Return these numbers by dotted name, with the dotted names of what follows from each."""
    result = {}
    for name, block in assembly.blocks.items():
        for entry, (value, unit, shares) in block.common_parameters().items():
            dotted = tuple(share._replace(name=f"{name}.{share.name}") for share in shares)
            result[f"{name}.{entry}"] = CommonParameter(value, unit, dotted)
    return result


def gains_of(names: Collection[str], inputs: Sequence[str], outputs: Sequence[str]) -> tuple[Gains, Gains]:
    """Return which of some names is the gain of each input and of each output, by their paths; None where there is none.

    What is called as a signal is that signal's gain alone; else it is that of a vector's entries, or of all that an owner has,
    unless these have gains of their own.

    Raises `ModelError` for names that stand for inputs and outputs at once.
    """
    signals = {*inputs, *outputs}
    of_inputs, of_outputs = ([_gain_of(path, names, signals) for path in paths] for paths in (inputs, outputs))
    for name in sorted({name for name in of_inputs if name} & {name for name in of_outputs if name}):
        found = [
            f"{path}.{_GAIN}" for path, gain in zip([*inputs, *outputs], [*of_inputs, *of_outputs], strict=True) if gain == name
        ]
        got, expected = "the gain of inputs and outputs at once", "that of inputs alone or of outputs alone"
        advice = f"it could be {', '.join(dict.fromkeys(found))}: name one of these, or several as a tuple"
        raise ModelError(Finding("ambiguous-gain", f"parameters[{name!r}]", got, expected, advice))
    return of_inputs, of_outputs


def _gain_of(path: str, names: Collection[str], signals: Collection[str]) -> str | None:
    """Return the name that is the gain of a signal: its own, its vector's, its owner's; None where there is none."""
    parts = parts_of(path.split("[")[0])
    wider = [".".join(parts[:k]) for k in range(len(parts), 0, -1)]
    stems = [path, *(stem for stem in wider if stem not in signals)]
    return next((f"{stem}.{_GAIN}" for stem in stems if f"{stem}.{_GAIN}" in names), None)


def polynomial_of(
    function: MatrixFunction,
    deltas: Sequence[str],
    uncertainty: Uncertainty,
    path_of: Callable[[str], str],
    reach: Mapping[str, float] | None = None,
    vectors: Sequence[int] = (),
) -> Polynomial:
    """Return the polynomial of `interpolate`. Raises `ModelError` for a delta in which the function is none, by its path."""
    found = interpolate(function, deltas, reach, uncertainty.fits, vectors)
    if isinstance(found, Irrational):
        raise ModelError(_not_rational(path_of(found.delta), found.misfit, found.delta in uncertainty.fits))
    return found


def _not_rational(path: str, misfit: float, is_fitted: bool) -> Finding:
    """Return that a law is no polynomial in a parameter, and how well a fit does."""
    expected = "a parameter in which the block's law is polynomial: masses, inertias, stiffness, frequencies, positions"
    if is_fitted:
        expected, advice = "a fit within its tolerance", "narrow the range, or give a tolerance: fits={name: 1e-3}"
        return Finding("no-fit", f"parameters: {path}", f"a law that polynomials miss by {misfit:.1e}", expected, advice)
    found = "" if misfit == np.inf else f" (to {max(misfit, EXACT):.0e} of its entries with degree 4)"
    advice = f"fits=[{path!r}] fits the law{found}; or keep it fixed, or sample it with tt.lpv"
    return Finding("not-rational", "parameters", path, expected, advice)
