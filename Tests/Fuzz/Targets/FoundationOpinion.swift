import Foundation
import LarderJSON

/// A second opinion on bytes that may be JSON: Foundation's.
package enum FoundationOpinion {
    /// How both have judged a text.
    package enum Verdict: Equatable, Sendable {
        case refused
        /// By both, to the same value.
        case read
        case differs(MeantDifference)
        /// What must not be, in words.
        case disagrees(String)
    }

    package static func verdict(on bytes: [UInt8]) -> Verdict {
        let ours = try? JSONValue(parsing: bytes)
        guard JSONValidator.accepts(bytes) == (ours != nil) else {
            return .disagrees("the validator says other than the reader")
        }
        let theirs = try? JSONSerialization.jsonObject(
            with: Data(bytes),
            options: .fragmentsAllowed
        )
        // What Foundation takes for another encoding has another value, too.
        if MeantDifference.otherEncoding.explains(bytes), theirs != nil {
            return .differs(.otherEncoding)
        }
        switch (ours, theirs) {
        case (nil, nil): return .refused
        case (let ours?, let theirs?):
            var met: Set<MeantDifference> = []
            guard isSame(ours, theirs, &met) else {
                return .disagrees("the values differ: \(theirs)")
            }
            return MeantDifference.allCases.first(where: met.contains).map(Verdict.differs) ?? .read
        case (nil, _?): return explained(bytes, .onlyFoundationReads)
        case (_?, nil): return explained(bytes, .onlyWeRead)
        }
    }

    private static func explained(_ bytes: [UInt8], _ kind: MeantDifference.Kind) -> Verdict {
        let reason = MeantDifference.allCases.first { $0.kind == kind && $0.explains(bytes) }
        return reason.map(Verdict.differs) ?? .disagrees("\(kind)")
    }

    /// Whether both are the same, but for differences that are meant, which are noted.
    private static func isSame(
        _ ours: JSONValue,
        _ theirs: Any,
        _ met: inout Set<MeantDifference>
    ) -> Bool {
        switch ours {
        case .null: return theirs is NSNull
        case .bool(let bool):
            guard let number = theirs as? NSNumber else { return false }
            return isBool(number) && number.boolValue == bool
        case .number(let ours):
            guard let number = theirs as? NSNumber, !isBool(number) else { return false }
            return isSame(ours, number, &met)
        case .string(let ours):
            guard let text = theirs as? String else { return false }
            return isSame(ours, text, &met)
        case .array(let elements):
            guard let objects = theirs as? [Any], objects.count == elements.count else {
                return false
            }
            return zip(elements, objects).allSatisfy { isSame($0, $1, &met) }
        case .object(let members):
            guard let objects = theirs as? [String: Any] else { return false }
            return isSame(members, objects, &met)
        }
    }

    private static func isSame(
        _ members: [JSONMember],
        _ objects: [String: Any],
        _ met: inout Set<MeantDifference>
    ) -> Bool {
        var last: [String: JSONValue] = [:]
        for member in members {
            // Which names are one to Foundation then is not worth to know.
            guard !member.name.unicodeScalars.contains(Self.mark) else {
                met.insert(.lostMark)
                return true
            }
            if last.updateValue(member.value, forKey: member.name) != nil {
                met.insert(.repeatedName)
            }
        }
        return last.count == objects.count
            && last.allSatisfy { name, value in
                objects[name].map { isSame(value, $0, &met) } ?? false
            }
    }

    private static func isSame(
        _ ours: String,
        _ theirs: String,
        _ met: inout Set<MeantDifference>
    ) -> Bool {
        if ours.utf8.elementsEqual(theirs.utf8) { return true }
        met.insert(.lostMark)
        let (kept, left) = (ours.unicodeScalars, theirs.unicodeScalars)
        return left.count < kept.count
            && kept.filter { $0 != Self.mark }.elementsEqual(left.filter { $0 != Self.mark })
    }

    private static let mark: Unicode.Scalar = "\u{FEFF}"

    /// Exactly, where Foundation has an integer or a `Double`.
    private static func isSame(
        _ ours: JSONNumber,
        _ theirs: NSNumber,
        _ met: inout Set<MeantDifference>
    ) -> Bool {
        if theirs is NSDecimalNumber {
            let digits = ours.text.utf8.drop { $0 == UInt8(ascii: "-") }
            if digits.count <= 38, digits.allSatisfy({ (0x30...0x39).contains($0) }) {
                return ours.text == theirs.stringValue
            }
            guard let double = ours.double else { return false }
            met.insert(.longNumber)
            return abs(theirs.doubleValue - double) <= abs(double) * 1e-13
        }
        if String(cString: theirs.objCType) == "d" {
            return ours.double?.bitPattern == theirs.doubleValue.bitPattern
        }
        let text = ours.text == "-0" ? "0" : ours.text
        return text == theirs.stringValue
    }

    /// Bridged numbers answer to Bool as well; those of JSON are of another type in C.
    private static func isBool(_ number: NSNumber) -> Bool {
        String(cString: number.objCType) == "c"
    }
}

extension JSONNumber {
    /// The nearest double; nil where that is infinite.
    fileprivate var double: Double? {
        guard let double = Double(text), double.isFinite else { return nil }
        return double
    }
}
