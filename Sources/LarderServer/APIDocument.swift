/// The OpenAPI 3.1 document of the API, as `schema/openapi.json` has it.
///
/// The file is the source; the code carries it, and tests hold it to the routes, the problems, the
/// parameters and the answers that there are.
enum APIDocument {
    static let bytes = Array(text.utf8)
}
