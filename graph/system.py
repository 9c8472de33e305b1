"""`System`: a network of blocks and its methods; each method imports what it needs when it is first called."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from titop.blocks.basics.above import above
from titop.blocks.basics.errors import Finding
from titop.blocks.basics.notebook import counted
from titop.blocks.contract.block import Block, PortRef
from titop.graph.network.include import Included, include
from titop.graph.network.network import Network

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from titop.solvers.model.model import Model


class System(Network):
    """A multibody system under construction: a graph of port blocks.

    Parameters
    ----------
    name : str
    gravity : array_like (3,), m/s^2, CentralGravity or Orbit
        The uniform gravity field, in inertial components; that of a planet, around the world's origin; or a reference orbit,
        whose Hill's frame is the world.

    Attributes
    ----------
    graph : networkx.DiGraph
        Nodes are block names (attribute ``block``); edges run from parents to children (attributes
        ``parent_port``, ``child_port``, ``placement``). A load is a node with an edge to its target; a closure or interaction
        has edges to all its targets, a gear to both of its joints.
    world : World
        The inertial frame; it can have ports like a body.
    keyframes : dict
        States that a robot's file names, each with a ``configuration`` and a ``velocity`` by joint names: see `from_mjcf`.

    Examples
    --------
    >>> import titop as tt
    >>> s = tt.System("pendulum", gravity=[0, 0, -9.81])
    >>> bob = tt.RigidBody("bob", mass=2.0, com=[0, 0, -1])
    >>> s.connect("world", bob, joint=tt.Revolute("hinge", axis=[1, 0, 0]))
    >>> m = s.resolve()
    >>> tau = m.inverse_dynamics([0.5], [0.0], [0.0])  # m g l sin(q)
    >>> round(float(tau[0]), 6)
    9.406329
    """

    def include(self, other: System, prefix: str, at: Block | PortRef | str = "world") -> Included:
        """Include a copy of another system: its names get a prefix, and a port of this system replaces its world.

        Parameters
        ----------
        other : System
            Is not changed. It may be included several times, also in itself. Its gravity is left out: that of this system acts.
        prefix : str
            Blocks are renamed to ``prefix/name``; letters, digits and ``_-/``.
        at : Block, PortRef or "world"
            Where the blocks are attached that were connected to the other's world. Poses of its world's ports are kept; those
            that closures, loads and sensors use become ports ``prefix/port`` of this block.

        Returns
        -------
        Included
            The copies, by their names in the other system: ports that are free there can be connected here.
        """
        if not isinstance(other, System):
            advice = 'write s.include(arm, "left"), with arm = tt.System(...)'
            self._report("not-a-system", f"{self.name}.include", other, "a tt.System", advice)
            return Included(prefix, {})
        return include(self, other, prefix, at)

    def check(self) -> list[Finding]:
        """Check the system, and return warnings about what is suspicious in it.

        Raises
        ------
        ModelError
            Listing all errors of the system.
        """
        from titop.graph.checking.system_check import system_findings

        return system_findings(self)

    def resolve(self, engine: str = "compiled", hold: Any = (), threads: int | None = 1) -> Model:
        """Check the system and resolve it into a frozen model.

        Parameters
        ----------
        engine : {"compiled", "reference"}
            The reference engine is the executable specification: plain NumPy, slow; it accepts complex numbers.
        hold : sequence of str, or mapping of coordinate to number
            Joints or coordinates that stay at their neutral place, or at the places of a mapping, in all functions of the
            model. They remain coordinates, each with a constraint ``"hold_<name>.mesh"`` as of a gear: ``m.gear_effort`` is the
            effort that it takes. Those of spherical and free joints cannot be held so.
        threads : int or None
            Number of threads among which compiled functions split many stacked states, with the same bits; None for one a
            processor. Models made from this one keep it. Processes that sweeps start (`workers`) use one thread each, and so
            do models with laws in Python.

        Raises
        ------
        ModelError
            Listing all errors of the system.
        """
        model: Model = above("resolve")(self, engine, hold, threads)
        return model

    def save(self, path: str | Path) -> None:
        """Write the system to a model file (TOML), from which `titop.load` restores it to the last bit.

        Parameters
        ----------
        path : str or Path
            Ending in ``.toml``. An error leaves no partial file.

        Raises
        ------
        ModelError
            If the system does not pass its checks, is too large for `load`, has blocks of classes that are not registered, or
            the path another suffix.
        """
        from titop.graph.files.saving import save

        save(self, path)

    def draw(self, path: str | Path | None = None, collapse: Iterable[str] | None = None) -> Figure:
        """Draw the block diagram in the style of key A, figures 6 and 16, also of a system with errors.

        Motion vectors run from parents to children, wrenches back. Closures stand below, between their two bodies: they take
        the motion of both and give a wrench to each. Efforts, loads and actuators act from above; coordinates and sensors are
        read below. What is wrong is drawn red.

        Parameters
        ----------
        path : str or Path, optional
            File to which the figure is also written (.png, .svg, .pdf).
        collapse : iterable of str, optional
            Blocks whose subtrees are drawn as one box (a joint stands for the body that it carries), or prefixes of included
            systems. Above about 30 blocks, subsystems and then the farthest subtrees are collapsed automatically.

        Returns
        -------
        matplotlib.figure.Figure

        Raises
        ------
        ModelError
            If `collapse` names no block and no subsystem, or if the path's suffix is no known format.
        """
        from titop.graph.drawing.draw import draw_system

        return draw_system(self, path, collapse)

    def to_mermaid(self) -> str:
        """Return the diagram as Mermaid text."""
        from titop.graph.drawing.text import to_mermaid

        return to_mermaid(self)

    def to_dot(self) -> str:
        """Return the diagram as DOT text."""
        from titop.graph.drawing.text import to_dot

        return to_dot(self)

    def _repr_html_(self) -> str:
        from titop.graph.drawing.text import system_html

        return system_html(self)

    def __str__(self) -> str:
        from titop.graph.drawing.text import diagram

        return diagram(self)

    def __repr__(self) -> str:
        return f"System({self.name!r}, {counted(len(self.connections), 'connection')})"
