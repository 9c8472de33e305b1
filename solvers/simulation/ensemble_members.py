"""The members of an ensemble: simulations of one model that differ in what is stacked among their arguments."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, refuse, warn
from titop.blocks.basics.garbage import collection_paused
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import axes_of, is_finite, read_array
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.mechanism.system_parameters import warn_of_samples
from titop.solvers.model.model import Model
from titop.solvers.model.parameters import changed_model
from titop.solvers.simulation.ensemble import Ensemble
from titop.solvers.simulation.trajectory import Trajectory
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.spread import SweepInterrupt

#: Arguments of `simulate` that all members share.
_COMMON = ("model", "t", "progress", "parameters", "seeds")


class Each(NamedTuple):
    """Values of an argument of `simulate`, one for each member of an ensemble."""

    values: Sequence[Any]


def each(values: Sequence[Any]) -> Each:
    """Return the values of an argument of `simulate`, one for each member of an ensemble.

    Parameters
    ----------
    values : sequence
        Such as a controller for each member, or samples of efforts.

    Raises
    ------
    ModelError
        If it is no sequence, or an empty one.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> s = tt.System("cart", gravity=[0, 0, 0])
    >>> s.connect("world", tt.RigidBody("cart", mass=2.0), joint=tt.Prismatic("rail"))
    >>> ensemble = tt.simulate(s.resolve(), [0, 1], [0.0], [0.0], tau=tt.each([[2.0], [4.0]]))
    >>> ensemble.q[:, -1, 0].round(9).tolist()
    [0.5, 1.0]
    """
    if isinstance(values, Each):
        return values
    if (
        isinstance(values, str | Mapping)
        or not hasattr(values, "__len__")
        or not hasattr(values, "__getitem__")
        or not len(values)
    ):
        raise ModelError(Finding("wrong-type", "each", values, "a sequence with a value for each member", "write [K1, K2]"))
    return Each(list(values))


#: Simulates members by the arguments that they share and their own, and returns what gives the trajectory of each, or raises
#: and warns of what is wrong with it: None for each that needs a simulation of its own.
Many = Callable[[dict[str, Any], Sequence[dict[str, Any]]], list[Callable[[], Trajectory] | None]]
#: Most members that are simulated together, and most numbers of their motions.
_TOGETHER, _NUMBERS = 2048, 2**23


class EnsembleMembers:
    """Simulations that differ.

    - `n`: how many; `shared`: arguments of `simulate` of all, by name; `own` (k): those of one.
    """

    def __init__(self, n: int, shared: dict[str, Any], own: Callable[[int], dict[str, Any]]) -> None:
        self.n, self._shared, self._own = n, shared, own
        self._first: dict[str, tuple[int, str]] = {}

    def run(self, simulate: Callable[..., Trajectory], many: Many, progress: bool) -> Iterator[Trajectory | Exception]:
        """Yield the trajectory of each member in turn, or why it has none; warn of each kind of doubt once."""
        done = 0
        with progress_bar(progress=progress, total=self.n, unit="run") as bar:
            while done < self.n:
                given = self._answers(done, [partial(self._own, done)])
                end = min(done + (_together(self._shared | given[0]) if isinstance(given[0], dict) else 1), self.n)
                with collection_paused():
                    given += self._answers(done + 1, [partial(self._own, k) for k in range(done + 1, end)])
                ready = [k for k, each in enumerate(given) if isinstance(each, dict)]
                found: list[Callable[[], Trajectory] | None] = [None] * len(ready)
                if len(ready) > 1:
                    with suppress(Exception), collection_paused(), warnings.catch_warnings(record=True) as doubts:
                        warnings.simplefilter("always")
                        found = many(self._shared, [given[k] for k in ready])
                        self._note(done + ready[0], doubts if any(found) else [])
                known = [k for k, ends in zip(ready, found, strict=True) if ends]
                with collection_paused():
                    results = dict(zip(known, self._answers(done, filter(None, found), known), strict=True))
                for k, each in enumerate(given):
                    if k in results or not isinstance(each, dict):
                        yield results.get(k, each)
                    else:
                        yield self._answers(done + k, [partial(simulate, **self._shared, **each, progress=False)])[0]
                    bar.update()
                done = end
        warn(f"member {k}: {text} (of each kind only the first is told)" for k, text in self._first.values())

    def _answers(self, first: int, functions: Iterable[Callable[[], Any]], behind: Iterable[int] | None = None) -> list[Any]:
        """Return what functions return or raise for members from the first on, or so far `behind` it."""
        results: list[Any] = []
        with warnings.catch_warnings(record=True) as doubts:
            warnings.simplefilter("always")
            for k, function in zip(count() if behind is None else behind, functions, strict=False):
                try:
                    results.append(function())
                except Exception as error:
                    results.append(error)
                if doubts:
                    self._note(first + k, doubts)
                    doubts.clear()
        return results

    def _note(self, k: int, doubts: Sequence[warnings.WarningMessage]) -> None:
        for doubt in doubts:
            text = str(doubt.message)
            kind = text[text.rfind("[") :]
            self._first[kind] = min(self._first.get(kind, (k, text)), (k, text))


def _together(arguments: Mapping[str, Any]) -> int:
    """Return how many members with such arguments are simulated together."""
    model = arguments["model"]
    return min(_TOGETHER, max(1, _NUMBERS // (len(arguments["t"]) * (model.nq + 4 * model.nv + model.nu + 1))))


class Stacks:
    """What is stacked among the arguments of `simulate`, by name; `given` are all of them.

    Raises `ModelError` for stacks of different numbers of members, unknown parameters, and what is no number.
    """

    def __init__(self, given: Mapping[str, Any]) -> None:
        self._model, self._times, self._progress = given["model"], given["t"], given["progress"]
        self._shared = {name: value for name, value in given.items() if name not in _COMMON}
        self._each = {name: rows for name, value in self._shared.items() if (rows := rows_of(name, value)) is not None}
        _refuse_nested(self._each)
        before = given["start"].parameters if isinstance(given["start"], Ensemble) else {}
        now = read_mapping("parameters", given["parameters"] or {})
        self.parameters = _read_parameters(self._model, {**before, **now})
        lengths = {f"parameters[{name!r}]": len(column) for name, column in self.parameters.items() if column.ndim}
        lengths |= {name: len(rows) for name, rows in self._each.items()}
        if given["seeds"] is not None:
            self._each["seed"] = each(given["seeds"]).values
            lengths["seeds"] = len(self._each["seed"])
        self.n = next(iter(lengths.values()), 1)
        self.is_one = not lengths and not self.parameters
        if len({*lengths.values()}) > 1 or not self.n:
            got = ", ".join(f"{count} in {name}" for name, count in lengths.items())
            advice = "give every stack a row for each member; what has one axis less is shared by all"
            raise ModelError(Finding("wrong-length", "members", got, "one number of members, one or more", advice))
        self.parameters = {name: np.array(np.broadcast_to(column, self.n)) for name, column in self.parameters.items()}

    def simulated(self, simulate: Callable[..., Trajectory], many: Many) -> Ensemble:
        """Return the ensemble. Raises what the first member raises if all do."""
        rows = [{name: column[k] for name, column in self.parameters.items()} for k in range(self.n)]
        warn_of_samples(self._model.mechanism.assembly, rows)
        trajectories: list[Trajectory | None] = []
        failures: dict[int, str] = {}
        first: Exception | None = None

        def ensemble() -> Ensemble:
            parameters = {name: column[: len(trajectories)] for name, column in self.parameters.items()}
            times = np.array(self._times, dtype=float)
            times[0] = next(each.t[0] for each in trajectories if each is not None)
            return Ensemble(self._model, times, tuple(trajectories), parameters, failures)

        try:
            members = EnsembleMembers(self.n, self._shared_by_all(), self._own)
            for result in members.run(simulate, many, self._progress):
                if isinstance(result, Exception):
                    failures[len(trajectories)] = f"{type(result).__name__}: {result}"
                    first = first or result
                trajectories.append(None if isinstance(result, Exception) else result)
        except KeyboardInterrupt as error:
            if len(trajectories) == len(failures):
                raise
            stopped = f"stopped after {len(trajectories)} of {self.n} members: they are the .found of this exception"
            raise SweepInterrupt(stopped, ensemble()) from error
        if first is not None and len(failures) == self.n:
            raise first
        return ensemble()

    def _shared_by_all(self) -> dict[str, Any]:
        """Return the arguments that no member has of its own."""
        shared = {name: value for name, value in self._shared.items() if name != "seed" and name not in self._each}
        return shared | {"t": self._times}

    def _own(self, k: int) -> dict[str, Any]:
        """Return the arguments of a member."""
        values = {name: float(column[k]) for name, column in self.parameters.items()}
        own = {name: rows[k] for name, rows in self._each.items()}
        seed = own["seed"] if "seed" in own else _seed_of(self._shared["seed"], k)
        return own | {"model": changed_model(self._model, values) if values else self._model, "seed": seed}


def rows_of(name: str, value: Any) -> Any:
    """Return the values that an argument has for the members, None if they share one."""
    if isinstance(value, Each):
        return value.values
    if isinstance(value, Ensemble):
        return value
    if name in ("q0", "v0", "x0") and axes_of(value) == 2:
        return list(np.asarray(value))
    columns = {key: column for key, column in value.items() if axes_of(column) == 1} if isinstance(value, Mapping) else {}
    if name not in ("x0", "u") or not columns:
        return None
    n = len(next(iter(columns.values())))
    if any(len(column) != n for column in columns.values()):
        got = ", ".join(f"{len(column)} for {key}" for key, column in columns.items())
        raise ModelError(Finding("wrong-length", name, got, "one number of members", "give a number for each member"))
    return [{**value, **{key: column[k] for key, column in columns.items()}} for k in range(n)]


def _refuse_nested(stacks: Mapping[str, Any]) -> None:
    """Refuse values for members that are stacks themselves."""
    refuse(
        [
            Finding("stacked-twice", f"{name} of member {k}", row, "what one simulation takes", "give each member one value")
            for name, rows in stacks.items()
            if not isinstance(rows, Ensemble)
            for k, row in enumerate(rows)
            if rows_of(name, row) is not None
        ]
    )


def _read_parameters(model: Model, given: Any) -> dict[str, Array]:
    """Return the parameters by name: a number for all members, or one for each."""
    known, read = model.parameters(), {}
    findings: list[Finding] = []
    for name, value in read_mapping("parameters", given or {}).items():
        if name not in known:
            expected = "a parameter of the model"
            findings.append(Finding("unknown-parameter", f"parameters[{name!r}]", name, expected, did_you_mean(name, known)))
            continue
        wrong = Finding("wrong-type", f"parameters[{name!r}]", value, "a number, or one for each member", "check the values")
        read[name] = read_array(wrong, lambda column: column.ndim < 2 and column.size and is_finite(column))
    refuse(findings)
    return read


def _seed_of(seed: Any, k: int) -> np.random.SeedSequence:
    """Return the seed of a member where all are given one."""
    if isinstance(seed, np.random.SeedSequence):
        return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, k), pool_size=seed.pool_size)
    whole = isinstance(seed, int | np.integer) and not isinstance(seed, bool) and seed >= 0
    if not whole:
        expected = "a whole number, zero or more, or a numpy.random.SeedSequence"
        raise ModelError(Finding("bad-seed", "seed", seed, expected, "0 will do, or give seeds=, one for each member"))
    return np.random.SeedSequence(int(seed), spawn_key=(k,))
