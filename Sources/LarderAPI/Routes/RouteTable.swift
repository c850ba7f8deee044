extension Route {
    /// All routes, the busiest first: of two paths that fit a request, the first counts.
    package static let table: [Route] = [
        Route(.readBatch, "POST /v1/entries/batch"),
        Route(
            .explainEntry,
            "GET /v1/entries/{id}/explain",
            query: ScopeQuery.self,
            access: .owner
        ),
        Route(.readEntry, "GET /v1/entries/{id}", query: EntryQuery.self),
        Route(.putEntry, "PUT /v1/entries/{id}", query: PutQuery.self),
        Route(.removeEntry, "DELETE /v1/entries/{id}", query: ScopeQuery.self, access: .owner),
        Route(.listEntries, "GET /v1/entries", query: EntryListQuery.self, access: .owner),

        Route(.get, "GET /v1/get", query: FetchCommand.self),
        Route(.fetchByQuery, "GET /v1/fetch", query: FetchCommand.self, isStream: true),
        Route(.fetchByBody, "POST /v1/fetch"),
        Route(.watchByQuery, "GET /v1/watch", query: WatchQuery.self, isStream: true),
        Route(.watchByBody, "POST /v1/watch"),

        Route(.listModifiers, "GET /v1/modifiers", query: ModifierListQuery.self, access: .owner),
        Route(.acceptModifiers, "POST /v1/modifiers", query: WaitQuery.self),
        Route(.actOnModifiers, "POST /v1/modifiers/actions", access: .owner),
        Route(
            .showModifier,
            "GET /v1/modifiers/{modifier}",
            query: ModifierQuery.self,
            access: .owner
        ),
        Route(
            .editModifier,
            "PATCH /v1/modifiers/{modifier}",
            query: ScopeQuery.self,
            access: .owner
        ),
        Route(
            .removeModifier,
            "DELETE /v1/modifiers/{modifier}",
            query: ScopeQuery.self,
            access: .owner
        ),
        Route(.listLanes, "GET /v1/lanes", query: ScopeQuery.self, access: .owner),
        Route(.setLane, "PUT /v1/lanes/{lane}", query: ScopeQuery.self, access: .owner),

        Route(.listPins, "GET /v1/pins", query: PinListQuery.self),
        Route(.pin, "PUT /v1/pins/{id}", query: PinQuery.self),
        Route(.unpin, "DELETE /v1/pins/{id}", query: AccountQuery.self),
        Route(.listPrefetches, "GET /v1/prefetch", query: AccountQuery.self),
        Route(.showPrefetch, "GET /v1/prefetch/{set}", query: AccountQuery.self),
        Route(.putPrefetch, "PUT /v1/prefetch/{set}", query: PrefetchQuery.self),
        Route(.removePrefetch, "DELETE /v1/prefetch/{set}", query: AccountQuery.self),

        Route(.listOrigins, "GET /v1/origins"),
        Route(.checkOrigin, "POST /v1/origins/{name}/check", access: .administrators),
        Route(.showCredential, "GET /v1/origins/{name}/credential", query: AccountQuery.self),
        Route(.putCredential, "PUT /v1/origins/{name}/credential"),
        Route(.removeCredential, "DELETE /v1/origins/{name}/credential", query: AccountQuery.self),
        Route(
            .renewCredential,
            "POST /v1/origins/{name}/credential/renewal",
            query: RenewalQuery.self
        ),
        Route(.showOrigin, "GET /v1/origins/{name}"),
        Route(.changeOrigin, "PATCH /v1/origins/{name}", access: .administrators),
        Route(.putOrigin, "PUT /v1/origins/{name}", access: .administrators),
        Route(.removeOrigin, "DELETE /v1/origins/{name}", access: .administrators),

        Route(.evict, "POST /v1/evict", access: .owner),
        Route(.status, "GET /v1/status"),
        Route(.stats, "GET /v1/stats"),
        Route(.usage, "GET /v1/usage", query: ScopeQuery.self, access: .owner),
        Route(.check, "POST /v1/check", access: .administrators),
        Route(.reload, "POST /v1/reload", access: .administrators),
        Route(.purge, "POST /v1/purge", query: PurgeQuery.self, access: .administrators),
        Route(.health, "GET /v1/health"),
        Route(.version, "GET /v1/version"),
        Route(.document, "GET /v1/openapi.json"),

        Route(.raw, "GET /o/{origin}/{path}"),
        Route(.rawPost, "POST /o/{origin}/{path}"),
        Route(.rawPut, "PUT /o/{origin}/{path}"),
        Route(.rawPatch, "PATCH /o/{origin}/{path}"),
        Route(.rawDelete, "DELETE /o/{origin}/{path}"),
        Route(.rawOptions, "OPTIONS /o/{origin}/{path}"),
    ]
}
