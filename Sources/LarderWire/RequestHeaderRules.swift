package import LarderAPI
package import LarderModel

/// Decides which header fields a client may give for a fetch and for a write.
package enum RequestHeaderRules {
    /// Fields that a client may not give for a fetch or a modifier; a raw request does not pass
    /// them on.
    ///
    /// A field is in the set for one of three reasons:
    ///
    /// - the daemon sets it;
    /// - it is for one connection only (RFC 9110 7.6.1);
    /// - it would make the answer something else than the URL's whole body.
    private static let refused: Set<String> = [
        "accept-encoding", "connection", "content-length", "expect", "host", "if-match",
        "if-modified-since", "if-none-match", "if-range", "if-unmodified-since", "keep-alive",
        "proxy-authenticate", "proxy-authorization", "proxy-connection", "range", "te", "trailer",
        "transfer-encoding", "upgrade",
    ]

    /// Fields of `refused` that a write may have when it is passed on.
    ///
    /// The origin checks the preconditions. The client decodes the answer that it asked for.
    private static let passed = preconditions.union(["accept-encoding", "if-range", "range"])

    /// Further fields that a raw request does not pass on: they are for the daemon or add nothing.
    ///
    /// Requests that differ only in User-Agent must be equal, so that the daemon asks the origin
    /// once.
    private static let notForwarded: Set<String> = [
        "cache-control", "content-type", "pragma", "prefer", "user-agent",
    ]

    /// Preconditions of a write, which the origin checks, not the daemon.
    private static let preconditions: Set<String> = [
        "if-match", "if-modified-since", "if-none-match", "if-unmodified-since",
    ]

    /// The header fields of a raw request that go to the origin.
    ///
    /// These fields do not go to the origin: `refused`, `notForwarded`, the fields that
    /// `Connection` names, and the fields for the daemon.
    static func forwarded(_ headers: HeaderFields) throws(Problem) -> HeaderFields {
        try bounded(
            without(refused.union(notForwarded), headers).filter { field in
                !(field.name.isEqual(to: "Accept") && field.value == "*/*")
            }
        )
    }

    /// The header fields of a raw write that is passed on, all but those of the connection and for
    /// the daemon.
    static func passed(_ headers: HeaderFields) throws(Problem) -> HeaderFields {
        try bounded(without(refused.subtracting(passed), headers))
    }

    /// The header fields of a raw write that becomes a modifier, with its preconditions and
    /// Content-Type.
    ///
    /// Throws for a field that no modifier may have.
    static func queued(_ headers: HeaderFields) throws(Problem) -> HeaderFields {
        try refuse(["Authorization", "Cookie"], in: headers)
        return try bounded(without(refused.subtracting(preconditions).union(["prefer"]), headers))
    }

    /// Refuses a body with a content coding, and a part of a body.
    package static func refusePart(
        _ headers: HeaderFields,
        status: Int? = nil
    ) throws(Problem) {
        if let coding = headers.list("Content-Encoding"), !coding.isEqual(to: "identity") {
            throw Problem(
                .unsupported,
                "Content-Encoding: a write is taken as it is, not as '\(coding)'",
                status: status,
                hint: "Send the body without a Content-Encoding."
            )
        }
        guard headers["Content-Range"] == nil else {
            throw Problem(
                .unsupported,
                "Content-Range: a part of a body is no write",
                status: status,
                hint: "Send the whole body."
            )
        }
    }

    private static func without(
        _ names: Set<String>,
        _ headers: HeaderFields
    ) -> [HeaderFields.Field] {
        let dropped = names.union(headers.listed("Connection"))
        return headers.fields.filter { field in
            let name = field.name.lowercased()
            return !dropped.contains(name) && !name.hasPrefix("larder-")
        }
    }

    private static func bounded(_ fields: [HeaderFields.Field]) throws(Problem) -> HeaderFields {
        let forwarded = HeaderFields(fields)
        guard fields.count <= Limits.requestHeadersMax,
            forwarded.byteCount <= Limits.requestHeaderBytesMax
        else {
            throw Problem(
                .headTooLarge,
                "at most \(Limits.requestHeadersMax) headers with "
                    + "\(Limits.requestHeaderBytesMax) bytes in all go to an origin"
            )
        }
        return forwarded
    }

    /// Whether a modifier may have the method: not a reading method, CONNECT or TRACE.
    static func isWritingMethod(_ method: String) -> Bool {
        isToken(method) && method.utf8.count <= Limits.methodBytesMax
            && !["GET", "HEAD", "OPTIONS", "CONNECT", "TRACE"].contains(method.uppercased())
    }

    /// The header fields of a modifier: ``fields(_:besides:)`` without credentials and without a key.
    ///
    /// If-Match may be given: then the program itself protects what others wrote.
    ///
    /// A modifier outlives its program, so it stores no secret. The daemon sets the idempotency
    /// key.
    static func modifierFields(_ given: NamedValues<String>?) throws(Problem) -> HeaderFields {
        let fields = try fields(given, besides: ["if-match"])
        try refuse(["Authorization", "Cookie", "Idempotency-Key"], in: fields)
        return fields
    }

    private static func refuse(_ names: [String], in fields: HeaderFields) throws(Problem) {
        for name in names where fields[name] != nil {
            throw Problem(
                .badRequest,
                "headers: '\(name)' cannot be given for a modifier, the daemon sets it when it sends",
                hint: HeaderFields.holdsSecret(name) && name != "Idempotency-Key"
                    ? "Leave the header out, and set the credential: cachectl origin login NAME"
                    : "Leave the header out."
            )
        }
    }

    /// `allowed` are fields that may be given although they are refused elsewhere, in lower case.
    package static func fields(
        _ given: NamedValues<String>?,
        besides allowed: Set<String> = []
    ) throws(Problem) -> HeaderFields {
        let members = given?.members ?? []
        try members.checkCount("headers", in: 0...Limits.requestHeadersMax)
        var fields = HeaderFields()
        for member in members {
            try check(member, allowed)
            fields.append(member.name, member.value)
            guard !fields.fields.dropLast().contains(where: { $0.name.isEqual(to: member.name) })
            else { throw Problem(.badRequest, "headers: '\(member.name)' is given twice") }
        }
        guard fields.byteCount <= Limits.requestHeaderBytesMax else {
            throw Problem(
                .badRequest,
                "headers: they have more than \(Limits.requestHeaderBytesMax) bytes in all"
            )
        }
        return fields
    }

    private static func check(
        _ member: NamedValues<String>.Member,
        _ allowed: Set<String>
    ) throws(Problem) {
        guard isToken(member.name) else {
            throw Problem(.badRequest, "headers: '\(member.name)' is not a header's name")
        }
        let name = member.name.lowercased()
        guard allowed.contains(name) || !refused.contains(name) else {
            throw Problem(
                .badRequest,
                "headers: '\(member.name)' cannot be given, the daemon sets it",
                hint: "Leave the header out."
            )
        }
        // A value may contain a tab (RFC 9110 5.5); a line end would begin another field.
        guard member.value.utf8.allSatisfy({ ($0 >= 0x20 && $0 != 0x7F) || $0 == 0x09 }) else {
            throw Problem(
                .badRequest,
                "headers: the value of '\(member.name)' has a control character"
            )
        }
    }

    /// The checked header field of a credential; no problem repeats the value.
    package static func credential(_ name: String, _ value: String) throws(Problem) {
        guard isToken(name), name.utf8.count <= Limits.credentialHeaderBytesMax,
            !refused.contains(name.lowercased()), !name.lowercased().hasPrefix("larder-")
        else {
            throw Problem(
                .badRequest,
                "header: '\(name)' is not the name of a header that may hold a credential",
                hint: "Leave it out for Authorization, or give the name that the server asks for."
            )
        }
        guard (1...Limits.credentialBytesMax).contains(value.utf8.count),
            value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
            value.utf8.first != UInt8(ascii: " "), value.utf8.last != UInt8(ascii: " ")
        else {
            throw Problem(
                .badRequest,
                "value: it is not the value of a header: 1 to \(Limits.credentialBytesMax) bytes, "
                    + "no control character, no space at its ends",
                hint: "Give the whole value, such as 'Bearer TOKEN'."
            )
        }
    }

    /// RFC 9110 5.6.2.
    package static func isToken(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy(\.isTokenCharacter)
    }
}

/// Media types of the bodies of writes.
package enum MediaType {
    package static let json = "application/json"
    package static let mergePatch = "application/merge-patch+json"
    package static let jsonPatch = "application/json-patch+json"
    package static let text = "text/plain; charset=utf-8"
    package static let bytes = "application/octet-stream"

    package static func isMergePatch(_ type: String) -> Bool { type.mediaEssence == mergePatch }
    package static func isJSONPatch(_ type: String) -> Bool { type.mediaEssence == jsonPatch }
    package static func isJSON(_ type: String) -> Bool { type.mediaEssence == json }

    /// Whether a type is JSON or has the suffix `+json` (RFC 6839 3.1).
    package static func isAnyJSON(_ type: String) -> Bool {
        let essence = type.mediaEssence
        return essence == json || essence.hasSuffix("+json")
    }
}
