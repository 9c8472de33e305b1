"""The engine that users get: tables, and kernels that read them (`titop.solvers.kernels`).

- `tables`, `flatten`: the structure of a system as arrays; `law_tables`, `python_laws`: the laws of general blocks and
  interactions; `constraint_tables`: rigid closures and gears; `element_parts`, `inertial_changes`: what rounding does to them;
- `packed`: a model as tables; `acted_on`: wrenches and inputs, call by call;
- `coordinates`, `observations`, `efforts`, `closed_readings`, `readings`: what is read of a state;
- `resolver`: dynamics; `hybrid`: in any causality; `derivatives`, `closed_derivatives`: derivatives; `prepared`: for
  integrators;
- `compile_ahead`: compiling everything at once.
"""
