"""Random prefill/decode serving scenarios with known causes: a second ground truth for verdicts.

A scenario is a small deployment (`spec`), drawn at random (`deployment`), with one or two faults
(`faults`), played through a discrete-event queueing model (`model`, `prefill`, `decode`, `links`,
`stream`). Its truth (`truth`) comes from playing the same seed again without each fault. `telemetry` and
`metrics` turn a run into OTLP; `ablate` takes a signal away; `run` plays scenarios against a running
pdscope and `score` judges the answers.

Nothing here may import collector, analyzer or dashboards: the judge must not share code with what it
judges.
"""
