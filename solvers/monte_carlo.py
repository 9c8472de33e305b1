"""Monte Carlo: results of a model whose parameters are random."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import real_array
from titop.solvers.arguments.percent import Percent
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.mechanism.parameters import warn_of_samples
from titop.solvers.model.model import Model
from titop.solvers.model.parameters import changed_model
from titop.solvers.support.extras import import_xarray
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.workers import spread

if TYPE_CHECKING:
    import xarray

Draw = Callable[[np.random.Generator], float]
Outcome = dict[str, Array]

#: Samples, and processes, of one study: a million take some 2 GB.
_MOST = 1_000_000


class Statistics(NamedTuple):
    """Statistics of an outcome over the samples, each of the outcome's shape.

    `std` is the unbiased standard deviation; `low`, `median` and `high` are the 5, 50 and 95 % quantiles.
    """

    mean: Any
    std: Any
    least: Any
    low: Any
    median: Any
    high: Any
    greatest: Any


@dataclass(frozen=True, repr=False)
class Samples:
    """The parameters drawn, and the outcomes.

    Attributes
    ----------
    name : str
        Name of the model.
    parameters : dict of name to (n,) array
    outcomes : dict of name to (n, ...) array
        NaN where the run failed.
    failures : dict of int to str
        Messages of the failed runs, by the index of the sample.
    seed : int

    Notes
    -----
    `outcome` in the methods is the name of an outcome.
    """

    name: str
    parameters: dict[str, Array]
    outcomes: dict[str, Array]
    failures: dict[int, str]
    seed: int

    @property
    def n(self) -> int:
        """Number of samples, failures included."""
        sizes = {len(column) for column in (*self.parameters.values(), *self.outcomes.values())}
        return max(sizes, default=len(self.failures))

    def values(self, outcome: str) -> Array:
        """Return an outcome (samples, ...) of the runs that did not fail, in its own unit.

        Raises
        ------
        ModelError
            If the name is unknown.
        """
        if outcome not in self.outcomes:
            advice = did_you_mean(outcome, self.outcomes)
            raise ModelError(Finding("unknown-outcome", "outcome", outcome, "an outcome of the runs", advice))
        return np.delete(self.outcomes[outcome], list(self.failures), axis=0)

    def statistics(self, outcome: str) -> Statistics:
        """Return statistics of an outcome over the runs that did not fail."""
        values = self.values(outcome)
        std = values.std(axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1:], np.nan)
        return Statistics(values.mean(axis=0), std, *np.quantile(values, [0.0, 0.05, 0.5, 0.95, 1.0], axis=0))

    def to_xarray(self) -> xarray.Dataset:
        """Return outcomes as a Dataset over the samples, with ``parameters`` and the messages of failed runs (``failure``).

        Raises
        ------
        ImportError
            If xarray is not installed (``pip install titop[xarray]``).
        ModelError
            If outcomes have names of the dataset's own variables.
        """
        xarray = import_xarray("Samples.to_xarray")
        reserved = {"parameters", "failure", "sample", "parameter"}.intersection(self.outcomes)
        if reserved:
            expected, advice = "other names: the dataset's own are these", "rename what `run` returns, or read `outcomes`"
            raise ModelError(Finding("reserved-name", "outcomes", ", ".join(sorted(reserved)), expected, advice))
        columns = np.array(list(self.parameters.values())).reshape(len(self.parameters), self.n)
        variables: dict[str, Any] = {"parameters": (("sample", "parameter"), columns.T)}
        for name, values in self.outcomes.items():
            axes = (f"{name}_{k}" for k in range(values.ndim - 1))
            variables[name] = (("sample", *axes), values)
        variables["failure"] = ("sample", np.array([self.failures.get(k, "") for k in range(self.n)], dtype=np.str_))
        coordinates = {"sample": np.arange(self.n), "parameter": np.array(list(self.parameters), dtype=np.str_)}
        return xarray.Dataset(variables, coordinates, attrs={"system": self.name, "seed": self.seed})

    def __repr__(self) -> str:
        text = f"Samples({self.name!r}, n={self.n}, outcomes: {', '.join(self.outcomes) or 'none'}; "
        if not self.failures:
            return f"{text}no failures)"
        k, message = next(iter(self.failures.items()))
        return f"{text}{len(self.failures)} failed, the first at sample {k}: {message})"


def monte_carlo(
    model: Model,
    distributions: Mapping[str, Any],
    run: Callable[..., Mapping[str, Any]],
    n: int,
    seed: int = 0,
    workers: int = 1,
    progress: bool = True,
) -> Samples:
    """Call a function with a model at random parameters, many times.

    Parameters
    ----------
    model : Model
    distributions : mapping of parameter name to distribution
        A frozen distribution of `scipy.stats`, a pair ``(low, high)`` or ``tt.percent(10)`` for a uniform one, or a function of
        a NumPy random generator that returns a number. Names are those of ``model.parameters()``.
    run : callable ``f(model) -> mapping``, or ``f(model, seed) -> mapping``
        The function to call with each model, such as a simulation. It returns numbers or arrays by name, always with the same
        names and shapes. `seed` is an int that differs for each sample, for noise.
    n : int
        Number of samples.
    seed : int
        Each sample has its own random generator (`numpy.random.SeedSequence.spawn`) and draws its parameters in the order of
        their names. So the results do not depend, to the last bit, on the number of workers or the order of the distributions.
    workers : int
        Number of processes. Where processes cannot be forked (Windows, macOS), `run` must be importable, not a lambda.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.

    Returns
    -------
    Samples
        With the failures of single runs; a `ModelWarning` gives their number.

    Raises
    ------
    ModelError
        For unusable arguments.

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
    n, workers = _read_count("n", n), _read_count("workers", workers)
    seed, draws = _read_seed(seed), _read_distributions(model, distributions)
    seeds = [child.spawn(2) for child in np.random.SeedSequence(seed).spawn(n)]
    parameters = {name: np.empty(n) for name in draws}
    for k, (seed_of_parameters, _) in enumerate(seeds):
        rng = np.random.default_rng(seed_of_parameters)
        for name in sorted(draws):  # in an order that does not depend on the mapping's
            parameters[name][k] = _read_drawn(name, draws[name](rng))
    seeded = _takes_seed(run)
    samples = [{name: float(column[k]) for name, column in parameters.items()} for k in range(n)]
    warn_of_samples(model.mechanism.assembly, samples)

    def sample(k: int) -> Outcome | str:
        arguments = (int(seeds[k][1].generate_state(1, np.uint64)[0]),) if seeded else ()
        try:
            return _read_outcome(run(changed_model(model, samples[k]), *arguments))
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    return _gather(model, parameters, _spread(sample, n, workers, progress), seed)


def _spread(sample: Callable[[int], Outcome | str], n: int, workers: int, progress: bool) -> list[Outcome | str]:
    """Return all samples, computed in one process or several; if a process dies, its sample fails."""
    results = map(sample, range(n)) if workers == 1 else spread(range(n), lambda: sample, (), workers, lambda k, how: how)
    return list(progress_bar(results, progress, total=n, unit="run"))


def _read_count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ModelError(Finding("bad-count", name, value, "a whole number, one or more", "check the value"))
    if value > _MOST:
        raise ModelError(Finding("bad-count", name, value, f"at most {_MOST:,}", "make several studies of other seeds"))
    return int(value)


def _read_seed(seed: Any) -> int:
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ModelError(Finding("bad-seed", "seed", seed, "a whole number, zero or more", "0 will do"))
    return int(seed)


def _read_distributions(model: Model, distributions: Mapping[str, Any]) -> dict[str, Draw]:
    known = model.parameters()
    draws, findings = {}, []
    for name, distribution in read_mapping("distributions", distributions).items():
        where = f"distributions[{name!r}]"
        if callable(distribution) and not hasattr(distribution, "rvs"):
            check_function(where, distribution, "rng")
        is_percent = isinstance(distribution, Percent) and name in known
        draw = _read_draw(distribution.about(where, known[name][0]) if is_percent else distribution)
        if name not in known:
            advice = did_you_mean(name, known)
            findings.append(Finding("unknown-parameter", where, name, "a parameter of the model", advice))
        elif draw is None:
            expected = "a frozen scipy distribution, (low, high) with low < high, tt.percent(10), or a function of a generator"
            findings.append(Finding("bad-distribution", where, distribution, expected, "such as scipy.stats.norm(1.0, 0.1)"))
        else:
            draws[name] = draw
    if findings:
        raise ModelError(findings)
    return draws


def _read_draw(distribution: Any) -> Draw | None:
    if hasattr(distribution, "rvs") and hasattr(distribution, "args"):
        return lambda rng: distribution.rvs(random_state=rng)
    if callable(distribution) and not hasattr(distribution, "rvs"):
        return distribution  # type: ignore[no-any-return]
    pair = real_array(distribution)
    if pair is None or pair.shape != (2,) or not np.isfinite(pair).all() or not pair[0] < pair[1]:
        return None
    return lambda rng: rng.uniform(*pair)


def _read_drawn(name: str, value: Any) -> float:
    number = real_array(value)
    if number is None or number.size != 1 or not np.isfinite(number).all():
        advice = "check the distribution"
        raise ModelError(Finding("bad-distribution", f"distributions[{name!r}]", value, "a finite number drawn", advice))
    return float(number.ravel()[0])


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
    if not isinstance(outcome, Mapping):
        raise ModelError(Finding("wrong-type", "run", outcome, "a mapping of names to numbers", 'return {"name": number}'))
    read = {}
    for name, value in outcome.items():
        array = real_array(value)
        if array is None:
            raise ModelError(Finding("wrong-type", f"run: {name}", value, "numbers", "return real numbers or arrays"))
        read[str(name)] = array
    return read


def _gather(model: Model, parameters: dict[str, Array], results: Sequence[Outcome | str], seed: int) -> Samples:
    """Return the samples; a run whose outcomes differ in kind from those of the first usable run fails too."""
    first = next((result for result in results if isinstance(result, dict)), {})
    shapes = {name: value.shape for name, value in first.items()}
    outcomes = {name: np.full((len(results), *shape), np.nan) for name, shape in shapes.items()}
    failures: dict[int, str] = {}
    for k, result in enumerate(results):
        if isinstance(result, str):
            failures[k] = result
        elif {name: value.shape for name, value in result.items()} != shapes:
            failures[k] = f"other outcomes than before: {', '.join(f'{name} {value.shape}' for name, value in result.items())}"
        else:
            for name, value in result.items():
                outcomes[name][k] = value
    samples = Samples(model.name, parameters, outcomes, failures, seed)
    if failures:
        k, message = next(iter(failures.items()))
        broken = f"{len(failures)} of {len(results)} runs failed, the first at sample {k}: {message}"
        warn([Finding("failed-runs", "run", broken, "runs without errors", "see samples.failures")])
    return samples
