"""Interactions: wrenches on ports and efforts on coordinates that follow from their motion, and do not constrain it."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np

from titop.blocks.basics.choices import select
from titop.blocks.basics.complex_steps import complex_step, trusted_step
from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array, cross, rotation_exp, twist_transport
from titop.blocks.basics.tolerances import FEW_ROUNDINGS
from titop.blocks.basics.user_input import read_array
from titop.blocks.constraints.closure import Closure
from titop.blocks.contract.block import Block, PortRef, is_titops_own
from titop.blocks.contract.fields import put
from titop.blocks.contract.target_motion import NO_STATES, TargetMotion
from titop.blocks.programs.repetition import graph_of


class TargetLoads(NamedTuple):
    """The arrays that a compiled interaction fills in.

    `wrenches` (p, 6, N and N m), each in its port's frame, and `efforts` (n, N m or N) on coordinates.
    """

    wrenches: Array
    efforts: Array


#: Relative distance up to which places coincide: rounding of about sixteen operations.
COINCIDENT = FEW_ROUNDINGS


class Interaction(Closure):
    """Loads on several ports and coordinates: springs, contact, cables, or a law of your own.

    Between two ports, connected by `System.close_loop`, a class of your own defines:

    1. ``wrenches(R, r, V1, V2)``: the wrenches on both ports.
    2. ``energy(R, r)``: the stored energy; zero by default.
    3. ``parameter_units``: the attributes that are parameters, and their units, as for every `Block`.

    On any ports and coordinates, connected by `System.add_interaction`, it defines instead of the first two:

    1. ``port_counts`` and ``coordinate_counts``: the least and the largest number of each.
    2. ``act(motion)``: the wrenches (p, 6) on the ports, each in its port's frame, and the efforts (n) on the coordinates.
    3. ``stored(motion)``: the stored energy.
    4. ``inputs``, their names such as ``("tension",)``, and ``input_units``, if it has any. The loads are linear in them, with
       factors that depend on poses and coordinates alone. They are inputs of the model, in the range ``lower`` to ``upper``.
    5. ``state_names``, their names such as ``("pull",)``, ``state_units`` and ``state_rates(motion)``, if it has first-order
       states: lags, bristles, viscosity with memory. Loads may be any smooth function of them, ``motion.x``. They are states of
       the model as ``interaction.pull``.
    6. ``readings``, their names such as ``("force",)``, ``reading_units`` and ``read(motion)``, if it measures something:
       outputs of the model, ``interaction.force``.
    7. ``own_blocks``, ``own_ports``, ``own_coordinates`` and ``among(blocks)``, if it depends on blocks given to its
       constructor, as tendons and distributed loads depend on rods.
    8. ``disturbances``, names of parameters, factors of one, by which loads are multiplied that equilibria and linear models
       leave out: they turn with what moves, as a wheel's jitter, and vanish on average.

    Laws that switch by position (contacts, cables) define `Block.gaps` for simulations; see `Law` for a compiled form.

    The motion (`TargetMotion`) is given in the frame of the first port: use the world's for a law that depends on the vertical.
    The wrenches must be in balance, about any point, unless the world is among the ports or the class sets ``external = True``.
    Their rate-dependent part dissipates, see `Model.dissipated_power`.

    Everything else follows: dynamics of any causality, linear models, equilibria, sensitivities, model files
    (`register_block`). Derivatives are complex steps through these functions, exact to rounding, with the same requirements as
    for a `Block`: arrays of the arguments' type, ``np.sqrt(x @ x)`` instead of norms, comparisons of real parts (``np.real(x)
    > 0``). The compiled engine calls them once per state. `check_block` checks all this.

    To compile the law, write it as one function that numba can compile, ``law(numbers, motion, loads)``, which fills in
    the arrays of `loads` (`TargetLoads`, zeros before), give it to the class as ``compiled_law = tt.Law(law)`` in place of
    ``act``, and define ``law_numbers()``, the array that the function receives as `numbers`. See `Law` for what it may use.

    Examples
    --------
    >>> import numpy as np
    >>> import titop as tt
    >>> class Magnet(tt.Interaction):
    ...     parameter_units = {"strength": "N m^2"}
    ...     def __init__(self, name, strength):
    ...         super().__init__(name)
    ...         self.strength = self.reader.scalar("strength", strength)
    ...     def wrenches(self, R, r, V1, V2):
    ...         pull = self.strength * r / np.sqrt(r @ r) ** 3
    ...         return np.concatenate([pull, np.zeros(3)]), np.concatenate([-R.T @ pull, np.zeros(3)])
    >>> s = tt.System("attracted", gravity=[0, 0, 0])
    >>> puck = tt.RigidBody("puck", mass=2.0)
    >>> s.connect("world", puck, tt.Prismatic("rail", axis=[1, 0, 0]), placement=tt.Pose([2, 0, 0]))
    >>> s.close_loop("world", puck, Magnet("magnet", 1.6))
    >>> s.resolve().forward_dynamics([0.0], [0.0]).round(12).tolist()
    [-0.2]

    A spring between two coordinates:

    >>> def twist(numbers, motion, loads):
    ...     effort = numbers[0] * (motion.q[1] - motion.q[0])
    ...     loads.efforts[0] += effort
    ...     loads.efforts[1] -= effort
    >>> class Belt(tt.Interaction):
    ...     port_counts, coordinate_counts, compiled_law = (0, 0), (2, 2), tt.Law(twist)
    ...     def law_numbers(self):
    ...         return np.array([3.0])
    ...     def stored(self, motion):
    ...         return 1.5 * (motion.q[1] - motion.q[0]) ** 2
    >>> s = tt.System("wheels")
    >>> for name in ("left", "right"):
    ...     s.connect("world", tt.RigidBody(f"{name}_wheel", mass=1.0, inertia=2.0), tt.Revolute(name))
    >>> s.add_interaction(Belt("belt"), "left", "right")
    >>> s.resolve(engine="reference").forward_dynamics([0.0, 0.4], [0.0, 0.0]).round(12).tolist()
    [0.6, -0.6]
    """

    rational_parameters = None
    file_tables: ClassVar[tuple[str, ...]] = ("closures", "interactions")
    #: Least and largest number of ports and of coordinates.
    port_counts: tuple[float, float] = (2, 2)
    coordinate_counts: tuple[float, float] = (0, 0)
    #: Range of each input.
    lower: float = -math.inf
    upper: float = math.inf
    #: Whether trims and simulations refuse inputs below `lower`; otherwise `Trajectory.violations` reports them.
    one_sided: bool = False
    #: Whether its wrenches are external to the system, although the world is not among the ports.
    external: ClassVar[bool] = False
    #: Names and units of what it measures by `read`: outputs of the model, ``drive.torque``.
    readings: tuple[str, ...] = ()
    reading_units: tuple[str, ...] = ()
    #: Whether it has contact points, `point_names`, with gaps and forces as outputs.
    has_points: ClassVar[bool] = False
    #: What it acts on if `System.add_interaction` is told nothing else.
    default_targets: tuple[PortRef, ...] = ()

    @property
    def input_ranges(self) -> tuple[tuple[float, float], ...]:  # type: ignore[override]
        """Range of each input."""
        return ((self.lower, self.upper),) * len(self.inputs)

    def state_rates(self, motion: TargetMotion) -> Array:  # type: ignore[override]
        """Return the rates dx/dt (k) of the states of its own.

        Parameters
        ----------
        motion : TargetMotion
        """
        law = self.compiled_law
        if law is None or law.rates is None:
            raise NotImplementedError(f"{type(self).__name__} does not say how its states change: see help(tt.Interaction)")
        numbers = self.law_numbers()
        rates = np.zeros(len(self.state_names), np.result_type(numbers, *motion, float))
        law.rates(numbers, motion, rates)
        return rates

    def act(self, motion: TargetMotion) -> tuple[Array, Array]:
        """Return the wrenches (p, 6; N, N m) on the ports, each in its frame, force first, and the efforts (n) on coordinates.

        Parameters
        ----------
        motion : TargetMotion
        """
        if self.compiled_law is not None:
            numbers = self.law_numbers()
            kind: Any = np.result_type(numbers, *motion, float)
            loads = TargetLoads(np.zeros((len(motion.R), 6), kind), np.zeros(len(motion.q), kind))
            self.compiled_law.function(numbers, motion, loads)
            return loads
        returned = self.wrenches(motion.R[1], motion.r[1], motion.V[0], motion.V[1])
        try:
            wrenches = np.array(returned)
        except ValueError:  # unequal lengths
            wrenches = np.zeros(0)
        if wrenches.shape != (2, 6):
            expected, advice = "two wrenches of six numbers", "return what acts on both ports, each in its port's frame"
            raise ModelError(Finding("wrong-shape", f"{self.name}.wrenches", returned, expected, advice))
        return wrenches, np.zeros(0)

    def stored(self, motion: TargetMotion) -> Any:
        """Return the stored energy (J), which depends on poses and coordinates alone.

        Parameters
        ----------
        motion : TargetMotion
        """
        return self.energy(motion.R[1], motion.r[1]) if len(motion.R) == 2 else 0.0

    def wrenches(self, R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
        """Return the wrenches (6, N and N m) on both of two ports, each in its port's frame, force first.

        Parameters
        ----------
        R : (3, 3) array
            Attitude of port 2 in port 1.
        r : (3,) array, m
            Position of port 2 in port 1.
        V1, V2 : (6,) arrays
            Twists of the ports, each in its frame, linear part first.
        """
        raise NotImplementedError(f"{type(self).__name__} does not say what it does: see help(tt.Interaction)")

    def energy(self, R: Array, r: Array) -> Any:
        """Return the stored energy (J) at the relative pose ``(R, r)`` of two ports."""
        return 0.0

    def read(self, motion: TargetMotion) -> Array:
        """Return what it measures (k), each in its own unit: a smooth function of motion, inputs and states.

        Parameters
        ----------
        motion : TargetMotion
        """
        raise NotImplementedError

    def doubts(self, motion: TargetMotion) -> Iterator[Finding]:
        """Yield warnings about a motion of its targets at which its law is doubtful; none by default."""
        return iter(())

    def along_time(self) -> Iterator[Finding]:
        """Yield warnings about any simulation, since it knows what surrounds at one instant; none by default."""
        return iter(())

    @property
    def reading_paths(self) -> tuple[str, ...]:
        """Names of its `readings` in a system."""
        return tuple(f"{self.name}.{name}" for name in self.readings)

    def denominators(self) -> tuple[Any, ...] | None:
        """Return numbers by which loads (6 p + n), rates of states and readings are multiplied to be polynomials in parameters.

        None where they are as they are.
        """
        return None

    def gaps(self, motion: TargetMotion) -> Array:
        """Return the switching functions (k) of its compiled law; none by default; see `Block.gaps`."""
        law = self.compiled_law
        return super().gaps(motion) if law is None or law.gaps is None else law.gaps(self.law_numbers(), motion)

    def law_numbers(self) -> Array:
        """Return the numbers (k, SI units) of a compiled law; none without one."""
        return np.zeros(0)


class BodyInteraction(Interaction):
    """Common part of interactions that act on all coordinates of the blocks in their field `own_field`."""

    #: Classes of these blocks.
    own_kinds: ClassVar[tuple[type[Block], ...]]

    @property
    def own_blocks(self) -> tuple[Block, ...]:  # type: ignore[override]
        """The blocks."""
        blocks = getattr(self, self.own_field)
        return tuple(
            block for block in (blocks if isinstance(blocks, tuple) else (blocks,)) if isinstance(block, self.own_kinds)
        )

    @property
    def own_coordinates(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of their coordinates."""
        return tuple(f"{block.name}.{entry}" for block in self.own_blocks for entry in self._coordinates_of(block))

    def _coordinates_of(self, block: Any) -> tuple[str, ...]:
        coordinates: tuple[str, ...] = block.coordinates
        return coordinates

    @property
    def coordinate_counts(self) -> tuple[float, float]:  # type: ignore[override]
        """All of these."""
        count = len(self.own_coordinates)
        return count, count

    def among(self, blocks: Mapping[str, Block]) -> Interaction:
        before = self.own_blocks
        others = tuple(blocks.get(block.name, block) for block in before)
        if all(new is old for new, old in zip(others, before, strict=True)):
            return self
        if not all(isinstance(block, self.own_kinds) for block in others):
            return self
        copied = copy.copy(self)
        put(copied, self.own_field, others if isinstance(getattr(self, self.own_field), tuple) else others[0])
        copied._follow(before)
        return copied

    def _follow(self, before: tuple[Block, ...]) -> None:
        """Recompute what follows from the blocks, which have replaced those `before`."""
        self._update()


def relative_rates(R: Array, r: Array, V1: Array, V2: Array) -> tuple[Array, Array]:
    """Return dr/dt and the relative angular velocity ``R w2 - w1``, both in port 1."""
    return R @ V2[:3] - V1[:3] + cross(r, V1[3:]), R @ V2[3:] - V1[3:]


def line_along(r: Array) -> tuple[Any, Array]:
    """Return the length (m) of a vector and its direction (3), both zero for a zero vector."""
    square = r @ r
    apart = square.real != 0.0
    distance = np.sqrt(select(apart, square, 0.0 * square + 1.0))
    return select(apart, distance, 0.0 * square), select(apart, r / distance, 0.0 * r.real)


def opposite_wrenches(R: Array, r: Array, at: Array, force: Array) -> tuple[Array, Array]:
    """Return the wrenches on both ports from a `force` on the body of port 2 at a point, both in port 1, and its reaction."""
    on_2 = np.concatenate([R.T @ force, R.T @ cross(at - r, force)])
    return -np.concatenate([force, cross(at, force)]), on_2


def motion_among(
    poses: list[tuple[Array, Array]],
    twists: list[Array],
    q: Array,
    v: Array,
    u: Array,
    reach: float = 0.0,
    x: Array = NO_STATES,
) -> TargetMotion:
    """Return the motion of ports whose poses are given in one frame, and twists each in its own.

    Places that differ by rounding alone are made equal: rounding of the positions, and of the `reach` (m) of the stretched-out
    tree. Otherwise a force along the line between them would have a direction that is only rounding.
    """
    if not poses:
        return TargetMotion(np.zeros((0, 3, 3)), np.zeros((0, 3)), np.zeros((0, 6)), q, v, u, x)
    back, origin = poses[0][0].T, poses[0][1]
    turns = [np.eye(3), *(back @ rotation for rotation, _ in poses[1:])]
    places = [np.zeros(3)]
    for _, position in poses[1:]:
        places.append(_place_or_coincident(back @ (position - origin), places, position, origin, reach))
    return TargetMotion(np.array(turns), np.array(places), np.array(twists), q, v, u, x)


def _place_or_coincident(place: Array, others: list[Array], position: Array, origin: Array, reach: float) -> Array:
    """Return a place (3, m), or the value of the last of the others within `rounding`; derivatives are those of the place.

    One that is not known yet is taken as it is.
    """
    if graph_of(place) is not None:
        return place
    rounding = COINCIDENT * (np.abs(_values(position)).sum() + np.abs(_values(origin)).sum() + reach)
    here = _values(place)
    offsets = [_values(other) - here for other in others]
    near = [offset for offset in offsets if np.abs(offset).sum() <= rounding]
    return place + near[-1] if near else place


def _values(x: Array) -> Array:
    """Return the real values of numbers that may be complex or carry derivatives."""
    return np.array([np.real(entry) for entry in x.tolist()])


def displaced(motion: TargetMotion, steps: Array) -> TargetMotion:
    """Return the motion with all ports but the first displaced by small twists (6 each, concatenated) in their own frames."""
    R, r = list(motion.R), list(motion.r)
    for k, step in enumerate(steps.reshape(-1, 6), start=1):
        R[k], r[k] = motion.R[k] @ rotation_exp(step[3:]), motion.r[k] + motion.R[k] @ step[:3]
    return motion._replace(R=np.array(R).reshape(-1, 3, 3), r=np.array(r).reshape(-1, 3))


#: A method of differentiation for a function of a vector.
Stepping = Callable[[Callable[[Array], Any], Array], Array]


def stepping(interaction: Interaction) -> Stepping:
    """Return the method of differentiation for an interaction: complex steps, checked for functions of users."""
    known = is_titops_own(interaction) and interaction.complex_safe and not interaction.state_names
    return complex_step if known else trusted_step


def load_derivatives(interaction: Interaction, motion: TargetMotion, step: Stepping) -> Array:
    """Return the derivatives of all wrenches and efforts (6 p + n), concatenated, by the method `step`.

    Columns: small twists of all ports but the first; all twists; coordinates; their rates.
    """
    return motion_derivatives(lambda moved: all_loads(interaction, moved), motion, step)


def loads_by_states(interaction: Interaction, motion: TargetMotion) -> Array:
    """Return the derivatives (6 p + n x k) of all wrenches and efforts, concatenated, by the interaction's states."""
    return stepping(interaction)(lambda x: all_loads(interaction, motion._replace(x=x)), motion.x)


def rates_by_driving(interaction: Interaction, motion: TargetMotion) -> Array:
    """Return the derivatives (k, m + k) of the rates of the interaction's states by inputs and states."""

    def rates(w: Array) -> Any:
        return interaction.state_rates(motion._replace(u=w[: len(motion.u)], x=w[len(motion.u) :]))

    return stepping(interaction)(rates, np.concatenate([motion.u, motion.x]))


def rates_by_motion(interaction: Interaction, motion: TargetMotion) -> Array:
    """Return the derivatives (k, ...) of the rates of the interaction's states; columns as those of `load_derivatives`."""
    return motion_derivatives(interaction.state_rates, motion, stepping(interaction))


def power_of(loads: tuple[Array, Array], motion: TargetMotion) -> Any:
    """Return the power (W) of wrenches (p, 6) and efforts (n) along a motion."""
    wrenches, efforts = loads
    return (np.asarray(wrenches) * motion.V).sum() + efforts @ motion.v


def relative_twists(motion: TargetMotion) -> Array:
    """Return the twists (6 each, concatenated) of all ports but the first relative to it, in their own frames."""
    ports = zip(motion.R[1:], motion.r[1:], motion.V[1:], strict=True)
    return np.concatenate([np.zeros(0), *(V - twist_transport(R, r) @ motion.V[0] for R, r, V in ports)])


def stored_rate(interaction: Interaction, motion: TargetMotion) -> Any:
    """Return the rate (W) of the energy that an interaction stores."""
    steps, rates = relative_twists(motion), interaction.state_rates(motion)

    def later(t: Array) -> Any:
        on = motion._replace(q=motion.q + t * motion.v, x=motion.x + t * rates)
        return np.array([interaction.stored(displaced(on, t * steps))])

    return stepping(interaction)(later, np.zeros(1))[0, 0]


def all_loads(interaction: Interaction, motion: TargetMotion) -> Array:
    """Return all wrenches (6 p; N, N m) and efforts (n) of an interaction, concatenated."""
    wrenches, efforts = interaction.act(motion)
    return np.concatenate([np.ravel(wrenches), efforts])


def motion_derivatives(function: Callable[[TargetMotion], Any], motion: TargetMotion, step: Stepping) -> Array:
    """Return the derivatives of a function of a motion; columns as those of `load_derivatives`."""
    steps = np.zeros(6 * max(len(motion.R) - 1, 0))
    ends = np.cumsum([len(steps), motion.V.size, len(motion.q)])

    def at(x: Array) -> Any:
        by, V, q, v = np.split(x, ends)
        return function(displaced(motion._replace(V=V.reshape(-1, 6), q=q, v=v), by))

    return step(at, np.concatenate([steps, motion.V.ravel(), motion.q, motion.v]))


def target_counts(interaction: Interaction, what: str) -> tuple[float, float]:
    """Return the least and the largest number of targets of a kind, ``"port"`` or ``"coordinate"``."""
    where, value = f"{type(interaction).__name__}.{what}_counts", getattr(interaction, f"{what}_counts")
    advice = "write (2, 2) for two of them, (1, np.inf) for any"
    wrong = Finding("bad-counts", where, value, "the least and the largest number", advice)
    least, most = read_array(wrong, lambda counts: counts.shape == (2,)).tolist()
    return least, most


def random_motion(interaction: Interaction, rng: np.random.Generator, ports: int = 3, coordinates: int = 2) -> TargetMotion:
    """Return a random motion of so many targets, or as many as the interaction takes, without inputs; lengths about a metre.

    States of its own are of size one.
    """
    p, n = (
        int(min(max(number, least), most))
        for number, (least, most) in (
            (ports, target_counts(interaction, "port")),
            (coordinates, target_counts(interaction, "coordinate")),
        )
    )
    poses = [(rotation_exp(rng.normal(size=3)), rng.normal(size=3)) for _ in range(p)]
    q, v = rng.normal(size=(2, n))
    twists, u = list(rng.normal(size=(p, 6))), np.zeros(len(interaction.inputs))
    return motion_among(poses, twists, q, v, u, x=rng.normal(size=len(interaction.state_names)))
