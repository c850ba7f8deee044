package import LarderModel

/// An origin's answer: its head, and a body that is still to be read.
package struct UpstreamReply {
    package var status: Int
    package var headers: HeaderFields
    package var body: UpstreamBody

    package init(status: Int, headers: HeaderFields, body: UpstreamBody) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}
