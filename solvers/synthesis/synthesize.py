"""H-infinity and H2 controllers of full order: the least level, a step back from it, and the loop that is reached."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import qr, schur, solve_continuous_lyapunov

from titop.blocks.basics.errors import Finding, ModelError, warn
from titop.blocks.basics.notebook import attributes_page, counted
from titop.blocks.basics.tolerances import CLOSE, COARSE, EPS, NEGLIGIBLE, ROUNDING, SAME
from titop.solvers.linear.matrices import Matrices
from titop.solvers.linear.peaks import peak_gain
from titop.solvers.robust.uncertain_loop import to_continuous
from titop.solvers.robust.worst_case_gain import RobustGain
from titop.solvers.support.workers import one_thread
from titop.solvers.synthesis.general_plant import GeneralPlant, read_plant
from titop.solvers.synthesis.riccati import Parts, h2_controller, hinf_controller, sampled_h2_controller

if TYPE_CHECKING:
    from control import StateSpace

#: The level is known to this part; the controller is that of a level a hundredth above the least.
_KNOWN, _BACK = 2 * NEGLIGIBLE, 1 + COARSE
#: Perturbations that make a plant regular, from the one whose least gain is nearest to the infimum.
_PERTURBATIONS = (CLOSE**2, 10 * CLOSE**2, COARSE * CLOSE, 10 * COARSE * CLOSE, CLOSE, NEGLIGIBLE)
#: Those, and factors of the level, that are tried where rounding hides the controllers nearer to the infimum.
_FAR, _FAR_BACK = (NEGLIGIBLE, COARSE, 10 * COARSE), (1.05, 1.2, 2.0)
#: What is perturbed: by noise, and by moving the axis.
_KINDS = ((0, 1), (1, 0), (1, 1))
#: Cuts of the range, by decades, in which the largest perturbation is sought that keeps the gain.
_CUTS = 6

#: A controller of a plant's parts for a perturbation and a level, None where there is none.
_Design = Callable[[float, float], Matrices | None]


@dataclass(frozen=True)
class Synthesis:
    """A controller and its loop; unpacks as ``controller, loop, gain``.

    Attributes
    ----------
    controller : control.StateSpace
        ``u = K y``: from the measurements to the controls. Where its states are estimates of the plant's they are named
        ``hinge.q.estimate`` and have their units.
    loop : control.StateSpace
        From the disturbances to the errors, the plant's states first.
    gain : float
        The loop's norm, certified for H-infinity: at no frequency is there more. Of `musyn` a proved bound of mu.
    optimum : float
        What no controller reaches less of, to 0.2 %; for singular plants an infimum, of ever faster controllers, to 0.5 %:
        below a millionth of the plant's gains it is not told from zero. NaN, with a `ModelWarning`, where it is not known.
    plant : control.StateSpace
        What the controller was made for, weights and all.
    proof : RobustGain or None
        Of `musyn`: what is proved of the family.

    Examples
    --------
    >>> import control, titop as tt
    >>> G = control.tf([1], [1, 1], inputs=["torque"], outputs=["speed"])
    >>> found = tt.mixsyn(G, w1=control.tf([0.5, 1], [1, 0.001]), w2=0.1)
    >>> found.controller.nstates, found.gain < 1.02 * found.optimum, found.plant.output_labels
    (2, True, ['speed_S', 'torque_KS', 'speed'])
    """

    controller: StateSpace
    loop: StateSpace
    gain: float
    optimum: float
    plant: StateSpace
    proof: RobustGain | None = None

    def __iter__(self) -> Iterator[Any]:
        return iter((self.controller, self.loop, self.gain))

    _repr_html_ = attributes_page

    def __str__(self) -> str:
        return f"{counted(self.controller.nstates, 'state')}, gain {self.gain:.6g}, optimum {self.optimum:.6g}"


def hinfsyn(
    plant: Any, measurements: Any = None, controls: Any = None, *, nmeas: int | None = None, ncon: int | None = None
) -> Synthesis:
    """Return a controller ``u = K y`` with the least H-infinity norm from disturbances to errors, but for a hundredth.

    The least level is found from two Riccati equations; the controller is the central one a hundredth above it, so that its
    poles stay moderate. In observer form: its states estimate the plant's. Singular plants (controls that no error sees,
    measurements without noise, zeros on the axis) are perturbed, by as much as the same hundredth allows. Without slycot.

    Parameters
    ----------
    plant : control.StateSpace or control.TransferFunction
        In continuous time or sampled: the latter by the bilinear map, which keeps the norm.
    measurements, controls : str or sequence of str, or int
        Outputs that the controller takes, and inputs that it drives, by name (the name of a vector stands for its entries); a
        number means the last ones, as in python-control. All other outputs are errors, all other inputs disturbances.
    nmeas, ncon : int, optional
        The same by number, by the names of python-control.

    Returns
    -------
    Synthesis

    Raises
    ------
    ModelError
        For unknown signals; unstable modes that no control moves or no measurement sees, by name; plants that no controller
        stabilizes with a finite gain.

    Notes
    -----
    Central controllers as Glover and Doyle (1988) have them. Cost: cubic in the states, about 20 pairs of Riccati equations.

    Examples
    --------
    >>> import control, titop as tt
    >>> signals = {"inputs": ["force", "noise", "u"], "outputs": ["error", "effort", "y"]}
    >>> P = control.ss([[1.0]], [[1, 0, 1]], [[1], [0], [1]], [[0, 0, 0], [0, 0, 1], [0, 1, 0]], **signals)
    >>> K, loop, gain = tt.hinfsyn(P, "y", "u")
    >>> print(K.state_labels, gain < 1.01 * tt.hinfsyn(P, 1, 1).optimum)
    ['x[0]_estimate'] True
    """
    return solve_hinf(read_plant(plant, measurements, controls, nmeas, ncon))


def h2syn(
    plant: Any, measurements: Any = None, controls: Any = None, *, nmeas: int | None = None, ncon: int | None = None
) -> Synthesis:
    """Return a controller ``u = K y`` with the least H2 norm from disturbances to errors: a Kalman filter, and its gain.

    Its states are the estimates of the filter; a sampled controller uses each measurement at once. Singular plants are
    perturbed, as in `hinfsyn`, by as much as a hundredth of the norm allows.

    Parameters
    ----------
    plant, measurements, controls, nmeas, ncon
        As of `hinfsyn`. The norm is the root of the sum of the errors' variances, for white noise of unit density (of a sampled
        plant: of unit variance) at each disturbance.

    Returns
    -------
    Synthesis

    Raises
    ------
    ModelError
        As `hinfsyn`; and in continuous time for disturbances that reach errors at once where no control takes them back: the
        norm is infinite.

    Examples
    --------
    >>> import control, titop as tt
    >>> signals = {"inputs": ["force", "noise", "u"], "outputs": ["error", "effort", "y"]}
    >>> P = control.ss([[1.0]], [[1, 0, 1]], [[1], [0], [1]], [[0, 0, 0], [0, 0, 1], [0, 1, 0]], **signals)
    >>> print(f"{tt.h2syn(P, 'y', 'u').gain:.4f}")
    4.0602
    """
    return solve_h2(read_plant(plant, measurements, controls, nmeas, ncon))


@one_thread()
def solve_hinf(plant: GeneralPlant) -> Synthesis:
    """Return the H-infinity controller of a plant."""
    parts, units = plant.balance(plant.continuous)
    basis = parts.even_basis()
    back = np.linalg.inv(basis)

    def design(kind: tuple[int, int], epsilon: float, level: float) -> Matrices | None:
        try:
            K = hinf_controller(parts.perturb(epsilon * kind[0], epsilon * kind[1]).turn(basis), level)
            return None if K is None else plant.controller(K.turn(back), units)
        except np.linalg.LinAlgError:
            return None

    def gain(kind: tuple[int, int], epsilon: float, level: float) -> float:
        return _loop_norm(plant, design(kind, epsilon, level), is_h2=False) / units.gain

    # whether the level is not one that a loop has; gain if so, or else level; level, kind, perturbation
    tried = list[tuple[bool, float, float, tuple[int, int], float]]()
    kinds = _KINDS if parts.is_regular else _KINDS[1:]
    for kind, epsilon in [*((_KINDS[0], 0.0),) * parts.is_regular, *product(kinds, _PERTURBATIONS)]:
        less = _least_level(partial(design, kind), epsilon, min((one[1] for one in tried if not one[0]), default=np.inf))
        if less is not None:
            reached = gain(kind, epsilon, less * _BACK)
            # controllers that exist but for rounding are none, nor are levels at which they do
            is_wrong = not reached <= max((1 + COARSE / 2) * _BACK * less, NEGLIGIBLE)
            tried.append((is_wrong, reached if is_wrong else less, less * _BACK, kind, epsilon))
    if tried and all(one[0] for one in tried):  # so near to the infimum rounding tells: further off it may not
        least = min(one[2] for one in tried)
        for above, epsilon in product(_FAR_BACK, _FAR):
            tried.append((True, gain((1, 0), epsilon, above * least), above * least, (1, 0), epsilon))
    if not tried or not np.isfinite(min(tried)[1]):
        raise _no_controller()
    is_wrong, _, level, kind, best = min(tried)
    least = level / _BACK
    is_wrong |= least > _BACK * min(one[2] for one in tried)
    result = _finish(plant, lambda epsilon: design(kind, epsilon, level), best, level * units.gain, least * units.gain)
    low, high = (1 - _KNOWN) * least * units.gain, (1 + COARSE / 2) * level * units.gain
    if is_wrong or (least > NEGLIGIBLE and not low <= result.gain <= high):
        expected = f"one near {least * units.gain:.6g}, the least of the plant perturbed by {best:.0e}"
        advice = "the optimum is not known: add disturbances at controls that excite undamped modes, use weights less far apart"
        warn([Finding("unknown-optimum", "plant", f"a gain of {result.gain:.6g}", expected, advice)])
        result = replace(result, optimum=np.nan)
    return result


@one_thread()
def solve_h2(plant: GeneralPlant) -> Synthesis:
    """Return the H2 controller of a plant."""
    is_sampled = bool(plant.period)
    parts, units = plant.balance(plant.system if is_sampled else plant.continuous, is_sampled)
    through = np.zeros((len(plant.controls), len(plant.measurements)))
    if not is_sampled and parts.D11.any():
        parts, through = _without_passing(parts, plant)
    formula = sampled_h2_controller if is_sampled else h2_controller

    def design(epsilon: float) -> Matrices | None:
        try:
            K = formula(parts.perturb(epsilon))
            if K is None:
                return None
            return plant.controller(Matrices(K.A, K.B, K.C, K.D + through), units, is_sampled)
        except np.linalg.LinAlgError:
            return None

    for epsilon in (*(0.0,) * (is_sampled or parts.is_regular), *_PERTURBATIONS):
        optimum = _loop_norm(plant, design(epsilon), is_h2=True)
        if np.isfinite(optimum):
            return _finish(plant, design, epsilon, optimum * (_BACK if epsilon else 1.0), optimum, is_h2=True)
    raise _no_controller()


def _least_level(design: _Design, epsilon: float, known: float) -> float | None:
    """Return the least level that a perturbation allows, from below; None if it is not less than one known."""
    high, low = known, known
    if np.isinf(known):
        high = 1.0
        while design(epsilon, high) is None:
            high *= 10
            if high > 1 / ROUNDING:
                return None
        low = high / 10
    elif design(epsilon, low) is None:
        return None
    start = high
    while low > COARSE * CLOSE * min(start, 1.0) and design(epsilon, low) is not None:
        low, high = low / 10, low
    while high > (1 + _KNOWN) * low:
        middle = np.sqrt(low * high)
        low, high = (middle, high) if design(epsilon, middle) is None else (low, middle)
    return float(low)


def _finish(
    plant: GeneralPlant,
    design: Callable[[float], Matrices | None],
    epsilon: float,
    allowed: float,
    optimum: float,
    is_h2: bool = False,
) -> Synthesis:
    """Return the controller of the largest perturbation whose loop has a gain that is allowed."""
    size, K = epsilon, design(epsilon)
    if epsilon:
        low, high = np.log(epsilon), 0.0
        for _ in range(_CUTS):
            middle = (low + high) / 2
            slower = design(float(np.exp(middle)))
            # of H-infinity the level is in the design: to be certified once, at the end
            if slower is None or (is_h2 and _loop_norm(plant, slower, is_h2) > allowed):
                high = middle
            else:
                low, K = middle, slower
        size = float(np.exp(low))
    gain = _loop_norm(plant, K, is_h2)
    while gain > allowed * (1 + SAME) and size > epsilon:  # so large a perturbation that rounding tells
        size = max(size / 10, epsilon)
        K = design(size)
        gain = _loop_norm(plant, K, is_h2)
    if K is None or not np.isfinite(gain):
        raise _no_controller()
    named = plant.name_controller(K)
    return Synthesis(named, plant.name_loop(named), float(gain), float(min(gain, optimum)), plant.named)


def _loop_norm(plant: GeneralPlant, K: Matrices | None, is_h2: bool) -> float:
    """Return the norm of a loop, certified H-infinity or H2; infinite if it is unstable."""
    if K is None:
        return np.inf
    loop = plant.close(K)
    if is_h2:
        return _h2_norm(loop, bool(plant.period))
    return peak_gain(to_continuous(loop, plant.period, "loop") if plant.period else loop)[0]


def _h2_norm(system: Matrices, is_sampled: bool) -> float:
    A, B, C, D = system = system.balance()
    if not (np.abs(system.poles) < 1 if is_sampled else system.poles.real < 0).all():
        return np.inf
    if not is_sampled:
        P = solve_continuous_lyapunov(A, -B @ B.T)
        return float(np.sqrt(max(np.sum((C @ P) * C), 0.0)))
    # a factor of the Gramian, doubled in steps; powers of a triangular matrix keep small parts beside large ones
    A, turned = schur(A, output="complex")
    factor, C = turned.conj().T @ B, C @ turned
    while np.abs(A).max(initial=0.0) > EPS**2:
        factor, A = qr(np.hstack([factor, A @ factor]).conj().T, mode="r")[0].conj().T, A @ A
    return float(np.hypot(np.linalg.norm(C @ factor), np.linalg.norm(D)))


def _without_passing(parts: Parts, plant: GeneralPlant) -> tuple[Parts, Any]:
    """Return a plant whose disturbances reach no error at once, and the gain from y to u that takes them back."""
    gain = -np.linalg.pinv(parts.D12) @ parts.D11 @ np.linalg.pinv(parts.D21)
    left = parts.D11 + parts.D12 @ gain @ parts.D21
    worst = np.unravel_index(np.abs(left).argmax(), left.shape)
    if np.abs(left[worst]) > SAME * np.abs(parts.D11).max():
        z, w = plant.errors[worst[0]].path, plant.disturbances[worst[1]].path
        expected = "no feedthrough, or controls and measurements that take it back"
        advice = "put a low-pass filter before the error, or use tt.hinfsyn"
        raise ModelError(Finding("infinite-norm", "plant", f"{w} reaches {z} at once", expected, advice))
    A, B1, B2, C1, C2, _, D12, D21 = parts
    B, C = B2 @ gain, gain @ C2
    return Parts(A + B @ C2, B1 + B @ D21, B2, C1 + D12 @ C, C2, 0 * left, D12, D21), gain


def _no_controller() -> ModelError:
    expected = "a controller that stabilizes it"
    advice = "give controls and measurements that move and see all modes clearly, without poles and zeros that nearly cancel"
    return ModelError(Finding("no-controller", "plant", "no finite gain in double precision", expected, advice))
