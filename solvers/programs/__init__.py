"""Models and controllers as programs: all that they compute at a state or a sample, as operations and loops of these.

- `tracing`: the reference engine's passes, run with numbers that are not known yet, become programs;
- `program_outputs`: outputs, by the names of signals;
- `model_program`: what `Model.program` returns: the programs, and their calls at one state or many; `trusted_program`: by what
  number they tell whether results can be trusted;
- `system_program`: a model between inputs and outputs as programs; `closed_loop`: with a controller in continuous time;
- `c_text`: numbers, names and comments in C; `c_code`: programs as functions in C;
- `c_controllers`: what is printed of linear, sampled and scheduled controllers; `controller_text`: their C;
- `program_text`: the C of a model's programs; `export_c`: folders of C, with tests;
- `cuda_code`: programs as CUDA; `on_gpu`: these on a graphics processor, for arrays of CuPy and other libraries;
- `fmu`: as FMUs, for other tools to simulate.
"""
