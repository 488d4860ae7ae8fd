"""A name that reads proves nothing: what its description, its hints, its arguments and its schema say against it."""

from __future__ import annotations

import pytest

from forensics.core.classes import Classification, Effect, RestsOn, Stability, ToolFacts, resolve
from forensics.core.policy import BasePolicy, Policy, TrustEntry
from forensics.proofs.calls import answer
from forensics.rules import load_rules

RULES = load_rules()
NOBODY = Policy(name="strict", base=BasePolicy.STRICT, digest="sha256:0")
TRUSTING = Policy(name="t", base=BasePolicy.STRICT, digest="sha256:1", trust=(TrustEntry(server="known"),))

WRITING_DESCRIPTIONS = [
    "Gets the cart, creating it if the user has none.",
    "Get or create the default project.",
    "Returns the settings and resets them to the defaults.",
    "Fetches the next message and removes it from the queue.",
    "Reads the inbox and marks every message as read.",
    "Lists pending jobs and starts them.",
    "Retrieves the invoice and emails it to the customer.",
    "Get a page. The page is deleted afterwards.",
    "Returns the counter after incrementing it.",
    "Checks the deployment and rolls it back if it fails.",
    "Look up a contact; a new one is added when none is found.",
    "Fetch updates. Acknowledges every update that was returned.",
    "Get the report. This also sends it to the whole team.",
    "Returns a session and logs the user in.",
    "Finds an available seat and reserves it.",
    "Reads a value, then writes it back in the new format.",
    "Get the file and save it to the downloads folder.",
    "Search for duplicates and merge them.",
    "Shows a form and prompts the user for an answer.",
    "Inspects the volume and repairs it.",
    "Validates the order and submits it to the exchange.",
    "Verifies the card by charging a small amount.",
    "Get the secret and rotate it.",
    "Retrieve the lock, overwriting any earlier holder.",
    "View the ticket and assign it to yourself.",
    "Preview the change, then apply it.",
    "Lists files. Old files are purged.",
    "Returns the token, which is revoked when you call it again.",
    "Get the row and update its timestamp.",
    "Fetches the feed and stores the items in the database.",
    "Permanently deletes the page and returns it.",
    "Downloads the archive to the local disk.",
    "Lists templates, syncing them from the remote first.",
    "Fetches a feed and subscribes to it.",
    "Retrieves messages from the specified queue.",
    "View a story. The owner is notified.",
    "Fetches a URL with any HTTP method.",
    "List notifications. Reading them clears the badge.",
    "Analyze an image. Uploads it to a public bucket.",
    "Detect faces; adds them to the album.",
    "Diagnose the cluster, deleting failed pods.",
    "List, read or write files.",
    "Get a heap dump of a process. The process is stopped meanwhile.",
    "Look up a number. Each lookup is billed.",
    "Obtain a picture. Returns the path under which its content was saved.",
    "View the output of a terminal. Only what is new since the last call is returned.",
    "Get a file. It can only be downloaded once.",
    "Read a conversation. A visit selects the row and may mark it as read.",
    "Get items. Обрабатывает и удаляет их.",
    "Obtiene la lista de usuarios y elimina los inactivos.",
    "Récupère la facture et envoie un rappel au client.",
    "Holt den Bericht und löscht danach die Daten.",
    "获取通知列表。会清除未读标记。",
    "アイテムを取得し、既読にします。",
    "항목을 가져오고 삭제합니다.",
]
HARMLESS_DESCRIPTIONS = [
    "Gets the cart of a user.",
    "Returns the settings. Does not modify them.",
    "Lists the jobs that were started today.",
    "Get a page. Use this before you update or delete it.",
    "Fetches the messages that were sent.",
    "Get the time at which a page was created.",
    "List what was changed, added or removed recently.",
    "Get a pull request, including whether it is merged.",
    "Search logs. Results are sorted by time and can be filtered.",
    "Fetch a run. If it is still in progress, wait and call this again.",
    "Get rows. The first row starts at 1.",
    "Get view and edit restrictions of a page.",
    "Find a place. Setting a limit is encouraged.",
    "List the jobs of a group which the scheduler updates the most.",
    "Use the archive to search for old pages.",
    "Get all rules, including those that the owner updates the most.",
    "Get a page. **DEPRECATED** This tool will be removed in a future release.",
]


def judged(facts: ToolFacts, policy: Policy = NOBODY, arguments: object = None) -> Classification:
    said = (*RULES.tool_evidence(facts, policy), *RULES.call_evidence(facts, arguments, policy))
    return resolve(answer(said, facts, arguments, RULES.answered_by_proof))


@pytest.mark.parametrize("description", WRITING_DESCRIPTIONS)
@pytest.mark.parametrize("name", ["get_thing", "listThings", "search.things"])
def test_a_name_that_reads_and_a_description_that_writes_are_never_idempotent(name: str, description: str) -> None:
    assert judged(ToolFacts(name, description=description)).effect is not Effect.NONE


@pytest.mark.parametrize("description", WRITING_DESCRIPTIONS)
def test_not_even_where_its_server_is_trusted(description: str) -> None:
    facts = ToolFacts("get_thing", server="known", description=description, hints={"readOnlyHint": True})
    assert judged(facts, TRUSTING).effect is not Effect.NONE


@pytest.mark.parametrize(
    "description",
    [
        "Get 页面并删除",
        "获取页面",
        "Get страницу и удалить её",
        "Löscht die Seite.",
        "Get la página; después la eliminará así.",
    ],
)
def test_a_description_in_another_language_says_nothing_of_reading(description: str) -> None:
    assert judged(ToolFacts("get_page", description=description)).effect is not Effect.NONE


@pytest.mark.parametrize(
    "description", ["Get the menu of a café.", "Get a page — 📄 as text.", "Get a user\u2019s naïve guess."]
)
def test_single_letters_of_other_languages_are_no_other_language(description: str) -> None:
    assert judged(ToolFacts("get_page", description=description)).effect is Effect.NONE


@pytest.mark.parametrize(
    "description",
    [
        "获取未读数。不会清除未读标记。",
        "获取项目的创建时间。",
        "Получает запись. Никогда не удаляет.",
        "Muestra la lista. No elimina nada.",
    ],
)
def test_a_trusted_reader_in_another_language_still_reads(description: str) -> None:
    facts = ToolFacts("get_item", server="known", description=description, hints={"readOnlyHint": True})
    assert judged(facts, TRUSTING).effect is Effect.NONE


@pytest.mark.parametrize(
    ("name", "description"),
    [
        ("sort_rows", "Returns the rows."),
        ("nudge_members", "Provides the members."),
        ("nudge_results", "Filter the results into folders."),
    ],
)
def test_a_verb_that_no_list_has_is_not_passed_over_for_the_thing_behind_it(name: str, description: str) -> None:
    assert judged(ToolFacts(name, description=description)).effect is not Effect.NONE
    listed = judged(ToolFacts(name.split("_")[1], description="Lists them."))
    assert listed.effect is Effect.NONE


SWITCHES = ["markAsRead", "clear", "auto_fix", "delete-after", "createIfMissing", "reset", "notify_users"]


@pytest.mark.parametrize("name", SWITCHES)
def test_an_argument_that_adds_an_act_is_no_reading(name: str) -> None:
    schema: dict[str, object] = {"properties": {"id": {"type": "string"}, name: {"type": "boolean"}}}
    facts = ToolFacts("get_messages", description="Get the messages of a channel.", input_schema=schema)
    assert judged(facts).effect is not Effect.NONE
    plain = ToolFacts("get_messages", description="Get the messages of a channel.")
    assert judged(plain, arguments={"id": "a", name: False}).effect is Effect.NONE
    assert judged(plain, arguments={"id": "a", name: True}).effect is not Effect.NONE


@pytest.mark.parametrize(
    "name", ["get_login_qrcode", "get_invite_link", "getOauthUrl", "get_next_job", "get_one_time_link"]
)
def test_what_is_made_by_asking_for_it_is_no_reading(name: str) -> None:
    assert judged(ToolFacts(name, description="Get it.")).effect is not Effect.NONE


@pytest.mark.parametrize("description", HARMLESS_DESCRIPTIONS)
def test_what_only_speaks_of_writing_still_reads(description: str) -> None:
    assert judged(ToolFacts("get_thing", description=description)).effect is Effect.NONE


FACTS = [
    ToolFacts("metrics", server="known"),
    ToolFacts("get_page", server="known"),
    ToolFacts("get_page", server="known", description="Get a page."),
    ToolFacts("delete_page", server="known", description="Deletes a page."),
    ToolFacts("run_query", server="known", input_schema={"properties": {"sql": {"type": "string"}}}),
]


@pytest.mark.parametrize("facts", FACTS, ids=[f"{f.name}-{bool(f.description)}" for f in FACTS])
def test_a_read_only_hint_changes_nothing_until_its_server_is_trusted(facts: ToolFacts) -> None:
    import msgspec

    hinted = msgspec.structs.replace(facts, hints={"readOnlyHint": True})
    before, after = judged(facts), judged(hinted)
    assert (after.effect, after.result, after.scope, after.rests_on) == (
        before.effect,
        before.result,
        before.scope,
        before.rests_on,
    )
    assert not after.vouched


def test_a_trusted_hint_needs_a_word_beside_it() -> None:
    hinted = ToolFacts("metrics_of", server="known", hints={"readOnlyHint": True})
    assert judged(hinted, TRUSTING).effect is Effect.UNKNOWN
    named = ToolFacts("get_metrics", server="known", hints={"readOnlyHint": True})
    assert judged(named, TRUSTING).rests_on is RestsOn.DECLARATION


FREE_TEXT = ["query", "sql", "command", "script", "code"]


@pytest.mark.parametrize("key", FREE_TEXT)
def test_a_free_text_argument_is_never_without_effect_by_words(key: str) -> None:
    schema: dict[str, object] = {"type": "object", "properties": {key: {"type": "string"}}}
    facts = ToolFacts("get_rows", server="known", description="Get rows.", input_schema=schema)
    hinted = ToolFacts("get_rows", "known", "Get rows.", schema, hints={"readOnlyHint": True})
    assert judged(facts).effect is not Effect.NONE
    assert judged(hinted, TRUSTING).effect is not Effect.NONE


@pytest.mark.parametrize(
    ("key", "text", "effect"),
    [
        ("query", "SELECT a FROM b", Effect.NONE),
        ("sql", "SELECT a FROM b", Effect.NONE),
        ("command", "ls -la", Effect.NONE),
        ("query", "DELETE FROM b", Effect.IRREVERSIBLE),
        ("sql", "SELECT a INTO OUTFILE '/tmp/x' FROM b", Effect.REPEATING),
        ("command", "ls > out", Effect.REPEATING),
        ("script", "print(open('a').read())", Effect.REPEATING),
        ("code", "1 + 1", Effect.REPEATING),
    ],
)
def test_only_a_proof_lowers_a_free_text(key: str, text: str, effect: Effect) -> None:
    schema: dict[str, object] = {"type": "object", "properties": {key: {"type": "string"}}}
    facts = ToolFacts("get_rows", description="Get rows.", input_schema=schema)
    found = judged(facts, arguments={key: text})
    assert found.effect is effect
    assert (found.rests_on is RestsOn.PROOF) is (effect is Effect.NONE)
    assert found.result in (Stability.VOLATILE, Stability.UNKNOWN)
