"""A gate's answer as Markdown, for a pull request or a change record; `answer` is what REST gave."""

from collections.abc import Mapping, Sequence
from typing import Any

WORDS = {"pass": "PASS", "refuse": "REFUSE", "cannot_say": "CANNOT SAY"}
SIGNS = {"shown": "yes", "failed": "**no**", "not_shown": "not shown", "waived": "waived"}


def markdown(answer: Mapping[str, Any]) -> str:
    """The whole answer: verdict, reasons, promises, checklist, slices."""
    sides = [answer["baseline"], answer["candidate"]]
    lines = [f"# Rollout gate: {WORDS[answer['verdict']]}", ""]
    lines += [
        f"- {side}: `{item['name']}`, {item['evaluated']:,} evaluated requests from {item['window']['from']} "
        f"to {item['window']['to']}, layout {item['layout'] or 'not known'}, "
        f"{told(item['accelerators'])} accelerators"
        for side, item in zip(("Baseline", "Candidate"), sides, strict=True)
    ]
    if plan := answer["plan"]:
        lines.append(
            f"- Receipt: {cell(plan['name'])}, {plan['status']}; scenario {plan['scenario'] or 'none fits'}"
        )
    if not answer["settled"]:
        lines.append("- Not final: spans of the window were still being taken into account.")
    for title, name in (("Refused because", "refused"), ("Not said because", "unsaid")):
        if answer[name]:
            lines += ["", f"## {title}", "", *(f"- {cell(reason)}" for reason in answer[name])]
    if answer["promises"]:
        lines += ["", "## Promised (modelled) and measured (observed)", ""]
        lines += _table(
            ("line", "promised", "measured", "limit", "kept", "why"), map(_promise, answer["promises"])
        )
    lines += ["", "## Checklist", ""]
    lines += _table(("line", "answer", "because", "source"), map(_check, answer["checklist"]))
    lines += ["", "## Slices", ""]
    head = ("slice", "requests", "figure", "baseline", "candidate", "difference", "better")
    lines += _table(head, (row for part in answer["slices"] for row in _slice(part)))
    return "\n".join(lines) + "\n"


def told(value: float | None, digits: str = ".4g") -> str:
    """A number as people write it; a dash where there is none."""
    return "–" if value is None else format(value, digits)


def between(interval: Mapping[str, float | None]) -> str:
    """A value with its interval."""
    if interval["value"] is None:
        return "–"
    return f"{told(interval['value'])} [{told(interval['low'])}, {told(interval['high'])}]"


def cell(text: object) -> str:
    """Text that cannot break a Markdown table or start markup of its own."""
    plain = " ".join(str(text).split()).replace("\\", "\\\\")
    for sign in "|`*_<>[]":
        plain = plain.replace(sign, "\\" + sign)
    return plain


def _promise(line: Mapping[str, Any]) -> Sequence[str]:
    of = f", prompts {line['prompts']}" if line["prompts"] else ""
    name, limit = f"{line['name']}{of} ({line['unit']})", told(line["limit"])
    return (name, told(line["promised"]), between(line["measured"]), limit, line["kept"], line["why"])


def _check(check: Mapping[str, Any]) -> Sequence[str]:
    return (cell(check["title"]), SIGNS[check["status"]], cell(check["answer"]), cell(check["source"]))


def _slice(part: Mapping[str, Any]) -> list[Sequence[str]]:
    name = cell("all" if part["by"] == "all" else f"{part['by']} {part['key'] or 'not named'}")
    count = f"{part['requests']['baseline']:,} / {part['requests']['candidate']:,}"
    sides = ("baseline", "candidate", "difference")
    return [
        (
            name,
            count,
            f["name"],
            *(between(f[side]) for side in sides),
            f["better"] or cell(f["reason"] or "–"),
        )
        for f in part["figures"]
    ]


def _table(head: Sequence[str], rows: Any) -> list[str]:
    out = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return out + ["| " + " | ".join(row) + " |" for row in rows]
