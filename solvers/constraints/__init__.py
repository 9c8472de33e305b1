"""Rigid closures and gears: constraints on the motion of the tree, and what they carry; interactions beside them.

- `mechanism`: what engines do, and the mechanism that constraints know; `closed_loops`: how many of its constraints act, which
  of them follow from others, and the kind of closure that would leave these out;
- `assembling`: finding and projecting onto them, and loops that are left open; `gear_constraint`: of a gear;
- `multipliers`: the linear algebra: independent constraints, dependent coordinates, and what follows from this one choice;
  `following`: which coordinates gears let follow which;
- `branch`: which of them act; `consistency`: whether rates and accelerations satisfy them, but for rounding;
- `closed_dynamics`: forward, inverse and hybrid dynamics with closures, on top of any engine's tree; `closed_derivatives`:
  their derivatives, and those of what constraints carry;
- `interaction_loads`: what interactions, which constrain nothing, do along the coordinates.
"""
