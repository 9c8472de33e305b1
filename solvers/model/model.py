"""`Model`: a resolved system and its functions.

This is the table of a model's functions. Each is defined and documented in the module of its subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from titop.blocks.basics.above import above
from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.notebook import page_of, table
from titop.blocks.basics.spatial import Array
from titop.solvers.model import (
    closures,
    configurations,
    derivatives,
    dynamics,
    impacts,
    kinematics,
    readings,
    sections,
    series,
    terms,
)
from titop.solvers.model import parameters as of_parameters
from titop.solvers.model.mechanism import Resolved
from titop.solvers.signals.quantities import units_of

if TYPE_CHECKING:
    from control import NonlinearIOSystem


def _known(name: str, meaning: str) -> Any:
    """Return a property that reads an attribute of the mechanism."""
    return property(attrgetter(f"mechanism.{name}"), doc=meaning)


class Model(Resolved):
    """A resolved system: frozen, usable from several threads.

    Configurations ``q`` (nq) and the vectors ``v``, ``a`` and ``tau`` (nv) have their entries in the order of the ``connect``
    calls; ``x`` (nx) are the first-order states. Functions of a state raise `ModelError` for wrong lengths, non-finite
    entries and quaternions that are not of unit norm.

    Made by `System.resolve`. Arguments of the methods: `q` a configuration (nq); `v`, `a`, `tau` and `dq` vectors (nv);
    `port` ``"body.port"``, or ``"body"`` for its reference frame; `joint` a joint's name; `wrenches` external wrenches (6)
    on bodies by port name, in the port's frame; `values` numbers by name; `rng` a NumPy random generator; `out` an array for
    the result; `u` the inputs of actuators and blocks (nu, or by name); `x` the first-order states of blocks and
    interactions (nx, or by name), zero by default.

    Units: coordinates in rad or m, or as their blocks define them (see `signal_table`); velocities and accelerations in these
    units per s and s^2; efforts in N m or N; inputs in their own. A derivative or matrix has the unit of its result per unit
    of the variable on which it acts.

    Attributes
    ----------
    name : str
    nq, nv : int
        Number of entries of a configuration, and number of coordinates.
    coordinate_names, configuration_names : tuple of str
        Names of the entries of v and of q.
    mechanism : Mechanism
        Constraints, inputs, blocks and the engine, for solvers. Its interface may change.
    """

    # configurations
    neutral = configurations.neutral
    random_configuration = configurations.random_configuration
    configuration = configurations.configuration
    velocity = configurations.velocity
    integrate = configurations.integrate
    difference = configurations.difference
    integrate_derivatives = configurations.integrate_derivatives
    difference_derivatives = configurations.difference_derivatives
    configuration_rate = configurations.configuration_rate
    configuration_derivatives = configurations.configuration_derivatives

    # dynamics
    forward_dynamics = dynamics.forward_dynamics
    inverse_dynamics = dynamics.inverse_dynamics
    hybrid_dynamics = dynamics.hybrid_dynamics
    mass_inverse_dynamics = dynamics.mass_inverse_dynamics
    mass_inertial_inverse_dynamics = dynamics.mass_inertial_inverse_dynamics

    # terms of the equations of motion, balances, first-order states
    mass_matrix = terms.mass_matrix
    inverse_mass_matrix = terms.inverse_mass_matrix
    inertial_inverse_dynamics = terms.inertial_inverse_dynamics
    nonlinear_effects = terms.nonlinear_effects
    gravity_effects = terms.gravity_effects
    coriolis_matrix = terms.coriolis_matrix
    passive_efforts = terms.passive_efforts
    actuation_matrix = terms.actuation_matrix
    actuation_rows = terms.actuation_rows
    conditioning = terms.conditioning
    energy = terms.energy
    dissipated_power = terms.dissipated_power
    momentum = terms.momentum
    momentum_matrix = terms.momentum_matrix
    center_of_mass = terms.center_of_mass
    state_rates = terms.state_rates
    state_rates_derivatives = terms.state_rates_derivatives
    state_efforts = terms.state_efforts

    # derivatives with respect to the state, and time derivatives
    inverse_dynamics_derivatives = derivatives.inverse_dynamics_derivatives
    forward_dynamics_derivatives = derivatives.forward_dynamics_derivatives
    hybrid_dynamics_derivatives = derivatives.hybrid_dynamics_derivatives
    inverse_dynamics_tangent = derivatives.inverse_dynamics_tangent
    inverse_dynamics_adjoint = derivatives.inverse_dynamics_adjoint
    forward_dynamics_tangent = derivatives.forward_dynamics_tangent
    forward_dynamics_adjoint = derivatives.forward_dynamics_adjoint
    inverse_dynamics_series = series.inverse_dynamics_series
    forward_dynamics_series = series.forward_dynamics_series
    hybrid_dynamics_series = series.hybrid_dynamics_series
    equation_series = series.equation_series
    motion_series = series.motion_series

    # ports, joints, contacts, sensors, sections of rods
    pose = kinematics.pose
    twist = kinematics.twist
    acceleration = kinematics.acceleration
    jacobian = kinematics.jacobian
    jacobian_bias = kinematics.jacobian_bias
    motion = kinematics.motion
    motion_derivatives = kinematics.motion_derivatives
    accelerometer = kinematics.accelerometer
    reaction = readings.reaction
    gear_effort = readings.gear_effort
    contacts = readings.contacts
    outputs = readings.outputs
    section_poses = sections.section_poses
    section_strains = sections.section_strains
    section_stresses = sections.section_stresses
    section_wrenches = sections.section_wrenches
    recover = sections.recover

    # rigid closures and gears
    closure_error = closures.closure_error
    closure_jacobian = closures.closure_jacobian
    closure_bias = closures.closure_bias
    closure_rank = closures.closure_rank
    assemble = closures.assemble
    assemble_velocity = closures.assemble_velocity
    assemble_acceleration = closures.assemble_acceleration
    independent_coordinates = closures.independent_coordinates
    impact = impacts.impact

    # parameters, sensitivities
    parameters = of_parameters.parameters
    with_parameters = of_parameters.with_parameters
    inertial_parameters = of_parameters.inertial_parameters
    with_inertial_parameters = of_parameters.with_inertial_parameters
    regressor = of_parameters.regressor
    inverse_dynamics_sensitivities = of_parameters.inverse_dynamics_sensitivities
    forward_dynamics_sensitivities = of_parameters.forward_dynamics_sensitivities

    # names

    body_names: tuple[str, ...] = _known("body_names", "Names of the bodies, parents first.")
    joint_names: tuple[str, ...] = _known("joint_names", "Names of the joints, in the order of their bodies.")
    port_names: tuple[str, ...] = _known("port_names", "Names of all ports, the bodies' reference frames among them.")
    nu: int = _known("nu", "Number of inputs.")
    input_names: tuple[str, ...] = _known("input_names", "Names of the inputs ``u``.")
    nx: int = _known("nx", "Number of first-order states.")
    state_names: tuple[str, ...] = _known(
        "inputs.state_names", "Names of the first-order states ``x`` of blocks and interactions."
    )
    output_names: tuple[str, ...] = _known("output_names", "Names of the sensors' outputs.")
    constraint_names: tuple[str, ...] = _known(
        "constraint_names",
        'Names of the constraints: rigid closures first, such as ``"pin.x"``, then gears, such as ``"pair.mesh"``.',
    )
    constraint_units: tuple[str, ...] = _known(
        "constraint_units", "Units of the constraints' errors; for a gear that of its driven coordinate."
    )
    threads: int | None = _known("threads", "Number of threads for stacked states; None for one a processor.")
    is_constrained: bool = _known("is_constrained", "Whether there are rigid closures or gears.")
    inertial_parameter_names: tuple[str, ...] = _known("inertial.names", "Names of the `inertial_parameters`.")
    gravity: Array = _known("gravity", "Uniform gravity (3, m/s^2) in inertial components, zero where it is a field; a copy.")

    @property
    def undisturbed(self) -> Model:
        """The model without loads that only disturb (`Block.disturbances`), as equilibria and linear models take it."""
        return self if not self.mechanism.disturbances or self._smooth is None else self._smooth

    @cached_property
    def _smooth(self) -> Model | None:
        numbers = self.parameters()
        acting = [name for name in self.mechanism.disturbances if numbers[name][0]]
        return of_parameters.changed_model(self, dict.fromkeys(acting, 0.0)) if acting else None

    @property
    def output_units(self) -> tuple[str, ...]:
        """Units of the sensors' outputs."""
        return tuple(unit for of in self.mechanism.sensor_signals for unit in units_of(self, of))

    # for other tools

    def program(
        self,
        *functions: str,
        parameters: Sequence[str] = (),
        inputs: Sequence[str] = (),
        outputs: Sequence[str] | None = None,
        at: Any = None,
        controller: Any = None,
        ports: str | Sequence[str] = (),
        frame: str = "port",
        prescribed: Sequence[str] = (),
    ) -> Any:
        """Return functions of the model as programs: for very many states, C, FMUs and graphics processors.

        The reference engine computes them once with numbers that are not known yet. What does not depend on these is computed
        at once, and no number twice. Constants are those of this model.

        Parameters
        ----------
        functions : str
            Names of functions: ``"forward_dynamics"``, ``"inverse_dynamics"``, their ``_derivatives``, ``"hybrid_dynamics"`` of
            what is `prescribed`, ``"inertial_inverse_dynamics"``, ``"regressor"``, ``"mass_matrix"``,
            ``"inverse_mass_matrix"``, ``"coriolis_matrix"``, ``"nonlinear_effects"``, ``"gravity_effects"``,
            ``"passive_efforts"``, ``"actuation_matrix"`` (of the `inputs`), ``"energy"`` (kinetic, of gravity, elastic),
            ``"momentum"``, ``"momentum_matrix"``, ``"center_of_mass"``, ``"configuration_rate"``, ``"state_rates"``,
            ``"outputs"``; of closures ``"closure_error"``, ``"closure_jacobian"``, ``"closure_bias"`` and ``"closing_step"``: q
            and v after a step of Newton's method to the constraints, and the norm of the errors before it; of `ports`
            ``"pose"`` (in inertial axes), ``"twist"``, ``"acceleration"``, ``"accelerometer"``, ``"jacobian"``,
            ``"jacobian_bias"``, ``"motion_derivatives"``; ``"rates"`` (dq/dt, dv/dt, dx/dt and outputs, of ``q, v, tau``);
            ``"linear_matrices"`` (A, B, C, D of `linearize` at ``q, v, tau``); ``"closed_loop"``, the rates of the model with a
            controller.
        parameters : sequence of str, optional
            Names of parameters that are arguments of the programs; others keep their values. Values are not checked.
        inputs : sequence of str, optional
            Names of inputs of actuators and blocks that are arguments, as ``u``; others are zero. For linear matrices also of
            joints, for their efforts, which come behind those.
        outputs : sequence of str, optional
            As in `linearize`: motions of ports, coordinates, sensors; by default what the sensors measure.
        at : array_like (nq,), optional
            Nominal configuration: which closures' constraints and coordinates are dependent is chosen here. By default a
            generic one, of closed loops one on the regular branch.
        controller : Loop, control.StateSpace, control.TransferFunction, LPVModel or ScheduledController, optional
            In continuous time, of ``closed_loop(states, r)``: it returns ``xdot``, the outputs and the commands, of the states
            q, v, those of first order and the controller's, and of references; all are absolute, around the operating point of
            a `Loop`. What acts at that point acts beside the commands; actuators' ranges limit inputs. The members of an
            `LPVModel` follow outputs or parameters of the model by their names, those of a scheduled controller its schedule,
            interpolated at once: sample times do not count.
        ports : str or sequence of str, optional
            Of functions of ports: a port, for results as the model's, or several, whose results are stacked.
        frame : {"port", "world"}
            Axes of the results of these functions.
        prescribed : sequence of str, optional
            Joints or coordinates whose motion is given in hybrid dynamics.

        Returns
        -------
        Program

        Raises
        ------
        ModelError
            For unknown names, for sampled controllers and outputs that act on themselves at once, and for blocks whose
            functions cannot be recorded (named, with the reason).

        Examples
        --------
        >>> import titop as tt
        >>> s = tt.System("pendulum", gravity=[0, 0, -9.81])
        >>> s.connect("world", tt.RigidBody("bob", 1.0, [0, 0, -1.0]), tt.Revolute("hinge", axis=[0, 1, 0]))
        >>> p = s.resolve().program("forward_dynamics")
        >>> p.operations < 10, p.forward_dynamics([0.5], [0.0], [0.0]).round(3)
        (True, array([-4.703]))
        """
        more: dict[str, Any] = {"parameters": parameters, "inputs": inputs, "outputs": outputs, "at": at}
        of_ports: dict[str, Any] = {"ports": ports, "frame": frame, "prescribed": prescribed}
        return above("program")(self, *functions, **more, controller=controller, **of_ports)

    def linear_program(
        self, inputs: Sequence[str], outputs: Sequence[str], parameters: Sequence[str] = (), at: Any = None
    ) -> Any:
        """Return the linear model as a function of the operating point, as a `program`: an LPV model without a grid.

        ``p.linear_matrices(q, v, tau)`` returns A, B, C and D, of stacked points too. States are as in `linearize`, about a
        reference that moves with the point. With closures and gears they are those of coordinates that are chosen at ``at``,
        and whose pivots are the `health`: ``p.names["A"]`` names them, and states must be closed.

        Parameters
        ----------
        inputs, outputs : sequence of str
            As in `linearize`: efforts of joints and inputs of actuators, these first; motions of ports, coordinates, sensors.
        parameters : sequence of str, optional
            Names of parameters that are arguments.
        at : array_like (nq,), optional
            See `program`.

        Returns
        -------
        Program

        Raises
        ------
        ModelError
            Also for systems that roll, which have more independent displacements than rates.
        """
        return self.program("linear_matrices", parameters=parameters, inputs=inputs, outputs=outputs, at=at)

    def on_gpu(self, function: str, precision: str = "double", **program: Any) -> Any:
        """Return a function of the model on a graphics processor of NVIDIA, for some ten thousand to millions of states.

        It is called like `program`'s, with arrays of CuPy, PyTorch, JAX or another library with DLPack, which are not copied if
        they have the precision, and with those of NumPy, which are. A vector counts for all states; arguments in columns
        (``cupy.empty((7, n)).T``) are read fastest, and make results that lie so. Results are of the library of the arguments,
        of CuPy if these are NumPy's. ``parameters`` and ``u`` are arrays, or mappings of names to numbers or (n,) arrays.

        Beside its arguments it takes ``status``, an array (n,) of int32 that it sets (none of JAX): 0 where all is well, the
        place, from 1, of a coordinate that has lost its inertia, -1 for numbers that are not finite, -2 for quaternions of
        another norm than one. Without it a call waits for the device, and refuses such states.

        Parameters
        ----------
        function : str
            One of `program`; or ``"simulate"``: see `GpuSimulation`.
        precision : str
            ``"double"`` or ``"single"``.
        **program
            Further arguments of `program`; of ``"simulate"`` see `GpuSimulation`.

        Returns
        -------
        GpuFunction or GpuSimulation
            Compiled when it is first called, for the current device; CuPy keeps the machine code.

        Raises
        ------
        ModelError
            As `program`; calls also for states without health, and for arrays of other shapes or on another kind of device.
        ImportError
            Without CuPy (``pip install titop[gpu]``).
        RuntimeError
            Without a device.
        """
        if function == "simulate":
            return above("GpuSimulation")(self, precision, **program)
        return above("on_gpu")(self, function, precision, **program)

    def to_torch(self, parameters: Sequence[str] = (), inputs: Sequence[str] = (), outputs: Sequence[str] | None = None) -> Any:
        """Return the model's functions of PyTorch's tensors, with exact derivatives: to learn parameters and controllers.

        ``t.forward_dynamics(q, v, tau)`` and the like take tensors of one state or stacks of any shape, broadcast against each
        other, and return tensors of the same type. They are differentiated twice: by ``backward``, and by ``grad``, ``jvp``,
        ``vjp``, ``jacrev`` and ``vmap`` of ``torch.func``. Computed in double precision, on the processor.

        Parameters
        ----------
        parameters, inputs, outputs
            As in `program`: parameters and inputs are arguments ``parameters`` and ``u`` then, of all functions that depend on
            them.

        Returns
        -------
        TensorModel
            Its functions: ``forward_dynamics``, ``inverse_dynamics``, ``mass_matrix``, ``inverse_mass_matrix``,
            ``nonlinear_effects``, ``gravity_effects``, ``passive_efforts``, ``momentum``, ``center_of_mass``,
            ``configuration_rate``, ``state_rates``, ``outputs``, and other terms that `program` knows. A quaternion in q may be
            of any length: it is divided by it.

        Raises
        ------
        ModelError
            For unknown names; where a function is called, for what `program` refuses. Forward and inverse dynamics without
            parameters and inputs, and their first derivatives, are known of all systems.

        Examples
        --------
        >>> import titop as tt
        >>> s = tt.System("pendulum", gravity=[0, 0, -9.81])
        >>> s.connect("world", tt.RigidBody("bob", 1.0, [0, 0, -1.0]), tt.Revolute("hinge", axis=[0, 1, 0]))
        >>> t = s.resolve().to_torch(parameters=["bob.mass"])  # doctest: +SKIP
        >>> a = t.forward_dynamics(q, v, tau, parameters=mass)  # doctest: +SKIP
        """
        return above("torch_model")(self, parameters, inputs, outputs)

    def to_jax(self, parameters: Sequence[str] = (), inputs: Sequence[str] = (), outputs: Sequence[str] | None = None) -> Any:
        """Return the model's functions of JAX's arrays, with exact derivatives, for ``jit``, ``vmap``, ``grad`` and ``jvp``.

        Second derivatives are forward ones of first ones: ``jax.hessian``, and ``jax.jvp`` of ``jax.grad`` for Hessian-vector
        products. Results are of double precision where ``jax_enable_x64`` is set.

        Parameters
        ----------
        parameters, inputs, outputs
            As in `to_torch`.

        Parameters
        ----------
        parameters, inputs, outputs
            As in `to_torch`.

        Returns
        -------
        TensorModel

        Raises
        ------
        ModelError
            As `to_torch`.
        """
        return above("jax_model")(self, parameters, inputs, outputs)

    def to_nlsys(
        self, inputs: Any, outputs: Any = None, point: Any = None, independent: Sequence[str] | None = None
    ) -> NonlinearIOSystem:
        """Return the nonlinear system for python-control: simulation, interconnection, operating points, exact linearisation.

        Its states are the coordinates, then their rates, then the first-order states. Plain coordinates are states as they
        are. Free and spherical joints have as states their displacement from the point's configuration (the logarithm), which
        is valid for rotations of less than a whole turn from there.

        Parameters
        ----------
        inputs : sequence of str
            As in `linearize`. Values are absolute, not deviations; loads that are no inputs keep their values at the point.
        outputs : sequence of str, callable or (name, callable), optional
            As in `linearize`; all states by default.
        point : OperatingPoint, optional
            Reference configuration of free and spherical joints, and the efforts, inputs and wrenches that act. By default
            the neutral configuration, with closures the closed one next to it, without loads. It has to close the loops.
        independent : sequence of str, optional
            As in `linearize`: the coordinates to use as states in systems with closures or gears.

        Returns
        -------
        control.NonlinearIOSystem
            Its `linearize` is exact, also through ``control.linearize``; ``params`` takes parameters by name, such as
            ``{"slider.mass": 2.0}``; `signal_table` gives paths and units.

        Raises
        ------
        ModelError
            For unknown names, coordinates that are not independent, only some of the coordinates of a free or spherical
            joint, open loops, and about an elliptic `Orbit`, where Hill's frame is that of one instant.
        """
        system: NonlinearIOSystem = above("nonlinear_system")(self, inputs, outputs, point, independent)
        return system

    def _repr_html_(self) -> str:
        assembly, inputs = self.mechanism.assembly, self.mechanism.inputs
        rows = (
            (str(c.parent), c.joint.name, type(c.joint).__name__, str(c.child), type(c.child.block).__name__)
            for c in assembly.connections
        )
        loops = ((loop.closure.name, type(loop.closure).__name__, list(map(str, loop.targets))) for loop in assembly.loops)
        named = {
            "configuration": (assembly.configuration_names, assembly.configuration_units),
            "first-order states": (inputs.state_names, inputs.state_units),
            "inputs": (inputs.names, inputs.units),
            "outputs of sensors": (self.output_names, self.output_units),
        }
        tables = (table(what, zip(*each, strict=True), is_open=False) for what, each in named.items())
        bodies = table("bodies", rows, ("at", "joint", "", "carries", ""))
        return page_of(self, bodies, table("closures", loops), *tables)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.body_names)} bodies, nq={self.nq}, nv={self.nv})"


def read_model(model: Any) -> Model:
    """Return a model. Raises `ModelError` if it is no model, such as a system that was not resolved."""
    if not isinstance(model, Model):
        raise ModelError(Finding("wrong-type", "model", model, "a resolved model", "pass system.resolve()"))
    return model
