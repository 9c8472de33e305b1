"""The block contract: what a body, a joint or a body model of your own has to say about itself."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import is_name
from titop.blocks.contract.block_law import BlockLaw
from titop.blocks.contract.coordinates import redefines
from titop.blocks.contract.fields import Fielded, put
from titop.blocks.contract.sending import check_sending
from titop.blocks.contract.target_motion import TargetMotion

#: Name of the port through which a block hangs on its parent.
PARENT_PORT = "P"

#: Attributes of which a snapshot has copies.
_MUTABLE = (np.ndarray, dict, list)


class Block(BlockLaw, Fielded):
    """A port block with one parent port, child ports, and own coordinates.

    To write a block, subclass `Block` and

    1. set ``coordinates`` (names of the own coordinates q, dimension n) and ``ports`` (names of the child ports);
    2. define ``pose(port, q)``: where each child port stands in the parent port's frame;
    3. define ``mass_matrix(q)``: the inertia (6 + n) x (6 + n) seen from the parent port, for ``x = [V_P; v]``;
    4. define ``elastic_energy(q)`` and ``damping_efforts(q, v)`` if there are any;
    5. set ``inputs`` (their names, such as ``("tendon",)``) and define ``input_matrix(q)`` if the block has inputs of its own:
       tendons, piezoelectric patches, pressures. They join the model's inputs as ``block.tendon``; ``input_ranges`` are theirs;
    6. define ``applied_efforts(q, v, twist, rotation, position)`` if something acts on the block because of where it is or how
       it moves: drag, buoyancy, follower loads, springs to the ground; and ``applied_energy(q, rotation, position)`` for what
       of it is stored;
    7. set ``state_names`` and define ``state_efforts(q, v, x)`` and ``state_rates(q, v, x, u)`` if it has states x of the first
       order beside its coordinates: drives that lag behind their commands, viscoelasticity, bristles of friction. They join the
       model's states as ``block.state``;
    8. define ``weight(q)`` if gravity does not pull at all of the inertia: in a fluid, which bears and is moved along; or set
       ``borne``, if the fluid bears the same part of it everywhere; and ``added_inertia(q)`` for what of it is a fluid's.

    A law written as one function that numba can compile (see `titop.Law`) takes the place of 2 and 3.

    Everything else follows: the motion subspace, its rate and the gyroscopic terms come from derivatives of these functions
    (complex steps when they accept complex arguments, for second derivatives of a thousandth of the coordinates' scales;
    otherwise sixth-order differences, announced by a warning): arrays of the arguments' type, ``np.sqrt(x @ x)`` instead of
    norms, comparisons of real parts, no conjugates. Any of them may be overridden; `titop.check_block` holds them equal. What
    each buys:

    - ``coordinate_scales``: how far each coordinate goes until the functions bend (a millimetre for the deflection of a small
      spring, a radian for an angle); saves the search for steps that suit them, which differences need and second derivatives
      always do; random configurations are of that size;
    - ``motion_subspace``, ``subspace_rate``, ``gyroscopic``, ``passive_efforts``: time, in every function of the model;
    - ``pose_and_subspace``, or ``law`` for all at once: the same, if they have much in common;
    - ``law_slopes``, ``subspace_slopes``: time in derivatives, and digits where complex steps are not possible;
    - ``integrate``, ``difference``, ``bracket``, ``neutral``, ``configuration_names``: coordinates that are no plain numbers;
    - ``parameter_units``, or ``parameters`` and ``with_parameters``: numbers that sensitivities, trims and families can vary;
    - ``picture``: what the block looks like, in place of a line to each port;
    - ``mass_properties``: exact numbers, and time, in checks, texts and pictures, which else ask the mass matrix;
    - ``common_parameters``, ``rational_parameters``, ``rescaled_coordinates``, ``scaling_beside``, ``length_powers``: how
      linear fractional models know the block's parameters, which else are found by polynomials;
    - ``load_parameters``, ``spin_limit``: what searches for equilibria raise in steps, and warn of.

    The law of a block (all in the parent port's frame, ``x = [A_P; a]``)::

        [W_P; tau + B(q) u + passive] + applied = M(q) x + h(q, v, V_P) + sum_k [Ad(g_k)^-T; S_k^T] W_k

    where ``state_efforts`` join the passive ones.

    Parameters
    ----------
    name : str
        Unique in a system; letters, digits and ``_-/`` (dots separate the parts of a path).

    Attributes
    ----------
    coordinates : tuple of str
        Names of the own coordinates' tangent directions (n of them).
    ports : tuple of str
        Names of the child ports.
    units, input_units : tuple of str
        Unit of each coordinate and of each input; "1" where a block does not tell.
    inputs : tuple of str
        Names of the inputs of its own.
    input_ranges : sequence of (lower, upper)
        Of each input, in its unit, as actuators have them: controllers' commands and trims stay in them, and
        `Trajectory.violations` tells what leaves them. Unbounded where a block does not tell.
    state_names, state_units : tuple of str
        Names of the states of its own, and the unit of each; "1" where a block does not tell.

    Notes
    -----
    Arguments of the methods: `port` is the name of a child port; `q` the own configuration (nq); `v` and `dq` tangent
    vectors (n); `twist` the twist (6) of the parent port, in its frame; `rng` a NumPy random generator; `values` new
    values of parameters by their names in `parameters`.

    Units: coordinates those of `units` (rad or m), rates and accelerations those by s and s^2, efforts N m or N to match;
    derivatives those of what is derived, a unit of what they are taken by.
    """

    inputs: tuple[str, ...] = ()
    input_units: tuple[str, ...] = ()
    input_ranges: Sequence[tuple[float, float]] = ()
    state_names: tuple[str, ...] = ()
    state_units: tuple[str, ...] = ()
    #: Attributes in which the block names joints of the system, or one of their coordinates.
    joint_fields: ClassVar[tuple[str, ...]] = ()
    #: Whether `with_parameters` accepts complex numbers; else derivatives by the parameters are taken by differences.
    complex_parameters: ClassVar[bool] = True
    #: Whether it has sections along its length, of which poses, strains, stresses and wrenches can be read.
    has_sections: ClassVar[bool] = False
    #: Whether it has `volume_ratios`: its material may be turned inside out.
    can_fold: ClassVar[bool] = False
    #: Units of the block's parameters by dotted name, for those that it wants to be known by.
    parameter_units: ClassVar[dict[str, str]] = {}

    def __init__(self, name: str) -> None:
        self.name = str(name)
        self._begin(self.name)
        if not is_name(name):
            self.reader.report("bad-name", "name", name, "letters, digits and _-/", "rename the block")

    def input_matrix(self, q: Array) -> Array:
        """Return the efforts on the own coordinates a unit of each input, B (n x inputs); none by default beside states."""
        if self.inputs and self.nv and not self.state_names:
            raise NotImplementedError(f"block {self.name!r} does not say what its inputs do")
        return np.zeros((self.nv, len(self.inputs)))

    def state_efforts(self, q: Array, v: Array, x: Array) -> Array:
        """Return the efforts (n, N m or N) on the own coordinates that depend on the states `x` (k) of its own, smoothly.

        Nothing that stays without states: `passive_efforts` say that. They may be zero for states that only drive others.
        """
        raise NotImplementedError(f"block {self.name!r} does not say what its states do")

    def state_rates(self, q: Array, v: Array, x: Array, u: Array) -> Array:
        """Return the rates dx/dt (k) of the states `x` (k) of its own, with the inputs `u` (m) of its own."""
        raise NotImplementedError(f"block {self.name!r} does not say how its states change")

    def gaps(self, motion: TargetMotion) -> Array:
        """Return numbers (k, own unit, always as many) that are zero where what the block does switches.

        As a contact's distance from what it touches, or how far a cable is from being taut: smooth functions, of another sign
        at each side. None by default. Simulations watch them, and nothing else does.

        Parameters
        ----------
        motion : TargetMotion
            Of the targets, for an interaction; for a body of the world's port and its parent port, in inertial axes, and its
            own coordinates; for a joint of its coordinates alone, without ports. Inputs and states are zero: gaps do not depend
            on them.
        """
        return np.zeros(0)

    @property
    def state_paths(self) -> tuple[str, ...]:
        """Names of the states in a system."""
        return tuple(f"{self.name}.{entry}" for entry in self.state_names)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs in a system; one without a name goes by the block's."""
        return tuple(f"{self.name}.{entry}" if entry else self.name for entry in self.inputs)

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the block and what is suspicious."""
        return list(self.reader.findings), list(self.reader.warnings)

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return the block's numbers by dotted name (without the block's own), each with its unit."""
        return {name: (float(getattr(self, name)), unit) for name, unit in self.parameter_units.items()}

    def with_parameters(self, values: dict[str, float]) -> Block:
        """Return a copy with some parameters changed; names as in `parameters`."""
        changed = copy.copy(self)
        for name, value in values.items():
            put(changed, name, value)
        return changed

    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        """Return `parameters`, their units made of the `units` of the coordinates that the block acts on, in their order."""
        return self.parameters()

    def snapshot(self) -> Block:
        """Return a copy that later changes of the block do not reach."""
        copied = copy.copy(self)
        own = copied.__dict__
        for name, value in self.__dict__.items():
            if isinstance(value, _MUTABLE):
                own[name] = _with_own_values(value) if type(value) is dict else value.copy()
        return copied

    def __copy__(self) -> Block:
        copied: Any = object.__new__(type(self))
        copied.__dict__.update(self.__dict__)
        return copied  # type: ignore[no-any-return]

    def __deepcopy__(self, memo: dict[int, Any]) -> Block:
        memo[id(self)] = copied = copy.copy(self)
        copied.__dict__.update({name: copy.deepcopy(value, memo) for name, value in self.__dict__.items()})
        return copied

    def __getstate__(self) -> Any:
        """Return what goes to other processes; copies do not pass here."""
        check_sending(self)
        return super().__getstate__()

    def port(self, name: str | None) -> PortRef:
        """Return a reference to a port, for `connect` and for loads."""
        return PortRef(self, name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def _with_own_values(value: dict[Any, Any]) -> dict[Any, Any]:
    """Return a copy of a mapping, with copies of the arrays and poses in it."""
    return {key: each.copy() if isinstance(each, np.ndarray | Pose) else each for key, each in value.items()}


def block_name(acting: Block, field: str, value: Any) -> str:
    """Read a field that names a block, or one of its coordinates: the block itself, or the name."""
    return value.name if isinstance(value, Block) else str(value)


class PortRef:
    """A port of a block.

    Attributes
    ----------
    block : Block
    name : str or None
        None stands for the block's reference frame.
    """

    def __init__(self, block: Block, name: str | None) -> None:
        self.block = block
        self.name = name

    def __str__(self) -> str:
        return self.block.name if self.name is None else f"{self.block.name}.{self.name}"

    def __repr__(self) -> str:
        return f"PortRef({self})"


def overrides_method(block: Block, name: str, base: type[Block] = Block) -> bool:
    """Tell whether a block has a form of its own of a method that a `base` of its class has."""
    return redefines(block, name, base)
