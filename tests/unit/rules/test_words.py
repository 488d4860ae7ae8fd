"""Splitting names, and what names and descriptions say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forensics.core.classes import Effect, Source, ToolFacts, resolve
from forensics.core.policy import BasePolicy, Policy
from forensics.rules import load_rules
from forensics.rules.words import phrase_pattern, split_words, third_person

RULES = load_rules()
NOBODY = Policy(name="strict", base=BasePolicy.STRICT, digest="sha256:0")


def said(name: str, description: str | None = None, source: Source = Source.NAME) -> set[Effect]:
    evidence = RULES.tool_evidence(ToolFacts(name=name, description=description), NOBODY)
    return {piece.effect for piece in evidence if piece.source is source and piece.effect is not None}


def effect(name: str, description: str | None = None) -> Effect:
    return resolve(RULES.tool_evidence(ToolFacts(name=name, description=description), NOBODY)).effect


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("jira_get_issue", "jira get issue"),
        ("storage_blob_get", "storage blob get"),
        ("markAllRead", "mark all read"),
        ("API-patch-page", "api patch page"),
        ("pager.trigger", "pager trigger"),
        ("mcp__github__list_issues", "mcp github list issues"),
        ("repos/get-release:by-tag", "repos get release by tag"),
        ("HTTPServerError", "http server error"),
        ("getIssueURL", "get issue url"),
        ("v2GetUser", "v2 get user"),
        ("userIDs", "user ids"),
        ("listURLsOf", "list urls of"),
        ("drop cache", "drop cache"),
        ("GET_USER", "get user"),
        ("___", ""),
        ("", ""),
    ],
)
def test_names_are_split_whatever_their_style(name: str, words: str) -> None:
    assert " ".join(split_words(name)) == words


@given(st.text())
def test_splitting_keeps_every_letter_and_digit(name: str) -> None:
    assert "".join(split_words(name)) == "".join(c.lower() for c in name if c.isalnum())


@pytest.mark.parametrize(
    ("verb", "form"), [("send", "sends"), ("copy", "copies"), ("push", "pushes"), ("play", "plays"), ("do", "does")]
)
def test_third_person(verb: str, form: str) -> None:
    assert third_person(verb) == form


def test_phrases_are_not_found_inside_words() -> None:
    assert phrase_pattern(("starts a",)).search("it restarts a job") is None
    assert phrase_pattern(("starts a",)).search("it starts a job") is not None
    assert phrase_pattern(()).search("anything") is None


@pytest.mark.parametrize(
    "name",
    [
        "charge_card",
        "refund",
        "set_power",
        "close_ticket",
        "delete_user",
        "drop~cache",
        "grant",
        "schedule",
        "announce",
        "move_file",
        "set_limit",
        "charge",
        "incident.annotate",
        "pager.trigger",
        "markAllRead",
        "mark_all_notifications_read",
        "notificationMarkReadAll",
        "updateCheckRun",
        "deleteUserList",
        "createView",
        "API-patch-page",
        "get_or_create_page",
        "search_and_order",
        "read_and_clear",
        "run_query",
        "view_publish",
        "query_export",
        "check_in_guest",
        "show_notification",
        "deploy.post",
        "payments.charge",
        "select_page",
        "cd",
        "consume-messages",
        "refresh_list",
        "list_add_item",
        "jira_transition_issue",
        "slack_post_message",
        "git_fetch",
        "fetch_and_store",
    ],
)
def test_write_names_are_vetoed(name: str) -> None:
    found = said(name.replace("~", " "))
    assert max(found) > Effect.NONE


@pytest.mark.parametrize(
    "name",
    [
        "query_metrics",
        "read_file",
        "get_config",
        "jira_get_issue",
        "storage_blob_get",
        "get_release_by_tag",
        "list_deploy_keys",
        "issue_read",
        "pull_request_read",
        "MessageAPI.get_user_id",
        "feature-flag-get-all",
        "git_status",
        "zone_details",
        "cloud_providers",
        "distance_tool",
        "transfer.retrieve",
        "list_pull_requests",
        "search_code",
        "mcp__github__list_issues",
    ],
)
def test_reading_names_say_none(name: str) -> None:
    assert said(name) == {Effect.NONE}


@pytest.mark.parametrize("name", ["ping", "widget", "", "deletes", "g\u0435t_user", "get_" + "x" * 600])
def test_names_that_say_nothing(name: str) -> None:
    assert said(name) == set()


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("pager.trigger", Effect.IRREVERSIBLE),
        ("incident.annotate", Effect.REPEATING),
        ("delete_user", Effect.IRREVERSIBLE),
        ("set_limit", Effect.OVERWRITING),
        ("create_issue", Effect.REPEATING),
        ("charge_card", Effect.IRREVERSIBLE),
    ],
)
def test_degrees(name: str, least: Effect) -> None:
    assert max(said(name)) is least


@pytest.mark.parametrize(
    "text",
    [
        "Read the error rate of a service.",
        "Returns all open issues.",
        "This tool lists pages.",
        "Use this tool to look up a user.",
        "Lists pages. Does not create or modify pages.",
        "List triggers, updates and exports.",
        "Get the page that was created last.",
        "Get the fields needed to create an issue.",
        "**Safely** fetch a page.",
        "Get a page without changing it.",
    ],
)
def test_reading_descriptions(text: str) -> None:
    assert said("x", text, Source.DESCRIPTION) == {Effect.NONE}


@pytest.mark.parametrize(
    "text",
    [
        "Creates a page.",
        "Send a message.",
        "Get the page and delete it.",
        "Gets the page, and marks it as read.",
        "Finds or creates a customer.",
        "Search for pages. Starts a crawl in the background.",
        "Lists pages. It also updates the index.",
        "Get a report. This will create a job.",
        "Select a page as a context for future tool calls.",
        "Retrieve instructions. If they do not yet exist, they are made.",
    ],
)
def test_writing_descriptions(text: str) -> None:
    found = said("x", text, Source.DESCRIPTION)
    assert found
    assert Effect.NONE not in found


def test_two_kinds_of_words_say_none_and_one_does_not() -> None:
    assert effect("query_metrics", "Read the error rate of a service.") is Effect.NONE
    assert effect("query_metrics") is Effect.UNKNOWN
    assert effect("metrics_of", "Read the error rate of a service.") is Effect.UNKNOWN


@given(st.text(max_size=300), st.sampled_from(["create_", "delete_", "send_", "update_"]))
def test_a_write_word_in_front_is_never_called_reading(text: str, verb: str) -> None:
    name = verb + "".join(c for c in text if c.isascii() and (c.isalnum() or c == "_"))
    if split_words(name)[0] == verb[:-1]:
        assert effect(name, "Get the pages.") is not Effect.NONE


@given(st.text(max_size=2000))
def test_any_text_is_read_without_fault(text: str) -> None:
    assert effect(text, text) in set(Effect)
