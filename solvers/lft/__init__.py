"""Linear fractional models of systems with uncertain parameters: exact, with few repetitions.

Each block's law is taken as factors in which its uncertain numbers stand as few times as possible; all of them form one loop,
which is solved once. From names and ranges (`uncertain`) to `lft_model`:

- `lft`: the function of users; `rational`: what may be uncertain, `common_parameters`: of what several parameters follow;
  `members`: the same system at other values, by `linearize`;
- `delta_blocks`: what is uncertain, and how its values are normalised;
- `loops`: signals that are linear in states, inputs and what uncertain factors return; `steps`: uncertain transports of motions
  and wrenches; `interpolation`: matrices as polynomials, exact or fitted, of `changed_blocks`;
- `laws`, and which of them a block has (`block_laws`), `modal_laws` of flexible bodies, `beam_laws` of beams in coordinates of
  their own (`beam_coordinates`, `rescaled`); `legs`: from port to port of a block, with `own_motions`, `rotations` and
  `moved_ports`; `passes`: over the tree; `readings`: outputs; `joining`: interactions, closures and gears; `system_loop`: all
  of it as one loop;
- `own_coordinates`: a block's coordinates and rates as uncertain numbers of its law; `point_values`: those of a point, by name;
- `equilibria` that depend on parameters, what of them is `moving`, and by which polynomials (`polynomial_fit`, `substitution`);
- `arcs`: wide angles; `refusals`, `definiteness`: what is told of ranges;
- `structured_reduction`: states and repetitions that are not needed, left out; `fractional`: deltas closed and counted;
- `closing`: controllers, their `delays`, and what holds from one sampling instant to the next (`sampling`,
  `sampled_channels`); `neglected`: neglected dynamics;
- `labels`: names of signals; `given_values`; `responses`, and their `comparison`; `lft_files`.
"""
