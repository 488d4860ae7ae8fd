"""Is a result that its members alone show to tell of no error one that tells of none?"""

from __future__ import annotations

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from forensics.analysis.inband import may_say_it_failed, says_it_failed
from forensics.core.rpc_errors import error_in, may_be_an_error

NAMES = (
    "error", "Error", "errors", "ok", "status", "message", "code", "jsonrpc", "id", "result", "isError", "content",
    "structuredContent", "method", "total", "msg", "HTTP_STATUS", "success",
)  # fmt: skip
scalars = st.sampled_from([None, True, False, "", "failed", "boom", 0, 404, -32601, 200])
inner = st.dictionaries(st.sampled_from(NAMES), scalars, max_size=3)
texts = st.sampled_from([{"text": '{"error":"x"}'}, {"text": "x"}])
results = st.dictionaries(st.sampled_from(NAMES), scalars | inner | st.lists(texts, max_size=2), max_size=4)


@given(results)
@example({})
def test_what_the_members_rule_out_is_never_so(result: dict[str, Any]) -> None:
    if not may_be_an_error(result.keys()):
        assert error_in(result) is None
    if not may_say_it_failed(result.keys()):
        assert not says_it_failed(result)


def test_ordinary_results_are_ruled_out() -> None:
    for members in (("id", "status", "amount"), ("rows",), ("code", "name"), ("message_id", "message")):
        assert not may_be_an_error(members)
        assert not may_say_it_failed(members)
