package import LarderWire

/// All that a client got of a fetch.
package struct FetchResult: Equatable, Sendable {
    package var frames: [FetchFrame]
    /// What it got instead of any frame.
    package var refusal: Problem?

    package init(_ frames: [FetchFrame], refusal: Problem? = nil) {
        self.frames = frames
        self.refusal = refusal
    }

    /// A plain problem and no frame.
    package static func refused(_ problem: Problem) -> FetchResult {
        FetchResult([], refusal: problem)
    }
}
