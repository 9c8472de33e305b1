"""The samples of a Monte Carlo analysis."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.spatial import Array
from titop.solvers.support.extras import import_xarray

if TYPE_CHECKING:
    import xarray


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
    """Parameters that were drawn, and what came out.

    Attributes
    ----------
    name : str
        Of the model.
    parameters : dict of name to (n,) array
    outcomes : dict of name to (n, ...) array
        NaN where the run failed.
    failures : dict of int to str
        Messages of the runs that failed, by number of the sample.
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
            If outcomes have names that the dataset's own variables have.
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
