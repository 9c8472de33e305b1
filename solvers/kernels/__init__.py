"""The compiled resolver's kernels, in plain Python that numba compiles.

A system arrives here as *elements*: a rigid body (or a general block) with the elementary joint that carries it.
Element 0 is the world; parents come before children. Joints of several axes are chains of elements with massless
bodies. Every element's frame is aligned so that its axis is local z: no kernel ever multiplies by a joint axis.

Read in this order; rooms know those above them alone:

- `interface`: the tables that describe a system, and how passes call blocks;
- `spatial`: algebra on scalars;
- `tree`: the passes along the tree;
- `ports`: what acts on ports, and is read there; `laws`: the laws of blocks and interactions;
- `derivatives`: of the dynamics of the tree; `series`: by time; `equations`: whole passes, terms of the equations of motion;
- `closures`: systems with rigid closures and gears;
- `entries`: what Python calls. What compiles and calls them is in `titop.solvers.native`.

Numbers are scalars in local variables, since that is what numba compiles quickly and well; ``a, b, c`` are the
blocks of a symmetric 6x6 inertia ``[[a, b], [b^T, c]]``, symmetric 3x3 blocks stored as xx, yy, zz, xy, xz, yz.
"""
