"""Constraints on the coordinates of a tree of joints: ports joined in loops, and coupled coordinates.

- `closure`: the common part of loop closures, the relative motion of two ports;
- `rigid_closure`: two ports joined as by a joint; `rolling`: a disc, sphere or edge on a plane, without slip;
- `distance`: a massless rod;
- `relation`: coordinates with a linear relation, and gears, with two.
"""
