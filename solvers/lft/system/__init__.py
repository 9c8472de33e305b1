"""A whole system as one loop.

- `passes`: motions outwards over the tree, wrenches back; `readings`: outputs; `joining`: interactions, closures and gears;
- `system_loop`: all of it, with inputs and states.
"""
