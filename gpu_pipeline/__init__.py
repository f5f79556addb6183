"""Generate a GitLab CI child pipeline for GPU training from `routing.toml`.

The data flows through these modules, in this order:

1. `routing`   reads routing.toml into a frozen model (`routing_model`), every problem with its line
2. `resolve`   turns the model into jobs whose every value knows the line it came from
3. `context`   says what the parent pipeline is: source, branch, captured variables
4. `child`     decides everything that the child pipeline contains
5. `rules/`    say which jobs run under which parent (`contexts`, `outcomes`)
6. `render`    gives the child the shape of the templates; `readback` proves the text says that
7. `checks/`   find what GitLab, the runner or the nodes (`cluster/`) would do otherwise than meant
8. `files`     writes in one step; `reports/` show the same objects as text, JSON or Markdown

`plan/` says from the same jobs who runs when and what it costs; `routing_diff` and `plan_diff` hold
two routings against each other, of which `revisions` may read one from git.

`adopt/` goes the other way: from a hand-written CI file to a routing that renders its jobs.

`cli` reads the options, and the module of each command in `commands/` runs these steps; only they,
`loading`, `revisions`, `files` and `console` touch the world.
"""
