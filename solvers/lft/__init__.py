"""Linear fractional models of systems with uncertain parameters: exact, with few repetitions.

Each block's law is taken as factors in which its uncertain numbers stand as few times as possible; all of them form one loop,
which is solved once, reduced, and named. Files know those above them:

- `fractions`: models as matrices, and their reduction; `delta_blocks`: uncertain blocks, normalised, and their channels;
- `loops`: signals that are linear in states, inputs and what uncertain numbers return; `polynomials` of these numbers; `fits`:
  functions as fractions with few repetitions;
- `uncertainty`: names, ranges and gains; `operating_points`: at other values, and `moving_equilibria` with them;
- `steps`: from frame to frame; `changed_blocks`: a block at other values; `matrix_laws`: laws by matrices; `block_laws`: which
  law a block has, factors where they are known, else these; `legs`: from a block's parent port to its child ports;
- `tree_passes`: motions outwards over the tree, wrenches back; `joining`: interactions, closures and gears; `system_loop`: all
  of it, with inputs, states and outputs; `refusals`: what is refused and warned of;
- `sampled_models`: from one sampling instant to the next; `feedback`: controllers and delays; `neglected`: neglected dynamics;
- `members`: the same system at other values, by `linearize`; `lft_files`; `lft_model`: what users have in hand;
- `lft`: the functions of users; `block_system`: one block's linear TITOP model, by the same passes with nothing uncertain.

One call, from top to bottom: `lft` reads ranges by `Uncertainty`, which makes a `DeltaBlock` of each; `SystemLoop` asks every
block for its law, entries of which are polynomials of the uncertain numbers (`Uncertainty.vector`); `fractions` solves and
reduces the loop; `recentre` shifts the zero of each delta from the middle of the range to the nominal value; `_assemble` counts
repetitions and names the channels.
"""
