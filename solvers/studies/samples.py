"""The results of a Monte Carlo study: statistics and sensitivities."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.notebook import attributes_page
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import read_array
from titop.solvers.linear.lpv_plots import without_jumps
from titop.solvers.support.extras import import_xarray

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


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


class Sensitivity(NamedTuple):
    """Sensitivities of an outcome to p parameters, arrays (p, ...) without unit, with the outcome's shape behind.

    Attributes
    ----------
    parameters : tuple of str
    rank : array
        Spearman's rank correlation: 1 if the outcome always rises with the parameter, -1 if it falls; NaN if it is constant.
    probability : array
        Of a correlation at least as large if there is none.
    first, total : array or None
        Sobol indices: parts of the outcome's variance due to the parameter alone, and due to it and all that it acts with.
    """

    parameters: tuple[str, ...]
    rank: Array
    probability: Array
    first: Array | None = None
    total: Array | None = None


#: Computes Sobol indices of an outcome with a number of samples.
Sobol = Callable[[str, int], tuple[tuple[str, ...], Array, Array]]


@dataclass(frozen=True, repr=False)
class Samples:
    """The parameters and initial states drawn, and the outcomes.

    ``samples + others`` are those of both, of the same study.

    Attributes
    ----------
    name : str
        Name of the model.
    parameters : dict of name to (n,) array
    outcomes : dict of name to (n, ...) array
        NaN where the run failed.
    failures : dict of int to str
        Messages of the failed runs, by the number of the sample.
    seed : int
    which : (n,) array of int
        The numbers of the samples; all from zero on if nothing else was said.
    first : tuple of float
        What the distributions give for the first samples, drawn or not: studies are told apart by it.

    Notes
    -----
    `outcome` in the methods is the name of an outcome.
    """

    name: str
    parameters: dict[str, Array]
    outcomes: dict[str, Array]
    failures: dict[int, str]
    seed: int
    which: Array = None  # type: ignore[assignment]
    first: tuple[float, ...] = ()
    _sobol: Sobol | None = field(init=False, default=None, compare=False)

    def __post_init__(self) -> None:
        if self.which is None:
            sizes = {len(column) for column in (*self.parameters.values(), *self.outcomes.values())}
            object.__setattr__(self, "which", np.arange(max(sizes, default=len(self.failures))))

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the function that was run."""
        return self.__dict__ | {"_sobol": None}

    def with_sobol(self, sobol: Sobol) -> Samples:
        """Return the same samples, with a function `sobol` that computes indices; see `sensitivity`."""
        samples = replace(self)
        object.__setattr__(samples, "_sobol", sobol)
        return samples

    @property
    def n(self) -> int:
        """Number of samples, failures included."""
        return len(self.which)

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
        return self.outcomes[outcome][self._sound]

    @property
    def _sound(self) -> Array:
        return np.array([k not in self.failures for k in self.which.tolist()], dtype=bool)

    def statistics(self, outcome: str) -> Statistics:
        """Return statistics of an outcome over the runs that did not fail."""
        values = self.values(outcome)
        std = values.std(axis=0, ddof=1) if len(values) > 1 else np.full(values.shape[1:], np.nan)
        return Statistics(values.mean(axis=0), std, *np.quantile(values, [0.0, 0.05, 0.5, 0.95, 1.0], axis=0))

    def sensitivity(self, outcome: str, sobol: int = 0) -> Sensitivity:
        """Return sensitivities (p, ...; no unit) of an outcome to p parameters, drawn or tied, over the runs that did not fail.

        Rank correlations (`scipy.stats.spearmanr`) are those of the samples. They say how monotone a dependence is, not how
        large. Sobol indices (`scipy.stats.sobol_indices`, Saltelli 2010) are parts of a variance. They need ``sobol`` times
        (parameters + 2) more runs of the study's function, with its number of processes; the parameters must be independent,
        and have quantiles: pairs, percents and scipy's distributions.

        Parameters
        ----------
        outcome : str
        sobol : int
            Samples for Sobol indices, a power of two such as 1024; zero for none.

        Raises
        ------
        ModelError
            For unknown outcomes, fewer than three samples, parameters without quantiles, and samples whose function is not at
            hand: from a file or another process, or sums.
        """
        values = self.values(outcome)
        if len(values) < 3:
            got, advice = f"{len(values)} samples", "draw more"
            raise ModelError(Finding("too-few-samples", f"sensitivity of {outcome}", got, "three at least", advice))
        from scipy.stats import ConstantInputWarning, spearmanr

        flat = values.reshape(len(values), -1)
        rank, probability = np.empty((2, len(self.parameters), flat.shape[1]))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConstantInputWarning)  # NaN says it
            for p, column in enumerate(self.parameters.values()):
                for k, outcomes in enumerate(flat.T):
                    rank[p, k], probability[p, k] = spearmanr(column[self._sound], outcomes)
        shape = (len(self.parameters), *values.shape[1:])
        result = Sensitivity(tuple(self.parameters), rank.reshape(shape), probability.reshape(shape))
        if not sobol:
            return result
        if isinstance(sobol, bool) or not isinstance(sobol, int) or sobol < 2 or sobol & (sobol - 1):
            raise ModelError(Finding("bad-count", "sobol", sobol, "a power of two", "such as 1024"))
        if self._sobol is None:
            got, advice = "samples without their function", "take those that tt.monte_carlo returns"
            raise ModelError(Finding("no-function", "sobol", got, "a function that can be called again", advice))
        names, first, total = self._sobol(outcome, sobol)
        order = [names.index(name) if name in names else -1 for name in self.parameters]  # what is tied has no part of its own
        whole = [np.concatenate([part, np.full((1, *part.shape[1:]), np.nan)])[order] for part in (first, total)]
        return result._replace(first=whole[0], total=whole[1])

    def plot(self, outcome: str, over: Any = None, log: str = "", period: float | None = None, label: str = "") -> Figure:
        """Plot an outcome of shape (k,) or (k, m) as m fans: medians, and bands of half and of nine tenths of the samples.

        Such as gains or singular values over frequency, or a coordinate over time.

        Parameters
        ----------
        outcome : str
        over : array_like (k,), optional
            What it is plotted over, in its own unit; 0, 1, ... by default.
        log : {"", "x", "y", "xy"}
            Axes that are logarithmic.
        period : float, optional
            Numbers that differ by this are the same, such as 360 for phases in degrees: curves have no jumps by it.
        label : str
            Of what it is plotted over.

        Raises
        ------
        ModelError
            For unknown outcomes, of another shape, and unusable arguments.
        """
        values = self.values(outcome)
        k = values.shape[1] if values.ndim in (2, 3) else 0
        if not k or not len(values):
            advice = "return arrays (k,) or (k, m), such as a gain over frequency"
            raise ModelError(Finding("wrong-shape", outcome, f"samples of shape {values.shape}", "curves", advice))
        expected, over = f"{k} {'positive ' if 'x' in log else ''}numbers", np.arange(k) if over is None else over
        wrong = Finding("wrong-length", "over", over, expected, "give what the outcome is plotted over")
        places = read_array(wrong, lambda places: places.shape == (k,) and ("x" not in log or (places > 0).all()))
        if log not in ("", "x", "y", "xy"):
            raise ModelError(Finding("bad-axes", "log", log, "x, y, xy or nothing", "name the logarithmic axes"))
        if period is not None:
            values = without_jumps(values, period)
        from titop.blocks.basics.figure import Figure

        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axis = figure.subplots()
        low, quarter, middle, three, high = np.quantile(
            values.reshape(len(values), k, -1), [0.05, 0.25, 0.5, 0.75, 0.95], axis=0
        )
        for m in range(middle.shape[1]):
            axis.fill_between(places, low[:, m], high[:, m], color=f"C{m}", alpha=0.2, linewidth=0, label="90 %")
            axis.fill_between(places, quarter[:, m], three[:, m], color=f"C{m}", alpha=0.35, linewidth=0, label="50 %")
            axis.plot(places, middle[:, m], color=f"C{m}", label="median")
        axis.set_xscale("log" if "x" in log else "linear")
        axis.set_yscale("log" if "y" in log else "linear")
        axis.set_ylabel(outcome)
        axis.set_xlabel(label)
        axis.set_title(f"{len(values)} samples of {self.name}", fontsize=10)
        axis.grid(alpha=0.3, which="both")
        axis.legend(*(some[:3] for some in axis.get_legend_handles_labels()), fontsize=8)
        return figure

    def __add__(self, other: Samples) -> Samples:
        """Return the samples of both, by their numbers.

        Raises `ModelError` if they are of different studies, or have samples in common.
        """
        if not isinstance(other, Samples):
            return NotImplemented
        ours, theirs = ((some.name, some.seed, some.first, [*some.parameters]) for some in (self, other))
        shapes = [{name: values.shape[1:] for name, values in some.outcomes.items()} for some in (self, other)]
        advice = "take samples of one study: its model, distributions and seed"
        if ours != theirs or (all(shapes) and shapes[0] != shapes[1]):
            raise ModelError(Finding("other-study", "samples", f"samples of {other!r}", f"samples like {self!r}", advice))
        if common := np.intersect1d(self.which, other.which).tolist():
            got = f"sample {common[0]} in both"
            raise ModelError(Finding("given-twice", "samples", got, "each sample once", "leave it out"))
        which = np.concatenate([self.which, other.which])
        order = np.argsort(which)

        def both(one: Array, two: Array) -> Array:
            return np.concatenate([one, two])[order]

        blank = [
            {name: np.full((some.n, *shape), np.nan) for name, shape in (shapes[0] or shapes[1]).items()}
            for some in (self, other)
        ]
        outcomes = [none | some.outcomes for none, some in zip(blank, (self, other), strict=True)]
        return Samples(
            self.name,
            {name: both(column, other.parameters[name]) for name, column in self.parameters.items()},
            {name: both(values, outcomes[1][name]) for name, values in outcomes[0].items()},
            dict(sorted((self.failures | other.failures).items())),
            self.seed,
            which[order],
            self.first,
        )

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
        messages = [self.failures.get(k, "") for k in self.which.tolist()]
        variables["failure"] = ("sample", np.array(messages, dtype=np.str_))
        coordinates = {"sample": self.which, "parameter": np.array(list(self.parameters), dtype=np.str_)}
        return xarray.Dataset(variables, coordinates, attrs={"system": self.name, "seed": self.seed})

    _repr_html_ = attributes_page

    def __repr__(self) -> str:
        text = f"Samples({self.name!r}, n={self.n}, outcomes: {', '.join(self.outcomes) or 'none'}; "
        if not self.failures:
            return f"{text}no failures)"
        k, message = next(iter(self.failures.items()))
        return f"{text}{len(self.failures)} failed, the first at sample {k}: {message})"
