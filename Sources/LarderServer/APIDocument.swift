import CSchema

/// The OpenAPI 3.1 document of the API, as `schema/openapi.json` has it.
///
/// The file is the source; `CSchema` embeds it, and tests hold it to the routes, the problems, the
/// parameters and the answers that there are.
enum APIDocument {
    static let bytes: [UInt8] = {
        let document = larder_api_document()
        return Array(UnsafeRawBufferPointer(start: document.bytes, count: document.count))
    }()
}
