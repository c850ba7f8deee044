import LarderJSON
package import LarderModel

/// How an origin is, as the status and the list of origins tell of it.
package struct OriginCondition: Equatable, Sendable {
    package var state: OriginState
    /// Since when it is in this state; nil while nothing was asked of it.
    package var since: Timestamp?
    /// Whether it was set offline, so that nothing leaves for it.
    package var isOfflineByHand: Bool
    /// Until when what nobody asks for leaves it alone, as it has told some account to wait.
    package var restsUntil: Timestamp?
    /// Whose that is, the last to be over; nil where it is not the reader's to know.
    package var restsFor: Scope?

    package init(
        state: OriginState,
        since: Timestamp?,
        isOfflineByHand: Bool = false,
        restsUntil: Timestamp? = nil
    ) {
        self.state = state
        self.since = since
        self.isOfflineByHand = isOfflineByHand
        self.restsUntil = restsUntil
    }

    func write(to json: inout JSONWriter) {
        json.member("state", state.rawValue)
        json.member("since", since?.rfc3339)
        json.member("offline_by_hand", isOfflineByHand)
        if let restsUntil { json.member("rests_until", restsUntil.rfc3339) }
        if let restsFor { json.member("rests_for", restsFor.text) }
    }

    init(_ object: WireObject) throws(WireError) {
        state = try object.required("state") { OriginState(rawValue: $0) }
        since = try object.optionalTimestamp("since")
        isOfflineByHand = try object.bool("offline_by_hand")
        restsUntil = try object.optionalTimestamp("rests_until")
        restsFor = try object.optionalString("rests_for").flatMap(Scope.init(text:))
    }
}

/// What tells, among other things, how an origin is, and has the members of that for its own.
@dynamicMemberLookup
package protocol OriginConditionTelling {
    var condition: OriginCondition { get set }
}

extension OriginConditionTelling {
    package subscript<Value>(
        dynamicMember member: WritableKeyPath<OriginCondition, Value>
    ) -> Value {
        get { condition[keyPath: member] }
        set { condition[keyPath: member] = newValue }
    }
}
