"""Reading the arguments of a model's functions.

- `reading`: states, wrenches, names and ranges about nominal values, with errors for wrong ones;
- `rowwise`: functions of one state at stacked states, each with its own wrenches and inputs.
"""
