"""The result of a simulation: states over time, to be read, drawn and saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.notebook import curve, page, table
from titop.blocks.basics.paths import owner_of
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import read_array
from titop.solvers.control.control_history import ControlHistory
from titop.solvers.mechanism.port_motion import attitude_angles, continuous_angles
from titop.solvers.model.impacts import with_closures
from titop.solvers.model.model import Model, read_model
from titop.solvers.model.readings import Contacts
from titop.solvers.simulation.changes import Changed, closures_at, stages
from titop.solvers.simulation.findings import violations
from titop.solvers.simulation.trajectory_arrays import dataset_of, read_fields, write_fields
from titop.solvers.support.archive import MAX_BYTES
from titop.solvers.support.extras import import_xarray

if TYPE_CHECKING:
    import xarray
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Trajectory:
    """A motion in time.

    Attributes
    ----------
    model : Model
    t : (n,) array, s
    q : (n, nq) array, rad or m
        Configurations.
    v, a, tau : (n, nv) arrays
        Velocities (rad/s or m/s), accelerations (rad/s^2 or m/s^2) and applied efforts (N m or N; those of prescribed motions
        included).
    u : (n, nu) array
        Inputs of the actuators, each in its own unit.
    wrenches : dict of port name to (n, 6) array, N and N m
        External wrenches, in the ports' frames.
    events : dict of name to array of times (s)
    controls : tuple of ControlHistory
        The signals of each controller, in the order in which they were given. Those of a sampled one that goes on (``start=``
        of `simulate`) begin with its last sample before.
    x : (n, nx) array
        First-order states, each in its own unit.
    statistics : dict of name to number
        The effort of the simulation, as far as its integrator counts it: ``steps``, ``rejected`` steps, ``evaluations`` of the
        equations, ``iterations`` of Newton's method, ``jacobians``, and ``seconds``.
    memory : dict of name to array
        What ``simulate(start=)`` takes up at the end besides: states of the integrator and of controllers, commands that are
        held or delayed, generators of noise, events, what is locked; and what closures were open, and when.
    changes : tuple of Changed
        What changed, in the order of time, and then what did not although it was asked for; see `simulate`. At an output time
        that is the instant of a change, the trajectory has the state after it.

    Notes
    -----
    Arguments of the methods are those of `Model`: `port` and `joint` are names, `frame` selects the axes of vectors,
    `sequence` names the axes of Euler angles, `name` is an entry of q or a signal; `path` is that of a file.
    """

    model: Model
    t: Array
    q: Array
    v: Array
    a: Array
    tau: Array
    u: Array = field(default_factory=lambda: np.zeros((0, 0)))
    wrenches: dict[str, Array] = field(default_factory=dict)
    events: dict[str, Array] = field(default_factory=dict)
    controls: tuple[ControlHistory, ...] = ()
    statistics: dict[str, float] = field(default_factory=dict)
    x: Array = field(default_factory=lambda: np.zeros((0, 0)))
    memory: dict[str, Array] = field(default_factory=dict)
    changes: tuple[Changed, ...] = ()

    @property
    def control(self) -> ControlHistory | None:
        """The signals of the controller, None if there was none.

        Raises
        ------
        ModelError
            If there were several: see `controls`.
        """
        if len(self.controls) > 1:
            expected, advice = "one controller", "write controls[0], controls[1], ..."
            raise ModelError(Finding("several-controllers", "control", f"{len(self.controls)} controllers", expected, advice))
        return self.controls[0] if self.controls else None

    def outputs(self) -> Array:
        """Return the outputs of the model's sensors (n, outputs) over time, each in its own unit."""
        return self._read(lambda model, *state: model.outputs(*state))

    def _read(self, function: Callable[..., Array]) -> Array:
        """Return a function of a model, and of its states and loads over time, for the models of all stages."""
        u = self.model.mechanism.inputs.with_states(self.u, self.x) if self.model.nx else self.u if self.model.nu else None
        parts = []
        for rows, model in stages(self.model, self.t, self.memory):
            wrenches = {port: wrench[rows] for port, wrench in self.wrenches.items()} or None
            loads = wrenches, None if u is None else u[rows], self.tau[rows]
            parts.append(function(model, self.q[rows], self.v[rows], self.a[rows], *loads))
        return np.concatenate(parts)

    def _repr_html_(self) -> str:
        model = self.model
        units = *model.mechanism.assembly.configuration_units, *model.mechanism.inputs.state_units
        columns = zip((*model.configuration_names, *model.state_names), units, (*self.q.T, *self.x.T), strict=True)
        rows = ((name, unit, y[0], y[-1], y.min(), y.max(), curve(y)) for name, unit, y in columns)
        states = table("states", rows, ("name", "unit", "first", "last", "least", "most", ""))
        facts = f"{len(self.t)} times, {self.t[0]:.6g} to {self.t[-1]:.6g} s"
        return page(
            model.name, facts, states, table("events", self.events.items()), table("integrator", self.statistics.items())
        )

    def model_at(self, t: float) -> Model:
        """Return the model that holds from a time (s) on, such as that of two satellites that have docked, for `linearize`.

        Closures that are open then are springs without stiffness; others are kept as they were caught. Locks are not part of
        models: `linearize` and others take ``hold=``.
        """
        return with_closures(self.model, closures_at(self.memory, t))

    def motion(self, port: str, sequence: str = "XYZ", frame: str = "port") -> Array:
        """Return a port's motion vectors (n, 18) over time, units of `Model.motion`.

        Angles are continuous in time: those closest to the previous ones. So the second may leave the range of `Model.motion`
        and of sensors. In a gimbal lock the first and the third are not unique.
        """
        motion = self.model.motion(port, self.q, self.v, self.a, sequence, frame)
        motion[:, 15:] = continuous_angles(motion[:, 15:], sequence)
        return motion

    def reaction(self, joint: str, frame: str = "port") -> Array:
        """Return the wrenches (n, 6; N and N m) that a joint or closure transmits over time; see `Model.reaction`."""
        return self._read(lambda model, *state: model.reaction(joint, *state, frame=frame))

    def contacts(self, name: str | None = None) -> Contacts:
        """Return all contacts over time, or the one with a `name`: (n, k; m) and (n, k, 3; N, m/s); see `Model.contacts`."""
        return self.model.contacts(self.q, self.v, name, self.x)

    def violations(self) -> list[Finding]:
        """Return where coordinates, velocities, efforts and inputs leave their limits: the worst instant of each."""
        return list(violations(self.model, self.t, self.q, self.v, self.tau, self.u))

    def energy(self) -> Array:
        """Return kinetic, gravity and elastic energy (n, 3) over time (J)."""
        return np.column_stack(self.model.energy(self.q, self.v, self.x if self.model.nx else None))

    def signal(self, name: str) -> Array:
        """Return a signal of the control loop (n,) at the times `t`, in its own unit: of the last sample if it is sampled.

        Of several controllers, ``controller[1].hinge.q`` is the signal ``hinge.q`` of the second.

        Raises
        ------
        ModelError
            If there was no controller, or the name is unknown, or several controllers have such a signal.
        """
        control, own = self._control_of(name)
        return control.held(own, self.t)

    def _control_of(self, name: str) -> tuple[ControlHistory, str]:
        if not self.controls:
            advice = "simulate with a controller"
            raise ModelError(Finding("no-controller", "name", name, "a trajectory of a closed loop", advice))
        if len(self.controls) == 1:
            return self.controls[0], name
        whole = self._signal_names()
        if name in whole:
            return whole[name]
        having = [full for full, (_, own) in whole.items() if own == name]
        if len(having) != 1:
            advice = f"write {' or '.join(having)}" if having else did_you_mean(name, whole)
            raise ModelError(Finding("unknown-signal", "name", name, "a signal of one controller", advice))
        return whole[having[0]]

    def _signal_names(self) -> dict[str, tuple[ControlHistory, str]]:
        """Return the signals of several controllers by their full names, each with its controller and its name there."""
        return {
            f"controller[{k}].{name.removeprefix('controller.')}": (control, name)
            for k, control in enumerate(self.controls)
            for name in control.signal_names
        }

    def coordinate(self, name: str) -> Array:
        """Return one configuration entry (n, rad or m), or first-order state (in its own unit), over time.

        Raises
        ------
        ModelError
            If the name is unknown.
        """
        if name in self.model.state_names:
            return self.x[:, self.model.state_names.index(name)]
        if name not in self.model.configuration_names:
            names = *self.model.configuration_names, *self.model.state_names
            advice = f"known names: {', '.join(names[:12])}"
            raise ModelError(Finding("unknown-coordinate", "name", name, "an entry of q or x", advice))
        return self.q[:, self.model.configuration_names.index(name)]

    def plot(self, names: str | list[str] | None = None, attitude: str = "XYZ") -> Figure:
        """Draw configuration entries, first-order states and signals of the control loop over time; lines mark changes.

        More than twelve share panels: those of a block in one unit, with those of blocks whose names differ in numbers.

        Parameters
        ----------
        names : str or list of str, optional
            Entries of q and x, attitudes of free and spherical joints as angles (``"base.theta[0]"``), and signals of the
            controllers (see `signal`). By default all entries of q, with angles instead of quaternions.
        attitude : str
            What these angles are, of the child's frame in the joint frame: Euler angles of this sequence, or with ``"vector"``
            the rotation vector from the attitude at the start. They have no jumps.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ModelError
            For unknown names, an argument that is no list of names, and if nothing is left to draw.
        """
        from titop.solvers.pictures.figures import in_panels, plot_over_time

        if not isinstance(names, str | list | tuple | None):
            raise ModelError(Finding("wrong-type", "names", names, "a name, or a list of names", 'write plot(["hinge"])'))
        mechanism, entries = self.model.mechanism, list(self.model.configuration_names)
        known = *entries, *self.model.state_names
        units = dict(zip(known, (*mechanism.assembly.configuration_units, *mechanism.inputs.state_units), strict=True))
        angles = {f"{owner_of(entries[start])}.theta[{k}]": (start, k) for start in mechanism.quaternions for k in range(3)}
        for start in reversed(mechanism.quaternions):
            entries[start : start + 4] = [name for name, (of, _) in angles.items() if of == start]
        shown = entries if names is None else [names] if isinstance(names, str) else list(names)
        if not shown:
            expected, advice = "an entry of q, or a signal of the control loop", "plot_shape and animate show what stands"
            raise ModelError(Finding("nothing-to-plot", "names", shown, expected, advice))
        signals = {}
        turns = {s: attitude_angles(self.q[:, s : s + 4], attitude) for s in {angles[n][0] for n in shown if n in angles}}
        for name in shown:
            if any(name in (full, own) for full, (_, own) in self._signal_names().items()):
                control, own = self._control_of(name)
                signals[name, control.unit(own)] = control.held(own, self.t)
            elif name in angles:
                start, k = angles[name]
                signals[f"{name} ({attitude})", "rad"] = turns[start][:, k]
            else:
                values = self.coordinate(name)
                signals[name, units[name]] = values
        return plot_over_time(self.t, in_panels(signals), instants=[change.t for change in self.changes])

    def plot_shape(self, times: Any = None, frames: bool | Iterable[str] = False) -> Figure:
        """Draw the system in space at some instants: rods, deformable bodies, rigid bodies by lines and their shapes, forces.

        Parameters
        ----------
        times : array_like (k,), s, optional
            Instants between the first and the last time; five equally spaced ones by default.
        frames : bool or sequence of str
            Axes that are drawn, as of `animate`.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ModelError
            For times outside the trajectory, and unknown frames.
        """
        from titop.solvers.pictures.animation import configurations
        from titop.solvers.pictures.figures import plot_shapes

        instants = self._instants(np.linspace(self.t[0], self.t[-1], 5) if times is None and len(self.t) else times)
        shown = configurations(self.model, self.t, self.q, instants)
        return plot_shapes(self.model, shown, [f"t = {t:.4g} s" for t in instants], frames)

    def _instants(self, times: Any) -> Array:
        start, end = self.t[[0, -1]] if len(self.t) else (np.inf, -np.inf)
        expected = f"times from {start:g} to {end:g} s" if len(self.t) else "a trajectory with states"
        wrong = Finding("bad-times", "times", times, expected, "write plot_shape([0.0, 0.5])")
        return np.atleast_1d(read_array(wrong, lambda t: t.ndim < 2 and t.size and ((t >= start) & (t <= end)).all()))

    def animate(
        self,
        path: str | Path,
        visuals: Mapping[str, Any] | None = None,
        frames_per_second: float = 30.0,
        frames: bool | Iterable[str] = False,
    ) -> Path:
        """Write a self-contained HTML file that plays the motion in a browser.

        Parameters
        ----------
        path : str or Path
        visuals : mapping of body name to shape, optional
            Instead of the bodies' own, ``body.visuals``, which robots have from their files.
            Such as ``{"hub": {"box": [1, 1, 2], "color": "#888"}}``; see `titop.solvers.pictures.animation`.
        frames_per_second : float
        frames : bool or sequence of str
            Axes that are drawn: of all bodies and connected ports, or of those named (``"hub"``, ``"hub.C"``).

        Returns
        -------
        Path
        """
        from titop.solvers.pictures.animation import write_animation

        return write_animation(self.model, self.t, self.q, path, visuals, frames_per_second, frames=frames)

    def to_xarray(self) -> xarray.Dataset:
        """Return the trajectory as a Dataset over time, with named coordinates and their units.

        Besides the states it has the inputs ``u``, the sensors' ``outputs``, and in closed loop the controller's signals
        (``measured``, ``reference``, ``commanded``, ``controller_state``) over their own times ``t_control``; of several
        controllers each of these with its number behind it (``measured_0``, ``t_control_0``).

        Raises
        ------
        ImportError
            If xarray is not installed (``pip install titop[xarray]``).
        """
        xarray = import_xarray("Trajectory.to_xarray")
        variables, coordinates = dataset_of(self)
        return xarray.Dataset(variables, coordinates, attrs={"system": self.model.name})

    def save(self, path: str | Path) -> None:
        """Write the trajectory to a ``.npz`` file, completely or not at all; `load_trajectory` reads it.

        Raises
        ------
        ModelError
            If the path has another suffix.
        """
        write_fields(path, self)


def load_trajectory(path: str | Path, model: Model, max_bytes: int = MAX_BYTES) -> Trajectory:
    """Read a trajectory written by `Trajectory.save`; no code in the file is executed.

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
    return Trajectory(model, **read_fields(path, model, max_bytes))
