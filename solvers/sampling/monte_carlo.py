"""Monte Carlo: what comes out of a model when its parameters are uncertain."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean, warn
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_functions import check_function
from titop.blocks.basics.user_input import real_array
from titop.solvers.arguments.percent import Percent
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.mechanism.parameters import warn_of_samples
from titop.solvers.model.model import Model
from titop.solvers.sampling.samples import Samples
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.workers import spread

Draw = Callable[[np.random.Generator], float]
Outcome = dict[str, Array]

#: Samples, and processes, of one study: a million take some 2 GB.
_MOST = 1_000_000


def monte_carlo(
    model: Model,
    distributions: Mapping[str, Any],
    run: Callable[..., Mapping[str, Any]],
    n: int,
    seed: int = 0,
    workers: int = 1,
    progress: bool = True,
) -> Samples:
    """Run something with a model at random parameters, many times.

    Parameters
    ----------
    model : Model
    distributions : mapping of parameter name to distribution
        A frozen distribution of `scipy.stats`, a pair ``(low, high)`` or ``tt.percent(10)`` for a uniform one, or a function of
        a NumPy random generator that returns a number. Names are those of ``model.parameters()``.
    run : callable ``f(model) -> mapping``, or ``f(model, seed) -> mapping``
        What to do with each model, such as a simulation; returns numbers or arrays by name, always of the same names and
        shapes. `seed` is an int of the sample's own, for noise.
    n : int
        Number of samples.
    seed : int
        Each sample draws from a generator of its own (`numpy.random.SeedSequence.spawn`), its parameters in the order of their
        names: the results are the same, to the last bit, whatever the number of workers and the order of the distributions.
    workers : int
        Processes. Where processes cannot be forked (Windows, macOS), `run` must be importable, not a lambda.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.

    Returns
    -------
    Samples
        With the failures of single runs; a `ModelWarning` tells how many there are.

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
    for k, (own, _) in enumerate(seeds):
        rng = np.random.default_rng(own)
        for name in sorted(draws):  # whatever the order in which they are given
            parameters[name][k] = _drawn(name, draws[name](rng))
    seeded = _takes_seed(run)
    samples = [{name: float(column[k]) for name, column in parameters.items()} for k in range(n)]
    warn_of_samples(model.assembly, samples)

    def sample(k: int) -> Outcome | str:
        arguments = (int(seeds[k][1].generate_state(1, np.uint64)[0]),) if seeded else ()
        try:
            return _read_outcome(run(model.changed(samples[k])[0], *arguments))
        except Exception as error:
            return f"{type(error).__name__}: {error}"

    return _gathered(model, parameters, _spread(sample, n, workers, progress), seed)


def _spread(sample: Callable[[int], Outcome | str], n: int, workers: int, progress: bool) -> list[Outcome | str]:
    """Return all samples, in one process or several; a process that dies is a failure of the sample that it was at."""
    results = map(sample, range(n)) if workers == 1 else spread(range(n), _itself, (sample,), workers, _died)
    return list(progress_bar(results, progress, total=n, unit="run"))


def _itself(sample: Callable[[int], Outcome | str]) -> Callable[[int], Outcome | str]:
    return sample


def _died(k: int, how: str) -> str:
    return how


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
    for name, given in read_mapping("distributions", distributions).items():
        if callable(given) and not hasattr(given, "rvs"):
            check_function(f"distributions[{name!r}]", given, "rng")
        where = f"distributions[{name!r}]"
        draw = _read_draw(given.about(where, known[name][0]) if isinstance(given, Percent) and name in known else given)
        if name not in known:
            advice = did_you_mean(name, known)
            findings.append(Finding("unknown-parameter", where, name, "a parameter of the model", advice))
        elif draw is None:
            expected = "a frozen scipy distribution, (low, high) with low < high, tt.percent(10), or a function of a generator"
            findings.append(Finding("bad-distribution", where, given, expected, "such as scipy.stats.norm(1.0, 0.1)"))
        else:
            draws[name] = draw
    if findings:
        raise ModelError(findings)
    return draws


def _read_draw(given: Any) -> Draw | None:
    if hasattr(given, "rvs") and hasattr(given, "args"):
        return lambda rng: given.rvs(random_state=rng)
    if callable(given) and not hasattr(given, "rvs"):
        return given  # type: ignore[no-any-return]
    pair = real_array(given)
    if pair is None or pair.shape != (2,) or not np.isfinite(pair).all() or not pair[0] < pair[1]:
        return None
    return lambda rng: rng.uniform(*pair)


def _drawn(name: str, value: Any) -> float:
    number = real_array(value)
    if number is None or number.size != 1 or not np.isfinite(number).all():
        advice = "check the distribution"
        raise ModelError(Finding("bad-distribution", f"distributions[{name!r}]", value, "a finite number drawn", advice))
    return float(number.ravel()[0])


def _takes_seed(run: Callable[..., Any]) -> bool:
    """Return whether a function asks for a second argument; one that does not say, as compiled ones, gets the model alone."""
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


def _gathered(model: Model, parameters: dict[str, Array], results: Sequence[Outcome | str], seed: int) -> Samples:
    """Return the samples; a run whose outcomes differ in kind from the first usable ones' has failed, too."""
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
        found = f"{len(failures)} of {len(results)} runs failed, the first at sample {k}: {message}"
        warn([Finding("failed-runs", "run", found, "runs without errors", "see samples.failures")])
    return samples
