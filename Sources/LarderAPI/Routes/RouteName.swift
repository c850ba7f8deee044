/// A name for each route, by which the server finds its handler; `operationId` in the document.
package enum RouteName: Int, Sendable, CaseIterable {
    case readBatch, explainEntry, readEntry, putEntry, removeEntry, listEntries
    case get, fetchByQuery, fetchByBody
    case listModifiers, acceptModifiers, actOnModifiers, showModifier, editModifier, removeModifier
    case listLanes, setLane
    case watchByQuery, watchByBody
    case listPins, pin, unpin
    case listOrigins, showOrigin, changeOrigin, checkOrigin, putOrigin, removeOrigin
    case showCredential, putCredential, removeCredential, renewCredential
    case evict, status, stats, usage, check, reload, purge, health, version, document
    case raw, rawPost, rawPut, rawPatch, rawDelete
}
