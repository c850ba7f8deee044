"""Wire types and problem types. clients/python/generate writes this file from openapi.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple, TypedDict

if TYPE_CHECKING:
    from typing_extensions import NotRequired

class FailedRow(TypedDict):
    id: str; modifier: str; value: Any

class ModifierReport(TypedDict):
    id: str; state: str; reason: Optional[str]; marks: List[str]; lanes: List[str]
    targets: List[ModifierTarget]; changes: NotRequired[List[ModifierChange]]; more_changes: NotRequired[int]
    request: ModifierRequest; joined_into: NotRequired[str]; attempts: int; next_attempt_at: Optional[str]
    waiting_for: NotRequired[ModifierWait]; answer: NotRequired[ModifierAnswer]
    conflict: NotRequired[List[ModifierConflict]]; dependants: List[str]; user: int; account: str
    accepted_at: str; settled_at: Optional[str]; rev: int

class PinItem(TypedDict):
    id: str; state: str; origin: Optional[str]; body_bytes: Optional[int]; pinned_at: str
    stored_at: Optional[str]; rev: Optional[int]; problem: Optional[str]; reason: Optional[str]

class CredentialReport(TypedDict):
    account: str; source: Optional[str]; header: Optional[str]; set_at: Optional[str]; expires: Optional[str]
    refused: bool; waiting: int

class ModifierTarget(TypedDict):
    id: str; before: NotRequired[ViewReport]; after: NotRequired[ViewReport]

class ModifierChange(TypedDict):
    target: TargetName; effect: NotRequired[Any]; effects: NotRequired[List[Any]]

class ModifierRequest(TypedDict):
    method: str; url: str; body_bytes: int; idempotency_key: str; headers: NotRequired[Dict[str, str]]
    content_type: NotRequired[str]; body: NotRequired[Any]

class ModifierWait(TypedDict):
    reason: str; name: Optional[str]; until: Optional[str]

class ModifierAnswer(TypedDict):
    status: int; at: str; headers: Dict[str, str]; body: Any; unclear_status: Optional[int]

class ModifierConflict(TypedDict):
    id: str; base: NotRequired[Any]; mine: NotRequired[Any]; theirs: NotRequired[Any]

class ViewReport(TypedDict):
    state: str; complete: NotRequired[bool]; body: NotRequired[Any]; body_bytes: NotRequired[int]

class TargetName(TypedDict):
    id: str


# Status, whether it may be retried, and the types.
_GROUPS: Tuple[Tuple[Tuple[int, bool], str], ...] = (
    ((400, False), "bad-request bad-id bad-url unknown-parameter unknown-member"),
    ((404, False), "not-found no-such-origin no-such-modifier miss deleted"),
    ((405, False), "method-not-allowed"),
    ((406, False), "not-acceptable"),
    ((413, False), "body-too-large entry-too-large"),
    ((431, False), "head-too-large"),
    ((403, False), "unknown-origin not-permitted"),
    (
        (409, False),
        "origin-id origin-exists origin-in-file lease-over pinned modifier-exists already-sent "
        "already-settled targeted not-applied",
    ),
    ((507, True), "cache-full disk-full queue-full"),
    ((412, False), "precondition-failed"),
    ((507, False), "pins-full"),
    ((422, False), "no-request unsupported"),
    ((409, True), "in-use"),
    ((410, False), "since-too-old"),
    ((502, True), "unreachable captive bad-answer"),
    ((503, True), "offline overloaded shutting-down"),
    ((504, True), "timeout"),
    ((502, False), "origin-status redirect-refused address-refused"),
    ((500, True), "storage"),
    ((500, False), "internal"),
)
PROBLEMS: Dict[str, Tuple[int, bool]] = {
    f"urn:larder:{name}": known for known, names in _GROUPS for name in names.split()
}
