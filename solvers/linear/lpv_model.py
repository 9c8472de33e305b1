"""Families of linear models: members, pictures, files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.notebook import page_of, table
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.joints.quaternion_joints import QUATERNION_NAMES
from titop.solvers.arguments.reading import read_mapping
from titop.solvers.equilibrium.continuation import search_again
from titop.solvers.equilibrium.operating_point import OperatingPoint
from titop.solvers.linear.lpv_files import AXES, MATRICES, SIGNALS, TRIMS, load_lpv, save_lpv
from titop.solvers.linear.lpv_interpolation import GridInterpolation, ListInterpolation
from titop.solvers.linear.lpv_plots import Colours, draw_poles, plot_response, track_poles
from titop.solvers.linear.state_space import named_signals, named_system, read_linear, signal_tables, sizes_text
from titop.solvers.model.model import Model, read_model
from titop.solvers.signals.exported import Signal, numbers_by_name
from titop.solvers.support.archive import MAX_BYTES
from titop.solvers.support.extras import import_xarray

if TYPE_CHECKING:
    import xarray
    from control import StateSpace
    from matplotlib.figure import Figure


def grid_points(axes: Mapping[str, Any], is_grid: bool) -> Array:
    """Return the values (k, p) of parameters at all points of a grid, the last one varying fastest, or of a list."""
    columns = np.meshgrid(*axes.values(), indexing="ij") if is_grid else axes.values()
    return np.stack([np.ravel(column) for column in columns], axis=1)


@dataclass(frozen=True, eq=False)
class LPVModel:
    """A family of linear models over frozen parameters; made by `lpv`.

    Attributes
    ----------
    name : str
    parameters : dict of name to (n,) array
        Values along each axis of the grid, or of each point of a list.
    units : dict of name to str
        Units of the parameters.
    is_grid : bool
        Whether the points are a grid; `shape` is that of the grid, or the number of points.
    states, inputs, outputs : tuple of Signal
        Paths and units.
    A, B, C, D : (\\*shape, ., .) arrays
        In the units of `states`, `inputs` and `outputs`, and s.
    q, v, tau, u, y : (\\*shape, .) arrays
        The trims: configuration (rad or m), rates, efforts (N m or N), inputs of actuators, outputs (displacements from the
        neutral configuration).
    valid : (\\*shape) bool array
        Where there is an equilibrium; elsewhere the arrays are NaN.
    configuration_names, coordinate_names, input_names : tuple of str
        Names of the entries of q, of v and tau, and of u.
    failed : dict of tuple of int to str
        By the index of each point without an equilibrium, the reason.
    x : (\\*shape, nx) array
        First-order states of the trims; `own_states` are their names.
    search : dict
        What the trims were searched with: ``unknowns``, ``bounds``, ``wrenches`` and ``tolerance`` of `lpv`; empty where points
        were given.

    Notes
    -----
    Arguments of the methods: `rho` maps parameter names to values, `values` are the same as keywords with underscores for dots;
    `input` and `output` are names of signals; `path` is that of a file.
    """

    name: str
    parameters: dict[str, Array]
    units: dict[str, str]
    is_grid: bool
    states: tuple[Signal, ...]
    inputs: tuple[Signal, ...]
    outputs: tuple[Signal, ...]
    A: Array
    B: Array
    C: Array
    D: Array
    q: Array
    v: Array
    tau: Array
    u: Array
    y: Array
    valid: Array
    configuration_names: tuple[str, ...]
    coordinate_names: tuple[str, ...]
    input_names: tuple[str, ...]
    failed: Mapping[tuple[int, ...], str] = field(default_factory=dict)
    x: Array = field(default_factory=lambda: np.zeros(0))
    own_states: tuple[str, ...] = ()
    search: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.own_states:
            object.__setattr__(self, "x", np.zeros((*self.shape, 0)))

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the grid, or number of points."""
        return self.valid.shape

    @classmethod
    def of(
        cls, parameters: Mapping[str, Any], members: Sequence[StateSpace], name: str = "family", units: Mapping[str, str] = {}
    ) -> LPVModel:
        """Return the family of state spaces that were made elsewhere, without trims.

        Parameters
        ----------
        parameters : mapping of name to array_like
            Values along the axes of a grid; or of each member, where the members are no grid.
        members : sequence of control.StateSpace
            Of the same signals, in continuous time; of a grid the last parameter changes first.
        name : str
        units : mapping of name to str
            Of the parameters.

        Raises
        ------
        ModelError
            For another number of members, and members of different signals.

        Examples
        --------
        >>> import control, titop as tt
        >>> members = [control.ss([[-a]], [[1]], [[1]], 0) for a in (1.0, 2.0)]
        >>> tt.LPVModel.of({"a": [1, 2]}, members).at(a=1.5).A.item()
        -1.5
        """
        axes = {
            str(key): np.atleast_1d(np.asarray(values, float)) for key, values in read_mapping("parameters", parameters).items()
        }
        systems = [read_linear(f"members[{k}]", member) for k, member in enumerate(members)]
        shape = tuple(len(axis) for axis in axes.values())
        is_grid = len(systems) == np.prod(shape)
        if not systems or not (is_grid or set(shape) == {len(systems)}):
            expected = f"{int(np.prod(shape))} of a grid, or as many as each parameter has values"
            raise ModelError(Finding("wrong-shape", "members", f"{len(systems)} members", expected, "give one for each point"))
        signals = named_signals(systems[0])
        for k, system in enumerate(systems):
            if [[s.name for s in side] for side in named_signals(system)] != [
                [s.name for s in side] for side in signals
            ] or system.dt:
                advice = "give all the same states, inputs and outputs, and no sample time"
                raise ModelError(Finding("other-signals", f"members[{k}]", system, "a member like the first", advice))
        shape = shape if is_grid else (len(systems),)
        matrices: dict[str, Any] = {
            key: np.reshape([getattr(s, key) for s in systems], (*shape, *getattr(systems[0], key).shape)) for key in MATRICES
        }
        trims: dict[str, Any] = {key: np.zeros((*shape, 0)) for key in TRIMS} | {"y": np.zeros((*shape, len(signals[2])))}
        trims |= {"valid": np.ones(shape, dtype=bool), "configuration_names": (), "coordinate_names": (), "input_names": ()}
        x, u, y = (tuple(side) for side in signals)
        return cls(name, axes, {key: units.get(key, "") for key in axes}, is_grid, x, u, y, **matrices, **trims)

    # -- members -------------------------------------------------------------------------------------------------------

    def at(self, rho: Mapping[str, float] | None = None, **values: float) -> StateSpace:
        """Return the member at some values of the parameters, linearly interpolated between the points.

        Write ``family.at({"shaft.v": 3.0})`` or ``family.at(shaft_v=3.0)``.

        Entries are interpolated one by one. If large entries cancel, such as those of stiff rods in closed loops, members
        between distant points are inaccurate: compare one with `linearize` there, and use more points.

        Raises
        ------
        ModelError
            For unknown or missing parameters, values outside the points, and if a neighbouring point has no equilibrium.
        """
        numbers = self._interpolate(rho, values)
        return named_system([numbers[name] for name in MATRICES], self.states, self.inputs, self.outputs, self.name)

    @overload
    def trim_at(self, rho: Mapping[str, float] | None = None, model: None = None, **values: float) -> dict[str, Array]: ...
    @overload
    def trim_at(self, rho: Mapping[str, float] | None = None, *, model: Model, **values: float) -> OperatingPoint: ...
    def trim_at(self, rho: Mapping[str, float] | None = None, model: Model | None = None, **values: float) -> Any:
        """Return the trims ``q, v, tau, u, y`` at some values of the parameters, interpolated as the matrices are in `at`.

        With the family's `model`, an equilibrium is searched from there, as `lpv` did at the points: the result is an
        `OperatingPoint` of the model with these parameters.

        Configuration (nq, rad or m), rates (nv), efforts (nv, N m or N), inputs (nu) and outputs in their own units; also ``x``
        if there are first-order states (nx). Between points a trim is an equilibrium up to the interpolation error.
        Quaternions have unit norm: of the two of each attitude, those closer to each other are interpolated, then normalised.

        Raises
        ------
        ModelError
            As `at`; with a model, for another than the family's, and for families without `search`.
        ConvergenceError
            If no equilibrium is found from there.
        """
        numbers = self._interpolate(rho, values)
        trims = {name: numbers[name] for name in (*TRIMS, *(["x"] if self.own_states else []))}
        if model is None:
            return trims
        names = ("configuration_names", "coordinate_names", "input_names")
        if any(getattr(read_model(model), name) != getattr(self, name) for name in names):
            raise ModelError(Finding("other-model", "model", model.name, f"the model of {self.name!r}", "pass that of tt.lpv"))
        if not self.search:
            got, advice = "a family of given points", "use tt.trim with q=, tau= and so on of trim_at(...)"
            raise ModelError(Finding("no-search", "trim_at", got, "a family whose trims tt.lpv has searched", advice))
        target = self._read_values({**(rho or {}), **values})
        return search_again(model, numbers, dict(zip(self.parameters, target.tolist(), strict=True)), **self.search)

    @property
    def _quaternions(self) -> list[int]:
        names, entries = self.configuration_names, QUATERNION_NAMES
        found = [k for k, name in enumerate(names) if name.endswith(f".{entries[0]}")]
        return [k for k in found if names[k : k + 4] == tuple(f"{owner_of(names[k])}.{entry}" for entry in entries)]

    def _interpolate(self, rho: Mapping[str, float] | None, values: Mapping[str, float]) -> dict[str, Array]:
        point = self._read_values({**read_mapping("rho", {} if rho is None else rho), **values})
        around, result, over = self._between(point), {}, len(self.shape)
        if around is not None:
            arrays = {name: getattr(self, name) for name in (*AXES, "x")}
            flat = {name: array.reshape(self.valid.size, *array.shape[over:]) for name, array in arrays.items()}
            result = {name: around.value(table) for name, table in flat.items()}
            result["q"] = around.configuration(flat["q"], self._quaternions)
        if not (result and all(np.isfinite(array).all() for array in result.values())):
            shown = ", ".join(f"{name} = {value:.6g}" for name, value in zip(self.parameters, point, strict=True))
            advice = "see .valid, or .parameters for the values that are covered"
            raise ModelError(Finding("outside", "at", shown, "values between points that have an equilibrium", advice))
        return result

    @cached_property
    def _between(self) -> GridInterpolation | ListInterpolation:
        if self.is_grid:
            return GridInterpolation(list(self.parameters.values()))
        return ListInterpolation(grid_points(self.parameters, False), np.flatnonzero(self.valid))

    def _read_values(self, given: Mapping[str, float]) -> Array:
        values = numbers_by_name("at", given, self.parameters, whole=True)
        return np.array([values[name] for name in self.parameters])

    # -- pictures ------------------------------------------------------------------------------------------------------

    @cached_property
    def eigenvalues(self) -> Array:
        """Poles (\\*shape, states) of all members (rad/s); along the last parameter, those of a mode have the same position."""
        lines = self.A.reshape(-1, self.shape[-1], *self.A.shape[-2:])
        return np.array([track_poles(line) for line in lines]).reshape(*self.shape, -1)

    def poles(self, limits: Any = None, log: bool | None = None) -> Figure:
        """Draw the poles in the complex plane, coloured by the last parameter, with a line for each mode along it.

        Parameters
        ----------
        limits : (4,) array_like, optional, rad/s
            Least and greatest real part, least and greatest imaginary part.
        log : bool, optional
            Logarithmic axes, linear next to zero; by default where the slowest poles would else lie on one dot.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ModelError
            For unusable limits.
        """
        return draw_poles(self.eigenvalues, self.name, self.colours, limits, log)

    def bode(self, input: str | None = None, output: str | None = None, omega: Any = None) -> Figure:
        """Draw gain and phase of all members, coloured by the last parameter.

        Parameters
        ----------
        input, output : str, optional
            The first ones by default.
        omega : array_like, optional, rad/s
            Frequencies; chosen around the poles by default.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ModelError
            For unknown signals.
        """
        return plot_response(self, input, output, omega)

    @property
    def colours(self) -> Colours:
        """Values (\\*shape, in its own unit) of the last parameter at all members, and its name."""
        name, unit = list(self.units.items())[-1]
        return Colours(np.broadcast_to(list(self.parameters.values())[-1], self.shape), f"{name} [{unit}]")

    # -- exchange ------------------------------------------------------------------------------------------------------

    @property
    def grid(self) -> xarray.Dataset:
        """Matrices, trims and mask as an xarray Dataset over the parameters.

        Raises
        ------
        ImportError
            If xarray is not installed (``pip install titop[xarray]``).
        """
        xarray = import_xarray("LPVModel.grid")
        over = tuple(self.parameters) if self.is_grid else ("point",)
        coordinates: dict[str, Any] = {
            name: (name if self.is_grid else "point", values) for name, values in self.parameters.items()
        }
        x, w, y = ([signal.name for signal in getattr(self, name)] for name in SIGNALS)
        names = {"state": x, "input": w, "output": y, "configuration": self.configuration_names}
        names |= {"coordinate": self.coordinate_names, "actuator": self.input_names, "to_state": x}
        axes = dict(zip("xwyqvu", names, strict=False))
        ends = {name: [axes[letter] for letter in letters] for name, letters in AXES.items()}
        ends |= {"A": ["to_state", "state"], "B": ["to_state", "input"]}
        if self.own_states:
            names, ends = names | {"own_state": self.own_states}, ends | {"x": ["own_state"]}
        coordinates |= {axis: list(values) for axis, values in names.items()}
        variables = {name: ((*over, *dims), getattr(self, name)) for name, dims in ends.items()}
        units = self.units | {signal.name: signal.unit for name in SIGNALS for signal in getattr(self, name)}
        attributes = {"system": self.name, **{f"unit of {name}": unit for name, unit in units.items()}}
        return xarray.Dataset({**variables, "valid": (over, self.valid)}, coordinates, attributes)

    def save(self, path: str | Path) -> None:
        """Write the family to a ``.npz``, ``.mat`` (MATLAB) or ``.nc`` (netCDF) file, completely or not at all.

        A ``.mat`` file has what ``ssInterpolant`` takes: ``A, B, C, D`` with the axes of the parameters last, a struct
        ``SamplingGrid`` of the parameters' values, and a struct array ``offsets`` with ``dx, x, u, y`` at all points. There,
        states are coordinates and rates themselves, where these are plain numbers; outputs are those of `y`.

        Raises
        ------
        ModelError
            If the path has another suffix.
        """
        save_lpv(path, self)

    @classmethod
    def load(cls, path: str | Path, max_bytes: int = MAX_BYTES) -> LPVModel:
        """Read a family written by `save`; no code in the file is executed.

        Parameters
        ----------
        path : str or Path
        max_bytes : int
            Largest size of the arrays in memory: a small file may hold large ones.

        Raises
        ------
        ModelError
            If the file is of another format, or too large.
        """
        return cls(**load_lpv(path, max_bytes))

    def _repr_html_(self) -> str:
        axes = ((name, self.units.get(name, ""), len(x), min(x), max(x)) for name, x in self.parameters.items())
        failed = ((str(point), reason) for point, reason in self.failed.items())
        parts = table("parameters", axes, ("name", "unit", "values", "least", "most")), table("without equilibrium", failed)
        return page_of(self, *parts, *signal_tables(self.states, self.inputs, self.outputs))

    def __repr__(self) -> str:
        axes = ", ".join(f"{name}: {len(values)}" for name, values in self.parameters.items())
        sizes = sizes_text(len(self.states), len(self.inputs), len(self.outputs))
        return f"LPVModel({self.name!r}, {axes}; {sizes}; {int(self.valid.sum())} of {self.valid.size} points valid)"
