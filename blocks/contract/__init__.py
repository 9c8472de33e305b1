"""What a block is: the contract that every block fulfils, and how titop reads it.

- `block`: the contract, and how to write a block of your own, in parts: `coordinates`: its own coordinates; `surroundings`:
  what acts on it because of its motion and pose; `description`: what it answers pictures, checks, files and linear fractional
  models; `block_law`: its law, and what follows from that;
- `fields`: the gate through which all that users give to a block comes in; `sending`: what keeps blocks
  from going to other processes;
- `law`: the law of a block at a state, and laws that titop compiles; `applied`: surroundings as the law feels them;
- `target_motion`: what is told of the motion of ports and coordinates;
- `overrides`: what a class redefines of titop's own.
"""
