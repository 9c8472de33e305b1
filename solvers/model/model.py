"""What users compute with: a resolved system, and all that can be asked of it.

This is the table of a model's functions; each stands, with what it takes and gives, in the module of its subject.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from titop.blocks.basics.above import above
from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.solvers.model import closures, configurations, derivatives, dynamics, kinematics, readings, sections, series, terms
from titop.solvers.model import parameters as of_parameters
from titop.solvers.model.resolved import Resolved
from titop.solvers.signals.units import units_of

if TYPE_CHECKING:
    from control import NonlinearIOSystem


def _known(name: str, meaning: str) -> Any:
    """Return a property that says what the mechanism says under a name."""
    return property(attrgetter(f"mechanism.{name}"), doc=meaning)


class Model(Resolved):
    """A resolved system: frozen, usable from several threads.

    States are ``q`` (nq), ``v``, ``a`` and ``tau`` (nv), in the order of the ``connect`` calls, and ``x`` (nx). Functions of a
    state raise `ModelError` for wrong lengths, non-finite entries and quaternions that are not unit.

    Made by `System.resolve`. Arguments of the methods: `q` a configuration (nq); `v`, `a`, `tau` and `dq` vectors (nv);
    `port` ``"body.port"``, or ``"body"`` for the reference frame; `joint` a joint's name; `wrenches` external wrenches (6)
    on bodies by port name, in the port's frame; `values` numbers by name; `rng` a NumPy random generator; `out` where to
    put the result; `u` the inputs of actuators and blocks (nu, or by name); `x` the states of the first order that blocks
    and interactions have (nx, or by name), zero where none are given.

    Units: coordinates rad or m, or what their blocks say (`signal_table` tells), rates and accelerations those by s and s^2,
    efforts N m or N, inputs their own; derivatives and matrices those of what they give, a unit of what they are taken by.

    Attributes
    ----------
    name : str
    nq, nv : int
        How many numbers a configuration has, and how many coordinates there are.
    coordinate_names, configuration_names : tuple of str
        Of the entries of v and of q.
    mechanism : Mechanism
        What solvers know beside this: constraints, inputs, blocks, the engine. No fixed interface.
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

    # terms of the equations of motion, balances, states of the first order
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

    # derivatives by the state, and by time
    inverse_dynamics_derivatives = derivatives.inverse_dynamics_derivatives
    forward_dynamics_derivatives = derivatives.forward_dynamics_derivatives
    hybrid_dynamics_derivatives = derivatives.hybrid_dynamics_derivatives
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

    # rigid closures and gears
    closure_error = closures.closure_error
    closure_jacobian = closures.closure_jacobian
    closure_bias = closures.closure_bias
    closure_rank = closures.closure_rank
    assemble = closures.assemble
    assemble_velocity = closures.assemble_velocity
    assemble_acceleration = closures.assemble_acceleration
    independent_coordinates = closures.independent_coordinates

    # parameters, derivatives by these
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
    nx: int = _known("nx", "Number of states of the first order.")
    state_names: tuple[str, ...] = _known(
        "inputs.state_names", "Names of the states ``x`` of the first order, of blocks and interactions."
    )
    output_names: tuple[str, ...] = _known("output_names", "Names of the sensors' outputs.")
    constraint_names: tuple[str, ...] = _known(
        "constraint_names",
        'Names of the constraints: of the rigid closures, such as ``"pin.x"``, then of the gears, such as ``"pair.mesh"``.',
    )
    constraint_units: tuple[str, ...] = _known(
        "constraint_units", "Units of the constraints' errors: of a gear, its driven coordinate's."
    )
    is_constrained: bool = _known("is_constrained", "Whether there are rigid closures or gears.")
    inertial_parameter_names: tuple[str, ...] = _known("inertial.names", "Names of the `inertial_parameters`.")
    gravity: Array = _known("gravity", "Gravity (3, m/s^2) in inertial components; a copy.")

    @property
    def output_units(self) -> tuple[str, ...]:
        """Units of the sensors' outputs."""
        return tuple(unit for of in self.mechanism.sensor_signals for unit in units_of(self, of))

    # for other tools

    def to_nlsys(
        self,
        inputs: Any,
        outputs: Any = None,
        point: Any = None,
        independent: Sequence[str] | None = None,
    ) -> NonlinearIOSystem:
        """Return the nonlinear system for python-control: simulation, interconnection, operating points, exact linearisation.

        States are the coordinates, then their rates, then states of the first order. Plain coordinates are states as they are;
        free and spherical joints by their displacement from the point's configuration (its logarithm), for motions of less than
        a whole turn from there.

        Parameters
        ----------
        inputs : sequence of str
            As in `linearize`. Values are whole, not deviations; what is no input acts as at the point.
        outputs : sequence of str, callable or (name, callable), optional
            As in `linearize`; all states by default.
        point : OperatingPoint, optional
            Reference configuration of free and spherical joints, and the efforts, inputs and wrenches that act; by default
            neutral, with closures next to that, and nothing. It has to close the loops.
        independent : sequence of str, optional
            As in `linearize`: in systems with closures or gears, the coordinates to take as states.

        Returns
        -------
        control.NonlinearIOSystem
            Its `linearize` is exact, also through ``control.linearize``; ``params`` takes parameters by name, such as
            ``{"slider.mass": 2.0}``; `signal_table` gives paths and units.

        Raises
        ------
        ModelError
            For unknown names, coordinates that are not independent, some alone of a free or spherical joint's, and open loops.
        """
        system: NonlinearIOSystem = above("nonlinear_system")(self, inputs, outputs, point, independent)
        return system

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {len(self.body_names)} bodies, nq={self.nq}, nv={self.nv})"


def read_model(model: Any) -> Model:
    """Return a model.

    Raises
    ------
    ModelError
        If it is something else, such as a system that was not resolved.
    """
    if not isinstance(model, Model):
        raise ModelError(Finding("wrong-type", "model", model, "a resolved model", "pass system.resolve()"))
    return model
