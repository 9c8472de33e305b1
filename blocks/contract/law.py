"""The law of a block at a state, and users' laws that titop compiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from titop.blocks.basics.spatial import Array


class LawTerms(NamedTuple):
    """``[W_P; tau + passive] = M [A_P; a] + h + sum_k [Ad(g_k)^-T; S_k^T] W_k`` of a block with n coordinates and p ports.

    Attributes
    ----------
    inertia : (6 + n, 6 + n) array
        M, as seen from the parent port (kg, kg m and kg m^2).
    gyroscopic : (6 + n,) array
        h, at the parent port's twist (N and N m).
    passive : (n,) array
        Efforts (N m or N) of elasticity and damping.
    rotation : (p, 3, 3) array
        Of the child ports in the parent port's frame.
    position : (p, 3) array, m
    subspace : (p, 6, n) array
        Motion subspaces S (m and rad a unit of q), each in its port's frame.
    bias : (p, 6) array, m/s^2 and rad/s^2
        ``gamma = dS/dt v + ad(V_C) S v``: a port's acceleration is ``Ad(g)^-1 A_P + S a + gamma``.
    """

    inertia: Array
    gyroscopic: Array
    passive: Array
    rotation: Array
    position: Array
    subspace: Array
    bias: Array


class LawOwner(Protocol):
    """Members that a law needs of its block."""

    ports: tuple[str, ...]

    @property
    def nv(self) -> int:
        """Dimension of the tangent space of the own coordinates."""

    def law_numbers(self) -> Array:
        """Return the numbers from which the law is computed."""


class Law:
    """A law that titop compiles.

    To compile the law of a block of your own, write it as one function that numba can compile, and

    1. write ``law(numbers, q, v, twist, terms)``: fill in the arrays of `terms` (a `LawTerms`, all zeros before; in place, as
       in ``terms.inertia[:] += ...``) from the block's `numbers`, its coordinates `q` and their rates `v` (n each), and the
       `twist` (6) of its parent port;
    2. give it to the class: ``compiled_law = tt.Law(law)``;
    3. define ``law_numbers()``: the array that the function receives as `numbers`;
    4. if the block is elastic, write its stored energy (J) as a function too, ``energy(numbers, q)``:
       ``compiled_law = tt.Law(law, energy=energy)`` replaces the method; or define ``elastic_energy(q)``, which is slower;
       define ``damping_efforts(q, v)``, if there are any;
    5. if the block has loads beside gravity (`Block.applied_efforts`: drag, buoyancy, follower loads), write them as a
       function, ``applied(numbers, q, v, twist, rotation, position, efforts)``, which fills in `efforts` (6 + n, zeros before)
       and also receives the pose of the parent port: ``compiled_law = tt.Law(law, applied)`` replaces the method.

    For an interaction with states of its own, ``rates(numbers, motion, rates)`` fills in their `rates` (k, zeros before):
    ``compiled_law = tt.Law(law, rates=rates)`` replaces the method `Interaction.state_rates`.

    Pose and mass matrix are then those of the function, and all else follows from them as for any block; `tt.check_block`
    compares the other terms of the function with these. A subclass that redefines part of such a block is evaluated in Python.

    If an interaction's law has kinks or jumps (`Block.gaps`), ``gaps(numbers, motion)`` may be their compiled form: it returns
    the same array as the method, with the same length at every motion.

    The function may use loops, arithmetic, arrays and slices, calls of functions of your own with the same restrictions, and
    the NumPy functions that numba supports (for many of them, numba is loaded in every process). It is also called with
    complex numbers, for exact derivatives: use ``np.sin`` instead of ``math.sin``, comparisons of real parts, no ``abs``, no
    conjugates, and arrays of the type of ``q`` or ``terms.inertia``, not of floats. The block's own coordinates have to be
    plain numbers (``integrate`` adds).

    Parameters
    ----------
    function : callable
        ``function(numbers, q, v, twist, terms)``, plain or a numba dispatcher; for an `Interaction`,
        ``function(numbers, motion, loads)``.
    applied : callable, optional
        ``applied(numbers, q, v, twist, rotation, position, efforts)``, likewise.
    energy : callable, optional
        ``energy(numbers, q)``, likewise, returns joules.
    rates : callable, optional
        ``rates(numbers, motion, rates)``, likewise, of an `Interaction`.
    gaps : callable, optional
        ``gaps(numbers, motion)`` of an `Interaction`, likewise, returns an array (k).
    """

    def __init__(
        self,
        function: Callable[..., None],
        applied: Callable[..., None] | None = None,
        energy: Callable[..., Any] | None = None,
        rates: Callable[..., None] | None = None,
        gaps: Callable[..., Array] | None = None,
    ) -> None:
        self.function: Callable[..., None] = getattr(function, "py_func", function)
        self.applied: Callable[..., None] | None = getattr(applied, "py_func", applied)
        self.energy: Callable[..., Any] | None = getattr(energy, "py_func", energy)
        self.rates: Callable[..., None] | None = getattr(rates, "py_func", rates)
        self.gaps: Callable[..., Array] | None = getattr(gaps, "py_func", gaps)

    def terms(self, block: LawOwner, q: Array, v: Array, twist: Array) -> LawTerms:
        """Return the law at a state, evaluated in Python.

        Parameters
        ----------
        block : Block
        q, v : (n,) arrays
            Its coordinates and their rates.
        twist : (6,) array
            Of its parent port.
        """
        n, p, numbers = block.nv, len(block.ports), block.law_numbers()
        kind: Any = np.result_type(numbers, q, v, twist, float)
        shapes = (6 + n, 6 + n), (6 + n,), (n,), (p, 3, 3), (p, 3), (p, 6, n), (p, 6)
        terms = LawTerms(*(np.zeros(shape, kind) for shape in shapes))
        self.function(numbers, q, v, twist, terms)
        return terms

    def applied_efforts(self, numbers: Array, q: Array, v: Array, twist: Array, rotation: Array, position: Array) -> Array:
        """Return the efforts of `applied` (6 + n; N, N m), evaluated in Python; see `Block.applied_efforts`."""
        assert self.applied is not None
        state = q, v, twist, rotation, position
        kind: Any = np.result_type(numbers, *state, float)
        efforts = np.zeros(6 + len(v), kind)
        self.applied(numbers, *state, efforts)
        return efforts
