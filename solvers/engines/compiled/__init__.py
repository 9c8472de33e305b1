"""The engine that users get: tables, and kernels that read them (`titop.solvers.kernels`).

- `tables`, `flatten`: the structure of a system as arrays; `law_tables`, of `law_kinds` and `python_laws`: the laws of general
  blocks and interactions;
- `packed`: a system as tables, and its variants; `repacking`: which parameters are written into the tables anew; `rounding`:
  how small pivots may become;
- `acted_on`: kernels bound to tables, and wrenches and inputs in these, call by call; `constrained`: with rigid closures and
  gears; `efforts`: along the coordinates; `readings`: sensors, reactions, motions of ports;
- `calls`: all of these by the names of a model's functions;
- `dynamics`, `derivatives`, `states`, `series`, `observations`: the engine's cores, for arguments that were read;
- `prepared`: the dynamics for integrators;
- `engine`: all of these, and mechanisms with other parameters;
- `compile_ahead`: compiling everything at once.
"""
