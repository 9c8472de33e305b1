"""Monte Carlo: results of a model whose parameters and initial state are random."""

from __future__ import annotations

import inspect
import os
import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.garbage import collection_paused
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import read_array, read_count
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.mechanism.system_parameters import warn_of_samples
from titop.solvers.model.model import Model
from titop.solvers.model.parameters import changed_model
from titop.solvers.studies.distributions import Distributions, Words, initial_state, spawned_words
from titop.solvers.studies.samples import Samples
from titop.solvers.support.checkpoint import Checkpoint, identity
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.spread import Spread, SweepInterrupt, read_workers

Outcome = dict[str, Array]

#: Samples of one call: a million take some 2 GB.
_MOST = 1_000_000

#: Most samples that are simulated together, and parts in which each process gets its samples at least.
_TOGETHER, _PARTS = 2048, 4

#: Samples by which the distributions of studies are told apart.
_FEW = 3


def monte_carlo(
    model: Model,
    distributions: Mapping[Any, Any],
    run: Callable[..., Mapping[str, Any]],
    n: int | None = None,
    seed: int = 0,
    workers: int | Executor = 1,
    progress: bool = True,
    which: Iterable[int] | None = None,
    ties: Mapping[str, Any] | None = None,
    point: OperatingPoint | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> Samples:
    """Call a function with a model at random parameters, many times.

    Parameters
    ----------
    model : Model
    distributions : mapping of name to distribution
        A frozen distribution of `scipy.stats`, a pair ``(low, high)`` or ``tt.percent(10)`` for a uniform one, or a function of
        a NumPy random generator that returns a number. Names are those of ``model.parameters()``; of the initial state,
        ``"hinge.q"`` for a coordinate, ``"hinge.v"`` for a rate, or the name of a first-order state. Coordinates of free and
        spherical joints are displacements from the nominal configuration. Names in a tuple share one number, as in `lft`, or
        have a distribution of as many: ``{("a.mass", "b.mass"): scipy.stats.multivariate_normal(means, covariance)}``.
    run : callable ``f(model) -> mapping``, or ``f(model, seed) -> mapping``, or Run
        The function to call with each model; for a simulation a `Run`, which simulates many samples at once. It returns numbers
        or arrays by name, always with the same names and shapes. `seed` is an int that differs for each sample, for noise. If
        initial states are drawn, or a `point` is given, it is called with an `OperatingPoint` in the place of the model:
        ``f(point)``, ``f(point, seed)``, with ``point.model``, ``point.q``, ``point.v`` and ``point.x``, loops closed.
    n : int, optional
        Number of samples; not needed if `which` is given.
    seed : int
        Each sample has its own random generator, by its number (`numpy.random.SeedSequence.spawn`), and draws its parameters in
        the order of their names. So the results do not depend, to the last bit, on the number of workers, the order of the
        distributions or the other samples.
    workers : int or Executor
        Number of processes, or an executor of `concurrent.futures`, such as dask's ``client.get_executor()`` or MPI's; their
        processes need titop. Where processes cannot be forked (Windows, macOS), `run` must be importable, not a lambda; an
        executor takes any function if cloudpickle is installed. A task whose process dies is tried three times. Linear algebra
        has one thread in each process.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.
    which : iterable of int, optional
        The numbers of the samples to compute, such as ``range(100, 200)``: parts of a study, which ``+`` joins.
    ties : mapping of name to tie, optional
        Parameters, or initial states, that follow what is drawn: the name of what they are equal to, ``(name, factor)``, or a
        function of the drawn values by name.
    point : OperatingPoint, optional
        The nominal state, and its loads; by default the neutral configuration at rest.
    checkpoint : str or path, optional
        A file that keeps what was computed. If it exists, the same call goes on from it; it may have another number of workers
        and other samples of the same study. It is written whole or not at all, every five seconds (less often where that takes
        longer than a twentieth of the time) and at the end. What is lost when this process is killed is what was computed since
        then, and what was in the works. Of `run` the code is compared too, and the numbers it refers to, not what it calls.

    Returns
    -------
    Samples
        With the failures of single runs; a `ModelWarning` gives their number.

    Raises
    ------
    ModelError
        For unusable arguments; for the checkpoint of another study.
    SweepInterrupt
        On Ctrl-C; its `found` has the samples computed until then.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("drop", gravity=[0, 0, -10])
    >>> s.connect("world", tt.RigidBody("stone", mass=1.0), joint=tt.Prismatic("fall"))
    >>> def run(model):
    ...     return {"weight": model.gravity_effects([0.0])[0]}
    >>> samples = tt.monte_carlo(s.resolve(), {"stone.mass": (1.0, 2.0)}, run, n=100)
    >>> bool((samples.outcomes["weight"] == 10 * samples.parameters["stone.mass"]).all())
    True
    """
    if not isinstance(model, Model):
        raise ModelError(Finding("wrong-type", "model", model, "a resolved model", "pass system.resolve()"))
    if not callable(run):
        raise ModelError(Finding("wrong-type", "run", run, "a function of a model", "write f(model) -> {name: number}"))
    numbers, workers = _read_which(n, which), read_workers(workers)
    seed = read_count(Finding("bad-seed", "seed", seed, "a whole number, zero or more", "0 will do"), 0)
    drawing = Distributions(_read_point(model, point), distributions, ties)
    study = _Study(drawing, run, point is not None or drawing.has_states, seed, workers, progress)
    drawn = study.drawn(numbers)
    warn_of_samples(model.mechanism.assembly, [drawing.parameters(values) for values in drawn])
    keeper, few = None, study.drawn(range(_FEW))
    if checkpoint is not None:
        about = {"model": identity(model), "distributions": few, "seed": seed, "run": run}
        about["point"] = tuple(getattr(drawing.point, name) for name in ("q", "v", "a", "x", "tau", "u"))
        keeper = Checkpoint(checkpoint, "monte_carlo", about)
    tasks = [*zip(numbers, zip(drawn, study.seeds_of_runs(numbers), strict=True), strict=True)]
    results = study.results(tasks, keeper)
    there = [k for k, number in enumerate(numbers) if number in results]
    parameters = {name: np.array([drawn[k][name] for k in there]) for name in drawing.names}
    begin = tuple(values[name] for values in few for name in sorted(values))
    samples = _gather(model, parameters, {numbers[k]: results[numbers[k]] for k in there}, study, begin)
    if len(there) < len(numbers):
        stopped = f"stopped after {len(there)} of {len(numbers)} samples: they are the .found of this exception"
        raise SweepInterrupt(stopped, samples)
    return samples


@dataclass
class _Study:
    """A function to be called at random parameters, or with operating points; arguments of `monte_carlo`, checked."""

    drawing: Distributions
    run: Callable[..., Any]
    of_points: bool
    seed: int
    workers: int | Executor
    progress: bool

    def __post_init__(self) -> None:
        self.is_seeded = _takes_seed(self.run)

    def drawn(self, numbers: Sequence[int]) -> list[dict[str, float]]:
        """Return the values of samples, each by its own generator: of the first of the two seeds that its own spawns."""
        seeds: Any = map(Words, spawned_words(self.seed, numbers, 0, 4))
        return [self.drawing.sample(np.random.Generator(np.random.PCG64(seed))) for seed in seeds]

    def seeds_of_runs(self, numbers: Sequence[int]) -> list[tuple[int, ...]]:
        """Return what runs of samples are called with besides their models."""
        return [(seed,) * self.is_seeded for seed in spawned_words(self.seed, numbers, 1, 1)[:, 0].tolist()]

    def results(self, tasks: list[tuple[int, Any]], keeper: Checkpoint | None = None) -> dict[int, Outcome | str]:
        """Return the outcomes of tasks, and the messages of those that failed, by number; after Ctrl-C of some."""
        made = self.drawing.point, self.drawing.places, self.run, self.of_points
        kept = None if keeper is None else _KeptOneByOne(keeper)
        left = [task for task in tasks if keeper is None or task[0] not in keeper]
        size = min(_TOGETHER, -(-len(left) // (_PARTS * (self.workers if isinstance(self.workers, int) else 1))))
        size = size if hasattr(self.run, "of_many") else 1
        groups = [[task] for task in tasks if keeper is not None and task[0] in keeper]
        groups += [left[k : k + size] for k in range(0, len(left), max(size, 1))]
        keyed = [(tuple(k for k, _ in group), [task for _, task in group]) for group in groups]
        outcomes: dict[int, Outcome | str] = {}
        with (
            Spread(_running, made, self.workers, lambda group, how: how, checkpoint=kept) as spread,
            progress_bar(progress=self.progress, total=len(tasks), unit="run") as bar,
        ):
            try:
                for numbers, result in spread.results(keyed):
                    if isinstance(result, str) and len(numbers) > 1:  # one of them kills processes
                        again = dict(keyed)[numbers]
                        keyed += [((k,), [task]) for k, task in zip(numbers, again, strict=True)]
                        continue
                    outcomes |= {numbers[0]: result} if isinstance(result, str) else zip(numbers, result, strict=True)
                    bar.update(len(numbers))
            except KeyboardInterrupt:
                if not outcomes:
                    raise
        return outcomes

    def sobol(self, outcome: str, n: int) -> tuple[tuple[str, ...], Array, Array]:
        """Return the names of what is drawn, and Sobol indices of an outcome, (names, ...) each."""
        from scipy.stats import sobol_indices

        laws = self.drawing.laws
        for law in laws:
            if not hasattr(law.scipy, "ppf"):
                got, expected = f"what {', '.join(law.names)} is drawn from", "independent parameters that have quantiles"
                advice = "give pairs, tt.percent(10) or distributions of scipy.stats such as norm(1.0, 0.1)"
                raise ModelError(Finding("no-quantiles", "sobol", got, expected, advice))
        names, shapes = [law.names[0] for law in laws], list[tuple[int, ...]]()

        def outcomes(columns: Array) -> Array:
            rows = [
                {name: x for law, x in zip(laws, column, strict=True) for name in law.names} for column in columns.T.tolist()
            ]
            (seed,) = self.seeds_of_runs([0])
            tasks = [(k, (self.drawing.with_ties(row), seed)) for k, row in enumerate(rows)]
            found = self.results(tasks)
            results = [found[k] for k, _ in tasks if k in found]
            bad = next((result for result in results if isinstance(result, str)), "")
            if bad or len(results) < len(tasks):
                got, expected = bad or "a study that was stopped", "runs without errors"
                advice = "Sobol indices need all runs: mend them, or narrow the distributions"
                raise ModelError(Finding("failed-runs", "sobol", got, expected, advice))
            values = np.array([result[outcome] for result in results if not isinstance(result, str)])
            shapes.append(values.shape[1:])
            flat = values.reshape(len(values), -1).T
            return np.vstack([flat, flat[:1]])  # two at least: scipy cannot take one outcome of one parameter

        rng = np.random.default_rng(self.seed)
        indices = sobol_indices(func=outcomes, n=n, dists=[law.scipy for law in laws], random_state=rng)
        first, total = (part.reshape(-1, len(names))[:-1].T for part in (indices.first_order, indices.total_order))
        return tuple(names), first.reshape(len(names), *shapes[0]), total.reshape(len(names), *shapes[0])


class _KeptOneByOne:
    """A checkpoint of groups of samples: it keeps each sample under its own number."""

    def __init__(self, keeper: Checkpoint) -> None:
        self._keeper, self.save = keeper, keeper.save

    def __contains__(self, numbers: tuple[int, ...]) -> bool:
        return all(k in self._keeper for k in numbers)

    def answer(self, numbers: tuple[int, ...]) -> Any:
        return True, [self._keeper.answer(k)[1] for k in numbers]

    def put(self, numbers: tuple[int, ...], message: bytes) -> None:
        for k, outcome in zip(numbers, pickle.loads(message)[1], strict=True):
            self._keeper.put(k, pickle.dumps((True, outcome)))


def _running(
    point: OperatingPoint, places: Mapping[str, Any], run: Any, of_points: bool
) -> Callable[[Any], list[Outcome | str]]:
    """Return the function that runs a group of samples: their outcomes, or why they failed."""

    def source(values: Mapping[str, float]) -> Model | OperatingPoint:
        model = changed_model(point.model, {name: value for name, value in values.items() if not places[name].kind})
        states = {name: value for name, value in values.items() if places[name].kind}
        return initial_state(point, model, places, states) if of_points else model

    def sample(values: Mapping[str, float], seed: tuple[int, ...]) -> Outcome | str:
        return _told(lambda: _read_outcome(run(source(values), *seed)))

    def group(tasks: Sequence[tuple[dict[str, float], tuple[int, ...]]]) -> list[Outcome | str]:
        if not hasattr(run, "of_many"):
            return [sample(*task) for task in tasks]
        with collection_paused():
            results: list[Any] = [_told(partial(source, values)) for values, _ in tasks]
        there = [k for k, result in enumerate(results) if not isinstance(result, str)]
        found = run.of_many([results[k] for k in there], [tasks[k][1][0] for k in there])
        for k, outcome in zip(there, found, strict=True):
            results[k] = _told(partial(_read_outcome, outcome))
        return results

    return group


def _told(function: Callable[[], Any]) -> Any:
    """Return what a function returns, or the text of what it raises."""
    try:
        return function()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _read_which(n: Any, which: Any) -> list[int]:
    if which is None or n is not None:
        n = read_count(Finding("bad-count", "n", n, "a whole number, one or more", "check the value"), 1)
        advice = "make several studies of other seeds, or parts of one: which=range(...)"
        read_count(Finding("bad-count", "n", n, f"at most {_MOST:,}", advice), 1, _MOST)
    if which is None:
        return [*range(n)]
    numbers = None if isinstance(which, str) or not isinstance(which, Iterable) else [*which]
    is_whole = bool(numbers) and all(isinstance(k, int | np.integer) and not isinstance(k, bool) for k in numbers or [])
    if not numbers or not is_whole or min(numbers) < 0 or len(set(numbers)) < len(numbers) or len(numbers) > _MOST:
        expected = f"different whole numbers, zero or more, at most {_MOST:,}"
        raise ModelError(Finding("bad-which", "which", which, expected, "such as range(100, 200)"))
    if n is not None and max(numbers) >= n:
        raise ModelError(Finding("bad-which", "which", max(numbers), f"numbers below n = {n}", "leave n out"))
    return [int(k) for k in numbers]


def _read_point(model: Model, point: Any) -> OperatingPoint:
    if point is None:
        return OperatingPoint(model, model.neutral())
    if not isinstance(point, OperatingPoint):
        advice = "pass what tt.trim returns, or tt.OperatingPoint(model, q, v)"
        raise ModelError(Finding("wrong-type", "point", point, "an operating point", advice))
    if point.model.coordinate_names != model.coordinate_names:
        got = f"a point of {point.model.name!r}"
        raise ModelError(Finding("other-model", "point", got, f"a point of {model.name!r}", "take one of this model"))
    return OperatingPoint(model, point.q, point.v, point.tau, point.u, point.wrenches, x=point.x, a=point.a)


def _takes_seed(run: Callable[..., Any]) -> bool:
    """Return whether a function takes a second argument; one without a signature (compiled) gets only the model."""
    try:
        signature = inspect.signature(run)
    except (TypeError, ValueError):
        return False
    required = [p for p in signature.parameters.values() if p.default is p.empty and p.kind in (0, 1)]
    seeded = len(required) > 1
    try:
        signature.bind(*(None, None)[: 1 + seeded])
    except TypeError:
        expected, advice = "a function of a model, or of a model and a seed", "write f(model) -> {name: number}"
        raise ModelError(Finding("wrong-type", "run", f"arguments {signature}", expected, advice)) from None
    return seeded


def _read_outcome(outcome: Any) -> Outcome:
    if isinstance(outcome, Exception):
        raise outcome
    if not isinstance(outcome, Mapping):
        raise ModelError(Finding("wrong-type", "run", outcome, "a mapping of names to numbers", 'return {"name": number}'))
    read = {}
    for name, value in outcome.items():
        wrong = Finding("wrong-type", f"run: {name}", value, "numbers", "return real numbers or arrays")
        read[str(name)] = read_array(wrong)
    return read


def _gather(
    model: Model, parameters: dict[str, Array], results: Mapping[int, Outcome | str], study: _Study, begin: tuple[float, ...]
) -> Samples:
    """Return the samples; a run whose outcomes differ in kind from those of the first usable run fails too."""
    first = next((result for result in results.values() if isinstance(result, dict)), {})
    shapes = {name: value.shape for name, value in first.items()}
    outcomes = {name: np.full((len(results), *shape), np.nan) for name, shape in shapes.items()}
    failures: dict[int, str] = {}
    for place, (k, result) in enumerate(results.items()):
        if isinstance(result, str):
            failures[k] = result
        elif {name: value.shape for name, value in result.items()} != shapes:
            failures[k] = f"other outcomes than before: {', '.join(f'{name} {value.shape}' for name, value in result.items())}"
        else:
            for name, value in result.items():
                outcomes[name][place] = value
    if failures:
        k, message = next(iter(failures.items()))
        broken = f"{len(failures)} of {len(results)} runs failed, the first at sample {k}: {message}"
        warn([Finding("failed-runs", "run", broken, "runs without errors", "see samples.failures")])
    samples = Samples(model.name, parameters, outcomes, failures, study.seed, np.array([*results]), begin)
    return samples.with_sobol(study.sobol)
