"""Signals: the quantities that names stand for, with their units, values and derivatives.

- `grammar`: parses a name into a `Quantity`, depending on the argument in which it is given, and lists the signals of
  controllers in all spellings; `forms`: the forms of names. Names are parsed nowhere else;
- `quantities`: the kinds of quantities, their units, and the interface of a model that has them; `values`: how each kind is
  read, and its derivative (`lines_and_sections`, `reactions_and_contacts`);
- `sensor_quantities`: the quantities that sensors measure, one entry for each class;
- `snapshot`: the state at which signals are read, and its derivatives; `system_inputs`: the inputs of systems;
- `exported`: paths, units and exported names.
"""
