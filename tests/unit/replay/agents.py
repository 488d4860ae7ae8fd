"""Which agents do the tests of a rerun run? An on-call agent that decides as its trace tells, and ones that do not."""

from __future__ import annotations

from typing import Any

METRICS = {"service": "checkout"}
PAGE = {"service": "checkout", "severity": "sev1"}


def oncall(ports: Any) -> Any:
    """The recorded agent: what it does follows from what it is given."""
    ports.model.ask()
    metrics = ports.tools.call("query_metrics", METRICS)
    ports.model.ask()
    page = ports.tools.call("pager.trigger", PAGE)
    ports.model.ask()
    if int(page["id"].rpartition("_")[2]) % 2:
        return ports.tools.call("escalate", {"page_id": page["id"]})
    ports.tools.call("incident.annotate", {"page_id": page["id"], "note": f"error_rate {metrics['error_rate']}"})
    return ports.model.ask().text


def silent(ports: Any) -> Any:
    """The same without a model."""
    metrics = ports.tools.call("query_metrics", METRICS)
    page = ports.tools.call("pager.trigger", PAGE)
    if int(page["id"].rpartition("_")[2]) % 2:
        ports.tools.call("escalate", {"page_id": page["id"]})
    else:
        ports.tools.call("incident.annotate", {"page_id": page["id"], "note": f"error_rate {metrics['error_rate']}"})
    return f"Paged on-call: {page['id']}."


def louder(ports: Any) -> Any:
    """Pages sev2 for sev1."""
    ports.model.ask()
    ports.tools.call("query_metrics", METRICS)
    ports.model.ask()
    ports.tools.call("pager.trigger", {**PAGE, "severity": "sev2"})
    return "not reached"


def swallowing(ports: Any) -> Any:
    """Goes on whatever happens, as far as Python lets it."""
    for severity in ("sev2", "sev1"):
        try:
            ports.tools.call("pager.trigger", {**PAGE, "severity": severity})
        except Exception:  # noqa: BLE001, S112 - that is its point
            continue
    return "swallowed"


def prompting(ports: Any) -> Any:
    """Shows its model every message, as chat APIs have them."""
    messages: list[dict[str, Any]] = [
        {"role": "system", "content": "You are the on-call agent."},
        {"role": "user", "content": ports.input},
    ]
    while True:
        answer = ports.model.ask(messages)
        messages.append({"role": "assistant", "content": answer.text})
        if not answer.calls:
            return answer.text
        for call in answer.calls:
            result = ports.tools.call(call.name, call.arguments, call_id=call.id)
            messages.append({"role": "tool", "tool_call_id": call.id, "content": result})


def other_prompt(ports: Any) -> Any:
    """The same with another system prompt, and nobody told."""
    return ports.model.ask([{"role": "system", "content": "Be brief."}, {"role": "user", "content": ports.input}]).text
