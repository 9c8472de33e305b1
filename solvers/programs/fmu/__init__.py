"""Models as FMUs, which other tools simulate (Functional Mock-up Interface 2.0 and 3.0, fmi-standard.org).

- `export_fmu`: what users call;
- `fmu_description`: variables, units and structure as XML;
- `fmu_archive`: sources, compiled library and archive;
- ``runtime.c``: the interface's functions in C, for any model; integration and the clock of a controller for co-simulation.
"""
