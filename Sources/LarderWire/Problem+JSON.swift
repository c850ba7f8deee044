import LarderModel

extension Problem {
    /// A word of a request that is none of those that there are; a near one is named.
    init(_ name: String, _ text: String, isNoneOf known: [String]) {
        let meant = nearestName(to: text, among: known).map { ", did you mean '\($0)'?" } ?? ""
        let words = known.joined(separator: ", ")
        self.init(.badRequest, "\(name): '\(text)' is none of \(words)\(meant)")
    }
}

extension WireObject {
    func problem(_ name: String) throws(WireError) -> Problem {
        guard let bytes = bytes(name) else { throw .missingMember(name) }
        do throws(APIDecodingError) {
            return try Problem(decoding: bytes)
        } catch .notJSON(let error) {
            throw .notJSON(error)
        } catch {
            throw .wrongType(member: name, wanted: "a problem: \(error.message)")
        }
    }
}
