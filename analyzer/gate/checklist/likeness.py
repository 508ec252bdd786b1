"""Whether both cohorts run the same thing on the same hardware."""

from analyzer.gate.check import Check, Fact, not_shown, shown
from analyzer.gate.cohort import Cohort
from analyzer.gate.evidence import Evidence

MUST_AGREE = ("model_revision", "tokenizer", "kv_layout", "kv_dtype", "block_size", "tp", "pp")
"""`pd.compat.*` that both cohorts must state alike."""


def pinned_and_equal(e: Evidence) -> Check:
    """Model, layout and parallelism: stated by every worker, and one value on both sides."""
    line, title = "pinned_and_equal", "Model, layout and parallelism are pinned and equal"
    differ, unknown = [], []
    facts: dict[str, Fact] = {}
    for key in MUST_AGREE:
        ours, theirs = _values(e.baseline, key), _values(e.candidate, key)
        facts[key] = f"{_said(ours)} / {_said(theirs)}"
        if None in ours | theirs or not ours or not theirs:
            unknown.append(key)
        elif ours != theirs or len(ours) > 1:
            differ.append(f"{key}: {_said(ours)} on the baseline, {_said(theirs)} on the candidate")
    models = e.baseline.members("model").keys(), e.candidate.members("model").keys()
    facts["models"] = f"{_said(set(models[0]))} / {_said(set(models[1]))}"
    if models[0] and models[1] and models[0] != models[1]:
        differ.append("other models are served")
    if differ:
        return shown(line, title, False, "; ".join(differ), facts)
    if unknown:
        return not_shown(
            line, title, f"not every worker states pd.compat.{', pd.compat.'.join(unknown)}", facts
        )
    return shown(line, title, True, "every worker of both cohorts states the same", facts)


def connector_pinned(e: Evidence) -> Check:
    """The connector is one, and stated by both sides of every hand-off."""
    line, title = "connector_pinned", "The KV connector is pinned"
    workers = [*e.candidate.workers("prefill"), *e.candidate.workers("decode")]
    found = {worker.agreed.get("connector") for worker in workers}
    versions = {worker.agreed.get("connector_version") for worker in workers}
    facts: dict[str, Fact] = {"connector": _said(found), "connector_version": _said(versions)}
    if not found or None in found | versions:
        return not_shown(line, title, "not every worker states its connector and its version", facts)
    one = len(found) == 1 and len(versions) == 1
    answer = f"{_said(found)} {_said(versions)}" if one else "workers differ in connector or version"
    return shown(line, title, one, answer, facts)


def equal_hardware(e: Evidence) -> Check:
    """As many accelerators on both sides."""
    line, title = "equal_hardware", "Both cohorts run on equal hardware"
    ours, theirs = e.baseline.gpus, e.candidate.gpus
    facts: dict[str, Fact] = {"baseline_gpus": ours, "candidate_gpus": theirs}
    if ours is None or theirs is None:
        return not_shown(line, title, "not every worker says pd.gpus", facts)
    return shown(line, title, ours == theirs, f"{ours:g} and {theirs:g} accelerators", facts)


def _values(cohort: Cohort, key: str) -> set[str | None]:
    return {worker.agreed.get(key) for worker in cohort.workers("any")}


def _said(values: set[str | None]) -> str:
    return " and ".join(sorted("not stated" if value is None else value for value in values)) or "nothing"
