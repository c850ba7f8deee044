import LarderModel

extension Timestamp {
    /// 2026-11-20T18:43:27.120Z.
    static let start = Timestamp(milliseconds: 1_795_200_207_120)
}
