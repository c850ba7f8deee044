/// A name for each route, by which the server finds its handler; `operationId` in the document.
package enum RouteName: Int, Sendable, CaseIterable {
    case readBatch, explainEntry, readEntry, putEntry, removeEntry, listEntries
    case explainEntity, readEntity, setEntity, deleteEntity, listEntities
    case fetchByQuery, fetchByBody
    case listModifiers, acceptModifiers, retryModifier, showModifier, removeModifier
    case pauseLane, resumeLane
    case watchByQuery, watchByBody
    case listPins, pin, unpin
    case listOrigins, addOrigin, setOriginOffline, setOriginOnline, checkOrigin
    case replaceOrigin, removeOrigin
    case evict, status, stats, usage, check, reload, purge, live, ready, version, document
    case raw, rawPost, rawPut, rawPatch, rawDelete
}
