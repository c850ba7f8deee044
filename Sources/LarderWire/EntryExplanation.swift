import LarderJSON
package import LarderModel

/// What `explain` says of one entry: all metadata, and why it cannot be evicted.
package struct EntryExplanation: Equatable, Report {
    package var item: EntryListItem
    /// The origin's validator of the second kind, as it spelled it.
    package var lastModified: String?
    /// The origin's other header fields.
    package var headers: HeaderFields
    /// The digest of the bytes, 32 hexadecimal digits.
    package var digest: String
    /// Why it cannot be evicted, one reason each; empty when it can.
    package var protectedBy: [String]
    /// How it is stored.
    package var form = FormExplanation(.whole(reason: nil))
    /// Nil where nothing is to be sent that touches it.
    package var pending: PendingExplanation?

    package init(entry: Entry, item: EntryListItem, protectedBy: [String]) {
        self.item = item
        lastModified = entry.lastModified
        headers = entry.headers
        digest = entry.body.digest.text
        self.protectedBy = protectedBy
    }

    package var byteCount: Int { pending?.byteCount ?? 0 }

    /// The members of a list's item, and then its own.
    ///
    /// Headers are objects of name and value, as names may repeat.
    package func encoded() -> [UInt8] {
        var json = JSONWriter()
        json.object { json in
            item.write(to: &json)
            json.member("last_modified", lastModified)
            json.name("headers")
            json.beginArray()
            for field in headers.fields {
                json.object { json in
                    json.member("name", field.name)
                    json.member("value", field.value)
                }
            }
            json.endArray()
            json.member("digest", digest)
            json.member("protected_by", protectedBy)
            form.write(to: &json)
            if let pending {
                pending.write(to: &json)
            } else {
                PendingExplanation.writeNone(to: &json)
            }
        }
        return json.bytes
    }

    package init(decoding bytes: [UInt8]) throws(WireError) {
        let object = try WireObject(parsing: bytes)
        item = try EntryListItem(object)
        lastModified = try object.optionalString("last_modified")
        headers = HeaderFields()
        for field in try object.objects("headers") {
            headers.append(try field.string("name"), try field.string("value"))
        }
        digest = try object.string("digest")
        protectedBy = try object.strings("protected_by")
        form = try FormExplanation(object)
        pending = try PendingExplanation(object)
    }
}
