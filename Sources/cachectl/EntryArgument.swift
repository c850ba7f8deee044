import LarderModel

/// What a person types to name an entry: with `://` a URL, else an id.
enum EntryArgument: Equatable {
    case url(String)
    case id(String)

    init(_ text: String) {
        self = text.contains("://") ? .url(text) : .id(text)
    }

    /// The id under which a row is: a URL in its one spelling, everything else as it was typed.
    ///
    /// An id of a URL may go on after a space, with what its answers vary by.
    var rowID: String {
        switch self {
        case .id(let text): text
        case .url(let text):
            if !text.contains(" "), let url = try? WebURL(text) { url.text } else { text }
        }
    }
}
