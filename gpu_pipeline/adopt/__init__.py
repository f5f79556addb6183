"""From a hand-written GitLab CI file to a routing that renders the same jobs.

1. `handwritten` reads the jobs as GitLab sees them, each that `parallel` makes by itself
2. `starting`    puts `rules`, `only` and `when` into the rules of a child pipeline
3. `training`    finds models and epochs in the commands, `quoting` where a shell puts values
4. `places`      says which task, model, family and pool a job belongs to
5. `settings`    collects what each job is given, `lifting` finds the layer to say it in;
                 `absorption` and `capture` say what becomes of variables
6. `draft`       is the routing in the making, `routing_text` writes it as a person would
7. `templates`   writes the bases and tasks that are not as the shipped ones
8. `proof`       renders the result and holds each job against the hand-written one, in the kinds
                 of pipeline that `occasions` names
9. `report`      says what was lost, changed, added and assumed
"""
