package import LarderModel

/// Steps and bytes that all effects on one value may still use together.
///
/// The steps of an effect that is left out stay spent.
///
/// Bytes are counted when they are added, not when they are replaced. At half of the limit the
/// value is counted again. So an effect may be refused although its result would just fit.
struct EffectBudget {
    private(set) var steps: Int
    private var bytes = 0
    /// Elements of the largest array that the effect has reached into.
    private var copied = 0

    init(steps: Int) {
        self.steps = steps
    }

    /// Begins an effect on `value`, which may be as large as it is.
    mutating func begin(on value: JSONValue?) throws(Inapplicability.Cause) {
        copied = 0
        guard let value else {
            bytes = 0
            return
        }
        guard bytes == 0 || bytes > Limits.viewBytesMax / 2 else { return }
        var weight = JSONWeight(stepsMax: steps, depthMax: Limits.frameDepthMax)
        weight.add(value)
        try spend(weight.steps)
        bytes = weight.bytes
    }

    /// An effect has left the value as it was `before`; the steps that it took are taken.
    mutating func leaveOut(since before: EffectBudget) {
        bytes = before.bytes
    }

    mutating func spend(_ count: Int) throws(Inapplicability.Cause) {
        steps -= count
        guard steps >= 0 else { throw .tooMuchWork }
    }

    /// Elements of an array give place to another one: memory is moved, which is quick.
    mutating func spendMove(_ count: Int) throws(Inapplicability.Cause) {
        try spend(1 + count / 8)
    }

    /// An effect reaches into an array, which is copied the first time, as the value before it is
    /// kept until it is known to fit.
    mutating func reach(intoArrayOf count: Int) throws(Inapplicability.Cause) {
        guard count > copied else { return }
        copied = count
        try spendMove(count)
    }

    /// Lets `value` in below so many tokens of a pointer.
    mutating func admit(_ value: JSONValue, below depth: Int) throws(Inapplicability.Cause) {
        bytes += try look(at: value, below: depth)
        guard bytes <= Limits.viewBytesMax else { throw .tooLarge }
    }

    /// Lets names in that members may get.
    mutating func admit(names: [String]) throws(Inapplicability.Cause) {
        bytes += names.reduce(0) { $0 + $1.utf8.count + JSONWeight.memberBytes }
        guard bytes <= Limits.viewBytesMax else { throw .tooLarge }
    }

    /// Lets a value be moved or compared: it costs steps and no bytes.
    @discardableResult
    mutating func look(
        at value: JSONValue,
        below depth: Int
    ) throws(Inapplicability.Cause) -> Int {
        var weight = JSONWeight(stepsMax: steps, depthMax: Limits.jsonDepthMax - depth)
        weight.add(value)
        guard !weight.isTooDeep else { throw .tooDeep }
        try spend(weight.steps)
        return weight.bytes
    }
}

/// Size of a value in compact JSON, without escapes.
struct JSONWeight {
    /// Quotation marks, colon and comma of a member.
    static let memberBytes = 4
    /// Bytes of text that are one step.
    private static let bytesPerStep = 16

    private let stepsMax: Int
    private let depthMax: Int
    private var depth = 0
    private(set) var steps = 0
    private(set) var bytes = 0
    private(set) var isTooDeep = false

    init(stepsMax: Int, depthMax: Int) {
        self.stepsMax = stepsMax
        self.depthMax = depthMax
    }

    /// Stops early if the value is too large or too deep.
    mutating func add(_ value: JSONValue) {
        guard steps <= stepsMax, !isTooDeep else { return }
        switch value {
        case .null, .bool: add(bytes: 5)
        case .number(let number): add(bytes: number.text.utf8.count + 1)
        case .string(let text): add(bytes: text.utf8.count + 3)
        case .array(let elements):
            guard open() else { return }
            for element in elements { add(element) }
            depth -= 1
        case .object(let members):
            guard open() else { return }
            for member in members {
                add(bytes: member.name.utf8.count + Self.memberBytes)
                add(member.value)
            }
            depth -= 1
        }
    }

    private mutating func open() -> Bool {
        add(bytes: 3)
        depth += 1
        isTooDeep = depth > depthMax
        return !isTooDeep
    }

    private mutating func add(bytes count: Int) {
        bytes += count
        steps += 1 + count / Self.bytesPerStep
    }
}

/// Change that a modifier makes to its target, as data: so it survives restarts and upgrades.
///
/// Applying an effect is pure and total. An effect that does not fit the target's value changes
/// nothing, gives the reason (``Inapplicability``), and is still sent.
package enum Effect: Equatable, Sendable {
    /// The value becomes this one.
    case put(JSONValue)
    /// The body becomes the one of the modifier's request, which is not JSON.
    case replace
    /// JSON Merge Patch, RFC 7396.
    case merge(JSONValue)
    /// JSON Patch, RFC 6902: all or nothing.
    case patch([JSONPatchOperation])
    /// Removes at some places, then assigns at others.
    case set([JSONAssignment], unset: [JSONPointer] = [])
    /// Adds to numbers, exactly.
    case add([JSONAddition])
    /// Appends to lists what they do not have yet.
    case listAdd([JSONListChange])
    case listRemove([JSONListChange])
    /// The target becomes a tombstone.
    case delete
    /// Nothing changes: the modifier is only a request.
    case none
    /// At least two, in this order, of which either all are applied or none.
    case all([Effect])

    /// Several effects as one; those that change nothing are left out.
    package init(all effects: [Effect]) {
        let effects = effects.filter { $0 != .none }
        self = effects.count > 1 ? .all(effects) : effects.first ?? .none
    }

    /// Name of the effect on the wire and on disk; several are a list there and have no name.
    package var typeName: String {
        switch self {
        case .put: "put"
        case .replace: "replace"
        case .merge: "merge"
        case .patch: "patch"
        case .set: "set"
        case .add: "add"
        case .listAdd: "list_add"
        case .listRemove: "list_remove"
        case .delete: "delete"
        case .none: "none"
        case .all: "all"
        }
    }

    package static let typeNames = [
        "put", "replace", "merge", "patch", "set", "add", "list_add", "list_remove", "delete",
        "none",
    ]
}

package enum EffectError: Error, Equatable, Sendable {
    /// A type that this version does not know; a later one might.
    case unknownType(String)
    /// Fault and its place within the effect: `/value/set`.
    case malformed(at: JSONPointer, reason: String)
    case notJSON(JSONError)

    /// A sentence for people, without a full stop.
    package var message: String {
        switch self {
        case .unknownType(let name):
            "the effect '\(name)' is unknown, "
                + nearestNameAdvice(on: name, among: Effect.typeNames)
        case .malformed(let pointer, let reason):
            pointer == .whole
                ? "the effect \(reason)" : "the effect's member '\(pointer.text)' \(reason)"
        case .notJSON(let error): error.message
        }
    }
}

/// Why an effect does not fit the value that its target has now, so that it is left out of the view.
package struct Inapplicability: Error, Equatable, Sendable {
    package enum Cause: Error, Equatable, Sendable {
        /// The target is unknown, and the effect needs a value.
        case unknownTarget
        case deletedTarget
        /// The target's bytes are not JSON.
        case notJSON
        /// The place has no value.
        case missing
        /// The value at the place has another kind than the effect needs: `a string`.
        case wrongKind(found: String, needed: String)
        /// The value at the place is an array, and the token is not an index of it.
        case notAnIndex(String)
        /// The value is not the one that a `test` names.
        case testFailed
        /// The whole value cannot be removed, and an array's elements cannot be unset.
        case notRemovable
        /// More digits than sums are calculated with.
        case tooManyDigits
        case tooDeep
        case tooLarge
        /// The effects of a view have used all steps.
        case tooMuchWork
    }

    package let cause: Cause
    /// Where in the target; nil where it is about the whole.
    package let pointer: JSONPointer?
    /// Which operation of a patch, counted from 0.
    package let operation: Int?

    package init(_ cause: Cause, at pointer: JSONPointer? = nil, operation: Int? = nil) {
        self.cause = cause
        self.pointer = pointer
        self.operation = operation
    }

    /// A sentence for people, without a full stop.
    package var message: String {
        let place = pointer.map { " at '\($0.text)'" } ?? ""
        let part = operation.map { "operation \($0): " } ?? ""
        return part + cause.message(place)
    }
}

extension Inapplicability.Cause {
    fileprivate func message(_ place: String) -> String {
        switch self {
        case .unknownTarget: "nothing is known of the target yet"
        case .deletedTarget: "the target is deleted"
        case .notJSON: "the target's body is not JSON"
        case .missing: "there is nothing\(place)"
        case .wrongKind(let found, let needed): "there is \(found)\(place), \(needed) is needed"
        case .notAnIndex(let token): "'\(token)' is no index of the array that is there\(place)"
        case .testFailed: "the value\(place) is not the one that is tested for"
        case .notRemovable: "what is\(place) cannot be removed so"
        case .tooManyDigits: "the sum\(place) has more than \(Limits.decimalDigitsMax) digits"
        case .tooDeep: "the value\(place) would be nested more than \(Limits.jsonDepthMax) deep"
        case .tooLarge: "the view would be larger than \(Limits.viewBytesMax) bytes"
        case .tooMuchWork: "the view would take more than \(Limits.viewStepsMax) steps"
        }
    }
}

extension Effect {
    /// Whether what it makes of a base that has it already is wrong.
    package var counts: Bool {
        switch self {
        case .patch, .add: true
        case .all(let effects): effects.contains(where: \.counts)
        case _: false
        }
    }

    /// Whether what a target is does not tell that it was not done: a number that was added to, or
    /// an element that the server has completed.
    package var isUncheckable: Bool {
        switch self {
        case .add: true
        case .listAdd(let changes):
            changes.contains { change in
                change.key == nil
                    && change.values.contains { if case .object = $0 { true } else { false } }
            }
        case .all(let effects): effects.contains(where: \.isUncheckable)
        case _: false
        }
    }
}

extension TargetContent {
    package var json: JSONValue? { if case .json(let value) = self { value } else { nil } }
}

extension [EntryID: [Effect]] {
    /// Whether they do something, and all of it is so in what the targets are: with what `later`
    /// ones do after them they leave each of them as it is.
    ///
    /// `view` applies effects to a target.
    package func areShown(
        in content: (EntryID) -> TargetContent,
        before later: Self = [:],
        view: (EntryID, TargetContent, [Effect]) -> View = { View.of($1, $2) }
    ) -> Bool {
        !isEmpty
            && allSatisfy { id, effects in
                view(id, content(id), effects + (later[id] ?? [])).isInPlace
            }
    }
}
