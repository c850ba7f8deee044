"""Wire types and problem types. clients/python/generate writes this file from openapi.json."""

from __future__ import annotations

from typing import (
    TYPE_CHECKING, Any, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypedDict, TypeVar,
    Union, cast,
)

if TYPE_CHECKING:
    from typing_extensions import NotRequired

from ._problem import PROBLEMS, Problem

T = TypeVar("T")
Duration = Union[str, float, None]


def _member(name: str, default: T) -> T:
    return cast(T, property(lambda self: self.frame.get(name, default)))


class Frame:
    """`frame` has all members of the frame, also those that only a newer daemon knows."""

    rev, id = _member("rev", 0), _member("id", "")

    def __init__(self, frame: Dict[str, Any]) -> None:
        self.frame = frame

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.frame})"


class FailedRow(TypedDict):
    id: str; modifier: str; value: Any

class ModifierReport(TypedDict):
    id: str; state: str; reason: Optional[str]; marks: List[str]; lanes: List[str]
    targets: List[ModifierTarget]; changes: NotRequired[List[ModifierChange]]
    more_changes: NotRequired[int]; request: ModifierRequest; joined_into: NotRequired[str]
    attempts: int; next_attempt_at: Optional[str]; waiting_for: NotRequired[ModifierWait]
    answer: NotRequired[ModifierAnswer]; conflict: NotRequired[List[ModifierConflict]]
    dependants: List[str]; user: int; account: str; accepted_at: str; settled_at: Optional[str]
    rev: int

class PinItem(TypedDict):
    id: str; state: str; origin: Optional[str]; body_bytes: Optional[int]; pinned_at: str
    stored_at: Optional[str]; rev: Optional[int]; problem: Optional[str]; reason: Optional[str]
    kept_by: List[str]; refresh: Optional[str]; next_refresh_at: Optional[str]
    refresh_paused_by: Optional[str]

class PrefetchReport(TypedDict):
    name: str; state: str; items: int; held: int; failed: NotRequired[List[PrefetchFailure]]
    bytes: int; estimated_bytes: int; unknown_sizes: int; refresh: Optional[str]
    expires_at: Optional[str]

class CredentialReport(TypedDict):
    account: str; source: Optional[str]; header: Optional[str]; set_at: Optional[str]
    expires: Optional[str]; refused: bool; waiting: int

class ModifierTarget(TypedDict):
    id: str; before: NotRequired[ViewReport]; after: NotRequired[ViewReport]

class ModifierChange(TypedDict):
    target: TargetName; effect: NotRequired[Any]; effects: NotRequired[List[Any]]

class ModifierRequest(TypedDict):
    method: str; url: str; body_bytes: int; idempotency_key: str
    headers: NotRequired[Dict[str, str]]; content_type: NotRequired[str]; body: NotRequired[Any]

class ModifierWait(TypedDict):
    reason: str; name: Optional[str]; until: Optional[str]

class ModifierAnswer(TypedDict):
    status: int; at: str; headers: Dict[str, str]; body: Any; unclear_status: Optional[int]

class ModifierConflict(TypedDict):
    id: str; base: NotRequired[Any]; mine: NotRequired[Any]; theirs: NotRequired[Any]

class PrefetchFailure(TypedDict):
    id: str; problem: Dict[str, Any]

class ViewReport(TypedDict):
    state: str; complete: NotRequired[bool]; body: NotRequired[Any]; body_bytes: NotRequired[int]

class TargetName(TypedDict):
    id: str

class FetchOptions(TypedDict, total=False):
    policy: Optional[str]; network_wait: Duration; timeout: Duration; normalize: Optional[bool]
    partial: Optional[bool]; headers: Optional[Mapping[str, str]]; method: Optional[str]
    body: Optional[Any]; body_text: Optional[str]; body_b64: Optional[str]
    content_type: Optional[str]; json: Optional[Any]

class WriteOptions(TypedDict, total=False):
    id: Optional[str]; request: Optional[Mapping[str, Any]]; lane: Optional[str]
    depends_on: Optional[Sequence[str]]; hold: Duration; expires: Duration
    max_attempts: Optional[int]; after_unknown: Optional[str]; if_match: Optional[str]
    on_conflict: Optional[str]

class Unchanged(Frame):
    "The origin has what the client was shown."
    source = _member("source", ""); status = _member("status", 0)

class Put(Frame):
    "An entry or an entity has another value."
    source = _member("source", ""); changed = _member("changed", cast(Any, None))
    cause = _member("cause", ""); own = _member("self", False); coalesced = _member("coalesced", 0)
    initial = _member("initial", False); more = _member("more", False)

class Deleted(Frame):
    "View or event: the thing is gone."
    source = _member("source", ""); changed = _member("changed", cast(Any, None))
    cause = _member("cause", ""); own = _member("self", False); coalesced = _member("coalesced", 0)
    initial = _member("initial", False); more = _member("more", False)

class Evicted(Frame):
    "An entry or an entity was evicted."
    reason = _member("reason", ""); own = _member("self", False); more = _member("more", False)

class WriteChanged(Frame):
    "A write has another state."
    state = _member("state", ""); reason = _member("reason", "")
    stalled = _member("stalled", False); dropped = _member("dropped", False)
    answered = _member("answered", False); edited = _member("edited", False)
    targets = _member("targets", cast(Any, None)); reverted = _member("reverted", cast(Any, None))
    problem = _member("problem", cast(Any, None)); answer = _member("answer", cast(Any, None))
    conflict = _member("conflict", cast(Any, None)); own = _member("self", False)
    more = _member("more", False)

class Remapped(Frame):
    "A thing with a temporary id has the id that its origin gave it."
    old = _member("from", ""); new = _member("to", ""); more = _member("more", False)

class Origin(Frame):
    "An origin is in another state."
    origin = _member("origin", ""); state = _member("state", "")

class Auth(Frame):
    "An account needs a credential at an origin, or has it."
    origin = _member("origin", ""); account = _member("account", ""); state = _member("state", "")

class Prefetch(Frame):
    "A set of entries that are fetched in advance has another state."
    name = _member("name", ""); account = _member("account", ""); state = _member("state", "")

class Bookmark(Frame):
    "Everything up to a revision was told."
    initial_done = _member("initial_done", False)


EVENTS: Dict[str, Type[Any]] = {
    "put": Put,
    "delete": Deleted,
    "evict": Evicted,
    "modifier": WriteChanged,
    "remapped": Remapped,
    "origin": Origin,
    "auth": Auth,
    "prefetch": Prefetch,
    "bookmark": Bookmark,
}


class NoDaemon(Problem):
    "No daemon answers, or the user may not open its socket."

class Miss(Problem):
    "Nothing is cached under the id, or there is no such write."

class Gone(Problem):
    "The origin says that the thing is gone."

class UnknownOrigin(Problem):
    "The URL belongs to no origin, or there is no origin of the name."

class NotPermitted(Problem):
    "Only an administrator may do this."

class Offline(Problem):
    "The origin cannot be reached now."

class OriginFailed(Problem):
    "The origin refused (`origin_status`, `body`), or its answer is unusable."

class TooLarge(Problem):
    "A body or a head is above a limit."

class TooLate(Problem):
    "The write was sent or settled before, or the lease is over."

class Invalid(Problem):
    "The daemon does not take the request as it is."

class Unavailable(Problem):
    "No room, too much to do, or an error of the daemon's storage."

class CutOff(Unavailable):
    "The connection to the daemon ended within an answer."


# The class, the status, whether it may be retried, and the types.
_GROUPS: Tuple[Tuple[Type[Problem], int, bool, str], ...] = (
    (NoDaemon, 0, True,
        "no-daemon",
    ),
    (CutOff, 0, True,
        "cut-off",
    ),
    (Invalid, 400, False,
        "bad-request bad-id bad-url unknown-parameter unknown-member",
    ),
    (Invalid, 404, False,
        "not-found no-such-set",
    ),
    (Invalid, 405, False,
        "method-not-allowed",
    ),
    (Invalid, 406, False,
        "not-acceptable",
    ),
    (TooLarge, 413, False,
        "body-too-large entry-too-large",
    ),
    (TooLarge, 431, False,
        "head-too-large",
    ),
    (UnknownOrigin, 403, False,
        "unknown-origin",
    ),
    (NotPermitted, 403, False,
        "not-permitted",
    ),
    (Invalid, 409, False,
        "origin-id origin-exists origin-in-file pinned modifier-exists targeted",
    ),
    (UnknownOrigin, 404, False,
        "no-such-origin",
    ),
    (Unavailable, 507, True,
        "cache-full disk-full queue-full",
    ),
    (Invalid, 412, False,
        "precondition-failed",
    ),
    (Invalid, 416, False,
        "range-not-satisfiable",
    ),
    (TooLate, 409, False,
        "lease-over already-sent already-settled",
    ),
    (Unavailable, 507, False,
        "pins-full",
    ),
    (Invalid, 422, False,
        "no-request unsupported not-a-read",
    ),
    (Miss, 404, False,
        "no-such-modifier miss",
    ),
    (Unavailable, 409, True,
        "in-use",
    ),
    (OriginFailed, 409, False,
        "not-applied",
    ),
    (Gone, 404, False,
        "deleted",
    ),
    (Invalid, 410, False,
        "since-too-old",
    ),
    (Offline, 502, True,
        "unreachable captive",
    ),
    (Offline, 503, True,
        "offline",
    ),
    (Offline, 504, True,
        "timeout",
    ),
    (OriginFailed, 502, False,
        "origin-status redirect-refused address-refused",
    ),
    (OriginFailed, 502, True,
        "bad-answer",
    ),
    (Unavailable, 503, True,
        "overloaded shutting-down",
    ),
    (Unavailable, 500, True,
        "storage",
    ),
    (Unavailable, 500, False,
        "internal",
    ),
)
for _class, _status, _retries, _names in _GROUPS:
    for _name in _names.split():
        PROBLEMS[f"urn:larder:{_name}"] = (_class, _status, _retries)


__all__ = [
    "Unchanged", "Put", "Deleted", "Evicted", "WriteChanged", "Remapped", "Origin", "Auth",
    "Prefetch", "Bookmark", "Frame", "NoDaemon", "Miss", "Gone", "UnknownOrigin",
    "NotPermitted", "Offline", "OriginFailed", "TooLarge", "TooLate", "Invalid", "Unavailable",
    "CutOff"
]
