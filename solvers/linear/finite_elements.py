"""Sparse finite-element parts as linear blocks, and systems with such parts, solved frequency by frequency.

A part is ``M d2q/dt2 + D dq/dt + K q = sum P W`` with the wrenches W of its ports, whose displacements are ``P^T q``. With
other linear blocks and the equations of their `BlockNetwork` it is one sparse system ``Z(s) z = F e``, Z of degree two.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from titop.blocks.basics.errors import Finding, ModelError
from titop.blocks.basics.ranks import decided_rank
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.tolerances import RANK, ROUNDING, SAME, TYPED
from titop.blocks.basics.user_input import is_name, read_count, real_array
from titop.solvers.linear.block_network import BlockEnds, BlockNetwork
from titop.solvers.linear.lpv_plots import read_frequencies
from titop.solvers.linear.state_space import named_signals, named_system, positions
from titop.solvers.signals.exported import Signal
from titop.solvers.signals.grammar import read_names
from titop.solvers.signals.quantities import ACCELERATION_UNITS, DISPLACEMENT_UNITS, TWIST_UNITS, WRENCH_UNITS
from titop.solvers.support.progress import progress_bar

if TYPE_CHECKING:
    from control import FrequencyResponseData, StateSpace

#: Outputs at a port: derivatives of its displacement, and their units.
_MOTIONS = (("xi", DISPLACEMENT_UNITS), ("V", TWIST_UNITS), ("dV", ACCELERATION_UNITS))


class FiniteElementPart:
    """A free elastic part, given by the sparse matrices of a finite-element program, as a block of `connect_blocks`.

    Inputs are the wrenches ``part.C.W[0..5]`` on its ports, outputs their displacements ``part.C.xi[0..5]``, velocities
    ``.V`` and accelerations ``.dV``, linear parts first.

    Parameters
    ----------
    name : str
    mass, stiffness : (n, n) sparse or dense matrices
        Symmetric, in kg, kg m^2, N/m, N m, ...
    ports : mapping of str to six ints, (six ints, (3, 3) array) or (n, 6) matrix
        By name: the places in q of a node's three displacements and three rotations, and, where its frame is another, the
        frame's axes as columns in those of the mesh (a left-handed mesh has a left-handed one). Or the columns by which a
        wrench at the port loads q, for nodes that move together, and for elements without rotations.
    damping : (n, n) sparse or dense matrix, optional

    Raises
    ------
    ModelError
        For matrices that are not symmetric or of other sizes, and unusable ports.

    Notes
    -----
    The part is what its matrices say: weight and stresses at the operating point are in them or nowhere.

    Examples
    --------
    >>> import numpy as np, titop as tt
    >>> panel = tt.FiniteElementPart("panel", np.eye(6), np.zeros((6, 6)), ports={"C": range(6)})
    >>> load = tt.connect_blocks([panel], [], ["panel.C.W[0]"], ["panel.C.dV[0]"])
    >>> float(load.frequency_response([1.0]).frdata[0, 0, 0].real)  # a unit mass
    1.0
    """

    def __init__(self, name: str, mass: Any, stiffness: Any, ports: Mapping[str, Any], damping: Any = None) -> None:
        from scipy.sparse import csc_array

        if not is_name(name):
            raise ModelError(Finding("bad-name", "name", name, "letters, digits and underscores", "give it a name"))
        self.name, n = name, np.shape(mass)[0] if np.ndim(mass) == 2 or hasattr(mass, "tocsc") else 0
        self.mass, self.stiffness = (
            _matrix(f"{name}.{field}", x, n) for field, x in (("mass", mass), ("stiffness", stiffness))
        )
        self.damping = csc_array((n, n)) if damping is None else _matrix(f"{name}.damping", damping, n)
        if not isinstance(ports, Mapping) or not ports:
            advice = 'such as {"C": range(6)}'
            raise ModelError(Finding("no-port", f"{name}.ports", ports, "a mapping from names to nodes", advice))
        #: Columns (n, 6) by which wrenches at the ports load q, by port.
        self.ports = {str(port): _columns(f"{name}.ports[{port!r}]", where, n) for port, where in ports.items()}

    @property
    def ends(self) -> BlockEnds:
        """Its signals."""
        inputs = [Signal(f"{self.name}.{port}.W[{k}]", unit) for port in self.ports for k, unit in enumerate(WRENCH_UNITS)]
        outputs = [
            Signal(f"{self.name}.{port}.{kind}[{k}]", unit)
            for kind, units in _MOTIONS
            for port in self.ports
            for k, unit in enumerate(units)
        ]
        return BlockEnds(self.name, inputs, outputs)

    @property
    def loads(self) -> Any:
        """The columns of all ports (n, 6 p), sparse."""
        from scipy.sparse import hstack

        return hstack(list(self.ports.values()), format="csc")

    def reduce(self, modes: int | None = None) -> StateSpace:
        """Return the part with few coordinates: its lowest free modes, and its deformations under wrenches at its ports.

        Parameters
        ----------
        modes : int, optional
            Number of modes, those of a rigid body included; all coordinates without it.

        Returns
        -------
        control.StateSpace
            With the same inputs and outputs.

        Raises
        ------
        ModelError
            For a number of modes that the part does not have, and masses that are not positive definite
            among these coordinates.

        Notes
        -----
        Free modes with attachment modes (MacNeal and Rubin): nearly exact at rest, accurate up to about half the frequency
        of the last mode. A number of modes also reduces parts some coordinates of which have no mass, such as the rotations
        of lumped masses.
        """
        from scipy.linalg import eigh
        from scipy.sparse.linalg import ArpackError

        n, P = self.mass.shape[0], self.loads
        try:
            basis = np.eye(n) if modes is None else self._basis(modes)
            M, D, K = (basis.T @ (matrix @ basis) for matrix in (self.mass, self.damping, self.stiffness))
            squares, shapes = eigh(K, M)
        except (np.linalg.LinAlgError, ArpackError) as error:
            advice = "give a number of modes, fewer than coordinates with mass" if modes is None else "give fewer, or None"
            finding = Finding("no-mass", f"{self.name}.mass", error, "mass along each coordinate, none negative", advice)
            raise ModelError(finding) from None
        squares[np.abs(squares) < ROUNDING * squares.max(initial=0.0)] = 0.0  # of a rigid body, to rounding
        damping, at_ports = shapes.T @ D @ shapes, (P.T @ basis) @ shapes
        one, zero = np.eye(len(squares)), np.zeros((len(squares),) * 2)
        rates = np.hstack([-np.diag(squares), -damping])
        A, B = np.vstack([np.hstack([zero, one]), rates]), np.vstack([0.0 * at_ports.T, at_ports.T])
        C = np.vstack([np.hstack([at_ports, 0.0 * at_ports]), np.hstack([0.0 * at_ports, at_ports]), at_ports @ rates])
        direct = np.vstack([np.zeros((2 * len(at_ports), len(at_ports))), at_ports @ at_ports.T])
        states = [Signal(f"{self.name}.{kind}{k + 1}", "1") for kind in ("eta", "rate") for k in range(len(squares))]
        return named_system((A, B, C, direct), states, *self.ends[1:], self.name)

    def _basis(self, modes: int) -> Array:
        """Return free modes and attachment modes (n, m), orthonormal by the mass."""
        from scipy.linalg import eigh
        from scipy.sparse.linalg import LinearOperator, eigsh, splu

        n = self.mass.shape[0]
        wrong = Finding("bad-count", "modes", modes, f"a number from 1 to {n - 2}", "give None for all coordinates")
        read_count(wrong, 1, n - 2)
        size = self.mass.trace()
        if not size > 0.0:
            raise ModelError(Finding("no-mass", f"{self.name}.mass", f"trace {size}", "a positive one", "check the mesh"))
        shift = -RANK * (abs(self.stiffness.trace()) or size) / size
        factors = splu((self.stiffness - shift * self.mass).tocsc())
        inverse = LinearOperator((n, n), factors.solve, dtype=float)
        start = np.random.default_rng(0).normal(size=n)  # the same modes at every call
        _, shapes = eigsh(self.stiffness, modes, self.mass, shift, v0=start, OPinv=inverse)
        attached = factors.solve(self.loads.toarray())
        for _ in range(2):  # once more: rigid motions are the larger part of it
            attached -= shapes @ (shapes.T @ (self.mass @ attached))
            attached /= np.sqrt(np.einsum("ij,ij->j", attached, self.mass @ attached))
        sizes, turn = eigh(attached.T @ (self.mass @ attached))
        kept = slice(len(sizes) - decided_rank(sizes[::-1], RANK * sizes[-1]), None)
        return np.hstack([shapes, attached @ (turn[:, kept] / np.sqrt(sizes[kept]))])


def _matrix(where: str, matrix: Any, n: int) -> Any:
    from scipy.sparse import csc_array

    try:
        if np.iscomplexobj(matrix):
            raise TypeError
        result = csc_array(matrix, dtype=float)
    except (TypeError, ValueError):
        expected = "a sparse or dense matrix of real numbers"
        raise ModelError(Finding("wrong-type", where, matrix, expected, "see scipy.sparse")) from None
    if result.ndim != 2 or result.shape != (n, n) or not n:
        got = " x ".join(map(str, result.shape))
        raise ModelError(Finding("bad-shape", where, got, f"{n} x {n}" if n else "a square matrix", "as the mass"))
    if not np.isfinite(result.data).all():
        raise ModelError(Finding("not-finite", where, "NaN or infinity", "finite numbers", "check the mesh"))
    if abs(result - result.T).max() > SAME * abs(result).max():
        raise ModelError(Finding("not-symmetric", where, "another transpose", "a symmetric matrix", "fill both triangles"))
    return result


def _columns(where: str, port: Any, n: int) -> Any:
    from scipy.sparse import csc_array, issparse

    axes: Any = np.eye(3)
    if isinstance(port, tuple) and len(port) == 2:
        port, axes = port[0], real_array(port[1])
    columns = port if issparse(port) else np.asarray(list(port) if isinstance(port, Sequence | range) else port)
    if not issparse(port) and columns.shape == (6,) and columns.dtype.kind in "iu":
        if columns.min() < 0 or columns.max() >= n or len(set(columns.tolist())) < 6:
            raise ModelError(Finding("bad-index", where, columns.tolist(), f"six places from 0 to {n - 1}", "of one node"))
        columns = csc_array((np.ones(6), (columns, range(6))), (n, 6))
    if axes is None or axes.shape != (3, 3) or np.abs(axes.T @ axes - np.eye(3)).max() > TYPED:
        raise ModelError(Finding("not-orthogonal", where, axes, "a 3 x 3 matrix of unit axes", "as columns"))
    if columns.shape != (n, 6) or columns.dtype.kind not in "fiu":
        raise ModelError(Finding("bad-shape", where, port, f"six places, or a matrix {n} x 6", "see tt.FiniteElementPart"))
    turn = np.kron(np.eye(2), axes) * np.repeat([1.0, np.linalg.det(axes)], 3)  # rotations are axial vectors
    result = csc_array(csc_array(columns, dtype=float) @ turn)
    if not np.isfinite(result.data).all() or (lost := ~abs(result).sum(axis=0).astype(bool)).any():
        got = f"no motion along direction {int(np.argmax(lost))}" if np.isfinite(result.data).all() else "NaN or infinity"
        advice = "take several nodes, with the columns of their motion"
        raise ModelError(Finding("no-motion", where, got, "six motions", advice))
    return result


class SparseSystem:
    """Connected blocks with finite-element parts, as sparse matrices; of `connect_blocks`.

    Attributes
    ----------
    powers : tuple of three sparse matrices
        ``Z(s) = Z0 + s Z1 + s^2 Z2`` of all coordinates, states, signals and forces z.
    entering : sparse matrix
        F of ``Z(s) z = F e``.
    places : list of int
        Of the outputs in z.
    inputs, outputs : list of Signal
    """

    def __init__(self, powers: Sequence[Any], entering: Any, places: Sequence[int], inputs: Any, outputs: Any) -> None:
        self.powers, self.entering, self.places = tuple(powers), entering, list(places)
        self.inputs, self.outputs = list(inputs), list(outputs)

    def frequency_response(self, omega: Any, progress: bool = True) -> FrequencyResponseData:
        """Return the response at some frequencies: one sparse factorisation each.

        Parameters
        ----------
        omega : array_like, rad/s
        progress : bool
            Show a progress bar on a terminal if it takes longer than a second.

        Returns
        -------
        control.FrequencyResponseData

        Raises
        ------
        ModelError
            Unless frequencies are positive; if the response at one is infinite.
        """
        import control

        frequencies = read_frequencies(omega)
        responses = np.array([self._response(float(w)) for w in progress_bar(frequencies, progress, unit=" frequencies")])
        labels = {"inputs": [signal.name for signal in self.inputs], "outputs": [signal.name for signal in self.outputs]}
        return control.FrequencyResponseData(np.moveaxis(responses, 0, -1), frequencies, **labels)

    def _response(self, omega: float) -> Array:
        from scipy.sparse.linalg import splu

        Z = self.powers[0] + (1j * omega) * self.powers[1] - omega**2 * self.powers[2]
        try:
            result = splu(Z.tocsc()).solve(self.entering.toarray().astype(complex))[self.places]
        except RuntimeError as error:
            result, error_text = np.full(1, np.nan), str(error)
        else:
            error_text = "overflow"
        if not np.isfinite(result).all():
            advice = "look for motions that connections leave undetermined, or take another frequency"
            raise ModelError(Finding("singular-loop", f"frequency {omega:.6g} rad/s", error_text, "a finite response", advice))
        return result


def sparse_system(blocks: Sequence[Any], network: BlockNetwork, outputs: Any) -> SparseSystem:
    """Return the system of blocks, some of them finite-element parts, with the equations of their network."""
    from scipy.sparse import eye_array, hstack

    G, F = network.equations()
    m, p = len(network.inputs), len(network.outputs)
    laws = [_law(block) for block in blocks]
    starts = np.cumsum([[0, 0, 0], *([own[0].shape[0], *direct.shape[::-1]] for own, _, _, direct, _ in laws)], axis=0)
    n, size = int(starts[-1, 0]), int(starts[-1, 0]) + G.shape[1]
    powers: list[list[Any]] = [[], [], []]
    for (own, _, leaving, _, _), (x, _, y) in zip(laws, starts, strict=False):
        for columns, one, out in zip(powers, own, leaving, strict=True):
            columns.append(_placed(one, x, size) + _placed(out, n + y, size))
    for (_, entering, _, direct, _), (x, u, y) in zip(laws, starts, strict=False):
        network_part = _placed(G[:, u : u + entering.shape[1]], n + p, size)
        powers[0].append(_placed(entering, x, size) + _placed(direct, n + y, size) + network_part)
    powers[0] += [_placed(eye_array(p), n, size) + _placed(G[:, m : m + p], n + p, size), _placed(G[:, m + p :], n + p, size)]
    matrices = [hstack(columns, format="csc") for columns in powers]
    for matrix in matrices:
        matrix.resize((size, size))
    states = [(k, signal) for k, signal in enumerate(signal for law in laws for signal in law[4]) if signal is not None]
    known, places = [*network.signals, *(signal for _, signal in states)], [*range(n, n + m + p), *(k for k, _ in states)]
    wanted = positions("outputs", read_names("outputs", outputs), known)
    ends = [network.signals[k] for k in network.entering], [known[k] for k in wanted]
    return SparseSystem(matrices, _placed(F, n + p, size), [places[k] for k in wanted], *ends)


def _placed(matrix: Any, row: int, rows: int) -> Any:
    """Return a sparse matrix with more rows: zeros before `row` and behind its last."""
    from scipy.sparse import csc_array

    columns = matrix.tocsc()
    indices = columns.indices + columns.indices.dtype.type(row)
    return csc_array((columns.data, indices, columns.indptr), (rows, columns.shape[1]))


def _law(block: Any) -> tuple[Any, Any, Any, Any, list[Signal | None]]:
    """Return factors in a block's equations: of its coordinates (s^0, s^1, s^2), and of its inputs.

    Then the same in the equations of its outputs, and those of the coordinates that are states.
    """
    from scipy.sparse import csc_array, eye_array, vstack

    if isinstance(block, FiniteElementPart):
        P = block.loads
        n, w = P.shape
        leaving = [vstack([-P.T if k == power else csc_array((w, n)) for k in range(3)]) for power in range(3)]
        return (block.stiffness, block.damping, block.mass), -P, leaving, csc_array((3 * w, w)), [None] * n
    A, B, C, D = (csc_array(getattr(block, name)) for name in "ABCD")
    unmoved = csc_array(A.shape)
    return (-A, eye_array(len(block.A)), unmoved), -B, (-C, *[csc_array(C.shape)] * 2), -D, [*named_signals(block)[0]]
