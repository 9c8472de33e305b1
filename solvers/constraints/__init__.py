"""Rigid closures and gears: constraints on the motion of the tree, and what they carry; interactions beside them.

- `mechanism`: what constraints know of a model, whose engine may be any;
- `closed_loops`: the constraints of a model by name, closed configurations, velocities and accelerations (part of `Model`);
- `assembling`: finding and projecting onto them; `open_loops`: those that are left open; `gear_constraint`: of a gear;
- `multipliers`: the linear algebra: independent constraints, least-norm multipliers; `coupling`: which share coordinates;
  `following`: gears eliminated;
- `branch`: which of them act; `redundancy`: which follow from others, and the kind of closure that would leave these out;
  `consistency`: whether rates and accelerations satisfy them, but for rounding;
- `closed_dynamics`: forward, inverse and hybrid dynamics with closures, on top of any engine's tree; `closed_derivatives`:
  their derivatives, with `shares`: how efforts are shared; `multiplier_derivatives`: those of what constraints carry;
- `interaction_loads`: what interactions, which constrain nothing, do along the coordinates.
"""
