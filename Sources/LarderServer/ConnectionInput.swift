import LarderEngine
import LarderModel
import LarderWire
import NIOCore
import NIOHTTP1

/// What comes from a client, in its order.
enum ConnectionInput {
    case part(HTTPServerRequestPart)
    /// What is no request.
    case unreadable(Problem)
    /// Nothing more.
    case end
}

/// What the present exchange needs of its connection.
enum ConnectionExchange {
    /// Answered on the loop once the request is whole.
    case inline(HTTPRequestHead, EntryID)
    case job(RequestBody, Interest)
}

extension ByteBuffer {
    /// What it keeps in memory: a small piece the whole of what was read with it.
    var heldBytes: Int { storageCapacity }
}
