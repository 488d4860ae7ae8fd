"""What was found? One catalogue of codes, stable for ever, and the finding that names its place."""

from __future__ import annotations

import msgspec

from forensics.core.evidence import Basis, Locator, Severity

_GROUPS: dict[str, str] = {
    "reading": "malformed_line recovered_record header_missing nul_padding container_truncated truncated_payload "
    "redaction_damage duplicate_key lookalike_key lone_surrogate non_finite_number large_integer nesting_limit "
    "size_limit decompression_limit large_payload id_encoding dialect encoding",
    "structure": "duplicate_record superseded_record duplicate_record_id orphan_span multiple_roots multiple_traces "
    "cycle time_tie causality_violation negative_duration compacted_history abandoned_checkpoint incomplete_blueprint "
    "incomplete_run",
    "pairing": "unanswered_call orphan_result duplicate_call_id missing_call_id ambiguous_pairing conflicting_results "
    "inconsistent_tuple",
    "effects": "duplicate_side_effect possible_duplicate_side_effect unknown_outcome replay_executed_side_effect "
    "repeated_call args_replaced idempotency_key_changed masked_failure",
    "handles": "handle_flow handle_branch handle_from_nowhere handle_changed generated_id_differs stale_handle",
    "tools": "unclassified_tool annotation_contradicted annotation_uninformative arguments_violate_schema",
    "oversight": "approval_reused ambiguous_approval approval_contradicted executed_differs_from_approved",
    "rerun": "replay_miss replay_order_changed parallel_order_differs same_request_different_answers result_mismatch "
    "modification_without_effect unused_recording effect_captured",
    "content": "secret control_sequence active_content formula_like_text unsafe_identifier",
}
_REASONS = "not_idempotent unvouched result_missing model_output_missing evidence_gap handle_branch stale_clearance"

_INFO = "handle_flow args_replaced incomplete_run encoding id_encoding dialect large_integer multiple_traces"
_LOW = "handle_changed unclassified_tool time_tie large_payload repeated_call missing_call_id"
_HIGH = (
    "duplicate_side_effect possible_duplicate_side_effect replay_executed_side_effect conflicting_results "
    "inconsistent_tuple approval_reused ambiguous_approval approval_contradicted executed_differs_from_approved "
    "annotation_contradicted"
)

GROUP_OF: dict[str, str] = {code: group for group, codes in _GROUPS.items() for code in codes.split()}
REASON_CODES: frozenset[str] = frozenset(_REASONS.split()) | frozenset(GROUP_OF)
_SEVERITIES: dict[str, Severity] = {
    **dict.fromkeys(GROUP_OF, Severity.MEDIUM),
    **dict.fromkeys(_INFO.split(), Severity.INFO),
    **dict.fromkeys(_LOW.split(), Severity.LOW),
    **dict.fromkeys(_HIGH.split(), Severity.HIGH),
}


def default_severity(code: str) -> Severity:
    """The severity of a code (CONTRACT: severity by default). Raises KeyError for a code outside the catalogue."""
    return _SEVERITIES[code]


class Finding(msgspec.Struct, frozen=True, gc=False):
    """Something that is there, with its place: at least one step or one locator.

    `steps` are step numbers of the trace (the document makes them unique); `confidence` is high, medium or low.
    """

    code: str
    message: str
    basis: Basis = Basis.RECORDED
    severity: Severity = Severity.MEDIUM
    confidence: str = "high"
    trace: str | None = None
    steps: tuple[int, ...] = ()
    locators: tuple[Locator, ...] = ()
    tags: tuple[str, ...] = ()


def finding(
    code: str,
    message: str,
    *,
    steps: tuple[int, ...] = (),
    locators: tuple[Locator, ...] = (),
    basis: Basis = Basis.RECORDED,
    severity: Severity | None = None,
    confidence: str = "high",
    tags: tuple[str, ...] = (),
) -> Finding:
    """A finding with the catalogue's severity unless the case calls for another."""
    return Finding(code, message, basis, severity or default_severity(code), confidence, None, steps, locators, tags)
