import LarderModel

/// Which read of those that wait is begun next: users take turns, each with a share of the readers.
///
/// A user's own reads are begun in the order in which they came. Invariants: no more are begun than
/// there are readers, and of one user no more than the share; whoever waits has begun the share, or
/// all readers are taken.
struct ReadTurns<Read> {
    private let readersMax: Int
    private let shareMax: Int
    private var waiting: [Reading.User: [Read]] = [:]
    private var order: [Reading.User] = []
    private var begun: [Reading.User: Int] = [:]
    private var begunCount = 0

    init(
        readersMax: Int = Limits.clientReadersMax,
        shareMax: Int = Limits.clientReadersPerUserMax
    ) {
        self.readersMax = readersMax
        self.shareMax = shareMax
    }

    func waitingCount(of user: Reading.User) -> Int { waiting[user]?.count ?? 0 }

    mutating func asked(_ read: Read, by user: Reading.User) -> Bool {
        let count = waitingCount(of: user)
        guard count < Limits.readsWaitingPerUserMax else { return false }
        if count == 0 { order.append(user) }
        waiting[user, default: []].append(read)
        return true
    }

    mutating func next() -> (user: Reading.User, read: Read)? {
        guard begunCount < readersMax,
            let place = order.firstIndex(where: { begun[$0, default: 0] < shareMax })
        else { return nil }
        let user = order.remove(at: place)
        guard var reads = waiting.removeValue(forKey: user) else { return nil }
        let read = reads.removeFirst()
        if !reads.isEmpty {
            waiting[user] = reads
            order.append(user)
        }
        begun[user, default: 0] += 1
        begunCount += 1
        return (user, read)
    }

    mutating func ended(of user: Reading.User) {
        begunCount -= 1
        let left = begun[user, default: 1] - 1
        begun[user] = left == 0 ? nil : left
    }
}
