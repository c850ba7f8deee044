import LarderModel
import Synchronization

package struct FileNews: Equatable, Sendable {
    package let sentence: String
    /// False where it is what a person may do, or what is right again.
    package let isWarning: Bool
    /// The SQL that failed, which is for the log only.
    package var statement: String?
}

/// What was found wrong with the files and what was done about it, in sentences: the last few.
final class Findings: Sendable {
    private struct Kept {
        var recent: [String] = []
        var untold: [FileNews] = []
        var toldEvictions: Int64 = 0
    }

    private let kept = Mutex(Kept())

    func add(_ sentence: String, statement: String? = nil) {
        tell(sentence, statement: statement)
        kept.withLock { $0.recent = ($0.recent + [sentence]).suffix(Limits.findingsMax) }
    }

    /// Remembers something for the log only, as status tells it otherwise.
    func tell(_ sentence: String, isWarning: Bool = true, statement: String? = nil) {
        let news = FileNews(sentence: sentence, isWarning: isWarning, statement: statement)
        kept.withLock { $0.untold = ($0.untold + [news]).suffix(Limits.findingsMax) }
    }

    func takeEvictions(of count: Int64) -> Int64 {
        kept.withLock { count - exchange(&$0.toldEvictions, with: count) }
    }

    var recent: [String] { kept.withLock { $0.recent } }

    func takeUntold() -> [FileNews] { kept.withLock { exchange(&$0.untold, with: []) } }
}
