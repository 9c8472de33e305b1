"""Warnings about numbers that are valid, but probably in wrong units."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from titop.blocks.basics.errors import Finding
from titop.blocks.basics.pose import pose_suspicions
from titop.blocks.basics.tolerances import NEGLIGIBLE
from titop.blocks.contract.description import MassProperties
from titop.graph.network.network import Network

#: Masses with a larger ratio leave no digit of the smaller one in their sum.
_FAR = 1e12
#: An inertia is probably in kg mm^2 or g mm^2 if the radius of gyration is more than this many times the largest distance in
#: the system, and the mass over the cube of this radius is less than this density (kg/m^3). A steel ball in kg mm^2 has 1.3e-4,
#: slender bodies have less; booms and sails in the right unit have more.
_GYRATION, _THIN = 3.0, 2e-4
#: The density of osmium (kg/m^3), the densest matter: a ball of it has the smallest inertia of all bodies of its mass. An
#: inertia below a hundred-thousandth of that is in a larger unit than kg m^2; larger ones are often written for point masses.
_DENSEST, _LEAST = 22_600.0, 1e-5


def doubtful_units(system: Network) -> Iterator[Finding]:
    """Yield warnings about rotations in degrees, masses of very different size, and impossible inertias."""
    for connection in system.connections:
        yield from pose_suspicions(f"{connection.joint.name}.placement", connection.placement)
    bodies = [connection.child.block for connection in system.connections]
    masses = {body.name: of for body in bodies if (of := body.mass_properties()).mass > 0}
    yield from _far_masses({name: float(of.mass) for name, of in masses.items()})
    places = [connection.placement.position for connection in system.connections]
    places += [body.neutral_pose(port)[1] for body in (system.world, *bodies) for port in body.ports]
    places += [of.com for of in masses.values()]
    with np.errstate(over="ignore"):
        reach = float(np.linalg.norm(np.reshape(places, (-1, 3)), axis=1).max(initial=0.0))
    yield from _impossible_inertias(masses, reach)


def _far_masses(masses: dict[str, float]) -> Iterator[Finding]:
    if masses:
        least, most = min(masses, key=masses.__getitem__), max(masses, key=masses.__getitem__)
        if masses[most] > _FAR * masses[least]:
            value = f"{masses[least]:.3g} kg, beside {masses[most]:.3g} kg of {most}"
            expected, advice = f"masses within a factor of {_FAR:g}", "check the units of both"
            yield Finding("far-masses", f"{least}.mass", value, expected, advice)


def _impossible_inertias(bodies: dict[str, MassProperties], reach: float) -> Iterator[Finding]:
    """Compare radii of gyration with the largest distance in the system, and with the densest and the thinnest matter.

    Distances may say nothing about the size of a body: a wheel has only ports near its axis, an unbalance is no length. A
    warning about a large inertia therefore also requires a very low density.
    """
    masses = np.array([body.mass for body in bodies.values()])
    largest = np.array([max(map(abs, body.inertia.ravel().tolist())) for body in bodies.values()])
    with np.errstate(all="ignore"):  # infinite for numbers out of range
        radii = np.sqrt(largest / masses)
        thin = (masses < _THIN * radii**3) & (largest > NEGLIGIBLE * masses.max(initial=0.0) * reach**2)
        least = 0.4 * masses * (3.0 * masses / (4.0 * np.pi * _DENSEST)) ** (2.0 / 3.0)
    for k, name in enumerate(bodies):
        where = f"{name}.inertia"
        if reach > 0 and radii[k] > _GYRATION * reach and thin[k]:
            value = f"a radius of gyration of {radii[k]:.3g} m, where everything is within {reach:.3g} m"
            advice = "divide by 1e6 if these are kg mm^2 (g mm^2: by 1e9)"
            yield Finding("large-inertia", where, value, "an inertia in kg m^2", advice)
        elif 0 < largest[k] < _LEAST * least[k]:
            value = f"moments up to {largest[k]:.3g} kg m^2, with a mass of {masses[k]:.3g} kg"
            expected = f"{least[k]:.2g} kg m^2 or more, which a ball of osmium has: no matter is denser"
            yield Finding("small-inertia", where, value, expected, "check the unit; leave the inertia out for a point mass")
