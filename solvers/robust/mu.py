"""The structured singular value over frequency: `mu`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import real_array
from titop.solvers.lft.fractions.delta_blocks import DeltaBlock
from titop.solvers.robust.balancing import balanced_matrix
from titop.solvers.robust.centres import Centres
from titop.solvers.robust.lower_bound import lower_bound
from titop.solvers.robust.structure import Structure
from titop.solvers.robust.uncertain_loop import check_sizes, check_stable, read_blocks, read_loop
from titop.solvers.robust.upper_bound import upper_bound
from titop.solvers.support.progress import progress_bar
from titop.solvers.support.threads import one_thread

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class MuBounds:
    """Bounds of the structured singular value at some frequencies.

    Attributes
    ----------
    omega : array (n,), rad/s
        A single zero for a matrix.
    upper, lower : array (n,), no unit
        One over them is how far all ranges may grow together: up to ``1 / upper`` nothing becomes singular at that frequency,
        at ``1 / lower`` something does.
    shares : array (n, blocks), no unit
        How the upper bound grows with each block's own range alone, of sum one: which block drives it.
    blocks : tuple of str
    """

    omega: Array
    upper: Array
    lower: Array
    shares: Array
    blocks: tuple[str, ...]

    @property
    def peak(self) -> float:
        """The highest upper bound (no unit) at these frequencies; between them it may be higher: see `robust_stability`."""
        return float(self.upper.max())

    @property
    def driver(self) -> str:
        """The block that drives the highest upper bound."""
        return self.blocks[int(np.argmax(self.shares[int(np.argmax(self.upper))]))]

    def plot(self) -> Figure:
        """Return both bounds, and the shares of the blocks, over frequency."""
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 6), layout="constrained")
        bounds, shares = figure.subplots(2, 1, sharex=True, height_ratios=(1.6, 1))
        shown = np.isfinite(self.omega) & (self.omega > 0)
        omega = self.omega[shown]
        bounds.semilogx(omega, self.upper[shown], label="upper bound")
        bounds.semilogx(omega, self.lower[shown], linestyle="--", label="lower bound")
        bounds.set_ylabel("structured singular value")
        bounds.legend()
        for name, column in zip(self.blocks, self.shares[shown].T, strict=True):
            shares.semilogx(omega, column, label=name)
        shares.set_ylabel("share of the bound")
        shares.set_xlabel("frequency [rad/s]")
        shares.legend(fontsize=8)
        for axis in (bounds, shares):
            axis.grid(alpha=0.3, which="both")
        return figure


@one_thread()
def mu(
    lft: Any,
    omega: Any = None,
    blocks: Sequence[DeltaBlock] | None = None,
    tolerance: float = 1e-4,
    progress: bool = True,
) -> MuBounds:
    """Bound the structured singular value at frequencies, with any mix of real, complex and full blocks.

    Upper bounds by D and G scalings (Fan, Tits, Doyle 1991), by a method of centres; lower ones by a power iteration (Young,
    Newlin, Doyle 1995) and Newton's method. A frequency takes some 0.1 s at 5 repetitions, 0.7 s at 22.

    Real parameters are constant in time: a drive that turns is not covered.

    Parameters
    ----------
    lft : LFTModel, control.StateSpace or array
        The nominal loop, stable. Of a state space or a matrix the first channels are those of the blocks.
    omega : array_like
        Frequencies (rad/s), zero and infinity allowed; not needed for a matrix.
    blocks : sequence of DeltaBlock, optional
        For what brings none along.
    tolerance : float
        Relative: of the upper bound's last steps.
    progress : bool
        Show a progress bar on a terminal when it takes longer than a second.

    Returns
    -------
    MuBounds

    Raises
    ------
    ModelError
        For unusable arguments, and a nominal loop that is not stable.

    See Also
    --------
    lyapunov_stability : for parameters that change with time.

    Examples
    --------
    Two complex numbers on the diagonal, of a matrix whose gain is four times as large:

    >>> import titop as tt
    >>> bounds = tt.mu([[0, 16], [1, 0]], blocks=[tt.DeltaBlock.complex("a"), tt.DeltaBlock.complex("b")])
    >>> [round(float(bound[0]), 3) for bound in (bounds.lower, bounds.upper)]
    [4.0, 4.0]
    """
    structure, frequencies, responses = _read(lft, omega, blocks)
    centres = Centres(structure)
    upper, lower, shares = np.empty(len(frequencies)), np.empty(len(frequencies)), []
    for k, response in enumerate(progress_bar(responses, progress, unit="frequency")):
        M = balanced_matrix(response, structure)
        bound = upper_bound(centres, M, tolerance)
        upper[k], lower[k] = bound.level, lower_bound(M, structure).value
        shares.append(centres.shares(M, bound.x, bound.g))
    return MuBounds(frequencies, upper, lower, np.array(shares), tuple(b.name for b in structure.blocks))


def _read(lft: Any, omega: Any, blocks: Any) -> tuple[Structure, Array, list[Array]]:
    """Return the structure, the frequencies and the response at each."""
    if not hasattr(lft, "blocks") and not hasattr(lft, "A"):
        matrix = np.asarray(lft)
        if matrix.dtype.kind not in "fiuc" or matrix.ndim != 2 or not np.isfinite(matrix).all():
            advice = "pass what tt.lft returns, a state space or a matrix with blocks=[...]"
            raise ModelError(Finding("wrong-type", "lft", lft, "an LFTModel, a state space or a finite matrix", advice))
        structure = read_blocks(blocks)
        check_sizes(structure, matrix)
        w, z = structure.shape
        return structure, np.zeros(1), [matrix[:z, :w].astype(complex)]
    loop = read_loop(lft, blocks)
    check_stable(loop)
    frequencies = real_array(omega)
    if frequencies is None or frequencies.ndim != 1 or not frequencies.size or not (frequencies >= 0).all():
        raise ModelError(
            Finding("wrong-type", "omega", omega, "frequencies (rad/s), none negative", "such as np.geomspace(0.1, 100, 200)")
        )
    return loop.structure, frequencies, [loop.uncertain.response(loop.warped(float(w))) for w in frequencies]
