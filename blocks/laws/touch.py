"""What a contact does at a sphere that touches a shape: push, friction, bristles and rolling friction (see `Contact`).

`numbers` (1, k) begin with those of the shape (5, see `distances`); stiffness, exponent, dissipation, coefficient of friction,
slip velocity, rolling friction, whether spheres turn, and the stiffness of bristles follow. The place r of the sphere's centre,
its `rate`, the relative angular velocity `spin` and the `bristle` (3 each) are given, and loads told, in the shape's frame.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from titop.blocks.basics.choices import positive, select
from titop.blocks.laws.distances import distance
from titop.blocks.laws.impact import impact_energy, impact_push
from titop.blocks.laws.vectors import Vector, cross3, dot3

#: Where the law's numbers stand behind the shape's, and what follows them.
STIFFNESS, EXPONENT, DISSIPATION, FRICTION, SLIP, ROLLING, TURNS, BRISTLES, TOUCHING = range(5, 14)


def touch(numbers: Any, r: Any, rate: Any, spin: Any, radius: Any, bristle: Any) -> tuple[Any, Vector, Vector, Vector]:
    """Return the gap, force and torque (3 each) on the sphere about its centre, and the velocity (3) of its surface's slip."""
    apart, n = distance(numbers, r)
    gap = apart - radius
    push = impact_push(-gap, -dot3(n, rate), numbers[0, STIFFNESS], numbers[0, DISSIPATION], numbers[0, EXPONENT])
    lever, slip = _slip(numbers, apart, n, rate, spin)
    limit, drag = numbers[0, SLIP] * numbers[0, SLIP], -numbers[0, FRICTION] * push
    x, y, z = slip
    if numbers[0, BRISTLES] == 0.0:
        drag = drag / np.sqrt(dot3(slip, slip) + limit)
    else:
        _, (x, y, z), _ = _bent(numbers, n, slip, bristle)
    force = push * n[0] + drag * x, push * n[1] + drag * y, push * n[2] + drag * z
    torque = cross3(lever, force)
    brake = -numbers[0, ROLLING] * push * radius / np.sqrt(radius * radius * dot3(spin, spin) + limit)
    return gap, force, (torque[0] + brake * spin[0], torque[1] + brake * spin[1], torque[2] + brake * spin[2]), slip


def _slip(numbers: Any, apart: Any, n: Any, rate: Any, spin: Any) -> tuple[Vector, Vector]:
    """Return the lever of a sphere's surface, and the velocity of this along the shape."""
    arm = -numbers[0, TURNS] * apart
    lever = arm * n[0], arm * n[1], arm * n[2]
    turned = cross3(spin, lever)
    x, y, z = rate[0] + turned[0], rate[1] + turned[1], rate[2] + turned[2]
    away = n[0] * x + n[1] * y + n[2] * z
    return lever, (x - away * n[0], y - away * n[1], z - away * n[2])


def _bent(numbers: Any, n: Any, slip: Any, bristle: Any) -> tuple[Vector, Vector, Vector]:
    """Return how a bristle bends in contact (3), its friction in parts of Coulomb's, and what it has along the normal."""
    reach = numbers[0, FRICTION] / numbers[0, BRISTLES]
    away = dot3(n, bristle)
    a = away * n[0], away * n[1], away * n[2]
    b = bristle[0] - a[0], bristle[1] - a[1], bristle[2] - a[2]
    square = dot3(b, b)
    part = positive((square / (reach * reach) - 1.0) / 3.0)
    part = select(part.real < 1.0, part, 0.0 * part + 1.0)
    giving = part * part * (3.0 - 2.0 * part) * positive(dot3(slip, b)) / select(square.real > 0.0, square, square + 1.0)
    x, y, z = slip[0] - giving * b[0], slip[1] - giving * b[1], slip[2] - giving * b[2]
    rate = 1.0 / numbers[0, SLIP]
    u, v, w = b[0] / reach + rate * x, b[1] / reach + rate * y, b[2] / reach + rate * z
    size = u * u + v * v + w * w
    size = size * size
    share = 1.0 / np.sqrt(np.sqrt(np.sqrt(1.0 + size * size)))
    return (x, y, z), (share * u, share * v, share * w), a


def bristle_rate(numbers: Any, r: Any, rate: Any, spin: Any, radius: Any, bristle: Any) -> Vector:
    """Return the rate (3) of a sphere's bristle: out of contact it straightens."""
    apart, n = distance(numbers, r)
    _, slip = _slip(numbers, apart, n, rate, spin)
    bending, _, away = _bent(numbers, n, slip, bristle)
    touches, straightening = (apart - radius).real < 0.0, numbers[0, SLIP] * numbers[0, BRISTLES] / numbers[0, FRICTION]
    x = select(touches, bending[0] - straightening * away[0], -straightening * bristle[0])
    y = select(touches, bending[1] - straightening * away[1], -straightening * bristle[1])
    z = select(touches, bending[2] - straightening * away[2], -straightening * bristle[2])
    return x, y, z


def pressed_energy(numbers: Any, r: Any, radius: Any) -> Any:
    """Return the energy (J) stored at a sphere."""
    apart, _ = distance(numbers, r)
    return impact_energy(radius - apart, numbers[0, STIFFNESS], numbers[0, EXPONENT])
