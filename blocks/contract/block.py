"""The block contract: what a body, a joint or a body model of your own has to define, and what a class of its own redefines."""

from __future__ import annotations

import copy
import inspect
import pickle
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError, did_you_mean
from titop.blocks.basics.pose import Pose
from titop.blocks.basics.spatial import Array, replace_entry
from titop.blocks.basics.user_input import FieldReader, as_number, is_name
from titop.blocks.contract.block_law import BlockLaw
from titop.blocks.contract.fields import Fielded, Redefined, put, refused_numbers, zero_axes
from titop.blocks.contract.own_coordinates import redefines
from titop.blocks.contract.target_motion import TargetMotion

#: Values that can be pickled without a check.
_PLAIN = str | int | float | complex | np.ndarray | None
_ADVICE = "write it by def, or class, at the top of a module, not as a lambda or inside a function; or use one process"


def check_sending(block: Fielded) -> None:
    """Refuse to pickle a block for another process that could not import its class, or the functions that it holds.

    Raises `ModelError` naming the first of them.
    """
    cls = type(block)
    if "<locals>" in cls.__qualname__:
        _refuse(block.name, cls.__qualname__)
    for field, value in vars(block).items():
        if isinstance(value, _PLAIN | Fielded):
            continue
        try:
            pickle.dumps(value)
        except ModelError:
            raise
        except Exception as error:  # pickle may raise anything
            _refuse(f"{block.name}.{field.lstrip('_')}", _culprit(value, error))


def _culprit(value: Any, error: Exception) -> Any:
    """Return the function that cannot be pickled, if a value is or holds one; otherwise the error's text."""
    held = value.values() if isinstance(value, dict) else value if isinstance(value, tuple | list) else (value,)
    functions = (each for each in held if callable(each) and "<" in getattr(each, "__qualname__", ""))
    return next(functions, f"{type(value).__name__} ({str(error).splitlines()[0]})")


def _refuse(where: str, value: Any) -> None:
    raise ModelError(Finding("cannot-send", where, value, "what another process finds by its name", _ADVICE))


#: By dotted name: the attribute, the path in it (see `number_at`), and the unit.
ParameterFields = dict[str, tuple[str, tuple[Any, ...], str]]


def number_at(value: Any, path: tuple[Any, ...]) -> Any:
    """Return the number at a path in a value: keys of mappings, positions in tuples, attributes, indices of an array."""
    for k, key in enumerate(path):
        kind = type(value)
        if kind is np.ndarray:
            return value[path[k:]]
        value = value[key] if kind is dict or issubclass(kind, tuple) else getattr(value, key)
    return value


def with_number(value: Any, path: tuple[Any, ...], number: Any) -> Any:
    """Return a copy of a value with the number at a path changed; see `number_at`."""
    if not path:
        return number
    if isinstance(value, np.ndarray):
        return replace_entry(value, path, number)
    key, rest = path[0], path[1:]
    if isinstance(value, dict):
        return {**value, key: with_number(value[key], rest, number)}
    if isinstance(value, tuple):
        parts = [with_number(part, rest, number) if k == key else part for k, part in enumerate(value)]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    changed = copy.copy(value)
    setattr(changed, key, with_number(getattr(value, key), rest, number))
    return changed


#: Entries of parameters that are vectors or symmetric matrices, by name, in the order in which they are listed, for each shape.
ENTRIES: dict[tuple[int, ...], dict[str, tuple[int, ...]]] = {
    (3,): {axis: (k,) for k, axis in enumerate("xyz")},
    (3, 3): {"xx": (0, 0), "yy": (1, 1), "zz": (2, 2), "xy": (0, 1), "xz": (0, 2), "yz": (1, 2)},
}


def entries_of(field: str, value: Any, unit: str) -> ParameterFields:
    """Return the parameters in a field: a number, the entries of a vector (3) or a symmetric matrix (3, 3), none in None."""
    if value is None:
        return {}
    if isinstance(value, np.ndarray) and value.shape in ENTRIES:
        return {f"{field}.{name}": (field, place, unit) for name, place in ENTRIES[value.shape].items()}
    return {field: (field, (), unit)}


#: Name of the port by which a block is connected to its parent.
PARENT_PORT = "P"


def check_port_name(reader: FieldReader, name: Any) -> bool:
    """Tell whether a child port may have a name; report it if not."""
    if isinstance(name, str) and name and "." not in name and name.isprintable() and name != PARENT_PORT:
        return True
    expected = f"a port name without dots or control characters, other than {PARENT_PORT!r}"
    reader.report("bad-name", str(name), name, expected, "rename the port")
    return False


#: Types of attributes that a snapshot copies.
_MUTABLE = (np.ndarray, dict, list)


class Block(BlockLaw, Fielded):
    """A port block with one parent port, child ports, and own coordinates.

    To write a block, subclass `Block` and

    1. set ``coordinates`` (names of the own coordinates q, dimension n) and ``ports`` (names of the child ports);
    2. define ``pose(port, q)``: where each child port stands in the parent port's frame;
    3. define ``mass_matrix(q)``: the inertia (6 + n) x (6 + n) about the parent port, for ``x = [V_P; v]``;
    4. define ``elastic_energy(q)`` and ``damping_efforts(q, v)`` if there are any;
    5. set ``inputs`` (their names, such as ``("tendon",)``) and define ``input_matrix(q)`` if the block has inputs of its own:
       tendons, piezoelectric patches, pressures. They are inputs of the model as ``block.tendon``, with the ``input_ranges``;
    6. define ``applied_efforts(q, v, twist, rotation, position)`` if the block has loads that depend on its pose or motion:
       drag, buoyancy, follower loads, springs to the ground; and ``applied_energy(q, rotation, position)``, their potential
       energy;
    7. set ``state_names`` and define ``state_efforts(q, v, x)`` and ``state_rates(q, v, x, u)`` if it has first-order states x
       beside its coordinates: drives that lag behind their commands, viscoelasticity, bristles of friction. They are states of
       the model as ``block.state``;
    8. define ``weight(q)`` if gravity does not act on all of the inertia, because of buoyancy and added mass in a fluid; or set
       ``borne``, if buoyancy carries the same fraction of the weight everywhere; and ``added_inertia(q)``, the added mass.

    A law written as one function that numba can compile (see `titop.Law`) replaces 2 and 3.

    Everything else follows: the motion subspace, its rate and the gyroscopic terms come from derivatives of these functions.
    Derivatives are complex steps if the functions accept complex arguments (for second derivatives, steps of a thousandth of
    the coordinates' scales): use arrays of the arguments' type, ``np.sqrt(x @ x)`` instead of norms, comparisons of real parts,
    no conjugates. Otherwise they are sixth-order differences, and a warning says so. Any function may be overridden;
    `titop.check_block` compares it with what it replaces. Reasons to override:

    - ``coordinate_scales``: the range of each coordinate over which the functions are nearly linear (a millimetre for the
      deflection of a small spring, a radian for an angle); saves the search for the steps of differences and of second
      derivatives; random configurations are of that size;
    - ``motion_subspace``, ``subspace_rate``, ``gyroscopic``, ``passive_efforts``: speed, in every function of the model;
    - ``pose_and_subspace``, or ``law`` for all at once: speed, if they share computations;
    - ``law_slopes``, ``subspace_slopes``: speed of derivatives, and accuracy if complex steps are not possible;
    - ``integrate``, ``difference``, ``bracket``, ``neutral``, ``configuration_names``: coordinates on a group or manifold;
    - ``parameter_units``, ``parameter_fields`` for entries of arrays, or ``parameters`` and ``with_parameters``: numbers that
      sensitivities, trims and families can vary;
    - ``picture``: the shape of the block in figures, instead of a line to each port;
    - ``mass_properties``: exact numbers, and speed, in checks, texts and pictures, which otherwise use the mass matrix;
    - ``common_parameters``, ``rational_parameters``, ``rescaled_coordinates``, ``scaling_beside``, ``length_powers``: the
      dependence on parameters for linear fractional models, which otherwise fit polynomials;
    - ``load_parameters``, ``spin_limit``: the loads that searches for equilibria increase in steps, and the spin at which they
      warn;
    - ``disturbances``: factors of loads that equilibria and linear models leave out.

    The law of a block (all in the parent port's frame, ``x = [A_P; a]``)::

        [W_P; tau + B(q) u + passive] + applied = M(q) x + h(q, v, V_P) + sum_k [Ad(g_k)^-T; S_k^T] W_k

    where ``passive`` includes the ``state_efforts``.

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
        Unit of each coordinate and of each input; "1" by default.
    inputs : tuple of str
        Names of the inputs of its own.
    input_ranges : sequence of (lower, upper)
        Of each input, in its unit, as for actuators: controllers' commands and trims stay within them, and
        `Trajectory.violations` reports inputs outside. Unbounded by default.
    state_names, state_units : tuple of str
        Names of the states of its own, and the unit of each; "1" by default.

    Notes
    -----
    Arguments of the methods: `port` is the name of a child port; `q` the own configuration (nq); `v` and `dq` tangent
    vectors (n); `twist` the twist (6) of the parent port, in its frame; `rng` a NumPy random generator; `values` new
    values of parameters by their names in `parameters`.

    Units: coordinates those of `units` (rad or m), rates and accelerations those per s and s^2, efforts N m or N accordingly;
    derivatives the unit of the function per unit of the variable.
    """

    inputs: tuple[str, ...] = ()
    input_units: tuple[str, ...] = ()
    input_ranges: Sequence[tuple[float, float]] = ()
    state_names: tuple[str, ...] = ()
    state_units: tuple[str, ...] = ()
    #: Attributes that `with_parameters` has changed, so that `check` reads them.
    _unread: frozenset[str] = frozenset()
    #: Attributes that name joints of the system, or one of their coordinates.
    joint_fields: ClassVar[tuple[str, ...]] = ()
    #: Whether `with_parameters` accepts complex numbers; otherwise derivatives by the parameters are differences.
    complex_parameters: ClassVar[bool] = True
    #: Whether it has sections along its length, with poses, strains, stresses and wrenches.
    has_sections: ClassVar[bool] = False
    #: Whether it has `volume_ratios`, since its material may fold over.
    can_fold: ClassVar[bool] = False
    #: Units of the block's parameters: of attributes that are numbers, vectors (3) or symmetric matrices (3, 3), or None.
    parameter_units: ClassVar[dict[str, str]] = {}
    #: Parameters in arrays that are symmetric matrices: an entry and its mirror image change together.
    symmetric_fields: ClassVar[tuple[str, ...]] = ()

    def __init__(self, name: str) -> None:
        self.name = str(name)
        self._begin(self.name)
        if not is_name(name):
            self.reader.report("bad-name", "name", name, "letters, digits and _-/", "rename the block")

    def input_matrix(self, q: Array) -> Array:
        """Return the efforts on the own coordinates per unit of each input, B (n x inputs); with states, zero by default."""
        if self.inputs and self.nv and not self.state_names:
            raise NotImplementedError(f"block {self.name!r} does not say what its inputs do")
        return np.zeros((self.nv, len(self.inputs)))

    def state_efforts(self, q: Array, v: Array, x: Array) -> Array:
        """Return the efforts (n, N m or N) on the own coordinates that depend on the states `x` (k) of its own, smoothly.

        Efforts that do not depend on states belong to `passive_efforts`. They may be zero for states that only drive others.
        """
        raise NotImplementedError(f"block {self.name!r} does not say what its states do")

    def state_rates(self, q: Array, v: Array, x: Array, u: Array) -> Array:
        """Return the rates dx/dt (k) of the states `x` (k) of its own, with the inputs `u` (m) of its own."""
        raise NotImplementedError(f"block {self.name!r} does not say how its states change")

    def gaps(self, motion: TargetMotion) -> Array:
        """Return switching functions (k, own unit, k constant), which are zero where the block's law switches.

        Examples are the distance of a contact, or the slack of a cable: smooth functions that change sign at the switch. None
        by default. Only simulations use them.

        Parameters
        ----------
        motion : TargetMotion
            For an interaction, that of the targets; for a body, that of the world's port and its parent port, in inertial
            axes, and of its own coordinates; for a joint, that of its coordinates alone, without ports. Inputs and states are
            zero: gaps do not depend on them.
        """
        return np.zeros(0)

    @property
    def state_paths(self) -> tuple[str, ...]:
        """Names of the states in a system."""
        return tuple(f"{self.name}.{entry}" for entry in self.state_names)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Names of the inputs in a system; an input without a name has the block's."""
        return tuple(f"{self.name}.{entry}" if entry else self.name for entry in self.inputs)

    def check(self) -> tuple[list[Finding], list[Finding]]:
        """Return what is wrong with the block and what is suspicious."""
        unread = {name: vars(self).get(name) for name in self._unread}
        errors = [*self.reader.findings, *refused_numbers(self, unread), *zero_axes(self)]
        if self.disturbances:
            where, advice = f"{self.name}.disturbances", "write a tuple of names, see help(titop.Interaction)"
            wrong = [name for name in self.disturbances if name not in self.parameters()]
            errors += [Finding("unknown-parameter", where, name, "names in parameters()", advice) for name in wrong]
        return errors, list(self.reader.warnings)

    def parameter_fields(self) -> ParameterFields:
        """Return, by dotted name, the attribute that holds a parameter, the index in it (none of a number), and the unit.

        An index is that in an array; before it there may be keys of mappings, positions in tuples and names of attributes.
        By default those of `parameter_units`.
        """
        fields: ParameterFields = {}
        for name, unit in self.parameter_units.items():
            fields |= entries_of(name, getattr(self, name, 0.0), unit)
        return fields

    def parameters(self) -> dict[str, tuple[float, str]]:
        """Return the block's parameters by dotted name (without the block's name), each with its unit."""
        numbers: dict[str, tuple[float, str]] = {}
        last: str = ""
        value: Any = None
        for name, (field, path, unit) in self.parameter_fields().items():
            if field != last:
                last, value = field, getattr(self, field)
            if value.__class__ is np.ndarray:  # without a call for entries of arrays, which most are
                numbers[name] = float(value[path]) if value.dtype == float else as_number(value[path]), unit
            else:
                number = number_at(value, path) if path else value
                numbers[name] = number if number.__class__ is float else as_number(number), unit
        return numbers

    def with_parameters(self, values: dict[str, float]) -> Block:
        """Return a copy with some parameters changed, independent of later changes of the block; names as in `parameters`."""
        changed = self.snapshot()
        fields = self.parameter_fields()
        for name, value in values.items():
            if name not in fields and name not in (known := self.parameters()):
                where, advice = f"{self.name}.{name}", did_you_mean(name, known)
                raise ModelError(Finding("unknown-parameter", where, value, "a parameter of the block", advice))
            field, path, _ = fields.get(name, (name, (), ""))
            entry: Any = with_number(getattr(changed, field), path, value) if path else value + 0.0
            if field in self.symmetric_fields:
                entry[path[::-1]] = value
            put(changed, field, entry)
            changed._unread |= {field}
        changed._update()
        return changed

    def parameters_along(self, units: Sequence[str]) -> dict[str, tuple[float, str]]:
        """Return `parameters`, with units for the `units` of the coordinates that the block acts on, in their order."""
        return self.parameters()

    @property
    def named_coordinates(self) -> dict[str, str]:
        """The joints of the system, or coordinates, that the block names, by field."""
        return {field: getattr(self, field) for field in self.joint_fields}

    def rename_coordinates(self, renamed: Callable[[str], str]) -> None:
        """Let the block name the same coordinates by other names, those that `renamed` returns."""
        for field, name in self.named_coordinates.items():
            put(self, field, renamed(name))

    def snapshot(self) -> Block:
        """Return a copy, independent of later changes of the block."""
        copied = copy.copy(self)
        attributes = copied.__dict__
        for name, value in self.__dict__.items():
            if isinstance(value, _MUTABLE):
                attributes[name] = _with_own_values(value) if type(value) is dict else value.copy()
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
        """Return the state for pickling; copies do not use this."""
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


# -- what classes redefine of those of titop ------------------------------------------------------------------------


def overrides_method(block: Block, name: str, base: type[Block] = Block) -> bool:
    """Tell whether a block overrides a method of a `base` of its class."""
    return redefines(block, name, base)


#: Members that a class may redefine without a change of its blocks' law.
_FREE = {
    *("inputs", "input_names", "input_units", "input_ranges", "input_matrix"),
    *("state_names", "state_units", "state_rates", "state_efforts", "gaps"),
    *("units", "configuration_units", "coordinate_scales", "neutral", "random_configuration"),
    *("check", "doubts", "along_time", "cannot_object", "spin_limit", "load_parameters", "disturbances"),
    *("complex_safe", "complex_parameters"),
    *("mass_properties", "picture", "drawn_as", "drawn_straight", "drawn_within", "visuals", "port"),
    *("snapshot", "file_tables", "not_in_files"),
    *("common_parameters", "rational_parameters"),
}


def titop_class(cls: type) -> type:
    """Return the nearest class of titop from which a class of blocks derives."""
    return next(base for base in cls.__mro__ if base.__module__.startswith("titop.blocks."))


def overrides(block: Block) -> tuple[str, ...]:
    """Return the attributes of the titop class from which a block derives that the block redefines.

    Anything but constructors, checks and the like counts: code that knows the law of the titop class must call the functions of
    such a block instead.
    """
    cls: Any = type(block)
    methods, attributes = _methods(cls), vars(block)
    return (
        _class_overrides(cls)
        if methods.isdisjoint(attributes)
        else (*_class_overrides(cls), *sorted(methods & attributes.keys()))
    )


def is_titops_own(block: Block) -> bool:
    """Tell whether a block has exactly the law of a class of titop."""
    return titop_class(type(block)) is not Block and not overrides(block)


@cache
def _class_overrides(cls: type) -> tuple[str, ...]:
    if (base := titop_class(cls)) is cls:
        return ()
    names = (name for name in dir(base) if not name.startswith("__") and name not in _FREE)
    return tuple(name for name in names if _attribute(cls, name) is not _attribute(base, name))


@cache
def _methods(cls: type) -> frozenset[str]:
    return frozenset(name for name in dir(cls) if inspect.isfunction(_attribute(cls, name)) and name not in _FREE)


def _attribute(cls: type, name: str) -> Any:
    """Return an attribute of a class; for a field's default, the field."""
    attribute = next(vars(base)[name] for base in cls.__mro__ if name in vars(base))
    return attribute.field if isinstance(attribute, Redefined) and not attribute.is_computed else attribute
