"""Linear fractional models of systems with uncertain parameters: exact, with few repetitions.

Each block's law is taken as factors in which its uncertain numbers stand as few times as possible; all of them form one loop,
which is solved once, reduced, and named.

- `fractions`: loops with uncertain factors, and their reduction;
- `uncertainty`: names, ranges, operating points that move;
- `laws`: which factors a block has;
- `system`: the passes over a tree, closures, outputs;
- `connections`: controllers, delays, neglected dynamics;
- `model`: members, files, and what users have in hand;
- `refusals`: what is told of ranges; `lft`, `arcs`: the functions of users.
"""
