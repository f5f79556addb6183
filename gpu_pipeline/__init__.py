"""Generate a GitLab CI child pipeline for GPU training from `routing.toml`.

The data flows through these modules, in this order:

1. `routing`   reads routing.toml into a frozen model (`routing_model`), every problem with its line
2. `resolve`   turns the model into jobs whose every value knows the line it came from
3. `context`   says what the parent pipeline is: source, branch, captured variables
4. `child`     decides everything that the child pipeline contains
5. `render`    gives it the shape of the templates; `readback` proves the text says what was meant
6. `files`     writes it in one step; `report` shows the same objects as text, JSON or Markdown
"""
