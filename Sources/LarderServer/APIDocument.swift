import CSchema

/// The OpenAPI 3.1 document of the API, as `schema/openapi.json` has it.
///
/// `scripts/generate-openapi` writes the file from the tables of routes and problems and the types of
/// `LarderAPI`. `CSchema` embeds it.
enum APIDocument {
    static let bytes: [UInt8] = {
        let document = larder_api_document()
        return Array(UnsafeRawBufferPointer(start: document.bytes, count: document.count))
    }()
}
