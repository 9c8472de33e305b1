"""Models and controllers as straight-line programs, and as text in C that needs nothing of titop.

- `tracing`: the reference engine's passes, run with numbers that are not known yet, become programs;
- `readings`: outputs, by the names of signals;
- `model_program`: what `Model.program` returns: the programs, and their calls at one state or many;
- `system_program`: a model between inputs and outputs as programs;
- `export_c`: what users call: a folder of a header, a source and a test;
- `c_controllers`: what is printed of linear, sampled and scheduled ones; `controller_text`: their C;
- `c_text`: numbers, names and comments in C;
- `fmu`: as FMUs, for other tools to simulate.
"""
