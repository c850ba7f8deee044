import LarderModel

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
