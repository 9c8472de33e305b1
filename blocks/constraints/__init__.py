"""Constraints: what the coordinates of a tree of joints obey, of ports that meet and of coordinates that move together.

- `closure`: what closures of loops have in common, the relative motion of two ports;
- `rigid_closure`: two ports joined as by a joint; `gear`: two coordinates that move together.
"""
