/// What the end of an attempt means.
enum PlainVerdict {
    case confirmed((path: String, value: PlainValue)?)
    /// A write that creates an entity under a temporary id is confirmed: the id of the server, and
    /// the entity if the answer has it.
    case created(String, PlainValue?)
    case accepted
    case notNow
    /// 503: not applied for now, which its status alone does not prove.
    case busy
    /// 500: unlikely to be applied.
    case serverFailed
    case refused(Int)
    /// A portal answered.
    case captive
    /// 412: refused, unless it is the doing of an attempt before (case 22).
    case preconditionFailed
    case authNeeded
    case unclear
    case neverLeft
}

/// What the origin says of a target that is asked for after a 412.
enum PlainCheck {
    case said(PlainQueue.Base)
    /// Nothing that can be compared.
    case nothing
    case notNow
}
