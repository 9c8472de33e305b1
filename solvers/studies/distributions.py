"""Random parameters and initial states: their distributions, drawn sample by sample, and the seeds of all samples at once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random.bit_generator import ISeedSequence

from titop.blocks.basics.errors import Finding, did_you_mean, refuse
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import is_finite, is_range, read_array, real_array
from titop.solvers.arguments.reading import Percent, read_mapping
from titop.solvers.equilibrium.displacements import displace
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.equilibrium.unknowns import TrimUnknowns
from titop.solvers.model.model import Model
from titop.solvers.signals.grammar import UNKNOWN, find_name
from titop.solvers.signals.quantities import Kind

_EXPECTED = "a frozen scipy distribution, (low, high) with low < high, tt.percent(10), or a function of a generator"


class Place(NamedTuple):
    """What a name stands for: a parameter, or an entry of q, v or x of the initial state, and its nominal value.

    The value of a coordinate of a free or spherical joint is NaN: it is a displacement.
    """

    kind: str
    entry: int
    nominal: float


class _Law(NamedTuple):
    """What some names are drawn by: a number for each or one for all, by a generator; the scipy distribution if it is one."""

    names: tuple[str, ...]
    draw: Callable[[np.random.Generator], Any]
    scipy: Any

    def numbers(self, rng: np.random.Generator) -> list[float]:
        """Return what is drawn. Raises `ModelError` if that is anything but finite numbers."""
        drawn, count = self.draw(rng), len(self.names)
        if isinstance(drawn, float) and math.isfinite(drawn):
            return [float(drawn)] * count
        where = f"distributions[{self.names if self.names[1:] else self.names[0]!r}]"
        expected = "a finite number drawn" + ("" if count == 1 else f" for all, or {count}")
        wrong = Finding("bad-distribution", where, drawn, expected, "check the distribution")
        numbers: list[float] = np.resize(read_array(wrong, lambda x: x.size in (1, count) and is_finite(x)), count).tolist()
        return numbers


class Distributions:
    """The distributions of a study, and what is tied to what they give.

    The point has the nominal model and state; `distributions` and `ties` are as for `monte_carlo`. Raises `ModelError` for
    unknown names, names given twice, and what is no distribution; all that is wrong is told at once.

    - `names`: of all that is drawn, in the order of the mapping, and tied;
    - `laws`: in the order in which they are drawn, which is that of the names.
    """

    def __init__(self, point: OperatingPoint, distributions: Mapping[Any, Any], ties: Mapping[str, Any] | None) -> None:
        self.point = point
        self.places: dict[str, Place] = {}
        self._findings: list[Finding] = []
        self._known = point.model.parameters()
        laws = [self._law(key, value) for key, value in read_mapping("distributions", distributions).items()]
        drawn = tuple(name for law in laws for name in law.names)
        self._ties = {name: self._tie(name, value, drawn) for name, value in read_mapping("ties", ties or {}).items()}
        refuse(self._findings)
        self.names = (*drawn, *self._ties)
        self.laws = sorted(laws, key=lambda law: law.names)  # an order that does not depend on the mapping's

    @property
    def has_states(self) -> bool:
        """Whether initial states are drawn."""
        return any(place.kind for place in self.places.values())

    def sample(self, rng: np.random.Generator) -> dict[str, float]:
        """Return values by name."""
        drawn = {name: x for law in self.laws for name, x in zip(law.names, law.numbers(rng), strict=True)}
        return self.with_ties(drawn)

    def with_ties(self, drawn: Mapping[str, float]) -> dict[str, float]:
        """Return drawn values, and those of what is tied to them.

        Raises `ModelError` if a tie gives anything but a finite number.
        """
        values = dict(drawn)
        for name, tie in self._ties.items():
            wrong = Finding("bad-tie", f"ties[{name!r}]", tie(dict(drawn)), "a finite number", "check the function")
            values[name] = read_array(wrong, lambda number: number.size == 1 and is_finite(number)).item()
        return {name: values[name] for name in self.names}

    def parameters(self, values: Mapping[str, float]) -> dict[str, float]:
        """Return those values that are parameters."""
        return {name: value for name, value in values.items() if not self.places[name].kind}

    def _law(self, key: Any, value: Any) -> _Law:
        """Return how a name, or a tuple of names, is drawn."""
        names, where = key if isinstance(key, tuple) else (key,), f"distributions[{key!r}]"
        for name in names:
            self._place(name, where)
        if isinstance(value, Percent) and names[0] in self.places:
            value = value.about(where, self.places[names[0]].nominal)
        is_scipy = hasattr(value, "rvs") and not callable(value)
        if callable(value) and not hasattr(value, "rvs"):
            check_function(where, value, "rng")
            return _Law(names, value, None)
        if is_scipy:
            return _Law(names, lambda rng: value.rvs(random_state=rng), value)
        pair = real_array(value)
        if pair is None or not is_range(pair):
            advice = "such as scipy.stats.norm(1.0, 0.1), or multivariate_normal for several names"
            self._findings.append(Finding("bad-distribution", where, value, _EXPECTED, advice))
            return _Law(names, lambda rng: 0.0, None)
        from scipy import stats

        low, high = pair.tolist()  # NumPy's own numbers take three times as long
        return _Law(names, lambda rng: rng.uniform(low, high), stats.uniform(low, high - low))

    def _tie(self, name: Any, value: Any, drawn: tuple[str, ...]) -> Callable[[dict[str, float]], Any]:
        """Return a function of the drawn values by name: of a name, ``(name, factor)``, or a function."""
        where = f"ties[{name!r}]"
        self._place(name, where)
        if callable(value):
            check_function(where, value, "values")
            return value  # type: ignore[no-any-return]
        other, factor = value if isinstance(value, tuple) and len(value) == 2 else (value, 1.0)
        number = real_array(factor)
        if other not in drawn or number is None or number.shape or not np.isfinite(number):
            expected = "a name that is drawn, (name, factor), or a function of the drawn values by name"
            self._findings.append(Finding("bad-tie", where, value, expected, did_you_mean(str(other), drawn)))
        return lambda values: float(factor) * values[other]

    def _place(self, name: Any, where: str) -> None:
        place = self._find(name)
        if place is None:
            known = [*self._known, *(f"{entry}.{end}" for entry in self.point.model.coordinate_names for end in "qv")]
            advice = did_you_mean(str(name), [*known, *self.point.model.state_names])
            expected = "a parameter of the model, a coordinate (.q), a rate (.v) or a first-order state"
            self._findings.append(Finding("unknown-parameter", where, name, expected, advice))
        elif any(place[:2] == other[:2] and (place.kind or name == at) for at, other in self.places.items()):
            self._findings.append(Finding("given-twice", where, name, "each parameter once", "leave one of them out"))
        else:
            self.places[name] = place

    def _find(self, name: Any) -> Place | None:
        point, kinds = self.point, {Kind.POSITION: "q", Kind.RATE: "v"}
        if not isinstance(name, str):
            return None
        if name in self._known:
            return Place("", -1, self._known[name][0])
        if name in point.model.state_names:
            entry = point.model.state_names.index(name)
            return Place("x", entry, float(point.x[entry]))
        of = find_name(point.model, UNKNOWN, name)
        if of is None or of.kind not in kinds or len(of.entries) != 1:
            return None
        return Place(kinds[of.kind], of.entries[0], float(TrimUnknowns(point, [name]).values()[0]))


def initial_state(
    point: OperatingPoint, model: Model, places: Mapping[str, Place], values: Mapping[str, float]
) -> OperatingPoint:
    """Return a point of a model with some values in the place of the nominal state's; loops are closed.

    Raises `ConvergenceError` if loops cannot be closed with these values.
    """
    dq, v, x = np.zeros(model.nv), point.v.copy(), point.x.copy()
    plain: dict[int, float] = {}
    fixed: dict[str, list[str]] = {"q": [], "v": []}
    for name, value in values.items():
        kind, entry, nominal = places[name]
        if kind == "x":
            x[entry] = value
        elif kind == "v":
            v[entry] = value
        elif kind == "q":
            dq[entry] = value if np.isnan(nominal) else value - nominal
            plain |= {} if np.isnan(nominal) else {model.configuration_names.index(model.coordinate_names[entry]): value}
        if kind in fixed:
            fixed[kind].append(model.coordinate_names[entry])
    q: Array = displace(model, point.q, dq)
    q[[*plain]] = [*plain.values()]  # the difference of two numbers may have been rounded
    if model.is_constrained:
        q = model.assemble(q, fixed=fixed["q"])
        v = model.assemble_velocity(q, v, fixed=fixed["v"])
    return OperatingPoint(model, q, v, point.tau, point.u, point.wrenches, x=x, a=point.a)


# -- seeds of many samples, as numpy.random.SeedSequence spawns them one by one -----------------------------------------------

_WORD = 2**32
#: First constants of the hashes that mix and that generate, their factors, and those of a mix.
_MIXING, _MIXED, _GENERATING, _GENERATED = 0x43B0D7E5, 0x931E8875, 0x8B51F9DD, 0x58F38DED
_LEFT, _RIGHT = np.uint32(0xCA01F9DD), np.uint32(0x4973F715)


class Words(ISeedSequence):
    """A seed sequence that has generated its `words` (n, 64 bits each)."""

    def __init__(self, words: Array) -> None:
        self._words = words

    def generate_state(self, n_words: int, dtype: Any = np.uint64) -> Array:
        """Return the words."""
        return self._words


def spawned_words(seed: int, numbers: Sequence[int], child: int, count: int) -> Array:
    """Return ``SeedSequence(seed, spawn_key=(k, child)).generate_state(count, uint64)`` for all numbers k (n, count).

    NumPy keeps this algorithm as it is (M. E. O'Neill's ``seed_seq``, with its constants): a pool of four words is mixed with
    the seed, then with the words of the spawn key; what is generated are hashes of the pool.
    """
    if max(numbers) >= _WORD:
        every = (np.random.SeedSequence(seed, spawn_key=(k, child)) for k in numbers)
        return np.array([each.generate_state(count, np.uint64) for each in every])
    pool = np.tile(np.random.SeedSequence(seed).pool[:, None], (1, len(numbers)))
    length = len(pool)
    hashes = length**2 + length * max(0, -(-seed.bit_length() // 32) - length)
    constant = _MIXING * pow(_MIXED, hashes, _WORD) % _WORD
    for word in (np.array(numbers, dtype=np.uint32), np.full(len(numbers), child, dtype=np.uint32)):
        for k in range(length):
            hashed, constant = _hash(word, constant, _MIXED)
            mixed = _LEFT * pool[k] - _RIGHT * hashed
            pool[k] = mixed ^ (mixed >> np.uint32(16))
    generated, constant = np.empty((len(numbers), 2 * count), dtype=np.uint32), _GENERATING
    for k in range(2 * count):
        generated[:, k], constant = _hash(pool[k % length], constant, _GENERATED)
    return generated.astype("<u4").view("<u8").astype(np.uint64)


def _hash(words: Array, constant: int, factor: int) -> tuple[Array, int]:
    """Return hashes of words (n), and the next constant."""
    following = constant * factor % _WORD
    hashed = (words ^ np.uint32(constant)) * np.uint32(following)
    return hashed ^ (hashed >> np.uint32(16)), following
