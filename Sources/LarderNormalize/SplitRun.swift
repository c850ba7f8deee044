import LarderJSON
import LarderModel

/// Goes through an answer's values once, in document order, and finds its entities.
struct SplitRun {
    /// A container that is open, or a member of an entity whose value is.
    private struct Level {
        /// The node of the selection tree; -1 until an entity below needs it.
        var node: Int
        /// The list and the shape of the entity that this is; -1 for other containers.
        var list = -1
        var shape = -1
    }

    let recognition: EntityRecognition
    private let rootKey: EntityKey?
    private(set) var occurrences: [Occurrence] = []
    private(set) var keys: [EntityKey] = []
    private(set) var selection = SelectionBuilder()
    private(set) var report = SplitReport()

    private var keyNumbers: [EntityKey: Int] = [:]
    /// The last occurrence of each key, and the first.
    private var lastOccurrences: [Int] = []
    private(set) var firstOccurrences: [Int] = []
    private var levels: [Level] = []
    /// The steps that lead to the container that is looked at; as many as levels but the first.
    private var steps: [EntityRecognition.Step] = []
    private var depth = 0

    init(_ recognition: EntityRecognition, rootKey: EntityKey?) {
        self.recognition = recognition
        self.rootKey = rootKey
    }

    /// Visits all values; returns false if entities are nested too deeply.
    mutating func visitAll() -> Bool {
        let root = recognition.tape.items[0]
        // Only an object can be the entity of a given key.
        guard rootKey == nil ? root.isContainer : root.kind == .beginObject else { return true }
        return visit(0)
    }

    private mutating func visit(_ item: Int) -> Bool {
        guard recognition.tape.items[item].kind == .beginObject else {
            return visitChildren(of: item)
        }
        if item == 0, let rootKey {
            return enter(item, rootKey, type: Array(rootKey.type.utf8))
        }
        switch recognition.verdict(on: item, at: steps[...]) {
        case .entity(let key, let type): return enter(item, key, type: type)
        case .keyless:
            report.keylessCount += 1
            if report.keylessSample == nil { report.keylessSample = pointer }
            return visitChildren(of: item)
        case .embedded: return visitChildren(of: item)
        }
    }

    /// Visits the containers among the members or elements of one.
    private mutating func visitChildren(of item: Int, list: Int = -1, shape: Int = -1) -> Bool {
        levels.append(Level(node: item == 0 ? 0 : -1, list: list, shape: shape))
        defer { levels.removeLast() }
        let isObject = recognition.tape.items[item].kind == .beginObject
        for (index, child) in recognition.tape.children(of: item).enumerated()
        where recognition.tape.items[child].isContainer {
            let position = isObject ? -1 - index : index
            steps.append(EntityRecognition.Step(item: child, position: position))
            defer { steps.removeLast() }
            guard visit(child) else { return false }
        }
        return true
    }
}

extension SplitRun {
    /// Takes an object as an entity and goes on within it.
    private mutating func enter(_ item: Int, _ key: EntityKey, type: [UInt8]) -> Bool {
        guard depth < Limits.entityDepthMax else { return false }
        let node = item == 0 ? 0 : node(at: levels.count)
        let list = selection.list(selection.type(type), at: node)
        let shape = selection.shape(of: item, in: list, recognition.tape, recognition.bytes)
        if hasContradiction(item, selection.layouts[selection.shapes[shape].layout]) {
            report.repeatedCount += 1
        }
        let number = occurrences.count
        occurrences.append(
            Occurrence(key: keyNumber(key), item: item, shape: shape)
        )
        depth += 1
        let isGood = visitChildren(of: item, list: list, shape: shape)
        depth -= 1
        occurrences[number].next = occurrences.count
        return isGood
    }

    /// Whether an object has a repeated name whose values have different bytes.
    private func hasContradiction(_ item: Int, _ layout: SelectionBuilder.Layout) -> Bool {
        guard layout.hasRepeats else { return false }
        var first: [Int: Range<Int>] = [:]
        for (name, child) in zip(layout.names, recognition.tape.children(of: item)) {
            let range = recognition.tape.items[child].range
            let other = recognition.bytes.part(first[name] ?? range)
            guard recognition.bytes.hasBytes(range, other) else { return true }
            first[name] = range
        }
        return false
    }

    private mutating func keyNumber(_ key: EntityKey) -> Int {
        let occurrence = occurrences.count
        if let number = keyNumbers[key] {
            occurrences[lastOccurrences[number]].sibling = occurrence
            lastOccurrences[number] = occurrence
            return number
        }
        keyNumbers[key] = keys.count
        keys.append(key)
        lastOccurrences.append(occurrence)
        firstOccurrences.append(occurrence)
        return keys.count - 1
    }

    /// The node at the end of the first `count` steps.
    private mutating func node(at count: Int) -> Int {
        guard count > 0 else { return 0 }
        let level = levels[count - 1]
        let step = steps[count - 1]
        guard level.list < 0 else {
            let member = selection.shapes[level.shape].positions[-1 - step.position]
            return selection.node(of: member, in: level.list)
        }
        let above: Int
        if level.node >= 0 {
            above = level.node
        } else {
            above = node(at: count - 1)
            levels[count - 1].node = above
        }
        guard step.position < 0 else {
            return selection.child(of: above, SelectionBuilder.anyPosition)
        }
        let name = recognition.tape.name(of: step.item, in: recognition.bytes)
        return selection.child(of: above, selection.name(name))
    }

    /// The place that the steps lead to.
    private var pointer: JSONPointer {
        JSONPointer(
            tokens: steps.map { step in
                step.position >= 0
                    ? String(step.position)
                    : String(
                        decoding: recognition.tape.name(of: step.item, in: recognition.bytes),
                        as: UTF8.self
                    )
            }
        )
    }
}
