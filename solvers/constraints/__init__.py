"""Rigid closures and gears: constraints on the motion of the tree, and what they carry; interactions beside them.

- `mechanism`: what constraints know of a model, whose engine may be any;
- `closed_loops`: the constraints of a model by name, closed configurations, velocities and accelerations (part of `Model`);
  which of them follow from others, and the kind of closure that would leave these out;
- `assembling`: finding and projecting onto them, and loops that are left open; `gear_constraint`: of a gear;
- `multipliers`: the linear algebra: independent constraints, least-norm multipliers; `coupling`: which share coordinates;
  `following`: gears eliminated;
- `branch`: which of them act; `consistency`: whether rates and accelerations satisfy them, but for rounding;
- `closed_dynamics`: forward, inverse and hybrid dynamics with closures, on top of any engine's tree; `closed_derivatives`:
  their derivatives, those of what constraints carry too, with `shares`: how efforts are shared;
- `interaction_loads`: what interactions, which constrain nothing, do along the coordinates.
"""
