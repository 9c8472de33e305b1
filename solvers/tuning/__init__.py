"""Tuning controllers of fixed structure.

A controller is a set of blocks, connected by names, some numbers of which are tuned. Around a plant that has their states all
blocks together are one matrix S, so that every structure is a constant gain. Goals are functions of the loop closed by S; the
highest of all goals of all members of a family is minimised.

- `tunables`: blocks with numbers to be tuned; `tunable_parameters`: these numbers as users give them;
- `goals`: what is to be achieved;
- `tuned_loop`: the augmented plant, the loop around S, and how it changes with S;
- `controller_blocks`: blocks connected, as S and in the coordinates of a search;
- `goal_terms`: goals as functions of the loop, with their gradients;
- `minimax`: the least maximum of functions that are smooth each; `objective`: that of all goals of all members;
- `tuning_search`: where searches start, and one from there to an optimum; `full_order`: controllers as starts;
- `plant_families`: plants of all kinds as they are read;
- `worst_members`: those of a family for a tuned controller; `proof`: bounds of goals for all members;
- `tuning_problem`: all that is given; `tune`: what users call; `tuned_controller`: what they get;
- `musyn`: mu synthesis for families, which tunes controllers of full order; `structured_levels`: mu of a loop as a goal.
"""
