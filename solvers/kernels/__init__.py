"""The compiled resolver's kernels, in plain Python that numba compiles.

A system arrives here as *elements*: a rigid body (or a general block) with the elementary joint that carries it.
Element 0 is the world; parents come before children. Joints of several axes are chains of elements with massless
bodies. Every element's frame is aligned so that its axis is local z: no kernel ever multiplies by a joint axis.

Read in this order:

- `layout`: the tables of integers and floats that describe a system;
- `pack`: from parameters to the table of floats;
- `algebra`: spatial algebra on scalars;
- `joints`: pose and motion of the elementary joints;
- `general`: blocks with own coordinates, known by their records (`records`: where things stand in these); `stages`: the seam,
  how passes call what writes records; `compiled_laws`: laws as stages, `term_stages`: inverse dynamics from a law's terms,
  `modal`, `modal_ports`, `modal_stages`: law, ports and stages of flexible bodies, `user_laws` those of users; `surroundings`:
  how passes ask what acts on a block, `applied_laws`: users' answers as stages; `compiled_interactions`: interactions as
  stages, `interaction_kinds`: titop's own;
- `kinematics`, `inverse`, `forward`, `composite`: the passes: twists outwards; inverse dynamics; forward and hybrid
  dynamics; mass matrix;
- `multi_joints`: elimination of joints with several coordinates at once; `passive`, `springs`, `loads`: what acts besides
  efforts (`rotations`, `rotation_series`: rotation vectors); `stops`: stops of joints, and how contacts push; `ports`,
  `interactions`: what acts on several ports and coordinates; `port_wrenches`: loads and interactions on general blocks in
  inverse dynamics;
- `factor`, `closures`, `following`, `constrained`, `sharing`, `multipliers`, `closed`: the mass matrix along the tree; loop
  closures; what gears take out; accelerations with closures; the least efforts and nearest rates that these leave; what each
  constraint carries; whole passes;
- `sums`, `derivatives`, `general_derivatives`, `passive_derivatives`, `interaction_derivatives`, `held_loads`,
  `closure_derivatives`, `closed_slopes`, `hybrid_derivatives`: derivatives;
- `directional`: derivatives along one direction, and transposed; `coriolis`, `momentum`: matrices from the same sums;
- `observe`: poses, energy, momentum, Jacobians; `readings`: what sensors read; `pushes`: what wrenches do along coordinates;
  `moving`: from one configuration to another;
- `stepping`: what acts in the stages of integrators' steps; `step_control`: how long these are; `closing`: states on the
  closures where they end;
- `whole`: whole passes; `entries`, and the other files of this ending: what Python calls;
- `pair`: kernels for rigid systems and for all, from one function; what compiles and calls them is in `solvers.native`.

Numbers are scalars in local variables, since that is what numba compiles quickly and well; ``a, b, c`` are the
blocks of a symmetric 6x6 inertia ``[[a, b], [b^T, c]]``, symmetric 3x3 blocks stored as xx, yy, zz, xy, xz, yz.
"""
