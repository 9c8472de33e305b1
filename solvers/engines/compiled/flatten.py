"""An assembly as arrays for the compiled resolver.

Every connection becomes a chain of elements: one for each elementary link of its joint, the last of which carries the
body. A rigid body that is welded to another one is carried by that one's element. A general block (with own coordinates, or
a law of its own) is carried by a welded element of its own. The columns of the arrays are named in the kernels'
`interface.layout` and `tree.packing`; they are filled here by name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.spatial import Array
from titop.blocks.constraints.closure import MultiplierClosure
from titop.blocks.contract.applied import is_acted_on
from titop.blocks.contract.block import Block, PortRef
from titop.blocks.interactions.interaction import Interaction
from titop.blocks.joints.joint import CHILD_PORT, Link, is_elementary
from titop.graph.network.assembly import Assembly
from titop.graph.network.connections import Connection
from titop.solvers.engines.compiled.tables import JOINT_SIZES, ActingBlock, GeneralBlock, IntegerRows, Ints, Tables
from titop.solvers.kernels.interface import layout, records
from titop.solvers.kernels.tree import packing

WORLD = 0
#: From here downwards, rows of `frames` stand for those behind the elements, whose number is not known yet.
_WELDED = -2


class ElementMount(Block):
    """The way from a port by which a body hangs back to the body's reference frame.

    Only a body that says itself where its ports are needs it; of others the kernels know.
    """

    ports = (CHILD_PORT,)

    def __init__(self, body: Block, hung_by: str) -> None:
        super().__init__(f"{body.name}/mount")
        self.body, self.hung_by = body, hung_by

    def pose(self, port: str, q: Array) -> tuple[Array, Array]:
        """Return the inverse of the port's pose."""
        rotation, position = self.body.pose(self.hung_by, self.body.neutral())
        return rotation.T, -rotation.T @ position


def flatten(assembly: Assembly, parameter_names: tuple[str, ...], apart: bool = False) -> Tables:
    """Return the tables of an assembly; `parameter_names` in the order of the vector of parameters.

    `apart`: whether welded bodies have elements of their own.
    """
    return _Flattening(assembly, parameter_names, apart).tables()


class _Flattening:
    def __init__(self, assembly: Assembly, parameter_names: tuple[str, ...], apart: bool) -> None:
        self.assembly, self.apart = assembly, apart
        self.names = parameter_names
        self.index = {name: k for k, name in enumerate(parameter_names)}
        self.ints = IntegerRows(layout, layout.INT_COLUMNS, -1)
        self.sources = IntegerRows(packing, packing.SOURCE_COLUMNS, -1)
        self.welded = IntegerRows(packing, packing.SOURCE_COLUMNS, -1)
        #: The row of `frames` of each rigid body: its element's, or `_WELDED` less its row of `welded`.
        self.frames: dict[str, int] = {}
        self.read = {name for sensor in assembly.sensors for name in sensor.named_coordinates.values()}
        self.constants: list[list[float]] = []
        self.joints: list[str] = []
        self.elements = {"world": WORLD}
        self.general: dict[str, GeneralBlock] = {}
        self.carriers: dict[str, int] = {}
        parents = (connection.parent for connection in assembly.connections)
        #: Blocks on whose reference frames others hang.
        self.bearing = {parent.block.name for parent in parents if parent.name not in parent.block.ports}
        self.law_size = self.slopes_size = self.port_count = 0
        self.multis = 0

    def tables(self) -> Tables:
        self._element("world", Link("weld"), parent=-1)
        for connection in self.assembly.connections:
            self._connection(connection)
        count = len(self.ints.rows)
        springs = self._springs()
        constraint_rows = self._rigid_closures() | self._gears()
        first_interaction = len(self.ints.rows)
        interactions = self._interactions()
        first_load = len(self.ints.rows)
        self._loads()
        header = self.ints.rows[WORLD]
        acted_on = any(is_acted_on(general.block) for general in self.general.values())
        inertial = acted_on or any(load.frame == "world" for load in self.assembly.loads)
        for column, value in (
            (layout.ELEMENTS, count),
            (layout.MULTIS, self.multis),
            (layout.SPRINGS, springs),
            (layout.FIRST_LOAD, first_load),
            (layout.LOADS, len(self.assembly.loads)),
            (layout.INERTIAL_LOADS, int(inertial)),
            (layout.NQ, len(self.assembly.configuration_names)),
            (layout.NV, len(self.assembly.coordinate_names)),
            (layout.LAW_SIZE, self.law_size),
            (layout.INTERACTIONS, len(interactions)),
            (layout.PASSIVE, 1),
            (layout.APPLYING, 2 * int(acted_on)),
            (layout.SLOPES_SIZE, self.slopes_size),
            (layout.ALL_PORTS, self.port_count),
            (layout.FIRST_INTERACTION, first_interaction),
            (layout.WEIGHING, sum(acting.block.is_gravity for acting in interactions)),
            (layout.STATES, sum(len(acting.block.state_names) for acting in interactions)),
        ):
            header[column] = value
        self._mark_ports(count)
        self._gather(count)
        self.frames = {name: row if row > _WELDED else count + _WELDED - row for name, row in self.frames.items()}
        for entries in (*self.sources.rows, *self.welded.rows):
            if entries[packing.BEARER] <= _WELDED:
                entries[packing.BEARER] = count + _WELDED - entries[packing.BEARER]
        port_rows, port_table = self._port_table()
        paths = self._paths(count, next(iter(constraint_rows.values()), first_interaction))
        return Tables(
            ints=self.ints.array(),
            sources=self.sources.array(),
            welded=self.welded.array().reshape(-1, packing.SOURCE_COLUMNS),
            constants=np.array(self.constants, dtype=float),
            port_table=port_table,
            port_rows=port_rows,
            elements=self.elements,
            carriers=self.elements | self.carriers,
            parameter_names=self.names,
            general=tuple(self.general.values()),
            interactions=interactions,
            joints=tuple(self.joints),
            tree=self._tree(count),
            paths=paths,
            constraint_rows=constraint_rows,
        )

    def _element(self, joint: str, link: Link, parent: int, port: int = -1, q: int = 0, v: int = 0, **sources: int) -> int:
        """Add an element that follows `parent`; return its row."""
        kind = {"weld": layout.WELD, "axial": layout.AXIAL, "spherical": layout.SPHERICAL, "free": layout.FREE}[link.kind]
        multi = 0
        if kind in (layout.SPHERICAL, layout.FREE):
            multi, self.multis = self.multis, self.multis + 1
        row = self.ints.add(PARENT=parent, KIND=kind, Q=q, V=v, MULTI=multi, OWN=0, PORT=port)
        if port < 0:
            sources.setdefault("BEARER", parent)
        if isinstance(link.axis, str):
            sources["AXIS"] = self.index[f"{joint}.{link.axis}.x"]
        if link.linear == "pitch":
            sources["PITCH"] = self.index[f"{joint}.pitch"]
        self.sources.add(**sources)
        axis = (0.0, 0.0, 1.0) if isinstance(link.axis, str) else link.axis
        self.constants.append([*axis, 0.0 if link.linear == "pitch" else float(link.linear), link.angular, *[0.0] * 6])
        self.joints.append(joint)
        return row

    def _connection(self, connection: Connection) -> None:
        joint, body = connection.joint, connection.child.block
        start = self._attach(connection)
        if self._is_merged(connection):
            self.elements[joint.name] = row = start.pop("parent")
            bearer = start["BEARER"]
            before = self.sources.rows[bearer] if bearer > _WELDED else self.welded.rows[_WELDED - bearer]
            before[packing.WELDED] = k = self.welded.add(WELDED=before[packing.WELDED], **start)
            self._carry(body, connection.child.name, row, self.welded.rows[k])
            self.frames[body.name] = _WELDED - k
            return
        last = self._chain(joint, start) if is_elementary(joint) else self._through(joint, start)
        if body.is_rigid:
            self._carry(body, connection.child.name, last, self.sources.rows[last])
            self.frames[body.name] = last
            return
        if connection.child.name in body.ports:
            last = self._through(ElementMount(body, str(connection.child.name)), {"parent": last})
        if body.name in self.bearing:
            last = self.carriers[body.name] = self._element(body.name, Link("weld"), parent=last)
        self._general(body, {"parent": last})

    def _is_merged(self, connection: Connection) -> bool:
        """Tell whether a weld that no sensor reads makes a rigid body one with another."""
        joint: Any = connection.joint
        if self.apart or joint.name in self.read or not (is_elementary(joint) and joint.chain[0].kind == "weld"):
            return False
        return connection.child.block.is_rigid and connection.parent.block.name in self.frames

    def _through(self, block: Block, start: dict[str, int]) -> int:
        """Add a general block, and what follows its only port; return the last."""
        row = self._general(block, start)
        return self._element(block.name, Link("weld"), parent=row, port=self.general[block.name].ports[block.ports[0]])

    def _attach(self, connection: Connection) -> dict[str, int]:
        """Return parent, port and sources of the first element of a connection."""
        parent, port = connection.parent.block, connection.parent.name
        start = {"parent": self.elements[parent.name], "PLACEMENT": self.index[f"{connection.joint.name}.placement.position.x"]}
        if parent.name in self.general:
            if port in parent.ports:
                return start | {"port": self.general[parent.name].ports[str(port)]}
            start["parent"] = self.carriers[parent.name]
        start["BEARER"] = self.frames.get(parent.name, start["parent"])
        if parent.name not in self.general and port is not None:
            start["ATTACH"] = self.index[f"{parent.name}.{port}.position.x"]
        return start

    def _chain(self, joint: Any, start: dict[str, int]) -> int:
        """Add the elements of a built-in joint; return the last."""
        q = self.assembly.q_slices.get(joint.name, slice(0, 0)).start
        v = self.assembly.v_slices.get(joint.name, slice(0, 0)).start
        row = -1
        names = joint.coordinates
        for k, link in enumerate(joint.chain):
            drive = {}
            if names:
                first = names[k] if len(joint.chain) > 1 else names[0]
                drive["DRIVE"] = self.index[f"{joint.name}.armature" if joint.nv == 1 else f"{joint.name}.armature.{first}"]
            row = self._element(joint.name, link, q=q + k, v=v + k, **start, **drive)
            if joint.reflected_inertia is not None:
                rotors = joint.reflected_inertia[k : k + 1] if len(joint.chain) > 1 else joint.reflected_inertia
                self.constants[row][5 : 5 + len(rotors)] = rotors.tolist()
            start = {"parent": row}
        self.elements[joint.name] = row
        return row

    def _carry(self, body: Block, port: str | None, row: int, source: list[int]) -> None:
        """Let an element carry a rigid body, with its row of sources."""
        self.elements[body.name] = row
        source[packing.BODY] = self.index[f"{body.name}.mass"]
        if port is not None:
            source[packing.CHILD] = self.index[f"{body.name}.{port}.position.x"]

    def _general(self, block: Block, start: dict[str, int]) -> int:
        """Add the element of a general block; return its row."""
        row = self._element(block.name, Link("weld"), **start)
        self.elements[block.name] = row
        n, slopes = block.nv, self.slopes_size
        q, v = self.assembly.q_slices.get(block.name, slice(0, 0)), self.assembly.v_slices.get(block.name, slice(0, 0))
        law = self.law_size
        ports = {port: law + records.port_at(n, p) for p, port in enumerate(block.ports)}
        self.law_size += records.law_size(n, len(ports))
        self.slopes_size += records.slopes_size(n, len(ports))
        entries = self.ints.rows[row]
        if is_acted_on(block):
            entries[layout.APPLIED], entries[layout.APPLIED_SLOPES] = self.law_size, self.slopes_size
            self.law_size += 6 + n
            self.slopes_size += (6 + n) * (2 * n + 12)
        entries[layout.LAW], entries[layout.OWN], entries[layout.OWN_Q], entries[layout.OWN_V] = law, n, q.start, v.start
        entries[layout.PORTS], entries[layout.PORT_COUNT], entries[layout.SLOPES] = self.port_count, len(ports), slopes
        self.port_count += len(ports)
        self.general[block.name] = GeneralBlock(block, row, law, ports, q, v)
        return row

    def _tree(self, count: int) -> Ints:
        last = [-1] * count  # coordinate of each element nearest to its children
        order: list[int] = []
        before = [-1] * len(self.assembly.coordinate_names)
        for row, entries in enumerate(self.ints.rows[1:count], start=1):
            at = last[entries[layout.PARENT]]
            joint_columns = range(entries[layout.V], entries[layout.V] + JOINT_SIZES[entries[layout.KIND]])
            for k in (*joint_columns, *range(entries[layout.OWN_V], entries[layout.OWN_V] + entries[layout.OWN])):
                before[k], at = at, k
                order.append(k)
            last[row] = at
        return np.array([order, before], dtype=np.int64)

    def _paths(self, count: int, first_port: int) -> Ints:
        """Return the rows of `columns` and their order; number the ports' rows of `sums` behind the elements'.

        From the row `first_port` on, ports of closures, interactions and loads are told where these are.
        """
        nv = len(self.assembly.coordinate_names)
        coordinate, before = list(range(nv)), [-1] * nv
        at_port: dict[int, tuple[int, int]] = {}  # by offset in `law`: row of `sums`, nearest row of `columns`
        for row, entries in enumerate(self.ints.rows[1:count], start=1):
            if entries[layout.PORT] >= 0:
                entries[layout.ROW], at = at_port[entries[layout.PORT]]
            else:
                at = self.ints.rows[entries[layout.PARENT]][layout.LAST] if entries[layout.PARENT] else -1
            for k in range(entries[layout.V], entries[layout.V] + JOINT_SIZES[entries[layout.KIND]]):
                before[k], at = at, k
            entries[layout.LAST] = at
            if entries[layout.LAW] >= 0:
                entries[layout.PORTS] += count
                entries[layout.COLUMN] = len(coordinate)
                general = self.general[self.joints[row]]
                for p, offset in enumerate(general.ports.values()):
                    near = at
                    for k in range(general.v.start, general.v.stop):
                        coordinate.append(k)
                        before.append(near)
                        near = len(coordinate) - 1
                    at_port[offset] = entries[layout.PORTS] + p, near
        for entries in self.ints.rows[first_port:]:
            if entries[layout.PORT] >= 0:
                entries[layout.ROW], entries[layout.LAST] = at_port[entries[layout.PORT]]
            elif entries[layout.ELEMENT] > WORLD:
                entries[layout.LAST] = self.ints.rows[entries[layout.ELEMENT]][layout.LAST]
        return np.array([coordinate, before], dtype=np.int64)

    def _mark_ports(self, elements: int) -> None:
        """Set the bits of the general blocks' ports that carry something, or at which something acts, and of the former."""
        bits = {
            offset: (general.element, 1 << p)
            for general in self.general.values()
            for p, offset in list(enumerate(general.ports.values()))[: records.SPARED_PORTS]
        }
        for general in self.general.values():
            self.ints.rows[general.element][layout.USED] = self.ints.rows[general.element][layout.BEARING] = 0
        for row, entries in enumerate(self.ints.rows[1:], start=1):
            if entries[layout.PORT] in bits:
                element, bit = bits[entries[layout.PORT]]
                self.ints.rows[element][layout.USED] |= bit
                if row < elements:
                    self.ints.rows[element][layout.BEARING] |= bit

    def _gather(self, elements: int) -> None:
        """Let elements gather inertia where the last of their children does; leaves, and general blocks, in their own rows."""
        for row in range(elements - 1, 0, -1):
            entries = self.ints.rows[row]
            if entries[layout.GATHERED] < 0:
                entries[layout.GATHERED] = row
            before = self.ints.rows[entries[layout.PARENT]]
            if before[layout.LAW] < 0 and before[layout.GATHERED] < 0:
                before[layout.GATHERED] = entries[layout.GATHERED]

    def _springs(self) -> int:
        """Add rows for built-in joints with a stiffness, damping, friction or stops, and for limits; return their number."""
        count = 0
        for connection in self.assembly.connections:
            joint: Any = connection.joint
            if joint.name in self.general or not joint.is_sprung:
                continue
            names, single = joint.coordinates, joint.nv == 1
            suffix = "" if single else f".{names[0]}.{names[0]}"
            rest = "" if single else f".{joint.configuration_names[0]}"
            kind = {"spherical": layout.SPHERICAL, "free": layout.FREE}.get(joint.chain[0].kind, layout.AXIAL)
            q, v = self.assembly.q_slices[joint.name].start, self.assembly.v_slices[joint.name].start
            for name in names:
                limits = f"{joint.name}.limits." if single else f"{joint.name}.limits.{name}."
                self.ints.add(SIZE=joint.nv, KIND=kind, Q=q, V=v)
                self.sources.add(
                    SPRING_K=self.index[f"{joint.name}.stiffness{suffix}"],
                    SPRING_D=self.index[f"{joint.name}.damping{suffix}"],
                    SPRING_FRICTION=self.index[f"{joint.name}.friction.{'' if single else names[0] + '.'}coulomb"],
                    SPRING_REST=self.index[f"{joint.name}.rest{rest}"],
                    SPRING_LOWER=self.index.get(f"{limits}lower", -1),
                    SPRING_UPPER=self.index.get(f"{limits}upper", -1),
                    SPRING_STOP=self.index.get(f"{limits}stiffness", -1),
                )
            count += 1
        for limit in self.assembly.limits:
            q, v = self.assembly.place(limit.joint)
            self.ints.add(SIZE=1, KIND=layout.AXIAL, Q=q, V=v)
            entries = {"SPRING_LOWER": "lower", "SPRING_UPPER": "upper", "SPRING_STOP": "stiffness"}
            known = {column: self.index.get(f"{limit.name}.limits.{name}", -1) for column, name in entries.items()}
            self.sources.add(**known)
            count += 1
        return count

    def _rigid_closures(self) -> dict[str, int]:
        """Add rows for every rigid closure: its constraints, of which the first two rows also hold its ports."""
        first: dict[str, int] = {}
        for loop in self.assembly.loops:
            if isinstance(loop.closure, MultiplierClosure):
                slips = [*map(int, loop.closure.slips), 0][: max(2, len(loop.closure.slips))]
                known = {"CONSTRAINTS": len(loop.closure.slips), "FORM": loop.closure.form, "SLIPS": slips[0]}
                first[loop.closure.name] = self._acting(loop.first, **known)
                self._acting(loop.second, SLIPS=slips[1])
                for slip in slips[2:]:
                    self.ints.add(SLIPS=slip)
                    self.sources.add()
        return first

    def _gears(self) -> dict[str, int]:
        """Add a row for every coordinate of every gear, and return the first ones."""
        rows: dict[str, int] = {}
        for gear in self.assembly.gears:
            rows[gear.name] = len(self.ints.rows)
            for q, v in map(self.assembly.place, gear.terms):
                self.ints.add(GEAR_TERMS=len(gear.terms), TERM_Q=q, TERM_V=v)
                self.sources.add()
        return rows

    def _interactions(self) -> tuple[ActingBlock, ...]:
        """Add the rows of every interaction: its own, then those of its ports and of its coordinates."""
        acting = []
        for loop in self.assembly.loops:
            if isinstance(loop.closure, Interaction):
                p, n, k = len(loop.ports), len(loop.coordinates), len(loop.closure.state_names)
                driven = {"ACT_INPUTS": len(loop.closure.inputs) + k, "ACT_STATES": k}
                row = self.ints.add(ACT_PORTS=p, ACT_COORDINATES=n, LAW=self.law_size, **driven)
                self.ints.rows[row][layout.SLOPES] = self.slopes_size
                self.sources.add()
                for ref in loop.ports:
                    self._acting(ref)
                for q, v in map(self.assembly.place, loop.coordinates):
                    self.ints.add(Q=q, V=v)
                    self.sources.add()
                rows, moved, width = 6 * p + n, layout.MOTION_SIZE * p + 2 * n, 6 * max(p - 1, 0) + 6 * p + 2 * n
                self.law_size += moved + driven["ACT_INPUTS"] + rows
                self.slopes_size += rows * width + 12 * p + width
                acting.append(ActingBlock(loop.closure, row))
        return tuple(acting)

    def _loads(self) -> None:
        for load in self.assembly.loads:
            row = self._acting(load.target, INERTIAL=int(load.frame == "world"))
            self.sources.rows[row][packing.LOAD_WRENCH] = self.index[f"{load.name}.force.x"]

    def _acting(self, target: PortRef, **ints: int) -> int:
        """Add the row of something that acts on a port; return it."""
        block, port = target.block, target.name
        source = offset = -1
        if block.name in self.general:
            offset = self.general[block.name].ports.get(str(port), -1)
        elif port is not None:
            source = self.index[f"{block.name}.{port}.position.x"]
        self.sources.add(LOAD_PORT=source, BEARER=self.frames.get(block.name, self.elements[block.name]))
        return self.ints.add(ELEMENT=self.elements[block.name], PORT=offset, **ints)

    def _port_table(self) -> tuple[dict[str, int], Ints]:
        rows: dict[str, int] = {}
        table: list[tuple[int, int]] = []
        for name, element in self.elements.items():
            if name not in self.general and (block := self.assembly.blocks[name]).is_rigid:
                for port in (None, *block.ports):
                    rows[name if port is None else f"{name}.{port}"] = len(table)
                    table.append(
                        (self.frames.get(name, element), -1 if port is None else self.index[f"{name}.{port}.position.x"])
                    )
        return rows, np.array(table, dtype=np.int64).reshape(-1, 2)
