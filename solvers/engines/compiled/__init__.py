"""The default engine: tables, and kernels that read them (`titop.solvers.kernels`).

- `tables`, `flatten`: the structure of a system as arrays; `law_tables`, of `law_kinds` and `python_laws`: the laws of general
  blocks and interactions;
- `packed`: a system as tables, and its variants; `repacking`: changes of parameters in the tables; `rounding`: whether
  changed parameters may make pivots too small;
- `acted_on`: kernels bound to tables, with the wrenches and inputs of a call; `bound_kernels`: those of rigid closures and
  gears, of efforts and of series; `compiled_readings`: sensors, reactions, motions of ports;
- `along`: time derivatives of all that is compiled, by the kernels of plain dynamics in jets;
- `function_kernels`: all kernels by the names of a model's functions;
- `compiled_dynamics`, `compiled_derivatives`, `observations`: the engine's cores, for checked arguments;
- `prepared_kernels`: the dynamics for integrators;
- `compiled_engine`: the engine, and mechanisms with changed parameters;
- `compile_ahead`: compiling all kernels in advance.
"""
