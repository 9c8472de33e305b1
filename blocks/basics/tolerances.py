"""The one table of small numbers: what counts as rounding, as equal, as closed, as nothing, and how long steps are.

All of them are parts: of the largest of what is compared, or of what counts as one in the system at hand (see
`titop.solvers.mechanism.scale`: a radian, the system's length, its time, its mass). No unit changes what they decide. An
algorithm may take an expression of them, such as ``8 * EPS`` for a sum of eight terms, or ``np.sqrt(ROUNDING)`` for what is
known of double roots. A number that is no threshold stays with its algorithm: the default of an argument that users set, a
physical value, a schedule of steps. `tests/blocks/basics/test_tolerances.py` finds small numbers that stand elsewhere.

By subject, the exact one first; each says below what it is:

==========================================================  ============================================================
`EPS`, `FEW_ROUNDINGS`, `ROUNDING`, `EXACT`                  rounding: of one operation up to two ways to one number
`CANCELLED`, `SINGULAR`, `RANK`, `LOOSE_RANK`                pivots and singular values that count as zero
`SAME`, `TYPED`, `NEAR_AXIS`                                 numbers, and eigenvalues, that were meant to be equal
`CLOSED`, `OPEN`, `BALANCED`, `CONSISTENT`, `STEADY`         what closed loops, balances and equilibria leave
`COMPLEX_STEP`, and three steps of differences               steps of derivatives; `DIFFERENCE_ERROR`: what they leave
`CLOSE`, `NEGLIGIBLE`, `COARSE`, `TINY`                      what is seen, what can be left out; what is added to zeros
==========================================================  ============================================================
"""

from __future__ import annotations

import numpy as np

# -- rounding --------------------------------------------------------------------------------------------------------------

#: One rounding of a double, relative: the distance from 1 to the next number. A sum of n terms has up to n of them.
EPS = float(np.finfo(float).eps)
#: Some products and sums one after the other, of the largest term. Independent of the size of the system: use it for one
#: vector, one pose, one row; a sum over n blocks leaves n times a part of it.
FEW_ROUNDINGS = 16 * EPS
#: What is left of zero where numbers passed through a system's equations, in parts of the largest term: some hundred roundings
#: of well-scaled terms. It grows with the number of blocks in a row, by less than its square.
ROUNDING = 1e-13
#: Two ways of computing one number agree to this: `ROUNDING`, times the condition (about ten) of a well-scaled solution.
EXACT = 1e-12

# -- pivots, singular values -----------------------------------------------------------------------------------------------

#: What is left of terms that cancel is rounding below this part of the largest of them: a pivot (whose coordinate then moves no
#: inertia), an entry of a Jacobian. Some fifty roundings of six components, independent of the size of the system.
CANCELLED = 1e-14
#: A singular value (or what pivoting leaves) below this part of the largest, rows and columns scaled: solutions would keep
#: fewer than four digits. It grows with the number of equations as rounding does, from 1e-15 each.
SINGULAR = 1e-12
#: Singular values below this part of the largest count as zero, where the matrix, scaled, has errors of rounding alone: up to
#: 1e-13 for hundreds of rows, with a margin of three digits to both sides.
RANK = 1e-10
#: The same where the matrix is taken at a state with the errors of an integrator, an equilibrium or a loop closed by others: of
#: those `OPEN` and `STEADY` allow. A constraint that depends on others keeps as much as the state has errors.
LOOSE_RANK = 1e-6

# -- equality --------------------------------------------------------------------------------------------------------------

#: Two numbers that were meant to be equal, typed with all digits or computed by a user's program; also how far a symmetric
#: matrix may be from symmetric, a definite one from definite. Independent of size: of the largest entry.
SAME = 1e-9
#: Numbers typed or printed with six digits or so: unit vectors, rotation matrices, quaternions, matrices of finite-element
#: programs, moments of inertia.
TYPED = 1e-6
#: How near to an axis or to each other eigenvalues count as on it, or as double: rounding, and errors of linear models of
#: `ROUNDING`, move double ones by their root.
NEAR_AXIS = 1e-6

# -- states ----------------------------------------------------------------------------------------------------------------

#: Loops that Newton's method closed here (rad, and m over the system's length). Rounding leaves 1e-15 a joint in the loop.
CLOSED = 1e-10
#: Loops that others closed, by an integrator or with typed numbers: by more they are open, and are refused or closed first.
OPEN = 1e-6
#: Efforts that nothing balances, and rates or accelerations that contradict each other, in parts of the largest, at a state
#: closed to `CLOSED`: that by the condition (about a hundred) of linkages near no dead centre.
BALANCED = 1e-8
#: The same at states closed to `OPEN`: accelerations and efforts from a simulation, or of states that users typed.
CONSISTENT = 1e-6
#: An equilibrium is one where what is left of accelerations or rates is below this part of what each term would give alone: a
#: search to 1e-9 leaves less, also of stiff systems; a forgotten term leaves more.
STEADY = 1e-6

# -- derivatives -----------------------------------------------------------------------------------------------------------

#: Complex steps: their squares vanish beside everything, and products of two are still numbers. They leave rounding alone.
COMPLEX_STEP = 1e-30
#: Central differences of sixth order, of what counts as one: truncation leaves 1e-18, rounding 1e-13 of the function.
DIFFERENCE_STEP = 1e-3
#: Central differences of second order: truncation and rounding leave 1e-10 each of the function.
CENTRAL_STEP = 1e-5
#: One-sided differences: truncation and rounding leave 1e-7 to 1e-6 of the function, enough for Newton's method.
ONE_SIDED_STEP = 1e-7
#: To this differences of sixth order and what is exact agree, of the largest entry, for functions of any bend: usually they do
#: to 1e-10. A wrong term shows as `NEGLIGIBLE` or more.
DIFFERENCE_ERROR = 1e-6

# -- what is seen ----------------------------------------------------------------------------------------------------------

#: Near enough that a linear model tells what happens: its error is the square.
CLOSE = 1e-4
#: Too little to change what one is interested in: three digits.
NEGLIGIBLE = 1e-3
#: Worth a warning: an error that is seen in a plot.
COARSE = 1e-2
#: Added below fraction bars, where zero over zero is zero: below all that is squared, above the smallest double.
TINY = 1e-300
