"""The engine that users get: tables, and kernels that read them (`titop.solvers.kernels`).

- `tables`, `flatten`: the structure of a system as arrays; `law_tables`, `law_kinds`, `python_laws`: the laws of general blocks
  and interactions, `program_codes`: their programs; `constraint_tables`: rigid closures and gears; `element_parts`,
  `inertial_changes`: what rounding does;
- `packed`: a system as tables, and its variants; `rounding`: how small pivots may become; `repacking`: which parameters are
  written into the tables anew; `special_blocks`: what some kernels leave to Python;
- `calls`: all kernels by the names of a model's functions, for its fast path: `closed_kernels`, `hybrid`, `directions`,
  `port_calls`, `efforts`, `energies`; `acted_on`: wrenches and inputs, call by call; `stacked_calls`: those of stacked states;
- `reading_tables`, `reading`, `readings`: sensors, reactions, motions of ports;
- `dynamics`, `derivatives`, `states`, `series`, `observations`: the engine's cores, for arguments that were read;
- `prepared`: the dynamics for integrators;
- `engine`: all of these, and models with other parameters;
- `compile_ahead`: compiling everything at once.
"""
