"""Flat facets of bodies, on which air and sunlight press."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from titop.blocks.basics.choices import positive
from titop.blocks.basics.errors import Finding
from titop.blocks.basics.spatial import Array
from titop.blocks.basics.user_input import FieldReader
from titop.blocks.contract.block import Block, ParameterFields, PortRef, entries_of
from titop.blocks.contract.fields import Fixed
from titop.blocks.joints.joint import unit_vector
from titop.blocks.laws.vectors import cross3
from titop.blocks.surroundings.inertial_places import PlacedInteraction

#: Units of the numbers of a facet.
_UNITS = {"area": "m^2", "normal": "1", "center": "m", "specular": "1", "diffuse": "1"}
#: How many numbers of a law a facet is: port, area, normal, centre, specular and diffuse part.
_ROW = 10


class Facet:
    """A flat plate of a body, with one side in air or light; a thin panel has two facets, with opposite normals.

    Parameters
    ----------
    target : PortRef, Block or int
        Port in whose frame it is fixed, which may move: a block means its reference frame. Or the place of the port among those
        that `System.add_interaction` is given, from 0.
    area : float, m^2
    normal : array_like (3,)
        To the outside; of any length.
    center : array_like (3,), m
        Of its area.
    specular, diffuse : float
        Parts of the sunlight that it reflects as a mirror does, and evenly into all directions; it absorbs the rest.

    Raises
    ------
    ModelError
        For what is no target, and numbers of wrong shapes. Areas that are not positive, normals of zeros and coefficients
        outside 0 to 1, or with a sum above 1, are reported when the model is built.

    Examples
    --------
    >>> import titop as tt
    >>> hub = tt.RigidBody("hub", mass=10.0, inertia=1.0)
    >>> len(tt.Facet.box(hub, [1, 1, 2], specular=0.2)), tt.Facet.box(hub, [1, 1, 2])[0].center.tolist()
    (6, [0.5, 0.0, 0.0])
    """

    def __init__(
        self,
        target: PortRef | Block | int,
        area: float,
        normal: Any,
        center: Any = (0.0, 0.0, 0.0),
        specular: float = 0.0,
        diffuse: float = 0.0,
    ) -> None:
        reader = FieldReader("facet")
        if not isinstance(target, PortRef | Block | int):
            reader.report("not-a-port", "target", target, 'a block or a port such as body.port("C")', "pass the block itself")
        self.target: Any = PortRef(target, None) if isinstance(target, Block) else target
        self.area, self.normal = reader.scalar("area", area), reader.axis("normal", normal)
        self.center = reader.array("center", center, (3,))
        self.specular, self.diffuse = reader.scalar("specular", specular), reader.scalar("diffuse", diffuse)
        reader.raise_findings()

    @classmethod
    def box(
        cls,
        target: PortRef | Block | int,
        sides: Any,
        center: Any = (0.0, 0.0, 0.0),
        specular: float = 0.0,
        diffuse: float = 0.0,
    ) -> list[Facet]:
        """Return the six facets of a box, those along x, y and z, each behind its opposite.

        Parameters
        ----------
        target, specular, diffuse
            As of each facet.
        sides : array_like (3,), m
            Lengths along x, y and z.
        center : array_like (3,), m
            Of the box.

        Raises
        ------
        ModelError
            For sides that are not positive.
        """
        reader = FieldReader("facet")
        lengths, middle = reader.array("sides", sides, (3,)), reader.array("center", center, (3,))
        if not (lengths > 0).all():
            reader.report("no-area", "sides", sides, "lengths > 0", "write tt.Facet for a single plate")
        reader.raise_findings()
        areas, ways = np.prod(lengths) / lengths, np.vstack([np.eye(3), -np.eye(3)])[[0, 3, 1, 4, 2, 5]]
        return [cls(target, areas[k // 2], way, middle + way * lengths / 2, specular, diffuse) for k, way in enumerate(ways)]


def _wrong(facet: Facet, where: str) -> Iterator[Finding]:
    if not facet.area > 0:
        yield Finding("no-area", f"{where}.area", facet.area, "an area > 0", "leave the facet out, or check the unit, m^2")
    if not facet.normal.any():
        yield Finding("zero-axis", f"{where}.normal", [0, 0, 0], "a non-zero direction", "let it point to the outside")
    for name in ("specular", "diffuse"):
        if not 0 <= getattr(facet, name) <= 1:
            yield Finding("bad-share", f"{where}.{name}", getattr(facet, name), "0 to 1", "give a part of the light")
    if facet.specular + facet.diffuse > 1:
        found, advice = f"{facet.specular:g} specular and {facet.diffuse:g} diffuse", "what is not reflected is absorbed"
        yield Finding("bad-share", where, found, "parts of the light that add up to 1 or less", advice)


def read_facets(block: Any, field: str, value: Any) -> tuple[Facet, ...]:
    """Read facets: their targets become numbers of ports, from 0, and these ports the block's `default_targets`."""
    facets = tuple(value) if isinstance(value, Iterable) else (value,)
    if not facets or not all(isinstance(each, Facet) for each in facets):
        block.reader.report("not-a-facet", field, value, "one tt.Facet or more", "write [tt.Facet(hub, 1.0, [1, 0, 0])]")
        return ()
    keys = [each.target if isinstance(each.target, int) else str(each.target) for each in facets]
    if len({type(key) for key in keys}) > 1:
        expected = "facets on ports, or on numbers of ports"
        block.reader.report("mixed-targets", field, keys, expected, "give the port of each facet")
        return ()
    ports = dict(zip(keys, (each.target for each in facets), strict=True))
    if isinstance(keys[0], int):
        if sorted(ports) != [*range(len(ports))]:
            block.reader.report("bad-number", field, sorted(ports), f"0 to {len(ports) - 1}", "count the ports from 0")
        return facets
    block.default_targets = tuple(ports.values())
    placed = tuple(map(copy.copy, facets))
    for facet, key in zip(placed, keys, strict=True):
        facet.target = [*ports].index(key)
    return placed


def press(numbers: Any, at: Any, k: Any, point: Any, spin: Any, shares: Any, loads: Any) -> None:
    """Add what streams against the facets on port k, or shines on them, to its wrench.

    A facet of normal n that is met by the speed ``c = n . s > 0`` has the force ``-area c (a s + b n)`` in its centre; s is
    `point` (3), plus `spin` (3) times the centre. With the facet's specular part p and diffuse part d, `shares` are the factors
    of 1 and p in a, and of c, p c and d in b. All vectors are in the port's axes. The facets begin in `numbers` at `at`, behind
    their number.
    """
    for j in range(int(np.real(numbers[at]))):
        o = at + 1 + _ROW * j
        if np.real(numbers[o]) == k - 1:
            n, arm = (numbers[o + 2], numbers[o + 3], numbers[o + 4]), (numbers[o + 5], numbers[o + 6], numbers[o + 7])
            turning, p, d = cross3(spin, arm), numbers[o + 8], numbers[o + 9]
            x, y, z = point[0] + turning[0], point[1] + turning[1], point[2] + turning[2]
            c = positive(n[0] * x + n[1] * y + n[2] * z)
            size = -numbers[o + 1] * c
            a = size * (shares[0] + shares[1] * p)
            b = size * (shares[2] * c + shares[3] * p * c + shares[4] * d)
            force = a * x + b * n[0], a * y + b * n[1], a * z + b * n[2]
            torque = cross3(arm, force)
            for i in range(3):
                loads.wrenches[k, i] += force[i]
                loads.wrenches[k, 3 + i] += torque[i]


class OnFacets(PlacedInteraction):
    """Common part of what acts on facets: its first port is the world's, the others those of the facets."""

    facets = Fixed(read_facets)

    def __init__(self, name: str, facets: Iterable[Facet]) -> None:
        super().__init__(name)
        self.facets = facets

    @property
    def port_counts(self) -> tuple[float, float]:  # type: ignore[override]
        """The world's, and one for each port with facets."""
        count = 1 + len({facet.target for facet in self.facets})
        return count, count

    def _rows(self) -> Array:
        """Return the number of facets, and the rows (k, 10; m, m^2) that `press` reads, in one array (1 + 10 k)."""
        rows = [
            np.concatenate([[f.target, f.area], unit_vector(f.normal), f.center, [f.specular, f.diffuse]]) for f in self.facets
        ]
        return np.concatenate([[len(rows)], *rows])

    def parameter_fields(self) -> ParameterFields:
        fields = super().parameter_fields()
        for k, facet in enumerate(self.facets):
            for field, unit in _UNITS.items():
                for name, (_, path, _) in entries_of(field, getattr(facet, field), unit).items():
                    fields[f"facets.{k}.{name}"] = "facets", (k, field, *path), unit
        return fields

    def check(self) -> tuple[list[Finding], list[Finding]]:
        errors, warnings = super().check()
        for k, facet in enumerate(self.facets):
            errors += _wrong(facet, f"{self.name}.facets[{k}]")
        return errors, warnings
