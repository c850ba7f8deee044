import CFuzzer
import FuzzTargets

/// Feeds a target with what libFuzzer makes up: `larder-fuzz json|split [OPTION|FOLDER|FILE…]`.
///
/// With files it runs these alone, which is how a finding is looked at again.
@main
struct LarderFuzz {
    static func main() {
        guard CommandLine.arguments.count > 1 else { fatalError("name a target: json or split") }
        let callback: LarderFuzzTarget =
            switch CommandLine.arguments[1] {
            case "json": json
            case "split": split
            default: fatalError("there is no target '\(CommandLine.arguments[1])'")
            }
        // What stands before the options is the program's name to libFuzzer.
        var count = CommandLine.argc - 1
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? =
            CommandLine.unsafeArgv + 1
        _ = LLVMFuzzerRunDriver(&count, &arguments, callback)
    }

    private static let json: LarderFuzzTarget = { data, count in
        let bytes = Array(UnsafeBufferPointer(start: data, count: count))
        guard case .disagrees(let words) = FoundationOpinion.verdict(on: bytes) else { return 0 }
        fatalError("\(words)\n\(String(decoding: bytes, as: UTF8.self).debugDescription)")
    }

    private static let opinion = SplitOpinion()

    private static let split: LarderFuzzTarget = { data, count in
        let bytes = Array(UnsafeBufferPointer(start: data, count: count))
        guard case .disagrees(let words) = opinion.verdict(on: bytes) else { return 0 }
        fatalError("\(words)\n\(String(decoding: bytes, as: UTF8.self).debugDescription)")
    }
}
