"""What a block is: the contract that every block fulfils, and how titop reads it.

- `block`: the contract, and how to write a block of your own;
- `law`: the law of a block at a state, and laws that titop compiles;
- `surroundings`: what acts on a block because of its motion and pose; `applied`: that, as the law feels it;
- `overrides`: what a class redefines of titop's own.
"""
