"""The result of simulating many members at once: their trajectories, stacked, with statistics; in files."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import ConvergenceError, Finding, ModelError
from titop.blocks.basics.notebook import page_of, table
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import read_array
from titop.solvers.model.model import Model, read_model
from titop.solvers.model.parameters import changed_model
from titop.solvers.simulation.trajectory import Trajectory
from titop.solvers.simulation.trajectory_arrays import fields_of, read_fields_of
from titop.solvers.studies.samples import Samples, Statistics
from titop.solvers.support.archive import MAX_BYTES, Archive, write_archive

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_FORMAT, _ALL = 1, "all:"


@dataclass(frozen=True, eq=False, repr=False)
class Ensemble:
    """Motions in time of many members, which `simulate` has returned.

    ``ensemble[k]`` is the `Trajectory` of a member, ``len(ensemble)`` their number n; an ensemble is also a sequence of these.

    Attributes
    ----------
    model : Model
        At its own parameters: those of a member are those of ``ensemble[k].model``.
    t : (m,) array, s
        Output times, of all members.
    trajectories : sequence of Trajectory or None
        None for members that failed.
    parameters : dict of name to (n,) array
        What the members' parameters are, where they were given.
    failures : dict of int to str
        Messages of the members that failed, by number.

    Notes
    -----
    Arguments of the methods: `of` names an entry of q or x, a sensor's output or a signal of the controllers, or is a function
    of a trajectory that returns an array, of the same shape for all; `path` is that of a file.
    """

    model: Model
    t: Array
    trajectories: Sequence[Trajectory | None]
    parameters: dict[str, Array] = field(default_factory=dict)
    failures: dict[int, str] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Ensemble({self.model.name!r}, {len(self)} members, {len(self.t)} times, {len(self.failures)} failed)"

    def _repr_html_(self) -> str:
        ends = np.array([each.q[-1] for each in self.trajectories if each is not None]).reshape(-1, self.model.nq)
        units, drawn = self.model.mechanism.assembly.configuration_units, self.parameters.items()
        spread = np.quantile(ends, (0, 0.5, 1), axis=0) if len(ends) else ()
        rows = zip(self.model.configuration_names, units, *spread, strict=True)
        tables = table("at the end", rows, ("name", "unit", "least", "median", "most")), table("failed", self.failures.items())
        given = table("parameters", ((name, min(x), max(x)) for name, x in drawn), ("name", "least", "most"))
        return page_of(self, *tables, given)

    def __len__(self) -> int:
        return len(self.trajectories)

    def __getitem__(self, k: int) -> Trajectory:
        """Return the trajectory of a member.

        Raises
        ------
        ConvergenceError
            If the member failed.
        """
        trajectory = self.trajectories[k]
        if trajectory is None:
            k = range(len(self))[k]
            raise ConvergenceError(f"member {k} has no trajectory: {self.failures[k]}")
        return trajectory

    def __iter__(self) -> Iterator[Trajectory]:
        return (self[k] for k in range(len(self)))

    @cached_property
    def q(self) -> Array:
        """Configurations (n, m, nq; rad or m) at the times `t`; NaN of members that failed, and where one had ended before."""
        return self._stacked("q", self.model.nq)

    @cached_property
    def v(self) -> Array:
        """Velocities (n, m, nv; rad/s or m/s), as `q`."""
        return self._stacked("v", self.model.nv)

    @cached_property
    def a(self) -> Array:
        """Accelerations (n, m, nv; rad/s^2 or m/s^2), as `q`."""
        return self._stacked("a", self.model.nv)

    @cached_property
    def tau(self) -> Array:
        """Applied efforts (n, m, nv; N m or N), as `q`."""
        return self._stacked("tau", self.model.nv)

    @cached_property
    def u(self) -> Array:
        """Inputs of the actuators (n, m, nu), each in its own unit, as `q`."""
        return self._stacked("u", self.model.nu)

    @cached_property
    def x(self) -> Array:
        """First-order states (n, m, nx), each in its own unit, as `q`."""
        return self._stacked("x", self.model.nx)

    def _stacked(self, name: str, columns: int) -> Array:
        return self._at_times(lambda trajectory: getattr(trajectory, name).reshape(len(trajectory.t), columns), (columns,))

    def _at_times(self, values: Callable[[Trajectory], Array], shape: tuple[int, ...]) -> Array:
        """Return values (n, m, ...) at the times that all members share."""
        stacked = np.full((len(self), len(self.t), *shape), np.nan)
        for row, trajectory in zip(stacked, self.trajectories, strict=True):
            if trajectory is not None:
                has_all = np.array_equal(self.t, trajectory.t)
                here, there = (..., ...) if has_all else np.intersect1d(self.t, trajectory.t, return_indices=True)[1:]
                row[here] = values(trajectory)[there]
        return stacked

    def values(self, of: str | Callable[[Trajectory], Any]) -> Array:
        """Return what `of` says, of all members: (n, m; each in its own unit) for a name, (n, ...) for a function.

        Raises
        ------
        ModelError
            If the name is unknown, or a function returns other than numbers, or arrays of different shapes.
        """
        if not callable(of):
            return self._at_times(lambda trajectory: _read(trajectory, of), ())

        def numbers(value: Any) -> Array:
            return read_array(Finding("wrong-type", "of", value, "a function that returns numbers", "or arrays over time"))

        rows = [None if trajectory is None else numbers(of(trajectory)) for trajectory in self.trajectories]
        shapes = {row.shape for row in rows if row is not None}
        if len(shapes) != 1:
            got = f"arrays of shapes {', '.join(map(str, sorted(shapes)))}"
            raise ModelError(
                Finding("wrong-shape", "of", got, "one shape for all members", "return numbers, or arrays over time")
            )
        blank = np.full(shapes.pop(), np.nan)
        return np.array([blank if row is None else row for row in rows])

    def samples(self, **outcomes: Any) -> Samples:
        """Return results of the members as `monte_carlo` does, with statistics, sensitivities to the parameters, and plots.

        Parameters
        ----------
        **outcomes
            By the names that the results get: what `values` takes.

        Examples
        --------
        ``ensemble.samples(end=lambda trajectory: trajectory.q[-1, 0]).sensitivity("end")``
        """
        values = {name: self.values(of) for name, of in outcomes.items()}
        return Samples(self.model.name, self.parameters, values, self.failures, 0, np.arange(len(self)))

    def statistics(self, of: str | Callable[[Trajectory], Any]) -> Statistics:
        """Return mean, standard deviation and quantiles over the members that did not fail, of the shape of a member's values.

        At times that a member has not reached they are NaN.
        """
        return self.samples(values=of).statistics("values")

    def plot(self, of: str | Callable[[Trajectory], Any]) -> Figure:
        """Draw medians over time, and bands of half and of nine tenths of the members.

        Raises
        ------
        ModelError
            If the name is unknown, or a function returns no values at the times `t`.
        """
        name = "values" if callable(of) else of
        return self.samples(**{name: of}).plot(name, self.t, label="t [s]")

    def save(self, path: str | Path) -> None:
        """Write all members to a ``.npz`` file, completely or not at all; `load_ensemble` reads it.

        Raises
        ------
        ModelError
            If the path has another suffix.
        """
        members = {k: fields_of(trajectory) for k, trajectory in enumerate(self.trajectories) if trajectory is not None}
        arrays: dict[str, Any] = {
            "format": np.array(_FORMAT),
            "count": np.array(len(self)),
            "t": np.asarray(self.t, dtype=float),
        }
        arrays |= {f"parameter:{name}": column for name, column in self.parameters.items()}
        arrays |= {f"failure:{k}": np.array(message, dtype=np.str_) for k, message in self.failures.items()}
        for name in dict.fromkeys(name for each in members.values() for name in each):
            columns = [np.asarray(each.get(name)) for each in members.values()]
            if len({(column.shape, column.dtype.str) for column in columns}) == 1 and columns[0].dtype != object:
                arrays[f"{_ALL}{name}"] = np.array(columns)
            else:
                arrays |= {f"{k}:{name}": each[name] for k, each in members.items() if name in each}
        write_archive(path, arrays)


def _read(trajectory: Trajectory, name: str) -> Array:
    """Return what is named of a trajectory (m,)."""
    model = trajectory.model
    if name in model.output_names and name not in (*model.configuration_names, *model.state_names):
        return trajectory.outputs()[:, model.output_names.index(name)]
    known = trajectory.controls and name not in (*model.configuration_names, *model.state_names)
    return trajectory.signal(name) if known else trajectory.coordinate(name)


def load_ensemble(path: str | Path, model: Model, max_bytes: int = MAX_BYTES) -> Ensemble:
    """Read an ensemble written by `Ensemble.save`; no code in the file is executed.

    Parameters
    ----------
    path : str or Path
    model : Model
        The model that was simulated.
    max_bytes : int
        Largest size of the arrays in memory: a small file may hold large ones.

    Raises
    ------
    ModelError
        If the file is missing, of another format, too large, or of a model with other coordinates.
    """
    read_model(model)
    archive = Archive(path, "Ensemble.save", max_bytes)
    archive.check_format(_FORMAT)
    count, arrays = archive.scalar("count", "iu"), archive.arrays
    names = [name.removeprefix("parameter:") for name in arrays if name.startswith("parameter:")]
    parameters = {name: archive.array(f"parameter:{name}", count) for name in names}
    failed = sorted(int(name[8:]) for name in arrays if name.startswith("failure:") and name[8:].isdecimal())
    failures = {k: archive.scalar(f"failure:{k}", "U") for k in failed}
    stacked = {name.removeprefix(_ALL): array for name, array in arrays.items() if name.startswith(_ALL)}
    rows = count - len(failed)
    if (
        not stacked
        or any(array.ndim == 0 or len(array) != rows for array in stacked.values())
        or max(failed, default=0) >= count
    ):
        archive.refuse(f"other than {rows} members and {len(failed)} that failed")
    there = [k for k in range(count) if k not in failures]
    own: dict[int, dict[str, Array]] = {k: {} for k in there}
    for name, array in arrays.items():
        head, _, rest = name.partition(":")
        if head.isdecimal() and int(head) in own:
            own[int(head)][rest] = array
    trajectories: list[Trajectory | None] = [None] * count
    for row, k in enumerate(there):
        archive.arrays = own[k] | {name: array[row] for name, array in stacked.items()}
        changed = changed_model(model, {name: float(column[k]) for name, column in parameters.items()}) if names else model
        trajectories[k] = Trajectory(changed, **read_fields_of(archive, model))
    archive.arrays = arrays
    return Ensemble(model, archive.array("t", None), tuple(trajectories), parameters, failures)
