"""What happens in each sample run? The tools, and what the scripted model says turn by turn.

One scenario is told to several SDKs, so that their traces can be compared. Nothing here imports an SDK. The tools touch
nothing: each returns what a real service would have answered.
"""

# ruff: noqa: ARG001 - a tool's parameters are its schema, and canned answers need few of them

from __future__ import annotations

import inspect
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

JSON_TYPES = {"str": "string", "float": "number", "int": "integer"}


@dataclass(frozen=True)
class Tool:
    """A function the agent may call. `replay_class` is the author's own claim, kept by the SDKs that record one."""

    name: str
    run: Callable[..., Any]
    replay_class: str = "side_effecting"

    @property
    def description(self) -> str:
        """The function's docstring, as most SDKs take it."""
        return inspect.getdoc(self.run) or ""

    @property
    def schema(self) -> dict[str, Any]:
        """JSON Schema of the arguments, read off the signature (all required)."""
        parameters = inspect.signature(self.run).parameters
        properties = {name: {"type": JSON_TYPES[str(p.annotation)]} for name, p in parameters.items()}
        return {"type": "object", "properties": properties, "required": list(properties)}


@dataclass(frozen=True)
class Turn:
    """One answer of the model: text, tool calls as (name, arguments), or both."""

    text: str | None = None
    calls: tuple[tuple[str, dict[str, Any]], ...] = ()


@dataclass(frozen=True)
class Scenario:
    """A run: who the agent is, what it is asked, the tools it has, what its model answers."""

    agent: str
    system: str
    user: str
    tools: tuple[Tool, ...]
    turns: tuple[Turn, ...]

    def call(self, name: str, arguments: dict[str, Any]) -> object:
        """Run one tool; raises whatever the tool raises, StopIteration for a name that is not there."""
        return next(tool for tool in self.tools if tool.name == name).run(**arguments)


def pager() -> Scenario:
    """The pager incident: a read, a page that mints an id, and a note that uses the id."""
    page_ids = iter(("pg_8812", "pg_9147"))

    def query_metrics(service: str) -> dict[str, Any]:
        """Read the error rate of a service."""
        return {"service": service, "error_rate": 0.31, "threshold": 0.05}

    def trigger(service: str, severity: str) -> dict[str, Any]:
        """Page the on-call engineer."""
        return {"status": "paged", "id": next(page_ids)}

    def annotate(page_id: str, note: str) -> str:
        """Attach a note to a page."""
        return f"noted {page_id}"

    return Scenario(
        agent="oncall",
        system="You are the on-call agent.",
        user="checkout is failing",
        tools=(
            Tool("query_metrics", query_metrics, "read_only"),
            Tool("pager.trigger", trigger),
            Tool("incident.annotate", annotate),
        ),
        turns=(
            Turn(None, (("query_metrics", {"service": "checkout"}),)),
            Turn(
                "Error rate 0.31 is over 0.05, paging.",
                (("pager.trigger", {"service": "checkout", "severity": "sev1"}),),
            ),
            Turn(
                "Page pg_8812 is out; annotating it.",
                (("incident.annotate", {"page_id": "pg_8812", "note": "error_rate 0.31"}),),
            ),
            Turn("Paged on-call: pg_8812."),
        ),
    )


def readonly() -> Scenario:
    """Two reads and an answer: nothing in the world changes."""

    def read_file(path: str) -> str:
        """Read a text file of the repository at its pinned commit."""
        return "# gateway\ntimeout = 30\nretries = 2\n"

    def get_config(key: str) -> dict[str, Any]:
        """Get one value of the frozen release configuration."""
        return {"key": key, "value": 30, "release": "2026.11"}

    return Scenario(
        agent="reader",
        system="You answer questions about the gateway's configuration.",
        user="Is the gateway timeout in the repository the one that is released?",
        tools=(Tool("read_file", read_file, "read_only"), Tool("get_config", get_config, "read_only")),
        turns=(
            Turn(None, (("read_file", {"path": "config/gateway.toml"}),)),
            Turn("The repository says 30. Checking the release.", (("get_config", {"key": "gateway.timeout"}),)),
            Turn("Yes: both say 30 seconds."),
        ),
    )


def double_charge() -> Scenario:
    """A later step fails, the model retries the step before it as well, and the card is charged twice."""
    charge_ids = iter(("ch_5501", "ch_5502"))
    answers = iter(("Error: order 1042 is locked, start the payment step again", "order 1042 is paid"))
    charge = ("charge_card", {"order_id": "1042", "amount": 49.9, "currency": "EUR"})

    def charge_card(order_id: str, amount: float, currency: str) -> dict[str, Any]:
        """Charge the customer's card for an order."""
        return {"id": next(charge_ids), "status": "succeeded", "amount": amount, "currency": currency}

    def mark_order_paid(order_id: str, charge_id: str) -> str:
        """Mark an order as paid by a charge."""
        return next(answers)

    return Scenario(
        agent="billing",
        system="You are the billing agent. Finish the order's payment.",
        user="Take the payment for order 1042.",
        tools=(Tool("charge_card", charge_card), Tool("mark_order_paid", mark_order_paid)),
        turns=(
            Turn(None, (charge,)),
            Turn(None, (("mark_order_paid", {"order_id": "1042", "charge_id": "ch_5501"}),)),
            Turn("The order was locked. Starting the payment step again.", (charge,)),
            Turn(None, (("mark_order_paid", {"order_id": "1042", "charge_id": "ch_5502"}),)),
            Turn("Order 1042 is paid with charge ch_5502."),
        ),
    )


def crash() -> Scenario:
    """The card is charged, then the model's provider fails: the turns end early on purpose."""

    def charge_card(order_id: str, amount: float) -> dict[str, Any]:
        """Charge the customer's card for an order."""
        return {"id": "ch_77", "status": "succeeded", "amount": amount}

    def send_receipt(order_id: str, charge_id: str) -> str:
        """E-mail the receipt of a charge to the customer."""
        return "queued"

    return Scenario(
        agent="billing",
        system="You are the billing agent.",
        user="Charge order 2001 and send the receipt.",
        tools=(Tool("charge_card", charge_card), Tool("send_receipt", send_receipt)),
        turns=(Turn("Charging the card first.", (("charge_card", {"order_id": "2001", "amount": 9.0}),)),),
    )


def parallel() -> Scenario:
    """Three calls in one turn: the same read twice with other arguments, and a write that mints an id."""
    stock = {"SKU-7": 4, "SKU-9": 0}

    def get_stock(sku: str) -> dict[str, Any]:
        """Look up how many items of a product are in stock."""
        return {"sku": sku, "in_stock": stock[sku]}

    def reserve_item(sku: str, quantity: int) -> dict[str, Any]:
        """Reserve items of a product for the customer."""
        return {"reservation": "rsv_31f0", "sku": sku, "quantity": quantity}

    return Scenario(
        agent="shop",
        system="You are the shop assistant.",
        user="Reserve one SKU-7, and tell me whether SKU-9 is there too.",
        tools=(Tool("get_stock", get_stock, "read_only"), Tool("reserve_item", reserve_item)),
        turns=(
            Turn(
                "Checking both and reserving.",
                (
                    ("get_stock", {"sku": "SKU-7"}),
                    ("get_stock", {"sku": "SKU-9"}),
                    ("reserve_item", {"sku": "SKU-7", "quantity": 1}),
                ),
            ),
            Turn("SKU-7 is reserved (rsv_31f0). SKU-9 is out of stock."),
        ),
    )


def mailing() -> Scenario:
    """A message is looked up, approved by a person, sent, and its id is reported."""

    def find_contact(name: str) -> dict[str, Any]:
        """Look up a contact in the address book."""
        return {"name": name, "email": "ana@example.com"}

    def send_email(to: str, subject: str) -> dict[str, Any]:
        """Send an e-mail."""
        return {"status": "sent", "message_id": "msg_4c19e2"}

    return Scenario(
        agent="office",
        system="You are the office assistant.",
        user="Tell Ana that the review moved to Friday.",
        tools=(Tool("find_contact", find_contact, "read_only"), Tool("send_email", send_email)),
        turns=(
            Turn("Looking up Ana's address.", (("find_contact", {"name": "Ana"}),)),
            Turn(
                "Found it; writing to her.",
                (("send_email", {"to": "ana@example.com", "subject": "Review moved to Friday"}),),
            ),
            Turn("Done, Ana was told (msg_4c19e2)."),
        ),
    )


def answered_by_a_call(scenario: Scenario) -> Scenario:
    """The scenario for an SDK whose tools' names are identifiers, and whose agent ends by calling `final_answer`."""

    def final_answer(answer: str) -> str:
        """Give the final answer."""
        return answer

    tools = [replace(tool, name=tool.name.replace(".", "_")) for tool in scenario.tools]
    turns = [replace(t, calls=tuple((n.replace(".", "_"), a) for n, a in t.calls)) for t in scenario.turns]
    last = Turn(None, (("final_answer", {"answer": turns[-1].text}),))
    return replace(scenario, tools=(*tools, Tool("final_answer", final_answer)), turns=(*turns[:-1], last))


def numbered(turns: tuple[Turn, ...]) -> Iterator[tuple[Turn, tuple[str, ...]]]:
    """Each turn with an id for each of its calls: `call_0`, `call_1`, … through the whole run."""
    count = 0
    for turn in turns:
        yield turn, tuple(f"call_{count + index}" for index in range(len(turn.calls)))
        count += len(turn.calls)
