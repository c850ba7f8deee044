// Made by scripts/generate-schema from schema/openapi.json; change that.
// swift-format-ignore-file

extension APIDocument {
    static let text = #"""
        {
          "openapi": "3.1.0",
          "info": {
            "title": "Larder",
            "version": "1",
            "summary": "An offline-first cache daemon on a Unix socket.",
            "description": "HTTP/1.1 over a Unix socket, JSON in UTF-8. `curl --unix-socket /run/larder/api.sock http://larder/v1/status` is a first-class client; the host name counts for nothing.\n\nWho asks is what the kernel says of the socket's other end (SO_PEERCRED): a client sees its own rows and shared ones, and no header changes that.\n\nEvery error is `application/problem+json` (RFC 9457), see the schema `Problem`. An unknown query parameter and an unknown member of a body are refused by name with 400; a member of a body that is null counts as not given. A member of an answer that a client does not know is to be ignored: later versions add some.\n\nDurations are a whole number and a unit, `ms`, `s`, `m`, `h` or `d`: `300ms`, `10s`, `7d`. Sizes are a whole number and `B`, `KiB`, `MiB`, `GiB` or `TiB`. Moments are RFC 3339 in UTC. Every route that touches rows takes `account`, which keeps several accounts of one user apart.\n\nAny route may also answer 400 `urn:larder:bad-request` to what is no HTTP/1.1 request, 405 `urn:larder:method-not-allowed` with `Allow`, 431 `urn:larder:head-too-large`, and 500 `urn:larder:storage`; after a 400 to a broken head and after a 431 the connection ends."
          },
          "servers": [
            {
              "url": "http://larder",
              "description": "The Unix socket; any host name will do."
            }
          ],
          "tags": [
            {
              "name": "Fetch",
              "description": "What is cached of a URL, and what the network says of it."
            },
            {
              "name": "Entries",
              "description": "The id / data / timestamp cache itself."
            },
            {
              "name": "Entities",
              "description": "Objects that are in several answers of an origin, and are kept once, by its rules."
            },
            {
              "name": "Modifiers",
              "description": "What is written here at once and sent when it can be."
            },
            {
              "name": "Watch",
              "description": "What changes, as it happens and since."
            },
            {
              "name": "Origins",
              "description": "The servers that may be asked. Everybody may list them; the rest is for administrators."
            },
            {
              "name": "Raw",
              "description": "An origin's answers as they are."
            },
            {
              "name": "Pins",
              "description": "What is kept for good, beside the cache."
            },
            {
              "name": "Administration",
              "description": "Eviction, and what the daemon says of itself."
            }
          ],
          "paths": {
            "/v1/fetch": {
              "get": {
                "tags": ["Fetch"],
                "operationId": "fetchByQuery",
                "summary": "Fetch a URL",
                "description": "The members of the POST's body as parameters, except `headers`. `curl -G --data-urlencode url=…` encodes the URL.",
                "parameters": [
                  {
                    "name": "url",
                    "in": "query",
                    "required": true,
                    "description": "The URL, percent-encoded as in a form.",
                    "schema": { "$ref": "#/components/schemas/FetchURL" },
                    "example": "https://api.example.com/articles/42"
                  },
                  {
                    "name": "policy",
                    "in": "query",
                    "description": "In which order cache and network are asked; without it the origin's.",
                    "schema": { "$ref": "#/components/schemas/FetchPolicy" },
                    "example": "network-first"
                  },
                  {
                    "name": "network_wait",
                    "in": "query",
                    "description": "How long `network-first`, and `cache-first` with a stale answer, wait for the network while the cache has one: 0ms to 1h.",
                    "schema": { "$ref": "#/components/schemas/Duration" },
                    "example": "300ms"
                  },
                  {
                    "name": "timeout",
                    "in": "query",
                    "description": "How long to wait in all: 1ms to 1h.",
                    "schema": { "$ref": "#/components/schemas/Duration" },
                    "example": "10s"
                  },
                  {
                    "name": "normalize",
                    "in": "query",
                    "description": "Whether the answer's entities are shared with other answers, by the origin's rules; without it as the origin has it. Without rules an answer is stored whole.",
                    "schema": { "type": "boolean" },
                    "example": false
                  },
                  {
                    "name": "partial",
                    "in": "query",
                    "description": "Whether what is cached is shown without the entities that were evicted of it, with `complete` false and `missing`; else that is a miss.",
                    "schema": { "type": "boolean", "default": false },
                    "example": true
                  },
                  {
                    "name": "follow",
                    "in": "query",
                    "description": "Whether the stream stays open: each new view of the entry is a further `snapshot`, its deletion a `deleted`, `origin` says when its origin goes and returns, and `end` comes when the daemon ends. With `Accept: application/json` it is 406.",
                    "schema": { "type": "boolean", "default": false },
                    "example": true
                  },
                  { "$ref": "#/components/parameters/heartbeat" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/FetchFrames" },
                  "403": { "$ref": "#/components/responses/UnknownOrigin" },
                  "404": { "$ref": "#/components/responses/NothingToShow" },
                  "406": { "$ref": "#/components/responses/NotAcceptable" },
                  "502": { "$ref": "#/components/responses/NetworkFailed" },
                  "503": { "$ref": "#/components/responses/NotNow" },
                  "504": { "$ref": "#/components/responses/Timeout" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "post": {
                "tags": ["Fetch"],
                "operationId": "fetchByBody",
                "summary": "Fetch a URL, with headers for the origin",
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/FetchCommand" }
                    }
                  }
                },
                "responses": {
                  "200": { "$ref": "#/components/responses/FetchFrames" },
                  "403": { "$ref": "#/components/responses/UnknownOrigin" },
                  "404": { "$ref": "#/components/responses/NothingToShow" },
                  "406": { "$ref": "#/components/responses/NotAcceptable" },
                  "502": { "$ref": "#/components/responses/NetworkFailed" },
                  "503": { "$ref": "#/components/responses/NotNow" },
                  "504": { "$ref": "#/components/responses/Timeout" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/watch": {
              "get": {
                "tags": ["Watch"],
                "operationId": "watchByQuery",
                "summary": "Watch what changes",
                "description": "A stream of frames that ends when the client hangs up, when the daemon ends, or when the watcher lags; with `timeout`, and where Accept names none of the streams, a long poll. It begins with a `bookmark` that says where. Without `id`, `key` and `prefix` every entry and every entity is watched. An entry whose answer is normalized is told of whatever changes of its entities it shows.",
                "parameters": [
                  {
                    "name": "since",
                    "in": "query",
                    "description": "A revision that the watcher has seen: what has changed after it comes first. Without it the watch begins now. A `Last-Event-ID` header counts before it.",
                    "schema": { "$ref": "#/components/schemas/Revision" },
                    "example": 8412
                  },
                  {
                    "name": "id",
                    "in": "query",
                    "description": "An id, which need not exist yet; may be repeated, up to 1,000 times. It is not evicted meanwhile, within the user's share of the cache.",
                    "schema": { "$ref": "#/components/schemas/EntryID" },
                    "example": "https://api.example.com/articles/42"
                  },
                  {
                    "name": "key",
                    "in": "query",
                    "description": "An entity's key, percent-encoded once more; need not exist yet, and may be repeated, with the ids up to 1,000 times.",
                    "schema": { "$ref": "#/components/schemas/EntityKey" },
                    "example": "User:7"
                  },
                  {
                    "name": "origin",
                    "in": "query",
                    "description": "Whose the keys are; may be left out while only one origin has rules.",
                    "schema": { "$ref": "#/components/schemas/OriginName" },
                    "example": "example"
                  },
                  {
                    "name": "prefix",
                    "in": "query",
                    "description": "What ids begin with; may be repeated, up to 64 times.",
                    "schema": { "type": "string", "minLength": 1, "maxLength": 8192 },
                    "example": "https://api.example.com/articles/"
                  },
                  {
                    "name": "types",
                    "in": "query",
                    "description": "Which frames, with commas between: `put`, `delete`, `evict`, `modifier`, `remapped`, `auth`, `origin`. Without it all.",
                    "schema": { "type": "string" },
                    "example": "put,delete"
                  },
                  {
                    "name": "initial",
                    "in": "query",
                    "description": "Whether the entries that there are come first, each as a `put` with `initial`, and then a `bookmark` with `initial_done`; `since` then counts for nothing. A stream that ends before that is to be asked for anew, with `initial`.",
                    "schema": { "enum": ["0", "1", "false", "true"] },
                    "example": "1"
                  },
                  { "$ref": "#/components/parameters/heartbeat" },
                  {
                    "name": "timeout",
                    "in": "query",
                    "description": "How long a long poll waits for the first event, and how long a stream lasts: up to 1h.",
                    "schema": { "$ref": "#/components/schemas/Duration" },
                    "example": "30s"
                  },
                  { "$ref": "#/components/parameters/account" },
                  { "$ref": "#/components/parameters/larderClient" },
                  { "$ref": "#/components/parameters/lastEventID" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/WatchFrames" },
                  "410": { "$ref": "#/components/responses/SinceTooOld" },
                  "503": { "$ref": "#/components/responses/NotNow" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "post": {
                "tags": ["Watch"],
                "operationId": "watchByBody",
                "summary": "Watch what changes, with a long list of ids",
                "parameters": [
                  { "$ref": "#/components/parameters/larderClient" },
                  { "$ref": "#/components/parameters/lastEventID" }
                ],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/WatchCommand" }
                    }
                  }
                },
                "responses": {
                  "200": { "$ref": "#/components/responses/WatchFrames" },
                  "410": { "$ref": "#/components/responses/SinceTooOld" },
                  "503": { "$ref": "#/components/responses/NotNow" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/entries": {
              "get": {
                "tags": ["Entries"],
                "operationId": "listEntries",
                "summary": "A page of rows, without bodies",
                "parameters": [
                  { "$ref": "#/components/parameters/entriesPrefix" },
                  { "$ref": "#/components/parameters/entriesOrigin" },
                  { "$ref": "#/components/parameters/entriesSort" },
                  { "$ref": "#/components/parameters/entriesLimit" },
                  { "$ref": "#/components/parameters/entriesCursor" },
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": {
                    "description": "The page.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/EntryPage" }
                      }
                    }
                  },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Entries"],
                "operationId": "listEntriesHead",
                "summary": "The same without the body",
                "parameters": [
                  { "$ref": "#/components/parameters/entriesPrefix" },
                  { "$ref": "#/components/parameters/entriesOrigin" },
                  { "$ref": "#/components/parameters/entriesSort" },
                  { "$ref": "#/components/parameters/entriesLimit" },
                  { "$ref": "#/components/parameters/entriesCursor" },
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/entries/batch": {
              "post": {
                "tags": ["Entries"],
                "operationId": "readBatch",
                "summary": "What is cached under several ids, as it is at one moment",
                "description": "All rows are read in one transaction; the network is not asked. Bodies stand in the frames as in those of a fetch, up to 16 MiB in all; beyond that they are named by `body_href`. At most 16 batches, 8 of one user, are read at once, else 503 `urn:larder:overloaded`.",
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/BatchCommand" }
                    }
                  }
                },
                "responses": {
                  "200": { "$ref": "#/components/responses/BatchFrames" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/entries/{id}": {
              "parameters": [{ "$ref": "#/components/parameters/id" }],
              "get": {
                "tags": ["Entries"],
                "operationId": "readEntry",
                "summary": "The bytes of an entry",
                "parameters": [
                  { "$ref": "#/components/parameters/show" },
                  { "$ref": "#/components/parameters/account" },
                  { "$ref": "#/components/parameters/ifNoneMatch" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/EntryBytes" },
                  "304": { "$ref": "#/components/responses/EntryUnchanged" },
                  "404": { "$ref": "#/components/responses/Miss" },
                  "410": { "$ref": "#/components/responses/Deleted" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Entries"],
                "operationId": "readEntryHead",
                "summary": "The headers of an entry",
                "parameters": [
                  { "$ref": "#/components/parameters/show" },
                  { "$ref": "#/components/parameters/account" },
                  { "$ref": "#/components/parameters/ifNoneMatch" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/EntryHead" },
                  "304": { "$ref": "#/components/responses/EntryUnchanged" },
                  "404": { "description": "A miss: nothing is cached under the id." },
                  "410": { "description": "It is gone: the origin says so, or a write that waits to be sent." },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "put": {
                "tags": ["Entries"],
                "operationId": "putEntry",
                "summary": "Keep a blob of one's own",
                "description": "The body and its Content-Type are kept as they are. The answer comes after the commit. An id under an origin's base URL is refused: those belong to the origin. So are `Content-Range` and a `Content-Encoding`, with 400.",
                "parameters": [
                  {
                    "name": "ttl",
                    "in": "query",
                    "description": "After this time the blob reads as a miss and is the first to be evicted; more than 0ms. Without it, it stays until it is evicted.",
                    "schema": { "$ref": "#/components/schemas/Duration" },
                    "example": "7d"
                  },
                  {
                    "name": "pin",
                    "in": "query",
                    "description": "Pins the blob as well, both or neither; see `/v1/pins/{id}`.",
                    "schema": { "type": "boolean", "default": false },
                    "example": true
                  },
                  { "$ref": "#/components/parameters/ifMatch" },
                  { "$ref": "#/components/parameters/ifNoneMatchWrite" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "requestBody": {
                  "required": false,
                  "description": "Any bytes, none too, up to `cache.max_entry_bytes`.",
                  "content": {
                    "*/*": {
                      "schema": {}
                    }
                  }
                },
                "responses": {
                  "201": { "$ref": "#/components/responses/Stored" },
                  "204": { "$ref": "#/components/responses/Stored" },
                  "409": { "$ref": "#/components/responses/OriginID" },
                  "412": { "$ref": "#/components/responses/NotAsExpected" },
                  "413": { "$ref": "#/components/responses/EntryTooLarge" },
                  "507": { "$ref": "#/components/responses/CacheFull" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "delete": {
                "tags": ["Entries"],
                "operationId": "removeEntry",
                "summary": "Delete a blob, or forget a fetched entry",
                "description": "A fetched entry is only forgotten, as by an eviction: the next fetch brings it back. What is pinned is refused until it is unpinned. The row that all users see of a shared origin's answer is removed with `scope=shared`, by administrators; without it a request that meets only that row is refused.",
                "parameters": [
                  { "$ref": "#/components/parameters/ifMatch" },
                  { "$ref": "#/components/parameters/ifNoneMatchWrite" },
                  { "$ref": "#/components/parameters/account" },
                  { "$ref": "#/components/parameters/scope" }
                ],
                "responses": {
                  "204": { "description": "It is gone." },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "404": { "$ref": "#/components/responses/Miss" },
                  "409": {
                    "description": "`urn:larder:pinned`: unpin it first.",
                    "content": {
                      "application/problem+json": {
                        "schema": { "$ref": "#/components/schemas/Problem" }
                      }
                    }
                  },
                  "412": { "$ref": "#/components/responses/NotAsExpected" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/entries/{id}/explain": {
              "parameters": [{ "$ref": "#/components/parameters/id" }],
              "get": {
                "tags": ["Entries"],
                "operationId": "explainEntry",
                "summary": "Everything that is known of an entry, without its bytes",
                "parameters": [
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": {
                    "description": "What is known.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/EntryExplanation" }
                      }
                    }
                  },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "404": { "$ref": "#/components/responses/Miss" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Entries"],
                "operationId": "explainEntryHead",
                "summary": "The same without the body",
                "parameters": [
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/entities": {
              "get": {
                "tags": ["Entities"],
                "operationId": "listEntities",
                "summary": "A page of an origin's entities, without their values",
                "description": "In the order of their keys. Those that the origin has deleted are among them.",
                "parameters": [
                  { "$ref": "#/components/parameters/entityOrigin" },
                  { "$ref": "#/components/parameters/entitiesType" },
                  { "$ref": "#/components/parameters/entitiesLimit" },
                  { "$ref": "#/components/parameters/entitiesCursor" },
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": {
                    "description": "The page.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/EntityPage" }
                      }
                    }
                  },
                  "400": { "$ref": "#/components/responses/OriginNeeded" },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Entities"],
                "operationId": "listEntitiesHead",
                "summary": "The same without the body",
                "parameters": [
                  { "$ref": "#/components/parameters/entityOrigin" },
                  { "$ref": "#/components/parameters/entitiesType" },
                  { "$ref": "#/components/parameters/entitiesLimit" },
                  { "$ref": "#/components/parameters/entitiesCursor" },
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/entities/{key}": {
              "parameters": [{ "$ref": "#/components/parameters/key" }],
              "get": {
                "tags": ["Entities"],
                "operationId": "readEntity",
                "summary": "An entity with all its members, as compact JSON",
                "description": "With every member that any answer has brought. Where it refers to another entity, that one's key stands as a string, up to `expand` references deep the entity itself; `null` for what was evicted, with `Larder-Complete: false`. The network is not asked.",
                "parameters": [
                  { "$ref": "#/components/parameters/entityOrigin" },
                  { "$ref": "#/components/parameters/show" },
                  { "$ref": "#/components/parameters/expand" },
                  { "$ref": "#/components/parameters/account" },
                  { "$ref": "#/components/parameters/ifNoneMatch" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/EntityValue" },
                  "304": { "$ref": "#/components/responses/EntryUnchanged" },
                  "400": { "$ref": "#/components/responses/OriginNeeded" },
                  "404": { "$ref": "#/components/responses/Miss" },
                  "410": { "$ref": "#/components/responses/Deleted" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Entities"],
                "operationId": "readEntityHead",
                "summary": "The headers of an entity",
                "parameters": [
                  { "$ref": "#/components/parameters/entityOrigin" },
                  { "$ref": "#/components/parameters/show" },
                  { "$ref": "#/components/parameters/expand" },
                  { "$ref": "#/components/parameters/account" },
                  { "$ref": "#/components/parameters/ifNoneMatch" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/EntryHead" },
                  "304": { "$ref": "#/components/responses/EntryUnchanged" },
                  "404": { "description": "A miss: nothing is known of it." },
                  "410": { "description": "It is gone: the origin says so, or a write that waits to be sent." },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "put": {
                "tags": ["Entities"],
                "operationId": "setEntity",
                "summary": "Tell what a server holds",
                "description": "For a client that has learned it elsewhere: it is taken as if the origin had said it now, and every answer that holds the entity shows it. Members that are not there stay as they are; entities in it are taken too. It is no write to the server: that is a modifier.",
                "parameters": [
                  { "$ref": "#/components/parameters/entityOrigin" },
                  { "$ref": "#/components/parameters/account" },
                  { "$ref": "#/components/parameters/larderClient" }
                ],
                "requestBody": {
                  "required": true,
                  "description": "A JSON object of 4 MiB at most, by the origin's rules of this key or of none.",
                  "content": {
                    "*/*": {
                      "schema": { "type": "object" },
                      "example": { "id": 7, "name": "Ada" }
                    }
                  }
                },
                "responses": {
                  "201": { "$ref": "#/components/responses/EntitySet" },
                  "204": { "$ref": "#/components/responses/EntitySet" },
                  "400": { "$ref": "#/components/responses/OriginNeeded" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "delete": {
                "tags": ["Entities"],
                "operationId": "deleteEntity",
                "summary": "Tell that a server has deleted it",
                "description": "As for PUT. The answers that hold it show it by the rule for its type: as `null`, left out, or as deleted themselves; of lists it is dropped.",
                "parameters": [
                  { "$ref": "#/components/parameters/entityOrigin" },
                  { "$ref": "#/components/parameters/account" },
                  { "$ref": "#/components/parameters/larderClient" }
                ],
                "responses": {
                  "204": { "$ref": "#/components/responses/EntitySet" },
                  "400": { "$ref": "#/components/responses/OriginNeeded" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/entities/{key}/explain": {
              "parameters": [{ "$ref": "#/components/parameters/key" }],
              "get": {
                "tags": ["Entities"],
                "operationId": "explainEntity",
                "summary": "Everything that is known of an entity",
                "parameters": [
                  { "$ref": "#/components/parameters/entityOrigin" },
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": {
                    "description": "What is known.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/EntityExplanation" }
                      }
                    }
                  },
                  "400": { "$ref": "#/components/responses/OriginNeeded" },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "404": { "$ref": "#/components/responses/Miss" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Entities"],
                "operationId": "explainEntityHead",
                "summary": "The same without the body",
                "parameters": [
                  { "$ref": "#/components/parameters/entityOrigin" },
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/origins": {
              "get": {
                "tags": ["Origins"],
                "operationId": "listOrigins",
                "summary": "The servers that may be asked",
                "responses": {
                  "200": {
                    "description": "All of them; `next` is null.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/OriginPage" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Origins"],
                "operationId": "listOriginsHead",
                "summary": "The same without the body",
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "post": {
                "tags": ["Origins"],
                "operationId": "addOrigin",
                "summary": "Add an origin, which stays over the daemon's end; for administrators",
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/OriginCommand" }
                    }
                  }
                },
                "responses": {
                  "201": {
                    "description": "It is there and kept.",
                    "headers": {
                      "Location": {
                        "description": "The origin's path.",
                        "schema": { "type": "string" }
                      }
                    },
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/OriginReport" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/origins/{name}": {
              "parameters": [
                { "$ref": "#/components/parameters/originName" }
              ],
              "put": {
                "tags": ["Origins"],
                "operationId": "replaceOrigin",
                "summary": "Add an origin, or replace one that was added; for administrators",
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/OriginSettings" }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "It was replaced.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/OriginReport" }
                      }
                    }
                  },
                  "201": {
                    "description": "It was not there before.",
                    "headers": {
                      "Location": {
                        "description": "The origin's path.",
                        "schema": { "type": "string" }
                      }
                    },
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/OriginReport" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "delete": {
                "tags": ["Origins"],
                "operationId": "removeOrigin",
                "summary": "Take an origin away that was added; for administrators",
                "responses": {
                  "204": { "description": "It is gone; what is cached of it stays." },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/origins/{name}/offline": {
              "parameters": [
                { "$ref": "#/components/parameters/originName" }
              ],
              "post": {
                "tags": ["Origins"],
                "operationId": "setOriginOffline",
                "summary": "Let nothing leave for an origin until it is online again; for administrators",
                "responses": {
                  "200": {
                    "description": "The origin.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/OriginReport" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/origins/{name}/online": {
              "parameters": [
                { "$ref": "#/components/parameters/originName" }
              ],
              "post": {
                "tags": ["Origins"],
                "operationId": "setOriginOnline",
                "summary": "Let requests leave again; for administrators",
                "responses": {
                  "200": {
                    "description": "The origin.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/OriginReport" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/origins/{name}/check": {
              "parameters": [
                { "$ref": "#/components/parameters/originName" }
              ],
              "post": {
                "tags": ["Origins"],
                "operationId": "checkOrigin",
                "summary": "Ask an origin now and store nothing; for administrators",
                "requestBody": {
                  "required": false,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/OriginCheckCommand" }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "What came of it, also where it did not answer.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/OriginCheckReport" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/pins": {
              "get": {
                "tags": ["Pins"],
                "operationId": "listPins",
                "summary": "A page of what is pinned, in the order of the ids",
                "parameters": [
                  { "$ref": "#/components/parameters/pinsLimit" },
                  { "$ref": "#/components/parameters/pinsCursor" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": {
                    "description": "The page.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/PinPage" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Pins"],
                "operationId": "listPinsHead",
                "summary": "The same without the body",
                "parameters": [
                  { "$ref": "#/components/parameters/pinsLimit" },
                  { "$ref": "#/components/parameters/pinsCursor" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/pins/{id}": {
              "parameters": [{ "$ref": "#/components/parameters/id" }],
              "put": {
                "tags": ["Pins"],
                "operationId": "pin",
                "summary": "Keep an entry for good",
                "description": "It is never evicted and outlives the loss of the cache; each later answer takes the place of its bytes. What is not cached is fetched now, or as soon as its origin is back. What the origin refuses, or what has no room, is a problem; its pin stays and says so.",
                "parameters": [
                  {
                    "name": "wait",
                    "in": "query",
                    "description": "How long to wait while the origin does not answer, an hour at most. Without it, as long as a request to it may take, and `network_wait` while it is known to be down.",
                    "schema": { "$ref": "#/components/schemas/Duration" },
                    "example": "30s"
                  },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "201": {
                    "description": "Its bytes are on disk, synced.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/PinItem" }
                      }
                    }
                  },
                  "202": {
                    "description": "It waits for its origin.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/PinItem" }
                      }
                    }
                  },
                  "204": { "description": "The same as 201, and it was pinned before." },
                  "403": { "$ref": "#/components/responses/UnknownOrigin" },
                  "404": { "$ref": "#/components/responses/Miss" },
                  "507": {
                    "description": "`urn:larder:pins-full`: there is no room within `pins.max_bytes`, or one user has too many pins.",
                    "content": {
                      "application/problem+json": {
                        "schema": { "$ref": "#/components/schemas/Problem" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "delete": {
                "tags": ["Pins"],
                "operationId": "unpin",
                "summary": "Let a pinned entry be an ordinary one again",
                "parameters": [{ "$ref": "#/components/parameters/account" }],
                "responses": {
                  "204": { "description": "It is not pinned any more." },
                  "404": { "$ref": "#/components/responses/Miss" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/modifiers": {
              "get": {
                "tags": ["Modifiers"],
                "operationId": "listModifiers",
                "summary": "A page of modifiers, in the order in which they were accepted",
                "description": "Without `state`, those that are not settled and the dead letters.",
                "parameters": [
                  { "$ref": "#/components/parameters/modifiersState" },
                  { "$ref": "#/components/parameters/modifiersLane" },
                  { "$ref": "#/components/parameters/modifiersLimit" },
                  { "$ref": "#/components/parameters/modifiersCursor" },
                  { "$ref": "#/components/parameters/modifiersWait" },
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": { "description": "The page.", "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ModifierPage" } } } },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Modifiers"],
                "operationId": "listModifiersHead",
                "summary": "The same without the body",
                "parameters": [
                  { "$ref": "#/components/parameters/modifiersState" },
                  { "$ref": "#/components/parameters/modifiersLane" },
                  { "$ref": "#/components/parameters/modifiersLimit" },
                  { "$ref": "#/components/parameters/modifiersCursor" },
                  { "$ref": "#/components/parameters/modifiersWait" },
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "post": {
                "tags": ["Modifiers"],
                "operationId": "acceptModifiers",
                "summary": "Write, whether there is a network or not",
                "description": "The effect shows at once, the request goes out when it can. Several are accepted all or none. A change of an entity shows in every answer that has it; 400 `urn:larder:origin-needed` where the key comes without an origin and several have rules.",
                "parameters": [
                  {
                    "name": "wait",
                    "in": "query",
                    "description": "For one modifier: answer when it is settled, after this time at the latest; an hour at most.",
                    "schema": { "$ref": "#/components/schemas/Duration" },
                    "example": "10s"
                  }
                ],
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/ModifierCommand" }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "With `wait`: it is settled. Without: all that was given had been given before and is settled since; nothing is written or sent again.",
                    "content": {
                      "application/json": {
                        "schema": {
                          "oneOf": [
                            { "$ref": "#/components/schemas/ModifierReport" },
                            { "$ref": "#/components/schemas/ModifierReports" }
                          ]
                        }
                      }
                    }
                  },
                  "202": {
                    "description": "On disk, synced. The same id and body again give the same answer until it is settled, whatever has become since of what it names.",
                    "headers": {
                      "Location": {
                        "description": "The path of the modifier, where one was given.",
                        "schema": { "type": "string" }
                      }
                    },
                    "content": {
                      "application/json": {
                        "schema": {
                          "oneOf": [
                            { "$ref": "#/components/schemas/ModifierReceipt" },
                            { "$ref": "#/components/schemas/ModifierReceipts" },
                            { "$ref": "#/components/schemas/ModifierReport" }
                          ]
                        }
                      }
                    }
                  },
                  "403": { "$ref": "#/components/responses/UnknownOrigin" },
                  "409": {
                    "description": "`urn:larder:modifier-exists`: the id was given with another body.",
                    "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
                  },
                  "422": {
                    "description": "`urn:larder:no-request`: there is nothing to send, or nowhere, as the rule for an entity's type has no `url`. `urn:larder:bad-request`: an entity would become what is no object. `urn:larder:unsupported`: a member that this version does not know what to do with.",
                    "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
                  },
                  "507": {
                    "description": "`urn:larder:queue-full`: there is no room within `queue.max_modifiers` or `queue.max_bytes`. `urn:larder:disk-full`.",
                    "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/modifiers/{modifier}": {
              "parameters": [{ "$ref": "#/components/parameters/modifier" }],
              "get": {
                "tags": ["Modifiers"],
                "operationId": "showModifier",
                "summary": "How it stands with a modifier, and what it changes",
                "description": "Settled ones are found as long as the history has them.",
                "parameters": [
                  { "$ref": "#/components/parameters/modifierWait" },
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": { "description": "The modifier.", "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ModifierReport" } } } },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "404": { "$ref": "#/components/responses/NoSuchModifier" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Modifiers"],
                "operationId": "showModifierHead",
                "summary": "The same without the body",
                "parameters": [
                  { "$ref": "#/components/parameters/modifierWait" },
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "delete": {
                "tags": ["Modifiers"],
                "operationId": "removeModifier",
                "summary": "Cancel a modifier, give it up, or drop a dead letter",
                "description": "It is cancelled where no byte of it can have left, and those that depend on it with it.",
                "parameters": [
                  {
                    "name": "discard",
                    "in": "query",
                    "description": "Give up what may have been sent: it becomes a dead letter, and its targets are asked for again.",
                    "schema": { "type": "boolean", "default": false },
                    "example": true
                  },
                  {
                    "name": "drop",
                    "in": "query",
                    "description": "Whether a dead letter is dropped; with `false` it stays, and the answer is 409 `urn:larder:already-settled`.",
                    "schema": { "type": "boolean", "default": true },
                    "example": false
                  },
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "204": { "description": "It is out of the queue." },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "404": { "$ref": "#/components/responses/NoSuchModifier" },
                  "409": {
                    "description": "`urn:larder:already-sent`: bytes of it may have left; always while it is in flight. `urn:larder:already-settled`.",
                    "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
                  },
                  "503": {
                    "description": "`urn:larder:overloaded`: it could not be written down within 30 s. `urn:larder:shutting-down`.",
                    "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/modifiers/{modifier}/retry": {
              "parameters": [{ "$ref": "#/components/parameters/modifier" }],
              "post": {
                "tags": ["Modifiers"],
                "operationId": "retryModifier",
                "summary": "Have it sent again as soon as its lanes are free",
                "description": "From `dead`, `conflict`, `unknown`, `retry_wait` and `auth_wait`. A dead letter goes to the end of the queue and gets the next round's idempotency key; any other keeps its place and its key.",
                "parameters": [
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "202": { "description": "It is queued.", "content": { "application/json": { "schema": { "$ref": "#/components/schemas/ModifierReceipt" } } } },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "404": { "$ref": "#/components/responses/NoSuchModifier" },
                  "409": {
                    "description": "`urn:larder:already-sent` or `urn:larder:already-settled`.",
                    "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
                  },
                  "503": {
                    "description": "`urn:larder:overloaded`: a step of it could not be written down within 30 s. `urn:larder:shutting-down`.",
                    "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/lanes/{lane}/pause": {
              "parameters": [{ "$ref": "#/components/parameters/lane" }],
              "post": {
                "tags": ["Modifiers"],
                "operationId": "pauseLane",
                "summary": "Send nothing of a lane until it is resumed; it outlives a restart",
                "parameters": [
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "204": { "description": "It is paused." },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/lanes/{lane}/resume": {
              "parameters": [{ "$ref": "#/components/parameters/lane" }],
              "post": {
                "tags": ["Modifiers"],
                "operationId": "resumeLane",
                "summary": "Send what waits in a paused lane",
                "parameters": [
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "204": { "description": "It is not paused." },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/evict": {
              "post": {
                "tags": ["Administration"],
                "operationId": "evict",
                "summary": "Evict entries, or say which would go",
                "description": "With the scope `shared`, whose rows all users see, it is for administrators unless it is a dry run.",
                "requestBody": {
                  "required": true,
                  "content": {
                    "application/json": {
                      "schema": { "$ref": "#/components/schemas/EvictCommand" }
                    }
                  }
                },
                "responses": {
                  "200": {
                    "description": "What went, or with a dry run would go.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/EvictReport" }
                      }
                    }
                  },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/status": {
              "get": {
                "tags": ["Administration"],
                "operationId": "status",
                "summary": "One screen on the daemon's health",
                "responses": {
                  "200": {
                    "description": "How it is.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/StatusReport" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Administration"],
                "operationId": "statusHead",
                "summary": "The same without the body",
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/usage": {
              "get": {
                "tags": ["Administration"],
                "operationId": "usage",
                "summary": "Where the bytes are",
                "parameters": [
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": {
                    "description": "The rows and the pins of the scope added up, and how the files and the disk are.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/UsageReport" }
                      }
                    }
                  },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Administration"],
                "operationId": "usageHead",
                "summary": "The same without the body",
                "parameters": [
                  { "$ref": "#/components/parameters/scope" },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/check": {
              "post": {
                "tags": ["Administration"],
                "operationId": "check",
                "summary": "Have the daemon look at its files, their permissions, its reserves and its clock",
                "description": "For administrators. It reads both files whole, ends after 30 s at the latest, and runs once at a time; a second one is 503 `urn:larder:overloaded`.",
                "responses": {
                  "200": {
                    "description": "What was found, the good too.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/CheckReport" }
                      }
                    }
                  },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/reload": {
              "post": {
                "tags": ["Administration"],
                "operationId": "reload",
                "summary": "Have the daemon read its configuration again",
                "description": "For administrators; SIGHUP does the same. All of it is taken, or nothing where anything in it is wrong; either is 200. Origins, their headers and TLS files, limits, the administrators' group and the log level change without a restart.",
                "responses": {
                  "200": {
                    "description": "What was taken, refused, or needs a restart.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/ReloadReport" }
                      }
                    }
                  },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/purge": {
              "post": {
                "tags": ["Administration"],
                "operationId": "purge",
                "summary": "Take away all that is kept of a user",
                "description": "Entries, entities, pins, writes in every state, their history and the logged changes, of one user, for administrators: `scope=uid:N` is needed, with `account=NAME` of one account. Writes that were not sent are lost. 409 `urn:larder:in-use` says that one is on its way to its origin, or that requests of the user go on: end the user's programs, and purge again.",
                "parameters": [
                  {
                    "name": "scope",
                    "in": "query",
                    "required": true,
                    "description": "Of which user: `uid:N`.",
                    "schema": { "$ref": "#/components/schemas/ScopeName" },
                    "example": "uid:1000"
                  },
                  { "$ref": "#/components/parameters/account" }
                ],
                "responses": {
                  "200": {
                    "description": "How much went.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/PurgeReport" }
                      }
                    }
                  },
                  "403": { "$ref": "#/components/responses/NotPermitted" },
                  "409": { "$ref": "#/components/responses/Problem" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/stats": {
              "get": {
                "tags": ["Administration"],
                "operationId": "stats",
                "summary": "Counters and latencies since the daemon's start",
                "description": "Nothing in it grows with users, ids or origins.",
                "responses": {
                  "200": {
                    "description": "What was counted and timed.",
                    "content": {
                      "application/json": {
                        "schema": { "$ref": "#/components/schemas/StatsReport" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Administration"],
                "operationId": "statsHead",
                "summary": "The same without the body",
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/health/live": {
              "get": {
                "tags": ["Administration"],
                "operationId": "live",
                "summary": "Whether it lives",
                "responses": {
                  "200": { "$ref": "#/components/responses/Fine" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Administration"],
                "operationId": "liveHead",
                "summary": "The same without the body",
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/health/ready": {
              "get": {
                "tags": ["Administration"],
                "operationId": "ready",
                "summary": "Whether a read of the store succeeds",
                "responses": {
                  "200": { "$ref": "#/components/responses/Fine" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Administration"],
                "operationId": "readyHead",
                "summary": "The same without the body",
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/o/{origin}/{path}": {
              "parameters": [
                {
                  "name": "origin",
                  "in": "path",
                  "required": true,
                  "description": "The origin's name.",
                  "schema": { "$ref": "#/components/schemas/OriginName" },
                  "example": "example"
                },
                {
                  "name": "path",
                  "in": "path",
                  "required": true,
                  "description": "The path below the base URL, with slashes as they are, and the origin's query.",
                  "schema": { "type": "string" },
                  "example": "articles/42"
                }
              ],
              "get": {
                "tags": ["Raw"],
                "operationId": "raw",
                "summary": "An origin's answer as one body",
                "description": "For clients that can only set a base URL: `/o/NAME` stands for the origin's `base_url`, and path and query behind it go to the origin as they were sent. The order of asking is the origin's policy, of which `cache-then-network` counts as `network-first`. The client's other header fields go to the origin, but for User-Agent and those of the connection; Set-Cookie comes back to the one who has asked and is kept nowhere, and Range is not heeded.\n\nA status of the origin other than 2xx, 404 and 410 comes through with its body; for 500, 502, 503 and 504 what is cached is given instead, if the policy allows. A body above `cache.max_entry_bytes`, or asked for with `no-store`, is passed on as it comes and not kept.",
                "parameters": [
                  { "$ref": "#/components/parameters/requestCacheControl" },
                  { "$ref": "#/components/parameters/larderAccount" },
                  { "$ref": "#/components/parameters/ifNoneMatch" },
                  { "$ref": "#/components/parameters/ifModifiedSince" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/RawBody" },
                  "304": { "$ref": "#/components/responses/RawUnchanged" },
                  "404": { "$ref": "#/components/responses/RawGone" },
                  "502": { "$ref": "#/components/responses/NetworkFailed" },
                  "503": { "$ref": "#/components/responses/NotNow" },
                  "504": { "$ref": "#/components/responses/RawTimeout" },
                  "default": { "$ref": "#/components/responses/RawRefusal" }
                }
              },
              "head": {
                "tags": ["Raw"],
                "operationId": "rawHead",
                "summary": "The same without the body",
                "description": "The origin is asked as for GET, and the answer is kept.",
                "parameters": [
                  { "$ref": "#/components/parameters/requestCacheControl" },
                  { "$ref": "#/components/parameters/larderAccount" },
                  { "$ref": "#/components/parameters/ifNoneMatch" },
                  { "$ref": "#/components/parameters/ifModifiedSince" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/RawHead" },
                  "304": { "$ref": "#/components/responses/RawUnchanged" },
                  "404": { "$ref": "#/components/responses/RawGone" },
                  "502": { "$ref": "#/components/responses/NetworkFailed" },
                  "503": { "$ref": "#/components/responses/NotNow" },
                  "504": { "$ref": "#/components/responses/RawTimeout" },
                  "default": { "$ref": "#/components/responses/RawRefusal" }
                }
              },
              "post": {
                "tags": ["Raw"],
                "operationId": "rawPost",
                "summary": "Have a request sent when it can be",
                "description": "The request becomes a modifier, as by `POST /v1/modifiers`: on disk when it is answered, shown at once, sent when it can be, in the order of its target, which is the URL. Method, body and header fields go to the origin as given, but for those of the connection, `Prefer` and the client's `Larder-` fields; `Authorization` and `Cookie` are refused, as the account's credential is added when it is sent. `Idempotency-Key`, or the header that the origin's `idempotency.header` names, is the modifier's id: the same request again with the same key is the same modifier, another one 409 `urn:larder:modifier-exists`; without it the daemon makes one.\n\nNothing is changed here until it is answered; then the URL is asked again.",
                "parameters": [
                  { "$ref": "#/components/parameters/prefer" },
                  { "$ref": "#/components/parameters/larderAccount" }
                ],
                "requestBody": { "$ref": "#/components/requestBodies/RawWrite" },
                "responses": {
                  "200": { "$ref": "#/components/responses/RawSettled" },
                  "202": { "$ref": "#/components/responses/RawAccepted" },
                  "404": { "$ref": "#/components/responses/UnknownRawOrigin" },
                  "405": { "$ref": "#/components/responses/NotAsynchronous" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "put": {
                "tags": ["Raw"],
                "operationId": "rawPut",
                "summary": "The same, and the body shows at once",
                "description": "The request becomes a modifier, as by `POST /v1/modifiers`: on disk when it is answered, shown at once, sent when it can be, in the order of its target, which is the URL. Method, body and header fields go to the origin as given, but for those of the connection, `Prefer` and the client's `Larder-` fields; `Authorization` and `Cookie` are refused, as the account's credential is added when it is sent. `Idempotency-Key`, or the header that the origin's `idempotency.header` names, is the modifier's id: the same request again with the same key is the same modifier, another one 409 `urn:larder:modifier-exists`; without it the daemon makes one.\n\nThe body replaces what is shown under the URL: a JSON value where its `Content-Type` is JSON, which it then has to be, else the bytes with their type. JSON above 1 MiB is shown as bytes as well.",
                "parameters": [
                  { "$ref": "#/components/parameters/prefer" },
                  { "$ref": "#/components/parameters/larderAccount" }
                ],
                "requestBody": { "$ref": "#/components/requestBodies/RawWrite" },
                "responses": {
                  "200": { "$ref": "#/components/responses/RawSettled" },
                  "202": { "$ref": "#/components/responses/RawAccepted" },
                  "404": { "$ref": "#/components/responses/UnknownRawOrigin" },
                  "405": { "$ref": "#/components/responses/NotAsynchronous" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "patch": {
                "tags": ["Raw"],
                "operationId": "rawPatch",
                "summary": "The same, and what it changes shows at once",
                "description": "The request becomes a modifier, as by `POST /v1/modifiers`: on disk when it is answered, shown at once, sent when it can be, in the order of its target, which is the URL. Method, body and header fields go to the origin as given, but for those of the connection, `Prefer` and the client's `Larder-` fields; `Authorization` and `Cookie` are refused, as the account's credential is added when it is sent. `Idempotency-Key`, or the header that the origin's `idempotency.header` names, is the modifier's id: the same request again with the same key is the same modifier, another one 409 `urn:larder:modifier-exists`; without it the daemon makes one.\n\n`application/merge-patch+json` and `application/json` are a JSON Merge Patch, `application/json-patch+json` a JSON Patch; the body has to be one, of 1 MiB at most. With any other type nothing is changed here until it is answered.",
                "parameters": [
                  { "$ref": "#/components/parameters/prefer" },
                  { "$ref": "#/components/parameters/larderAccount" }
                ],
                "requestBody": { "$ref": "#/components/requestBodies/RawWrite" },
                "responses": {
                  "200": { "$ref": "#/components/responses/RawSettled" },
                  "202": { "$ref": "#/components/responses/RawAccepted" },
                  "404": { "$ref": "#/components/responses/UnknownRawOrigin" },
                  "405": { "$ref": "#/components/responses/NotAsynchronous" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "delete": {
                "tags": ["Raw"],
                "operationId": "rawDelete",
                "summary": "The same, and the URL shows as deleted at once",
                "description": "The request becomes a modifier, as by `POST /v1/modifiers`: on disk when it is answered, shown at once, sent when it can be, in the order of its target, which is the URL. Method, body and header fields go to the origin as given, but for those of the connection, `Prefer` and the client's `Larder-` fields; `Authorization` and `Cookie` are refused, as the account's credential is added when it is sent. `Idempotency-Key`, or the header that the origin's `idempotency.header` names, is the modifier's id: the same request again with the same key is the same modifier, another one 409 `urn:larder:modifier-exists`; without it the daemon makes one.",
                "parameters": [
                  { "$ref": "#/components/parameters/prefer" },
                  { "$ref": "#/components/parameters/larderAccount" }
                ],
                "responses": {
                  "200": { "$ref": "#/components/responses/RawSettled" },
                  "202": { "$ref": "#/components/responses/RawAccepted" },
                  "404": { "$ref": "#/components/responses/UnknownRawOrigin" },
                  "405": { "$ref": "#/components/responses/NotAsynchronous" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            },
            "/v1/openapi.json": {
              "get": {
                "tags": ["Administration"],
                "operationId": "openapi",
                "summary": "This document",
                "responses": {
                  "200": {
                    "description": "The document, byte for byte as it stands in the source.",
                    "content": {
                      "application/json": {
                        "schema": { "type": "object" }
                      }
                    }
                  },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              },
              "head": {
                "tags": ["Administration"],
                "operationId": "openapiHead",
                "summary": "The same without the body",
                "responses": {
                  "200": { "$ref": "#/components/responses/HeadOnly" },
                  "default": { "$ref": "#/components/responses/Problem" }
                }
              }
            }
          },
          "components": {
            "parameters": {
              "ifMatch": {
                "name": "If-Match",
                "in": "header",
                "description": "Write only if a GET would give one of these tags now, as it stands and not a weak one; `*`: if it would give anything. Nobody's write in between is lost.",
                "schema": { "type": "string" },
                "example": "\"larder-0123456789abcdef\""
              },
              "ifNoneMatchWrite": {
                "name": "If-None-Match",
                "in": "header",
                "description": "Write only if a GET would give none of these tags now; `*`: only if it would give nothing.",
                "schema": { "type": "string" },
                "example": "*"
              },
              "entriesPrefix": {
                "name": "prefix",
                "in": "query",
                "description": "Only ids that begin with it; empty: all.",
                "schema": { "type": "string", "maxLength": 8192 },
                "example": "https://api.example.com/articles/"
              },
              "entriesOrigin": {
                "name": "origin",
                "in": "query",
                "description": "Only entries of this origin.",
                "schema": { "$ref": "#/components/schemas/OriginName" },
                "example": "example"
              },
              "entriesSort": {
                "name": "sort",
                "in": "query",
                "description": "The order: by `id`; `size`, the largest first; `age`, the longest stored first; `used`, the least recently used first, which is the order of eviction.",
                "schema": {
                  "type": "string",
                  "enum": ["id", "size", "age", "used"],
                  "default": "id"
                },
                "example": "size"
              },
              "entriesLimit": {
                "name": "limit",
                "in": "query",
                "description": "Rows in the page.",
                "schema": {
                  "type": "integer",
                  "minimum": 1,
                  "maximum": 1000,
                  "default": 100
                },
                "example": 20
              },
              "entriesCursor": {
                "name": "cursor",
                "in": "query",
                "description": "The `next` of the page before, as it came. It holds as long as the other parameters stay the same.",
                "schema": { "type": "string" },
                "example": "0/1000:default/https://api.example.com/articles/42"
              },
              "entitiesType": {
                "name": "type",
                "in": "query",
                "description": "Only those of this type.",
                "schema": { "type": "string", "minLength": 1, "maxLength": 1022 },
                "example": "User"
              },
              "entitiesLimit": {
                "name": "limit",
                "in": "query",
                "description": "Rows in the page.",
                "schema": { "type": "integer", "minimum": 1, "maximum": 1000, "default": 100 },
                "example": 20
              },
              "entitiesCursor": {
                "name": "cursor",
                "in": "query",
                "description": "The `next` of the page before, as it came. It holds as long as the other parameters stay the same.",
                "schema": { "type": "string" },
                "example": "0/1000:default/x"
              },
              "pinsLimit": {
                "name": "limit",
                "in": "query",
                "description": "Pins in the page.",
                "schema": { "type": "integer", "minimum": 1, "maximum": 1000, "default": 100 },
                "example": 100
              },
              "pinsCursor": {
                "name": "cursor",
                "in": "query",
                "description": "The `next` of the page before.",
                "schema": { "type": "string" },
                "example": "notes/1"
              },
              "modifiersState": {
                "name": "state",
                "in": "query",
                "description": "A state, `unsettled`, or `settled`: the history, the latest first.",
                "schema": {
                  "type": "string",
                  "enum": ["held", "queued", "in_flight", "confirmed", "accepted", "retry_wait", "unknown", "conflict", "auth_wait", "dead", "cancelled", "settled", "unsettled"]
                },
                "example": "unsettled"
              },
              "modifiersLane": {
                "name": "lane",
                "in": "query",
                "description": "Only those of a lane.",
                "schema": { "$ref": "#/components/schemas/Lane" },
                "example": "name:cart"
              },
              "modifiersLimit": {
                "name": "limit",
                "in": "query",
                "description": "Modifiers in the page.",
                "schema": { "type": "integer", "minimum": 1, "maximum": 1000, "default": 100 },
                "example": 100
              },
              "modifiersCursor": {
                "name": "cursor",
                "in": "query",
                "description": "The `next` of the page before.",
                "schema": { "type": "string" },
                "example": "41"
              },
              "modifiersWait": {
                "name": "wait",
                "in": "query",
                "description": "With `state=unsettled`: answer when nothing is left, after this time at the latest; an hour at most. When the daemon ends before, 503 `urn:larder:shutting-down`.",
                "schema": { "$ref": "#/components/schemas/Duration" },
                "example": "10s"
              },
              "modifierWait": {
                "name": "wait",
                "in": "query",
                "description": "Answer when it is settled, after this time at the latest; an hour at most. When the daemon ends before, 503 `urn:larder:shutting-down`.",
                "schema": { "$ref": "#/components/schemas/Duration" },
                "example": "10s"
              },
              "id": {
                "name": "id",
                "in": "path",
                "required": true,
                "description": "The id, percent-encoded UTF-8 with `/` as `%2F`; 1 to 8,192 bytes decoded, no control characters. The id of a fetched entry is its URL.",
                "schema": { "$ref": "#/components/schemas/EntryID" },
                "example": "notes/1"
              },
              "key": {
                "name": "key",
                "in": "path",
                "required": true,
                "description": "The key, percent-encoded on top of the encoding of its own: `User:a%2Fb` is `User%3Aa%252Fb` here.",
                "schema": { "$ref": "#/components/schemas/EntityKey" },
                "example": "User:7"
              },
              "entityOrigin": {
                "name": "origin",
                "in": "query",
                "description": "Whose entity it is; may be left out while only one origin has rules.",
                "schema": { "$ref": "#/components/schemas/OriginName" },
                "example": "example"
              },
              "expand": {
                "name": "expand",
                "in": "query",
                "description": "How many references deep the entities in it are shown, too.",
                "schema": { "type": "integer", "minimum": 0, "maximum": 8, "default": 0 },
                "example": 1
              },
              "originName": {
                "name": "name",
                "in": "path",
                "required": true,
                "description": "The origin's name.",
                "schema": { "$ref": "#/components/schemas/OriginName" },
                "example": "files"
              },
              "show": {
                "name": "show",
                "in": "query",
                "description": "`view`: with what unsettled modifiers make of it. `base`: the last thing that the origin said.",
                "schema": { "type": "string", "enum": ["view", "base"], "default": "view" },
                "example": "base"
              },
              "modifier": {
                "name": "modifier",
                "in": "path",
                "required": true,
                "description": "The modifier's id.",
                "schema": { "$ref": "#/components/schemas/ModifierID" },
                "example": "01JD2Q4W6Z0000000000000000"
              },
              "lane": {
                "name": "lane",
                "in": "path",
                "required": true,
                "description": "The lane, percent-encoded.",
                "schema": { "$ref": "#/components/schemas/Lane" },
                "example": "name:cart"
              },
              "account": {
                "name": "account",
                "in": "query",
                "description": "Keeps several accounts of one user apart.",
                "schema": { "$ref": "#/components/schemas/AccountName" },
                "example": "work"
              },
              "scope": {
                "name": "scope",
                "in": "query",
                "description": "Whose rows: one's `own`; those that are `shared` by all users; `uid:N`, another user's, of the account that `account` names or without it of all; `all`. Other than `own` and `shared` is for administrators, and each use is logged.",
                "schema": { "$ref": "#/components/schemas/ScopeName" },
                "example": "uid:1000"
              },
              "requestCacheControl": {
                "name": "Cache-Control",
                "in": "header",
                "description": "`only-if-cached`: only the cache, 504 if it has nothing. `no-cache`: only the network, which may confirm what is cached. `no-store`: the answer is not kept. `max-stale`, `max-stale=SECONDS`: what is stale by so much at most is given without asking, and nothing staler at all. `max-age`, `min-fresh`: what is beyond is given only where the network fails. Others count for nothing.",
                "schema": { "type": "string" },
                "example": "max-stale=3600"
              },
              "prefer": {
                "name": "Prefer",
                "in": "header",
                "required": true,
                "description": "`respond-async` (RFC 7240 4.1); not needed where the origin has `respond_async: true`. Other preferences count for nothing.",
                "schema": { "type": "string" },
                "example": "respond-async"
              },
              "larderAccount": {
                "name": "Larder-Account",
                "in": "header",
                "description": "Which of the user's accounts, as the query is the origin's; without it `default`.",
                "schema": { "$ref": "#/components/schemas/AccountName" },
                "example": "work"
              },
              "larderClient": {
                "name": "Larder-Client",
                "in": "header",
                "description": "What the client calls itself, 1 to 64 visible ASCII characters: a watcher of the same name and user is told `self` of what it has brought about. Every route that changes something takes it.",
                "schema": { "type": "string", "minLength": 1, "maxLength": 64 },
                "example": "reader-1"
              },
              "heartbeat": {
                "name": "heartbeat",
                "in": "query",
                "description": "How often the stream says that it lives, behind the first frame: 1s to 1h, without it 15s.",
                "schema": { "$ref": "#/components/schemas/Duration" },
                "example": "15s"
              },
              "lastEventID": {
                "name": "Last-Event-ID",
                "in": "header",
                "description": "What a browser has seen last; the same as `since`.",
                "schema": { "$ref": "#/components/schemas/Revision" },
                "example": 8412
              },
              "ifModifiedSince": {
                "name": "If-Modified-Since",
                "in": "header",
                "description": "Counts without If-None-Match, for an answer with Last-Modified that is not later: a 304.",
                "schema": { "type": "string" },
                "example": "Tue, 14 Nov 2023 22:13:20 GMT"
              },
              "ifNoneMatch": {
                "name": "If-None-Match",
                "in": "header",
                "description": "Entity tags that the client has, or `*`; one that matches makes the answer a 304.",
                "schema": { "type": "string" },
                "example": "\"larder-9a6f3c0e5d2b41788c1f0d3e7a5b9c24\""
              }
            },
            "headers": {
              "ETag": {
                "description": "The origin's when the bytes are exactly its own, otherwise `\"larder-<digest of the bytes>\"`.",
                "schema": { "type": "string" }
              },
              "Age": {
                "description": "Seconds since the entry was stored or confirmed.",
                "schema": { "type": "integer", "minimum": 0 }
              },
              "Last-Modified": {
                "description": "As the origin said, otherwise when the entry was stored.",
                "schema": { "type": "string" }
              },
              "Cache-Status": {
                "description": "RFC 9211: `larder; hit`, with `ttl` where a lifetime is known; less than 0 is stale.",
                "schema": { "type": "string" }
              },
              "RawCacheStatus": {
                "description": "RFC 9211: `larder; hit`, or `larder; fwd=…` with `uri-miss`, `stale`, `request` or `bypass`; `fwd-status`, `stored`, `ttl` in seconds, and as `detail` what went wrong. What the origin sent stands before it.",
                "schema": { "type": "string" }
              },
              "Larder-Rev": {
                "description": "The revision of what is shown.",
                "schema": { "type": "integer" }
              },
              "Larder-Pending": {
                "description": "How many unsettled modifiers touch it.",
                "schema": { "type": "integer", "minimum": 0 }
              }
            },
            "requestBodies": {
              "RawWrite": {
                "required": false,
                "description": "Any bytes, none too, up to 16 MiB.",
                "content": {
                  "*/*": {
                    "schema": {}
                  }
                }
              }
            },
            "responses": {
              "HeadOnly": {
                "description": "The header fields of the GET, the length of its body among them."
              },
              "NotAsExpected": {
                "description": "`urn:larder:precondition-failed`: what a GET would give now has none of the tags of `If-Match`, or one of those of `If-None-Match`. Nothing was changed.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "FetchFrames": {
                "description": "One JSON object a line, each a frame; the last is `end`, and a stream without it was cut off. Behind the first frame a `heartbeat` comes every 15 s that the client waits. The head waits for the first frame, so that a miss with a failing network is a problem and no 200. `Accept` chooses the form, JSON Lines where it names none of them. As `text/event-stream` each frame is an event: `event` is its type, `id` its revision, `data` the JSON; heartbeats are comments. Where it names `application/json` and no stream, all frames but heartbeats are one array, sent with its length when the last is there; 503 `overloaded` where too many bytes wait for that. With `follow` what the row shows later comes before `end`, each view once and in the order of the revisions; when the network fails behind the first snapshot, `error` comes and the stream goes on.",
                "headers": {
                  "Cache-Control": { "schema": { "const": "no-store" } }
                },
                "content": {
                  "application/jsonl": {
                    "schema": { "$ref": "#/components/schemas/FetchFrame" }
                  },
                  "application/x-ndjson": {
                    "schema": { "$ref": "#/components/schemas/FetchFrame" }
                  },
                  "text/event-stream": {
                    "schema": { "type": "string" }
                  },
                  "application/json": {
                    "schema": { "type": "array", "items": { "$ref": "#/components/schemas/FetchFrame" } }
                  }
                }
              },
              "WatchFrames": {
                "description": "One JSON object a line, each a frame, in the order of the revisions. It travels as the frames of a fetch do; in place of a `heartbeat` a `bookmark` comes when the watcher has fallen behind in number though not in events. `types` filters neither. A client comes back with the `rev` of the last frame that has one and neither `initial` nor `more`; as `text/event-stream` only those have an `id`. As `application/json`, the answer to a long poll.",
                "headers": {
                  "Cache-Control": { "schema": { "const": "no-store" } }
                },
                "content": {
                  "application/jsonl": {
                    "schema": { "$ref": "#/components/schemas/WatchFrame" }
                  },
                  "application/x-ndjson": {
                    "schema": { "$ref": "#/components/schemas/WatchFrame" }
                  },
                  "text/event-stream": {
                    "schema": { "type": "string" }
                  },
                  "application/json": {
                    "schema": { "$ref": "#/components/schemas/WatchReport" }
                  }
                }
              },
              "NotAcceptable": {
                "description": "`urn:larder:not-acceptable`: what is followed has no end, and is no `application/json`.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "SinceTooOld": {
                "description": "`urn:larder:since-too-old`: the log of changes does not reach back that far, or knows no such revision; `oldest` says where it begins. Read anew, with `initial`.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "BatchFrames": {
                "description": "One frame for each id in the order asked, then `end`: as the rows were at one moment. It travels as the frames of a fetch do.",
                "headers": {
                  "Cache-Control": { "schema": { "const": "no-store" } }
                },
                "content": {
                  "application/jsonl": {
                    "schema": { "$ref": "#/components/schemas/BatchFrame" }
                  },
                  "application/x-ndjson": {
                    "schema": { "$ref": "#/components/schemas/BatchFrame" }
                  },
                  "text/event-stream": {
                    "schema": { "type": "string" }
                  },
                  "application/json": {
                    "schema": { "type": "array", "items": { "$ref": "#/components/schemas/BatchFrame" } }
                  }
                }
              },
              "EntryBytes": {
                "description": "The bytes, with the media type that they were stored with.",
                "headers": {
                  "ETag": { "$ref": "#/components/headers/ETag" },
                  "Age": { "$ref": "#/components/headers/Age" },
                  "Last-Modified": { "$ref": "#/components/headers/Last-Modified" },
                  "Cache-Status": { "$ref": "#/components/headers/Cache-Status" },
                  "Larder-Rev": { "$ref": "#/components/headers/Larder-Rev" },
                  "Larder-Pending": { "$ref": "#/components/headers/Larder-Pending" }
                },
                "content": {
                  "*/*": {
                    "schema": {}
                  }
                }
              },
              "EntityValue": {
                "description": "The entity, with a strong ETag of these bytes.",
                "headers": {
                  "ETag": { "$ref": "#/components/headers/ETag" },
                  "Age": { "$ref": "#/components/headers/Age" },
                  "Last-Modified": { "$ref": "#/components/headers/Last-Modified" },
                  "Cache-Status": { "$ref": "#/components/headers/Cache-Status" },
                  "Larder-Rev": { "$ref": "#/components/headers/Larder-Rev" },
                  "Larder-Pending": { "$ref": "#/components/headers/Larder-Pending" }
                },
                "content": {
                  "application/json": {
                    "schema": { "type": "object" }
                  }
                }
              },
              "EntitySet": {
                "description": "It is committed: 201 where it was not known, 204 where it was.",
                "headers": {
                  "Larder-Rev": { "$ref": "#/components/headers/Larder-Rev" }
                }
              },
              "OriginNeeded": {
                "description": "`urn:larder:origin-needed`: none or more than one origin has rules, so that it has to be said whose the key is.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "EntryHead": {
                "description": "As for GET, without the bytes.",
                "headers": {
                  "ETag": { "$ref": "#/components/headers/ETag" },
                  "Age": { "$ref": "#/components/headers/Age" },
                  "Last-Modified": { "$ref": "#/components/headers/Last-Modified" },
                  "Cache-Status": { "$ref": "#/components/headers/Cache-Status" },
                  "Larder-Rev": { "$ref": "#/components/headers/Larder-Rev" },
                  "Larder-Pending": { "$ref": "#/components/headers/Larder-Pending" }
                }
              },
              "RawBody": {
                "description": "The origin's bytes, with its own end-to-end header fields. What is kept has `Age`, `ETag` and `Larder-Rev` as well; a 2xx of another number stays what it is.",
                "headers": {
                  "Cache-Status": { "$ref": "#/components/headers/RawCacheStatus" },
                  "Larder-Pending": { "$ref": "#/components/headers/Larder-Pending" }
                },
                "content": {
                  "*/*": { "schema": {} }
                }
              },
              "RawHead": {
                "description": "The head that GET has.",
                "headers": {
                  "Cache-Status": { "$ref": "#/components/headers/RawCacheStatus" },
                  "Larder-Pending": { "$ref": "#/components/headers/Larder-Pending" }
                }
              },
              "RawUnchanged": {
                "description": "What the client has is what it would get.",
                "headers": {
                  "Cache-Status": { "$ref": "#/components/headers/RawCacheStatus" },
                  "Larder-Pending": { "$ref": "#/components/headers/Larder-Pending" }
                }
              },
              "RawGone": {
                "description": "`urn:larder:deleted`: the origin answered 404, or 410, which is then the status. `urn:larder:unknown-origin`: no origin has the name.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "RawTimeout": {
                "description": "`urn:larder:timeout`: nothing to give, and no answer in time. `urn:larder:miss`: only the cache may answer, and it has nothing.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "RawRefusal": {
                "description": "The origin's own status and body, or a problem of Larder's (`application/problem+json` with a `type` that begins with `urn:larder:`).",
                "content": {
                  "*/*": { "schema": {} }
                }
              },
              "EntryUnchanged": {
                "description": "What the client has is what is cached.",
                "headers": {
                  "ETag": { "$ref": "#/components/headers/ETag" },
                  "Larder-Rev": { "$ref": "#/components/headers/Larder-Rev" }
                }
              },
              "Stored": {
                "description": "It is committed: 201 for a new id, 204 for one that was there.",
                "headers": {
                  "ETag": { "$ref": "#/components/headers/ETag" },
                  "Larder-Rev": { "$ref": "#/components/headers/Larder-Rev" }
                }
              },
              "Fine": {
                "description": "It is.",
                "content": {
                  "application/json": {
                    "schema": { "$ref": "#/components/schemas/Health" }
                  }
                }
              },
              "NoSuchModifier": {
                "description": "`urn:larder:no-such-modifier`.",
                "content": { "application/problem+json": { "schema": { "$ref": "#/components/schemas/Problem" } } }
              },
              "Miss": {
                "description": "`urn:larder:miss`: nothing is cached under the id.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "Deleted": {
                "description": "`urn:larder:deleted`: the origin says that it is gone, or a write that waits to be sent deletes it.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "OriginID": {
                "description": "`urn:larder:origin-id`: the id lies under an origin's base URL.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "EntryTooLarge": {
                "description": "`urn:larder:entry-too-large`: the body has more than `cache.max_entry_bytes`.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "CacheFull": {
                "description": "`urn:larder:cache-full`: what is protected from eviction fills the cache. `urn:larder:disk-full`: the disk is full; what is stored stays readable.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "NotPermitted": {
                "description": "`urn:larder:not-permitted`: only an administrator may do this; the hint says how to become one.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "UnknownRawOrigin": {
                "description": "`urn:larder:unknown-origin`: no origin has the name.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "NotAsynchronous": {
                "description": "`urn:larder:method-not-allowed`: neither does the request say `Prefer: respond-async`, nor is it the origin's rule.",
                "headers": {
                  "Allow": {
                    "description": "`GET, HEAD`",
                    "schema": { "type": "string" }
                  }
                },
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "RawSettled": {
                "description": "The same write was accepted before under its key, and is settled since: what became of it.",
                "headers": {
                  "Location": {
                    "description": "The path of the modifier.",
                    "schema": { "type": "string" }
                  },
                  "Preference-Applied": {
                    "description": "`respond-async`",
                    "schema": { "type": "string" }
                  }
                },
                "content": {
                  "application/json": {
                    "schema": { "$ref": "#/components/schemas/ModifierReport" }
                  }
                }
              },
              "RawAccepted": {
                "description": "The modifier is on disk, synced.",
                "headers": {
                  "Location": {
                    "description": "The path of the modifier.",
                    "schema": { "type": "string" }
                  },
                  "Preference-Applied": {
                    "description": "`respond-async`",
                    "schema": { "type": "string" }
                  }
                },
                "content": {
                  "application/json": {
                    "schema": { "$ref": "#/components/schemas/ModifierReceipt" }
                  }
                }
              },
              "UnknownOrigin": {
                "description": "`urn:larder:unknown-origin`: the URL belongs to no configured origin; the hint says how to add it.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "NothingToShow": {
                "description": "`urn:larder:deleted`: the origin answered 404 or 410. `urn:larder:miss`: `cache-only`, and nothing is cached.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "NetworkFailed": {
                "description": "Nothing is cached and the network failed: `urn:larder:unreachable`, `urn:larder:captive`, `urn:larder:origin-status` with `origin_status` and `body`, `urn:larder:redirect-refused`, `urn:larder:address-refused` or `urn:larder:bad-answer`.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "NotNow": {
                "description": "`urn:larder:offline`: the origin was set offline and nothing is cached. `urn:larder:overloaded`, `urn:larder:shutting-down`: try again.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "Timeout": {
                "description": "`urn:larder:timeout`: the origin did not answer in time, and nothing is cached.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              },
              "Problem": {
                "description": "The request was refused, or could not be answered.",
                "content": {
                  "application/problem+json": {
                    "schema": { "$ref": "#/components/schemas/Problem" }
                  }
                }
              }
            },
            "schemas": {
              "EntityKey": {
                "description": "What an entity is called within an origin: `Type:id`, with `/`, `:`, `%` and control characters in either part percent-encoded. In a path or a query that is encoded once more.",
                "type": "string",
                "minLength": 3,
                "maxLength": 1024,
                "pattern": "^[^:]+:.+$"
              },
              "EntityName": {
                "description": "An entity and whose it is.",
                "type": "object",
                "required": ["key", "origin"],
                "properties": {
                  "key": { "$ref": "#/components/schemas/EntityKey" },
                  "origin": { "$ref": "#/components/schemas/OriginName" }
                }
              },
              "TargetName": {
                "description": "What a modifier changes. A string is an entry's id; beside a member `origin`, it is the key of an entity of that origin, and what is neither is an object.",
                "oneOf": [
                  { "type": "string", "minLength": 1, "maxLength": 8192 },
                  { "$ref": "#/components/schemas/EntityName" },
                  {
                    "type": "object",
                    "required": ["id"],
                    "properties": { "id": { "$ref": "#/components/schemas/EntryID" } }
                  }
                ]
              },
              "EntryID": {
                "description": "The text an entry is found by: 1 to 8,192 bytes of UTF-8 without control characters. That of an answer that varies by request headers (Vary) goes on behind the URL with ` name=value` for each, sorted; in place of a credential stands a digest of it. Two ids are the same when their bytes are.",
                "type": "string",
                "minLength": 1,
                "maxLength": 8192,
                "pattern": "^[^\\u0000-\\u001F\\u007F]+$"
              },
              "AccountName": {
                "description": "An account; `default` where none is given.",
                "type": "string",
                "minLength": 1,
                "maxLength": 64,
                "pattern": "^[A-Za-z0-9._@-]+$",
                "default": "default"
              },
              "ScopeName": {
                "description": "Whose rows.",
                "type": "string",
                "pattern": "^(own|shared|all|uid:[0-9]{1,10})$",
                "default": "own"
              },
              "OriginName": {
                "description": "The name of a configured server.",
                "type": "string",
                "minLength": 1,
                "maxLength": 64,
                "pattern": "^[A-Za-z0-9._-]+$"
              },
              "Duration": {
                "description": "A whole number and a unit.",
                "type": "string",
                "pattern": "^[0-9]+(ms|s|m|h|d)$"
              },
              "Moment": {
                "description": "RFC 3339 in UTC, with milliseconds.",
                "type": "string",
                "format": "date-time"
              },
              "FetchURL": {
                "description": "An absolute http or https URL without a user name, under an origin's `base_url`.",
                "type": "string",
                "format": "uri",
                "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://"
              },
              "FetchPolicy": {
                "description": "`cache-then-network`: what is cached at once, then what the network says. `cache-first`: what is cached while it is fresh, else as `network-first`. `network-first`: the network, and the cache when that fails or takes longer than `network_wait`. `stale-while-revalidate`: what is cached, once; the network is asked behind it. `cache-only`: what is cached, or a miss. `network-only`: the network, whose answer is stored; never what is cached.",
                "type": "string",
                "enum": ["cache-then-network", "cache-first", "network-first", "stale-while-revalidate", "cache-only", "network-only"]
              },
              "FetchCommand": {
                "type": "object",
                "additionalProperties": false,
                "required": ["url"],
                "properties": {
                  "url": { "$ref": "#/components/schemas/FetchURL" },
                  "policy": { "$ref": "#/components/schemas/FetchPolicy" },
                  "network_wait": {
                    "description": "How long `network-first`, and `cache-first` with a stale answer, wait for the network while the cache has one: 0ms to 1h.",
                    "$ref": "#/components/schemas/Duration"
                  },
                  "timeout": {
                    "description": "How long to wait in all: 1ms to 1h.",
                    "$ref": "#/components/schemas/Duration"
                  },
                  "account": { "$ref": "#/components/schemas/AccountName" },
                  "normalize": {
                    "description": "Whether the answer's entities are shared with other answers, by the origin's rules; without it as the origin has it. Without rules an answer is stored whole.",
                    "type": "boolean"
                  },
                  "partial": {
                    "description": "Whether what is cached is shown without the entities that were evicted of it, with `complete` false and `missing`; else that is a miss.",
                    "type": "boolean",
                    "default": false
                  },
                  "follow": {
                    "description": "Whether the stream stays open: each new view of the entry is a further `snapshot`, its deletion a `deleted`, and `end` comes when the daemon ends. A client that follows is no reason to ask the network again.",
                    "type": "boolean",
                    "default": false
                  },
                  "heartbeat": {
                    "description": "How often the stream says that it lives: 1s to 1h, without it 15s.",
                    "$ref": "#/components/schemas/Duration"
                  },
                  "headers": {
                    "description": "Sent to the origin, at most 64 and 16,384 bytes. Those that the daemon sets itself are refused: `Host`, `Accept-Encoding`, `Range`, the conditional ones, and what belongs to one connection.",
                    "type": "object",
                    "maxProperties": 64,
                    "propertyNames": { "pattern": "^[!#$%&'*+.^_`|~0-9A-Za-z-]+$" },
                    "additionalProperties": { "type": "string" }
                  }
                },
                "examples": [
                  {
                    "url": "https://api.example.com/articles/42",
                    "policy": "network-first",
                    "network_wait": "300ms",
                    "timeout": "10s",
                    "account": "work",
                    "headers": { "Accept": "application/json" }
                  },
                  { "url": "https://api.example.com/articles/42", "normalize": false, "partial": true, "follow": true, "heartbeat": "5s" }
                ]
              },
              "WatchCommand": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                  "since": { "$ref": "#/components/schemas/Revision" },
                  "ids": {
                    "description": "They need not exist yet.",
                    "type": "array",
                    "maxItems": 1000,
                    "items": { "$ref": "#/components/schemas/EntryID" }
                  },
                  "keys": {
                    "description": "Entities, by their keys; with the ids at most 1,000.",
                    "type": "array",
                    "maxItems": 1000,
                    "items": { "$ref": "#/components/schemas/EntityKey" }
                  },
                  "origin": {
                    "description": "Whose the keys are; may be left out while only one origin has rules.",
                    "$ref": "#/components/schemas/OriginName"
                  },
                  "prefixes": {
                    "description": "What ids begin with.",
                    "type": "array",
                    "maxItems": 64,
                    "items": { "type": "string", "minLength": 1, "maxLength": 8192 }
                  },
                  "types": {
                    "description": "Which frames; without it all.",
                    "type": "array",
                    "items": {
                      "type": "string",
                      "enum": ["put", "delete", "evict", "modifier", "remapped", "auth", "origin"]
                    }
                  },
                  "initial": { "type": "boolean", "default": false },
                  "heartbeat": {
                    "description": "How often the stream says that it lives: 1s to 1h, without it 15s.",
                    "$ref": "#/components/schemas/Duration"
                  },
                  "timeout": {
                    "description": "Up to 1h.",
                    "$ref": "#/components/schemas/Duration"
                  },
                  "account": { "$ref": "#/components/schemas/AccountName" }
                },
                "examples": [
                  { "ids": ["notes/1"], "prefixes": ["https://api.example.com/articles/"], "timeout": "0ms" },
                  {
                    "since": 8412,
                    "keys": ["User:7"],
                    "origin": "example",
                    "types": ["put", "delete"],
                    "initial": true,
                    "heartbeat": "5s",
                    "account": "work"
                  }
                ]
              },
              "WatchReport": {
                "description": "The answer to a long poll: what came first, or nothing when the time was over.",
                "type": "object",
                "required": ["rev", "events"],
                "properties": {
                  "rev": {
                    "description": "What to ask for next, as `since`.",
                    "$ref": "#/components/schemas/Revision"
                  },
                  "events": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/WatchFrame" }
                  }
                }
              },
              "WatchFrame": {
                "description": "One line of a watch.",
                "oneOf": [
                  { "$ref": "#/components/schemas/ChangeFrame" },
                  { "$ref": "#/components/schemas/EvictFrame" },
                  { "$ref": "#/components/schemas/ModifierFrame" },
                  { "$ref": "#/components/schemas/OriginFrame" },
                  { "$ref": "#/components/schemas/AuthFrame" },
                  { "$ref": "#/components/schemas/BookmarkFrame" },
                  { "$ref": "#/components/schemas/LaggedFrame" },
                  { "$ref": "#/components/schemas/HeartbeatFrame" },
                  { "$ref": "#/components/schemas/WatchEndFrame" }
                ]
              },
              "ChangeFrame": {
                "description": "Other bytes stand under the id, an entity has another value, or it is deleted.",
                "type": "object",
                "required": ["type", "rev", "source"],
                "oneOf": [{ "required": ["id"] }, { "required": ["key", "origin"] }],
                "properties": {
                  "type": { "type": "string", "enum": ["put", "delete"] },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "id": { "$ref": "#/components/schemas/EntryID" },
                  "key": { "description": "Of an entity, in place of `id`.", "$ref": "#/components/schemas/EntityKey" },
                  "origin": { "description": "Whose entity it is.", "$ref": "#/components/schemas/OriginName" },
                  "source": {
                    "description": "Of `modifier`: one was accepted or has left the queue, and what its target shows is another.",
                    "type": "string",
                    "enum": ["network", "client", "modifier"]
                  },
                  "changed": {
                    "description": "Of an entry in normalized form: the entities whose changes it shows.",
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/EntityKey" }
                  },
                  "cause": {
                    "description": "What has brought it: `fetch:` and the URL, `modifier:` and the id.",
                    "type": "string"
                  },
                  "self": {
                    "description": "The watcher has brought it about itself, by its Larder-Client header.",
                    "const": true
                  },
                  "coalesced": {
                    "description": "How many puts it stands for, of a watcher that reads slowly.",
                    "type": "integer",
                    "minimum": 2
                  },
                  "initial": {
                    "description": "It was there when the watch began.",
                    "const": true
                  },
                  "more": {
                    "description": "Another frame of the same step follows.",
                    "const": true
                  }
                },
                "examples": [
                  {
                    "type": "put",
                    "rev": 8413,
                    "id": "https://api.example.com/articles/42",
                    "source": "network",
                    "cause": "fetch:https://api.example.com/articles/42",
                    "coalesced": 3
                  },
                  { "type": "delete", "rev": 8414, "id": "notes/1", "source": "client", "self": true },
                  { "type": "put", "rev": 8415, "id": "https://api.example.com/articles/42", "source": "network", "changed": ["User:7"] },
                  { "type": "delete", "rev": 8416, "key": "Article:9", "origin": "example", "source": "network" }
                ]
              },
              "EvictFrame": {
                "description": "It was dropped; nothing is known of it any more.",
                "type": "object",
                "required": ["type", "rev", "reason"],
                "oneOf": [{ "required": ["id"] }, { "required": ["key", "origin"] }],
                "properties": {
                  "type": { "const": "evict" },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "id": { "$ref": "#/components/schemas/EntryID" },
                  "key": { "description": "Of an entity, in place of `id`.", "$ref": "#/components/schemas/EntityKey" },
                  "origin": { "description": "Whose entity it is.", "$ref": "#/components/schemas/OriginName" },
                  "reason": { "type": "string", "enum": ["lru", "expired", "request", "damaged"] },
                  "self": { "const": true },
                  "more": { "const": true }
                },
                "examples": [
                  { "type": "evict", "rev": 8416, "id": "https://api.example.com/articles/42", "reason": "lru", "more": true },
                  { "type": "evict", "rev": 8416, "key": "User:7", "origin": "example", "reason": "lru" }
                ]
              },
              "ModifierFrame": {
                "description": "A modifier has come to another state: it was accepted (`held`, `queued`), waits for somebody or something (`retry_wait` once it is stalled, `unknown`, `conflict`, `auth_wait`, `accepted`), goes on from there (`queued`), or is settled. Attempts are not told. Never coalesced.",
                "type": "object",
                "required": ["type", "rev", "id", "state"],
                "properties": {
                  "type": { "const": "modifier" },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "id": { "type": "string" },
                  "state": {
                    "type": "string",
                    "enum": ["held", "queued", "accepted", "retry_wait", "unknown", "conflict", "auth_wait", "confirmed", "dead", "cancelled"]
                  },
                  "reason": {
                    "description": "Why it is dead.",
                    "type": "string"
                  },
                  "stalled": {
                    "description": "So many attempts were not applied that somebody should look.",
                    "const": true
                  },
                  "dropped": {
                    "description": "The dead letter is kept no more.",
                    "const": true
                  },
                  "targets": {
                    "description": "What it changes.",
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/TargetName" }
                  },
                  "reverted": {
                    "description": "Of a dead or cancelled one, in place of `targets`: what shows it no more.",
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/TargetName" }
                  },
                  "origin": {
                    "description": "Where one of them is an entity: whose the keys are that stand among them.",
                    "$ref": "#/components/schemas/OriginName"
                  },
                  "problem": {
                    "description": "Of a dead one: what went wrong, with at most 2 KiB of the origin's answer.",
                    "$ref": "#/components/schemas/Problem"
                  },
                  "self": { "const": true },
                  "more": { "const": true }
                },
                "examples": [
                  { "type": "modifier", "rev": 8413, "id": "01J00000000000000000000000", "state": "queued", "targets": ["https://api.example.com/articles/42"], "self": true },
                  {
                    "type": "modifier",
                    "rev": 8415,
                    "id": "01J00000000000000000000000",
                    "state": "dead",
                    "reason": "refused",
                    "reverted": ["https://api.example.com/articles/42"],
                    "problem": {
                      "type": "urn:larder:origin-status",
                      "title": "The origin refused the request",
                      "status": 502,
                      "detail": "PATCH https://api.example.com/articles/42 was answered 422",
                      "request_id": "",
                      "retryable": false,
                      "hint": "Look at what the origin says; the request may be wrong.",
                      "origin_status": 422
                    }
                  },
                  { "type": "modifier", "rev": 8416, "id": "01J00000000000000000000000", "state": "dead", "dropped": true, "targets": ["https://api.example.com/articles/42"], "more": true },
                  { "type": "modifier", "rev": 8417, "id": "01J00000000000000000000001", "state": "dead", "reason": "refused", "reverted": ["Article:42", { "id": "notes/1" }], "origin": "example" }
                ]
              },
              "OriginFrame": {
                "description": "An origin is in another state. It is not replayed.",
                "type": "object",
                "required": ["type", "rev", "origin", "state"],
                "properties": {
                  "type": { "const": "origin" },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "origin": { "$ref": "#/components/schemas/OriginName" },
                  "state": { "type": "string", "enum": ["unknown", "online", "offline", "captive"] }
                },
                "examples": [
                  { "type": "origin", "rev": 8416, "origin": "example", "state": "offline" }
                ]
              },
              "AuthFrame": {
                "description": "An origin has refused the credential of the watcher's account, and modifiers wait for another one (`needed`), or they go on (`resumed`). It is not replayed.",
                "type": "object",
                "required": ["type", "rev", "origin", "account", "state"],
                "properties": {
                  "type": { "const": "auth" },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "origin": { "$ref": "#/components/schemas/OriginName" },
                  "account": { "$ref": "#/components/schemas/AccountName" },
                  "state": { "type": "string", "enum": ["needed", "resumed"] }
                },
                "examples": [
                  { "type": "auth", "rev": 8416, "origin": "example", "account": "default", "state": "needed" }
                ]
              },
              "BookmarkFrame": {
                "description": "Everything up to here was told.",
                "type": "object",
                "required": ["type", "rev"],
                "properties": {
                  "type": { "const": "bookmark" },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "initial_done": {
                    "description": "The entries that there were have been told.",
                    "const": true
                  }
                },
                "examples": [
                  { "type": "bookmark", "rev": 8416, "initial_done": true }
                ]
              },
              "LaggedFrame": {
                "description": "The watcher reads too slowly, or a file was lost; the stream ends. Come back with `dropped_after` as `since`.",
                "type": "object",
                "required": ["type", "rev", "dropped_after"],
                "properties": {
                  "type": { "const": "lagged" },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "dropped_after": { "$ref": "#/components/schemas/Revision" }
                },
                "examples": [
                  { "type": "lagged", "rev": 8417, "dropped_after": 8416 }
                ]
              },
              "HeartbeatFrame": {
                "description": "The stream lives, and everything up to here was told; a `since` to come back with. Of a fetch: everything of what it shows.",
                "type": "object",
                "required": ["type", "rev"],
                "properties": {
                  "type": { "const": "heartbeat" },
                  "rev": { "$ref": "#/components/schemas/Revision" }
                },
                "examples": [
                  { "type": "heartbeat", "rev": 8416 }
                ]
              },
              "WatchEndFrame": {
                "description": "The daemon ends (`shutdown`), or the `timeout` is over. Before `initial_done` it has no `rev`: the list is to be asked for anew.",
                "type": "object",
                "required": ["type", "outcome"],
                "properties": {
                  "type": { "const": "end" },
                  "outcome": { "type": "string", "enum": ["shutdown", "timeout"] },
                  "rev": { "$ref": "#/components/schemas/Revision" }
                },
                "examples": [
                  { "type": "end", "outcome": "shutdown", "rev": 8417 },
                  { "type": "end", "outcome": "shutdown" }
                ]
              },
              "BatchCommand": {
                "type": "object",
                "additionalProperties": false,
                "required": ["ids"],
                "properties": {
                  "ids": {
                    "description": "Answered in this order; none may stand here twice.",
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 1000,
                    "items": { "$ref": "#/components/schemas/EntryID" }
                  },
                  "account": { "$ref": "#/components/schemas/AccountName" }
                },
                "examples": [
                  { "ids": ["notes/1", "https://api.example.com/articles/42"] },
                  { "ids": ["notes/1"], "account": "work" }
                ]
              },
              "BatchFrame": {
                "description": "One line of a batch.",
                "oneOf": [
                  { "$ref": "#/components/schemas/SnapshotFrame" },
                  { "$ref": "#/components/schemas/MissFrame" },
                  { "$ref": "#/components/schemas/CachedDeletionFrame" },
                  { "$ref": "#/components/schemas/EndFrame" }
                ]
              },
              "MissFrame": {
                "description": "Nothing is cached under the id: it was never there, or was evicted.",
                "type": "object",
                "required": ["type", "id"],
                "properties": {
                  "type": { "const": "miss" },
                  "id": { "$ref": "#/components/schemas/EntryID" }
                },
                "examples": [
                  { "type": "miss", "id": "https://api.example.com/articles/43" }
                ]
              },
              "CachedDeletionFrame": {
                "description": "What is cached is that the origin has deleted it.",
                "type": "object",
                "required": ["type", "id", "source", "rev", "status"],
                "properties": {
                  "type": { "const": "deleted" },
                  "id": { "$ref": "#/components/schemas/EntryID" },
                  "source": { "enum": ["cache", "modifier"] },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "status": { "type": "integer", "enum": [404, 410] }
                },
                "examples": [
                  {
                    "type": "deleted",
                    "id": "https://api.example.com/articles/44",
                    "source": "cache",
                    "rev": 8410,
                    "status": 410
                  }
                ]
              },
              "FetchFrame": {
                "description": "One line of a fetch.",
                "oneOf": [
                  { "$ref": "#/components/schemas/SnapshotFrame" },
                  { "$ref": "#/components/schemas/UnchangedFrame" },
                  { "$ref": "#/components/schemas/DeletedFrame" },
                  { "$ref": "#/components/schemas/ErrorFrame" },
                  { "$ref": "#/components/schemas/OriginFrame" },
                  { "$ref": "#/components/schemas/HeartbeatFrame" },
                  { "$ref": "#/components/schemas/EndFrame" }
                ]
              },
              "SnapshotFrame": {
                "description": "What is known of the URL at this moment.",
                "type": "object",
                "required": ["type", "source", "rev", "stale", "age_ms", "pending", "pending_ids", "failed", "complete", "entry"],
                "properties": {
                  "type": { "const": "snapshot" },
                  "source": {
                    "description": "`modifier` where no server has said it, but writes that wait to be sent.",
                    "type": "string",
                    "enum": ["cache", "network", "modifier"]
                  },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "stale": {
                    "description": "Whether it is past its freshness lifetime.",
                    "type": "boolean"
                  },
                  "age_ms": {
                    "description": "Milliseconds since it was stored or confirmed.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "pending": {
                    "description": "Unsettled modifiers that touch what is shown.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "pending_ids": {
                    "type": "array",
                    "items": { "type": "string" }
                  },
                  "failed": {
                    "description": "Modifiers that failed on what is shown.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "complete": {
                    "description": "Whether nothing was evicted of what it shows; otherwise `missing` names it.",
                    "type": "boolean"
                  },
                  "missing": {
                    "type": "array",
                    "items": { "type": "string" }
                  },
                  "entry": { "$ref": "#/components/schemas/FrameEntry" }
                },
                "examples": [
                  {
                    "type": "snapshot",
                    "source": "cache",
                    "rev": 8412,
                    "stale": true,
                    "age_ms": 86400000,
                    "pending": 0,
                    "pending_ids": [],
                    "failed": 0,
                    "complete": true,
                    "entry": {
                      "id": "https://api.example.com/articles/42",
                      "status": 200,
                      "media_type": "application/json",
                      "etag": "\"a1\"",
                      "stored_at": "2026-11-20T21:04:11.799Z",
                      "body": { "title": "Larder" }
                    }
                  },
                  {
                    "type": "snapshot",
                    "source": "network",
                    "rev": 8413,
                    "stale": false,
                    "age_ms": 0,
                    "pending": 0,
                    "pending_ids": [],
                    "failed": 0,
                    "complete": true,
                    "entry": {
                      "id": "https://api.example.com/logo.png",
                      "status": 200,
                      "media_type": "image/png",
                      "etag": "\"larder-9a6f3c0e5d2b41788c1f0d3e7a5b9c24\"",
                      "stored_at": "2026-11-20T21:04:11.799Z",
                      "body_href": "/v1/entries/https%3A%2F%2Fapi.example.com%2Flogo.png"
                    }
                  }
                ]
              },
              "FrameEntry": {
                "description": "An entry with its body in one of three members: JSON up to 1 MiB inline as `body`, with each CR and LF replaced by a space; other bytes up to 64 KiB as `body_b64`; anything larger under the path `body_href`, where the exact bytes are.",
                "type": "object",
                "required": ["id", "status", "media_type", "etag", "stored_at"],
                "properties": {
                  "id": { "$ref": "#/components/schemas/EntryID" },
                  "status": {
                    "description": "What the origin answered.",
                    "type": "integer"
                  },
                  "media_type": { "type": ["string", "null"] },
                  "etag": { "type": "string" },
                  "stored_at": { "$ref": "#/components/schemas/Moment" },
                  "body": { "description": "Any JSON." },
                  "body_b64": {
                    "type": "string",
                    "contentEncoding": "base64"
                  },
                  "body_href": { "type": "string" }
                }
              },
              "UnchangedFrame": {
                "description": "The network has the same bytes as the snapshot before.",
                "type": "object",
                "required": ["type", "source", "rev", "status"],
                "properties": {
                  "type": { "const": "unchanged" },
                  "source": { "const": "network" },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "status": { "type": "integer" }
                },
                "examples": [
                  { "type": "unchanged", "source": "network", "rev": 8412, "status": 304 }
                ]
              },
              "DeletedFrame": {
                "description": "It is gone. `network`: the origin says so now. `cache`: it has said so, and the network was not asked or failed. `modifier`: a write deletes it that waits to be sent, whatever the network says; by every policy, and the status is 410.",
                "type": "object",
                "required": ["type", "source", "rev", "status"],
                "properties": {
                  "type": { "const": "deleted" },
                  "source": { "type": "string", "enum": ["network", "cache", "modifier"] },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "status": { "type": "integer", "enum": [404, 410] }
                },
                "examples": [
                  { "type": "deleted", "source": "network", "rev": 8413, "status": 404 },
                  { "type": "deleted", "source": "modifier", "rev": 8414, "status": 410 }
                ]
              },
              "ErrorFrame": {
                "description": "The network failed after the cached answer.",
                "type": "object",
                "required": ["type", "source", "problem"],
                "properties": {
                  "type": { "const": "error" },
                  "source": { "const": "network" },
                  "problem": { "$ref": "#/components/schemas/Problem" }
                },
                "examples": [
                  {
                    "type": "error",
                    "source": "network",
                    "problem": {
                      "type": "urn:larder:unreachable",
                      "title": "The origin cannot be reached",
                      "status": 502,
                      "detail": "https://api.example.com cannot be reached: Connection refused",
                      "request_id": "mwpgvo72-1",
                      "retryable": true,
                      "hint": "Try again when the network is back."
                    }
                  }
                ]
              },
              "EndFrame": {
                "description": "The last line: what the last word was.",
                "type": "object",
                "required": ["type", "outcome", "timing"],
                "properties": {
                  "type": { "const": "end" },
                  "outcome": {
                    "description": "`cache`: the network was not asked, or not waited for. `error`: it failed after the cached answer. `shutdown`: the daemon ends, there may be more to say, and a batch's other ids were not answered.",
                    "type": "string",
                    "enum": ["network", "unchanged", "deleted", "cache", "error", "shutdown"]
                  },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "timing": {
                    "description": "How long cache and network took, where they were asked.",
                    "type": "object",
                    "properties": {
                      "cache_ms": { "type": "number", "minimum": 0 },
                      "network_ms": { "type": "number", "minimum": 0 }
                    }
                  }
                },
                "examples": [
                  {
                    "type": "end",
                    "outcome": "network",
                    "rev": 8413,
                    "timing": { "cache_ms": 0.4, "network_ms": 183.2 }
                  }
                ]
              },
              "Revision": {
                "description": "The number of one logical step; one counter, which survives restarts.",
                "type": "integer",
                "minimum": 0
              },
              "EntryListItem": {
                "description": "One row without its bytes.",
                "type": "object",
                "required": ["id", "kind", "origin", "status", "media_type", "bytes", "size", "stored_at", "last_used", "fresh_until", "stale", "rev", "etag", "pinned", "source"],
                "properties": {
                  "id": { "$ref": "#/components/schemas/EntryID" },
                  "scope": {
                    "description": "Whose row it is, as the parameter `scope` spells it; in lists of others' rows, and in the explanation of a shared one.",
                    "$ref": "#/components/schemas/ScopeName"
                  },
                  "account": {
                    "description": "Its account, with `scope`; null for a shared row.",
                    "type": ["string", "null"]
                  },
                  "kind": {
                    "description": "A client's `blob`, a `fetched` answer, or the `tombstone` of what the origin has deleted.",
                    "type": "string",
                    "enum": ["blob", "fetched", "tombstone", "variants"]
                  },
                  "origin": { "type": ["string", "null"] },
                  "status": { "type": "integer" },
                  "media_type": { "type": ["string", "null"] },
                  "bytes": {
                    "description": "The length of the body.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "size": {
                    "description": "What it counts against `cache.max_bytes`.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "stored_at": { "$ref": "#/components/schemas/Moment" },
                  "last_used": {
                    "description": "By the logical clock that eviction goes by.",
                    "type": "integer"
                  },
                  "fresh_until": {
                    "type": ["string", "null"],
                    "format": "date-time"
                  },
                  "stale": { "type": "boolean" },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "etag": { "type": "string" },
                  "pinned": {
                    "description": "Whether it is kept for good.",
                    "type": "boolean"
                  },
                  "source": {
                    "description": "`modifier` where no server has said what is shown: only writes that wait to be sent have made it, or have deleted it.",
                    "type": "string",
                    "enum": ["cache", "modifier"]
                  }
                }
              },
              "PinItem": {
                "description": "What is known of a pin, without its bytes.",
                "type": "object",
                "required": ["id", "state", "origin", "bytes", "pinned_at", "stored_at", "rev", "problem", "reason"],
                "properties": {
                  "id": { "$ref": "#/components/schemas/EntryID" },
                  "state": {
                    "description": "`held`: the bytes are kept. `waiting`: it is fetched as soon as its origin answers. `too-large`: what was last given does not fit; older bytes stay. `gone`: the origin has deleted it; the bytes stay. `failed`: the origin refuses it, or its bytes were damaged.",
                    "type": "string",
                    "enum": ["held", "waiting", "too-large", "gone", "failed"]
                  },
                  "origin": { "type": ["string", "null"] },
                  "bytes": {
                    "description": "The length of the body; null while there is none.",
                    "type": ["integer", "null"],
                    "minimum": 0
                  },
                  "pinned_at": { "$ref": "#/components/schemas/Moment" },
                  "stored_at": { "type": ["string", "null"], "format": "date-time" },
                  "rev": { "type": ["integer", "null"] },
                  "problem": {
                    "description": "The type of the problem for which it is neither held nor waiting; in the 202 to its PUT the one that asking for it has met.",
                    "type": ["string", "null"]
                  },
                  "reason": {
                    "description": "The same in one sentence.",
                    "type": ["string", "null"]
                  }
                }
              },
              "ModifierID": {
                "description": "A client's own or, where it gave none, a ULID.",
                "type": "string",
                "pattern": "^[A-Za-z0-9._:@-]{1,128}$"
              },
              "Lane": {
                "description": "What is sent in order: `id:` and a target's id, `key:` and an entity's origin, `/` and key, or `name:` and a lane's name.",
                "type": "string",
                "pattern": "^(id|key|name):.+$"
              },
              "Effect": {
                "description": "How a target's value alters. `put`: it is replaced by `value`. `merge`: RFC 7396. `patch`: RFC 6902, all or nothing. `set`: members `set`, values by pointer, and `unset`, a list of pointers. `add`: numbers by pointer. `list_add`, `list_remove`: lists of values by pointer, or `by` a key with `values`. `delete` and `none` have no value.",
                "type": "object",
                "required": ["type"],
                "properties": {
                  "type": {
                    "type": "string",
                    "enum": ["put", "merge", "patch", "set", "add", "list_add", "list_remove", "delete", "none"]
                  },
                  "value": {}
                },
                "additionalProperties": false,
                "examples": [
                  { "type": "merge", "value": { "liked": true } },
                  { "type": "add", "value": { "/count": 1 } }
                ]
              },
              "ModifierCommand": {
                "description": "The changes that it makes here, and the request that makes them on the server.",
                "type": "object",
                "properties": {
                  "id": { "$ref": "#/components/schemas/ModifierID" },
                  "modifiers": {
                    "description": "Several in place of one, all of one account; no other member goes with it.",
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 1000,
                    "items": { "$ref": "#/components/schemas/ModifierCommand" }
                  },
                  "changes": {
                    "type": "array",
                    "maxItems": 100,
                    "items": {
                      "type": "object",
                      "required": ["target", "effect"],
                      "properties": {
                        "target": { "$ref": "#/components/schemas/ModifierTarget" },
                        "effect": { "$ref": "#/components/schemas/Effect" }
                      },
                      "additionalProperties": false
                    }
                  },
                  "request": {
                    "description": "Left out, it follows from a single change of put, merge, patch or delete, to the target's own URL; an entity's is the `url` of the origin's rule for its type.",
                    "type": "object",
                    "required": ["method", "url"],
                    "properties": {
                      "method": { "type": "string" },
                      "url": { "$ref": "#/components/schemas/FetchURL" },
                      "headers": {
                        "description": "Neither Authorization nor Cookie.",
                        "type": "object",
                        "additionalProperties": { "type": "string" }
                      },
                      "body": { "description": "Any JSON. Without any of the four bodies it is the one that follows from a single change, if `method` is the one that follows, too; else none. One has 16 MiB at most, and the whole command 1 MiB." },
                      "body_text": { "type": "string" },
                      "body_b64": { "type": "string", "contentEncoding": "base64" },
                      "body_entry": {
                        "description": "The id of an entry whose bytes are copied when it is accepted.",
                        "type": "string"
                      }
                    },
                    "additionalProperties": false
                  },
                  "account": { "$ref": "#/components/schemas/AccountName" },
                  "lane": { "description": "A further lane, by its name.", "type": "string" },
                  "depends_on": {
                    "description": "Ids of modifiers that are to be confirmed before; if one fails, this one does.",
                    "type": "array",
                    "maxItems": 100,
                    "items": { "$ref": "#/components/schemas/ModifierID" }
                  },
                  "hold": {
                    "description": "How long it is kept back, so that it can be cancelled.",
                    "$ref": "#/components/schemas/Duration"
                  },
                  "expires": {
                    "description": "How long it may wait for its first attempt: after this time it is not sent any more, but dead. One of which something may have left does not expire.",
                    "$ref": "#/components/schemas/Duration"
                  },
                  "attempts": {
                    "description": "Counted attempts before it is dead; without it no limit.",
                    "type": "integer",
                    "minimum": 1
                  },
                  "if_match": {
                    "description": "Only `none`, which counts without it, is supported.",
                    "type": "string",
                    "default": "none"
                  },
                  "on_conflict": {
                    "description": "Only `rebase`, which counts without it, is supported.",
                    "type": "string",
                    "default": "rebase"
                  },
                  "after_unknown": {
                    "description": "What becomes of it when bytes left and no clear answer came; left out, as the origin's rule says.",
                    "type": "string",
                    "enum": ["auto", "resend", "hold"]
                  }
                },
                "additionalProperties": false,
                "examples": [
                  {
                    "id": "like-42",
                    "changes": [
                      {
                        "target": { "id": "https://api.example.com/articles/42" },
                        "effect": { "type": "merge", "value": { "liked": true } }
                      }
                    ],
                    "request": {
                      "method": "PATCH",
                      "url": "https://api.example.com/articles/42",
                      "headers": { "Content-Type": "application/merge-patch+json" },
                      "body_b64": "eyJsaWtlZCI6dHJ1ZX0="
                    }
                  },
                  {
                    "changes": [
                      {
                        "target": { "key": "User:7", "origin": "example" },
                        "effect": { "type": "merge", "value": { "name": "Ada" } }
                      }
                    ]
                  }
                ]
              },
              "ModifierTarget": {
                "description": "An entry, by its id, or an entity, by its key: the change then shows in every answer that has it, and it stays a JSON object.",
                "oneOf": [
                  {
                    "type": "object",
                    "required": ["id"],
                    "properties": { "id": { "$ref": "#/components/schemas/EntryID" } },
                    "additionalProperties": false
                  },
                  {
                    "type": "object",
                    "required": ["key"],
                    "properties": {
                      "key": { "$ref": "#/components/schemas/EntityKey" },
                      "origin": {
                        "description": "Whose the key is; needed where several origins have rules.",
                        "$ref": "#/components/schemas/OriginName"
                      }
                    },
                    "additionalProperties": false
                  }
                ]
              },
              "ModifierState": {
                "type": "string",
                "enum": ["held", "queued", "in_flight", "confirmed", "accepted", "retry_wait", "unknown", "conflict", "auth_wait", "dead", "cancelled"]
              },
              "ModifierReceipt": {
                "type": "object",
                "required": ["id", "state", "rev"],
                "properties": {
                  "id": { "$ref": "#/components/schemas/ModifierID" },
                  "state": { "$ref": "#/components/schemas/ModifierState" },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "settled_at": {
                    "description": "Of one that had been given before and is settled since.",
                    "$ref": "#/components/schemas/Moment"
                  }
                },
                "additionalProperties": false
              },
              "ModifierReports": {
                "type": "object",
                "required": ["modifiers"],
                "properties": {
                  "modifiers": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/ModifierReport" }
                  }
                }
              },
              "ModifierReceipts": {
                "type": "object",
                "required": ["modifiers"],
                "properties": {
                  "modifiers": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/ModifierReceipt" }
                  }
                }
              },
              "ViewReport": {
                "description": "What a target shows: `body` where it is JSON, else its length.",
                "type": "object",
                "required": ["state"],
                "properties": {
                  "state": { "type": "string", "enum": ["unknown", "deleted", "value"] },
                  "complete": { "type": "boolean" },
                  "body": {},
                  "bytes": { "type": "integer", "minimum": 0 }
                }
              },
              "ModifierReport": {
                "type": "object",
                "required": ["id", "state", "reason", "marks", "lanes", "targets", "request", "attempts", "next_attempt_at", "dependants", "uid", "account", "accepted_at", "settled_at", "rev"],
                "properties": {
                  "id": { "$ref": "#/components/schemas/ModifierID" },
                  "state": { "$ref": "#/components/schemas/ModifierState" },
                  "reason": {
                    "description": "Why it was settled without being confirmed.",
                    "type": ["string", "null"],
                    "enum": ["attempts", "expired", "refused", "parent-failed", "unreadable", "discarded", "cancelled", null]
                  },
                  "marks": {
                    "description": "`paused`: a lane of it is. `stalled`: it was not applied again and again. `inapplicable`: an effect of it does not fit what is there.",
                    "type": "array",
                    "items": { "type": "string", "enum": ["paused", "stalled", "inapplicable"] }
                  },
                  "lanes": { "type": "array", "items": { "$ref": "#/components/schemas/Lane" } },
                  "targets": {
                    "description": "What it changes; in the history the first 16.",
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/TargetName" }
                  },
                  "origin": {
                    "description": "Where one of them is an entity: whose the keys are that stand among them.",
                    "$ref": "#/components/schemas/OriginName"
                  },
                  "request": {
                    "type": "object",
                    "required": ["method", "url", "body_bytes", "idempotency_key"],
                    "properties": {
                      "method": { "type": "string" },
                      "url": { "type": "string" },
                      "body_bytes": { "type": "integer", "minimum": 0 },
                      "idempotency_key": { "type": "string" }
                    }
                  },
                  "attempts": { "type": "integer", "minimum": 0 },
                  "next_attempt_at": { "type": ["string", "null"], "format": "date-time" },
                  "waiting_for": {
                    "description": "Why it is not sent now; left out where nothing keeps it.",
                    "type": "object",
                    "required": ["reason", "name", "until"],
                    "properties": {
                      "reason": { "type": "string" },
                      "name": { "type": ["string", "null"] },
                      "until": { "type": ["string", "null"], "format": "date-time" }
                    }
                  },
                  "answer": {
                    "description": "What the origin last answered.",
                    "type": "object",
                    "required": ["status", "at", "body", "unclear_status"],
                    "properties": {
                      "status": { "type": "integer" },
                      "at": { "$ref": "#/components/schemas/Moment" },
                      "body": {},
                      "unclear_status": { "description": "Of the first answer that left open whether the modifier was applied: a refusal after it may be of a repeat alone.", "type": ["integer", "null"] }
                    }
                  },
                  "dependants": { "type": "array", "items": { "$ref": "#/components/schemas/ModifierID" } },
                  "uid": { "type": "integer", "minimum": 0 },
                  "account": { "$ref": "#/components/schemas/AccountName" },
                  "accepted_at": { "$ref": "#/components/schemas/Moment" },
                  "settled_at": { "type": ["string", "null"], "format": "date-time" },
                  "rev": { "$ref": "#/components/schemas/Revision" },
                  "before": {
                    "description": "What each target shows without it; only where one modifier is shown.",
                    "type": "object",
                    "additionalProperties": { "$ref": "#/components/schemas/ViewReport" }
                  },
                  "after": {
                    "description": "The same with it; of a dead letter as it was when it died.",
                    "type": "object",
                    "additionalProperties": { "$ref": "#/components/schemas/ViewReport" }
                  }
                }
              },
              "ModifierPage": {
                "type": "object",
                "required": ["items", "next"],
                "properties": {
                  "items": { "type": "array", "items": { "$ref": "#/components/schemas/ModifierReport" } },
                  "next": {
                    "description": "The `cursor` of the page after this one; null on the last.",
                    "type": ["string", "null"]
                  }
                }
              },
              "PinPage": {
                "type": "object",
                "required": ["items", "next"],
                "properties": {
                  "items": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/PinItem" }
                  },
                  "next": {
                    "description": "The `cursor` of the page after this one; null on the last.",
                    "type": ["string", "null"]
                  }
                },
                "examples": [
                  {
                    "items": [
                      {
                        "id": "notes/1",
                        "state": "held",
                        "origin": null,
                        "bytes": 5,
                        "pinned_at": "2026-11-20T21:04:11.799Z",
                        "stored_at": "2026-11-20T21:04:10.000Z",
                        "rev": 8412,
                        "problem": null,
                        "reason": null
                      },
                      {
                        "id": "https://api.example.com/films/9",
                        "state": "failed",
                        "origin": "example",
                        "bytes": null,
                        "pinned_at": "2026-11-20T21:04:11.799Z",
                        "stored_at": null,
                        "rev": null,
                        "problem": "urn:larder:origin-status",
                        "reason": "https://api.example.com answered 403"
                      }
                    ],
                    "next": null
                  }
                ]
              },
              "EntryPage": {
                "type": "object",
                "required": ["items", "next"],
                "properties": {
                  "items": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/EntryListItem" }
                  },
                  "next": {
                    "description": "The `cursor` of the page after this one; null on the last.",
                    "type": ["string", "null"]
                  }
                },
                "examples": [
                  {
                    "items": [
                      {
                        "id": "notes/1",
                        "kind": "blob",
                        "origin": null,
                        "status": 200,
                        "media_type": "text/plain",
                        "bytes": 5,
                        "size": 268,
                        "stored_at": "2026-11-20T21:04:11.799Z",
                        "last_used": 7,
                        "fresh_until": null,
                        "stale": false,
                        "rev": 8412,
                        "etag": "\"larder-9a6f3c0e5d2b41788c1f0d3e7a5b9c24\"",
                        "pinned": false,
                        "source": "cache"
                      }
                    ],
                    "next": null
                  }
                ]
              },
              "EntryExplanation": {
                "allOf": [
                  { "$ref": "#/components/schemas/EntryListItem" },
                  {
                    "type": "object",
                    "required": ["last_modified", "headers", "digest", "protected_by", "form", "whole_reason", "skeleton", "entities", "keyless", "repeated", "pending", "base", "view", "modifiers", "truncated"],
                    "properties": {
                      "last_modified": {
                        "description": "The origin's validator, as it spelled it.",
                        "type": ["string", "null"]
                      },
                      "headers": {
                        "description": "The origin's other header fields; a name may repeat.",
                        "type": "array",
                        "items": {
                          "type": "object",
                          "required": ["name", "value"],
                          "properties": {
                            "name": { "type": "string" },
                            "value": { "type": "string" }
                          }
                        }
                      },
                      "digest": {
                        "description": "XXH3 of the bytes, 128 bits.",
                        "type": "string",
                        "pattern": "^[0-9a-f]{32}$"
                      },
                      "protected_by": {
                        "description": "Why it cannot be evicted now; empty when it can. `pinned`; `targeted`: writes that are to be sent change it; `in-flight`: it is being revalidated; `followed`.",
                        "type": "array",
                        "items": { "type": "string" }
                      },
                      "form": {
                        "description": "How it is stored: `whole`, as it came, or `normalized`, as a skeleton and the entities that it shows.",
                        "type": "string",
                        "enum": ["whole", "normalized"]
                      },
                      "whole_reason": {
                        "description": "Why it is stored whole where its origin has rules.",
                        "type": ["string", "null"]
                      },
                      "skeleton": {
                        "description": "What it shares with the answers of the same form.",
                        "type": ["string", "null"]
                      },
                      "entities": {
                        "description": "The entities in its own text, each with the members that it shows of it; to what these refer, their own explanations say.",
                        "oneOf": [{ "$ref": "#/components/schemas/References" }, { "type": "null" }]
                      },
                      "keyless": {
                        "description": "Objects that are entities by their type or place, and have no key: they stay in what holds them. `sample` points to the first.",
                        "type": "object",
                        "required": ["count", "sample"],
                        "properties": {
                          "count": { "type": "integer", "minimum": 0 },
                          "sample": { "type": ["string", "null"] }
                        }
                      },
                      "repeated": {
                        "description": "Entities in which a name stands twice with different values; the last counts.",
                        "type": "integer",
                        "minimum": 0
                      },
                      "pending": {
                        "description": "How many writes are to be sent that touch it. With some, the members above are those of its base where it has one.",
                        "type": "integer",
                        "minimum": 0
                      },
                      "base": {
                        "description": "What the origin said last; null while nothing is to be sent.",
                        "oneOf": [{ "$ref": "#/components/schemas/ViewReport" }, { "type": "null" }]
                      },
                      "view": {
                        "description": "What is shown; null while nothing is to be sent.",
                        "oneOf": [{ "$ref": "#/components/schemas/ViewReport" }, { "type": "null" }]
                      },
                      "modifiers": {
                        "description": "The first 100 of what is to be sent, in its order.",
                        "type": "array",
                        "items": { "$ref": "#/components/schemas/PendingStep" }
                      },
                      "truncated": { "$ref": "#/components/schemas/Truncated" }
                    }
                  }
                ],
                "examples": [
                  {
                    "id": "https://api.example.com/articles/42",
                    "kind": "fetched",
                    "origin": "example",
                    "status": 200,
                    "media_type": "application/json",
                    "bytes": 18,
                    "size": 331,
                    "stored_at": "2026-11-20T21:04:11.799Z",
                    "last_used": 9,
                    "fresh_until": "2026-11-20T21:14:11.799Z",
                    "stale": false,
                    "rev": 8412,
                    "etag": "\"a1\"",
                    "pinned": false,
                    "source": "cache",
                    "last_modified": "Fri, 20 Nov 2026 21:00:00 GMT",
                    "headers": [{ "name": "Content-Language", "value": "en" }],
                    "digest": "9a6f3c0e5d2b41788c1f0d3e7a5b9c24",
                    "protected_by": ["targeted"],
                    "form": "normalized",
                    "whole_reason": null,
                    "skeleton": "12",
                    "entities": {
                      "count": 1,
                      "items": [{ "key": "User:7", "origin": "example", "members": ["id", "name"] }]
                    },
                    "keyless": { "count": 1, "sample": "/tags/0" },
                    "repeated": 0,
                    "pending": 1,
                    "base": { "state": "value", "complete": true, "body": { "liked": false } },
                    "view": { "state": "value", "complete": true, "body": { "liked": true } },
                    "modifiers": [
                      {
                        "id": "01JD2Q4W6Z0000000000000000",
                        "state": "queued",
                        "effect": "merge",
                        "inapplicable": null,
                        "after": { "state": "value", "complete": true, "body": { "liked": true } },
                        "without": { "state": "value", "complete": true, "body": { "liked": false } }
                      }
                    ],
                    "truncated": false
                  }
                ]
              },
              "EntityListItem": {
                "type": "object",
                "required": ["key", "origin", "kind", "type", "deleted", "bytes", "size", "stored_at", "last_used", "source", "rev"],
                "properties": {
                  "key": { "$ref": "#/components/schemas/EntityKey" },
                  "origin": { "$ref": "#/components/schemas/OriginName" },
                  "scope": {
                    "description": "Whose row it is: `uid:N`, or `shared`; in lists of others' rows only.",
                    "$ref": "#/components/schemas/ScopeName"
                  },
                  "account": {
                    "description": "Of which of their accounts; null for what is shared.",
                    "type": ["string", "null"]
                  },
                  "kind": { "const": "entity" },
                  "type": { "type": "string" },
                  "deleted": {
                    "description": "What is known is that the origin has deleted it.",
                    "type": "boolean"
                  },
                  "bytes": {
                    "description": "Those that hold it, in a form of the daemon's own.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "size": {
                    "description": "What it counts against `cache.max_bytes`.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "stored_at": { "$ref": "#/components/schemas/Moment" },
                  "last_used": {
                    "description": "The moment of its last use, by the logical clock that eviction goes by.",
                    "type": "integer"
                  },
                  "source": {
                    "description": "`modifier` where no server has said what is shown: only writes that wait to be sent have made it, or have deleted it.",
                    "type": "string",
                    "enum": ["cache", "modifier"]
                  },
                  "rev": { "$ref": "#/components/schemas/Revision" }
                }
              },
              "EntityPage": {
                "type": "object",
                "required": ["items", "next"],
                "properties": {
                  "items": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/EntityListItem" }
                  },
                  "next": {
                    "description": "The `cursor` of the page after this one; null on the last.",
                    "type": ["string", "null"]
                  }
                },
                "examples": [
                  {
                    "items": [
                      {
                        "key": "User:7",
                        "origin": "example",
                        "kind": "entity",
                        "type": "User",
                        "deleted": false,
                        "bytes": 96,
                        "size": 331,
                        "stored_at": "2026-11-20T21:04:11.799Z",
                        "last_used": 9,
                        "source": "cache",
                        "rev": 8412
                      }
                    ],
                    "next": null
                  }
                ]
              },
              "EntityExplanation": {
                "allOf": [
                  { "$ref": "#/components/schemas/EntityListItem" },
                  {
                    "type": "object",
                    "required": ["version", "fetch", "protected_by", "pending", "base", "view", "modifiers", "truncated", "referenced_by", "refers_to"],
                    "properties": {
                      "version": {
                        "description": "What the origin's rule for versions found in it; null without one.",
                        "type": ["string", "number", "null"]
                      },
                      "fetch": {
                        "description": "The number that the last applied fetch took when it started: an earlier one overwrites nothing.",
                        "type": ["integer", "null"]
                      },
                      "protected_by": {
                        "description": "Why it cannot be evicted now, as for an entry; empty when it can.",
                        "type": "array",
                        "items": { "type": "string" }
                      },
                      "pending": {
                        "description": "How many writes are to be sent that touch it.",
                        "type": "integer",
                        "minimum": 0
                      },
                      "base": {
                        "description": "What the origin said last.",
                        "$ref": "#/components/schemas/ViewReport"
                      },
                      "view": {
                        "description": "What is shown.",
                        "$ref": "#/components/schemas/ViewReport"
                      },
                      "modifiers": {
                        "description": "The first 100 of what is to be sent, in its order.",
                        "type": "array",
                        "items": { "$ref": "#/components/schemas/PendingStep" }
                      },
                      "truncated": { "$ref": "#/components/schemas/Truncated" },
                      "referenced_by": {
                        "description": "The entries and entities that show it or refer to it.",
                        "$ref": "#/components/schemas/References"
                      },
                      "refers_to": {
                        "description": "The entities that it refers to.",
                        "$ref": "#/components/schemas/References"
                      }
                    }
                  }
                ],
                "examples": [
                  {
                    "key": "User:7",
                    "origin": "example",
                    "kind": "entity",
                    "type": "User",
                    "deleted": false,
                    "bytes": 96,
                    "size": 331,
                    "stored_at": "2026-11-20T21:04:11.799Z",
                    "last_used": 9,
                    "source": "cache",
                    "rev": 8412,
                    "version": null,
                    "fetch": 8400,
                    "protected_by": [],
                    "pending": 0,
                    "base": { "state": "value", "complete": true, "body": { "id": 7, "name": "Ada" } },
                    "view": { "state": "value", "complete": true, "body": { "id": 7, "name": "Ada" } },
                    "modifiers": [],
                    "truncated": false,
                    "referenced_by": {
                      "count": 1,
                      "items": [{ "id": "https://api.example.com/articles/42", "members": ["id", "name"] }]
                    },
                    "refers_to": { "count": 0, "items": [] }
                  }
                ]
              },
              "References": {
                "description": "What refers to something, or what it refers to; `items` are the first 100.",
                "type": "object",
                "required": ["count", "items"],
                "properties": {
                  "count": { "type": "integer", "minimum": 0 },
                  "items": {
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["members"],
                      "oneOf": [{ "required": ["id"] }, { "required": ["key", "origin"] }],
                      "properties": {
                        "id": { "$ref": "#/components/schemas/EntryID" },
                        "key": { "$ref": "#/components/schemas/EntityKey" },
                        "origin": { "$ref": "#/components/schemas/OriginName" },
                        "members": {
                          "description": "Between an entry and an entity the members of the entity that the entry shows; between two entities those of the one in whose values the other stands.",
                          "type": "array",
                          "items": { "type": "string" }
                        }
                      }
                    }
                  }
                }
              },
              "Truncated": {
                "description": "Whether not all is told: of the modifiers the first 100, of their views 4 MiB in all beside `view`, and what takes a second's work.",
                "type": "boolean"
              },
              "PendingStep": {
                "description": "A write that is to be sent, and what it makes of an entry. A view that is not told is null; `without` always where more than 100 are to be sent.",
                "type": "object",
                "required": ["id", "state", "effect", "inapplicable", "after", "without"],
                "properties": {
                  "id": { "$ref": "#/components/schemas/ModifierID" },
                  "state": { "$ref": "#/components/schemas/ModifierState" },
                  "effect": {
                    "description": "The name of its type.",
                    "type": "string"
                  },
                  "inapplicable": {
                    "description": "Why it is left out of the view; null where it is not.",
                    "type": ["string", "null"]
                  },
                  "after": {
                    "description": "What base, those before it and it make.",
                    "oneOf": [{ "$ref": "#/components/schemas/ViewReport" }, { "type": "null" }]
                  },
                  "without": {
                    "description": "What would be shown without it: what is restored when it is refused.",
                    "oneOf": [{ "$ref": "#/components/schemas/ViewReport" }, { "type": "null" }]
                  }
                }
              },
              "EvictCommand": {
                "description": "Exactly one of `ids`, `keys`, `prefix`, `origin`, `older_than`, `to_bytes` and `all` selects. Protected entries stay and are counted as skipped.",
                "type": "object",
                "additionalProperties": false,
                "oneOf": [
                  { "required": ["ids"] },
                  { "required": ["keys"] },
                  { "required": ["prefix"] },
                  { "required": ["origin"], "not": { "required": ["keys"] } },
                  { "required": ["older_than"] },
                  { "required": ["to_bytes"] },
                  { "required": ["all"] }
                ],
                "properties": {
                  "ids": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 10000,
                    "items": { "$ref": "#/components/schemas/EntryID" }
                  },
                  "keys": {
                    "description": "Entities of `origin`, which may be left out while only one has rules.",
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 10000,
                    "items": { "$ref": "#/components/schemas/EntityKey" }
                  },
                  "prefix": {
                    "description": "Entries whose ids begin with it.",
                    "$ref": "#/components/schemas/EntryID"
                  },
                  "origin": { "$ref": "#/components/schemas/OriginName" },
                  "older_than": {
                    "description": "Entries stored or confirmed longer ago.",
                    "$ref": "#/components/schemas/Duration"
                  },
                  "to_bytes": {
                    "description": "The least recently used, until the cache has at most this size: a text with a unit, or a number of bytes.",
                    "oneOf": [
                      {
                        "type": "string",
                        "pattern": "^[0-9]+([KMGT]i)?B$"
                      },
                      {
                        "type": "integer",
                        "minimum": 0
                      }
                    ]
                  },
                  "all": { "const": true },
                  "dry_run": {
                    "description": "Says what would go and lets it stay.",
                    "type": "boolean",
                    "default": false
                  },
                  "include_pinned": {
                    "description": "What is pinned is unpinned and goes too; without it, it is skipped and counted. `to_bytes` is about the cache, in which what is pinned does not count.",
                    "type": "boolean",
                    "default": false
                  },
                  "scope": { "$ref": "#/components/schemas/ScopeName" },
                  "account": { "$ref": "#/components/schemas/AccountName" }
                },
                "examples": [
                  { "ids": ["notes/1", "notes/2"], "dry_run": true, "account": "work" },
                  { "prefix": "https://api.example.com/articles/", "scope": "uid:1000", "account": "work" },
                  { "origin": "example" },
                  { "keys": ["User:7", "Article:9"], "origin": "example" },
                  { "older_than": "7d" },
                  { "to_bytes": 524288000 },
                  { "all": true, "include_pinned": true }
                ]
              },
              "EvictReport": {
                "type": "object",
                "required": ["evicted", "bytes", "skipped", "ids", "entities"],
                "properties": {
                  "evicted": {
                    "description": "How many went.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "bytes": {
                    "description": "What they counted against `cache.max_bytes`.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "skipped": {
                    "description": "How many were asked for and are protected.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "ids": {
                    "description": "With the entities at most 10,000 of them; `evicted` counts all.",
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/EntryID" }
                  },
                  "entities": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/EntityName" }
                  }
                },
                "examples": [
                  {
                    "evicted": 2,
                    "bytes": 550,
                    "skipped": 0,
                    "ids": ["notes/1"],
                    "entities": [{ "key": "User:7", "origin": "example" }]
                  }
                ]
              },
              "StatusReport": {
                "type": "object",
                "required": ["version", "uptime", "state", "cache", "pins", "queue", "connections", "flights", "origins", "warnings", "findings"],
                "properties": {
                  "version": { "type": "string" },
                  "uptime": {
                    "description": "Whole seconds since the start.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "state": {
                    "description": "`degraded` when there are warnings.",
                    "type": "string",
                    "enum": ["ok", "degraded"]
                  },
                  "cache": {
                    "type": "object",
                    "required": ["bytes", "max_bytes", "entries", "database_bytes", "wal_bytes", "evictions", "hits", "misses", "hit_rate"],
                    "properties": {
                      "bytes": {
                        "description": "The accounted size, never above `max_bytes`.",
                        "type": "integer",
                        "minimum": 0
                      },
                      "max_bytes": { "type": "integer", "minimum": 0 },
                      "entries": { "type": "integer", "minimum": 0 },
                      "database_bytes": {
                        "description": "The size of the file.",
                        "type": "integer",
                        "minimum": 0
                      },
                      "wal_bytes": { "type": "integer", "minimum": 0 },
                      "evictions": {
                        "description": "Since the start, as the next two.",
                        "type": "integer",
                        "minimum": 0
                      },
                      "hits": { "type": "integer", "minimum": 0 },
                      "misses": { "type": "integer", "minimum": 0 },
                      "hit_rate": {
                        "description": "Hits of all lookups over the last minutes, 0 to 1; null where there were none.",
                        "type": "object",
                        "required": ["1m", "10m", "60m"],
                        "properties": {
                          "1m": { "type": ["number", "null"], "minimum": 0, "maximum": 1 },
                          "10m": { "type": ["number", "null"], "minimum": 0, "maximum": 1 },
                          "60m": { "type": ["number", "null"], "minimum": 0, "maximum": 1 }
                        }
                      }
                    }
                  },
                  "pins": {
                    "description": "What is kept for good, of all users.",
                    "type": "object",
                    "required": ["count", "bytes", "max_bytes", "waiting"],
                    "properties": {
                      "count": { "type": "integer", "minimum": 0 },
                      "bytes": {
                        "description": "The accounted size, never above `max_bytes`.",
                        "type": "integer",
                        "minimum": 0
                      },
                      "max_bytes": { "type": "integer", "minimum": 0 },
                      "waiting": {
                        "description": "Pins that are fetched as soon as their origins answer.",
                        "type": "integer",
                        "minimum": 0
                      }
                    }
                  },
                  "queue": {
                    "description": "Modifiers, of all users.",
                    "type": "object",
                    "required": ["unsettled", "dead", "states", "stalled", "oldest_age_ms", "max_modifiers", "bytes", "max_bytes"],
                    "properties": {
                      "unsettled": { "type": "integer", "minimum": 0 },
                      "dead": {
                        "description": "Dead letters, which count against the limits too.",
                        "type": "integer",
                        "minimum": 0
                      },
                      "states": {
                        "description": "How many there are in each state.",
                        "type": "object",
                        "required": ["held", "queued", "in_flight", "accepted", "retry_wait", "unknown", "conflict", "auth_wait", "dead"],
                        "properties": {
                          "held": { "type": "integer", "minimum": 0 },
                          "queued": { "type": "integer", "minimum": 0 },
                          "in_flight": { "type": "integer", "minimum": 0 },
                          "accepted": { "type": "integer", "minimum": 0 },
                          "retry_wait": { "type": "integer", "minimum": 0 },
                          "unknown": { "type": "integer", "minimum": 0 },
                          "conflict": { "type": "integer", "minimum": 0 },
                          "auth_wait": { "type": "integer", "minimum": 0 },
                          "dead": { "type": "integer", "minimum": 0 }
                        }
                      },
                      "stalled": {
                        "description": "Unsettled ones that their origins put off again and again.",
                        "type": "integer",
                        "minimum": 0
                      },
                      "oldest_age_ms": {
                        "description": "How long the first of the unsettled ones has waited; null without any.",
                        "type": ["integer", "null"],
                        "minimum": 0
                      },
                      "max_modifiers": { "type": "integer", "minimum": 0 },
                      "bytes": {
                        "description": "The accounted size with the bases that are kept for nothing else, never above `max_bytes`.",
                        "type": "integer",
                        "minimum": 0
                      },
                      "max_bytes": { "type": "integer", "minimum": 0 }
                    }
                  },
                  "connections": {
                    "description": "Open connections at the socket.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "flights": {
                    "description": "Requests under way to origins.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "origins": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/OriginStatus" }
                  },
                  "warnings": {
                    "description": "One sentence each on what somebody should look at.",
                    "type": "array",
                    "items": { "type": "string" }
                  },
                  "findings": {
                    "description": "Those of the warnings about which whoever asks can do something, with the command that helps: writes that wait for a person (`unknown`, `conflict`, `auth_wait`, `dead`), paused lanes, pins that failed. One's own; to an administrator everybody's, by uid.",
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/Finding" }
                  },
                  "configuration": {
                    "description": "The configuration that is in force.",
                    "type": "object",
                    "required": ["file", "read_at", "socket_mode"],
                    "properties": {
                      "file": {
                        "description": "The path of its file; null where the defaults count.",
                        "type": ["string", "null"]
                      },
                      "read_at": { "type": "string", "format": "date-time" },
                      "socket_mode": {
                        "description": "The rights that the socket's file is to have, in octal.",
                        "type": "string"
                      }
                    }
                  },
                  "you": {
                    "description": "How the daemon sees whoever asks, by the kernel's word.",
                    "type": "object",
                    "required": ["uid", "groups", "administrator"],
                    "properties": {
                      "uid": { "type": "integer", "minimum": 0 },
                      "groups": {
                        "description": "Those that the client ran in when it connected, in order.",
                        "type": "array",
                        "items": { "type": "integer", "minimum": 0 }
                      },
                      "administrator": {
                        "description": "Whether it may do what is for administrators.",
                        "type": "boolean"
                      }
                    }
                  }
                },
                "examples": [
                  {
                    "version": "0.1.0",
                    "uptime": 3600,
                    "state": "ok",
                    "cache": {
                      "bytes": 1048576,
                      "max_bytes": 536870912,
                      "entries": 120,
                      "database_bytes": 1200128,
                      "wal_bytes": 0,
                      "evictions": 0,
                      "hits": 900,
                      "misses": 100,
                      "hit_rate": { "1m": null, "10m": 0.5, "60m": 0.9 }
                    },
                    "pins": { "count": 1, "bytes": 300, "max_bytes": 1073741824, "waiting": 0 },
                    "queue": {
                      "unsettled": 3,
                      "dead": 1,
                      "states": {
                        "held": 0,
                        "queued": 2,
                        "in_flight": 1,
                        "accepted": 0,
                        "retry_wait": 0,
                        "unknown": 0,
                        "conflict": 0,
                        "auth_wait": 0,
                        "dead": 1
                      },
                      "stalled": 0,
                      "oldest_age_ms": 61000,
                      "max_modifiers": 100000,
                      "bytes": 4096,
                      "max_bytes": 268435456
                    },
                    "connections": 2,
                    "flights": 0,
                    "origins": [
                      {
                        "name": "example",
                        "base_url": "https://api.example.com/",
                        "state": "online",
                        "since": "2026-11-20T21:04:11.799Z",
                        "offline_by_hand": false
                      }
                    ],
                    "warnings": [],
                    "findings": [],
                    "configuration": {
                      "file": "/etc/larder/larder.yaml",
                      "read_at": "2026-11-22T08:00:00.000Z",
                      "socket_mode": "0660"
                    },
                    "you": { "uid": 1000, "groups": [100, 1000], "administrator": false }
                  }
                ]
              },
              "OriginSettings": {
                "description": "The keys of an origin, as the configuration has them; `base_url` is all that one needs. In an answer the values of headers and the user of a proxy are `***`.",
                "type": "object",
                "additionalProperties": false,
                "required": ["base_url"],
                "properties": {
                  "base_url": {
                    "description": "Scheme, host, and where needed port and path.",
                    "type": "string",
                    "format": "uri"
                  },
                  "allow_private": {
                    "description": "Whether it may live on loopback or a private address.",
                    "type": "boolean",
                    "default": false
                  },
                  "redirect_hosts": {
                    "description": "Where else its redirects may lead: hosts, each with the port if it is not its scheme's.",
                    "type": "array",
                    "maxItems": 256,
                    "items": { "type": "string" }
                  },
                  "scope": {
                    "description": "Whose its answers are where their client has used no credential of its own: each user's and account's, or everybody's.",
                    "type": "string",
                    "enum": ["user", "shared"],
                    "default": "user"
                  },
                  "proxy": {
                    "description": "What its connections go through, such as `http://user:password@proxy.example.com:3128`.",
                    "type": ["string", "null"]
                  },
                  "tls": { "$ref": "#/components/schemas/OriginTLS" },
                  "headers": {
                    "description": "Sent with each request to it.",
                    "type": "object",
                    "additionalProperties": { "type": "string" }
                  },
                  "fetch": { "$ref": "#/components/schemas/OriginFetch" },
                  "normalize": {
                    "description": "Which objects in its answers are entities, each of which is kept once for all answers that show it; null: answers are only stored whole.",
                    "oneOf": [{ "$ref": "#/components/schemas/OriginNormalize" }, { "type": "null" }]
                  },
                  "modifiers": { "$ref": "#/components/schemas/OriginModifiers" }
                },
                "examples": [
                  {
                    "base_url": "https://files.example.com/",
                    "allow_private": false,
                    "redirect_hosts": ["cdn.example.com:8443"],
                    "scope": "user",
                    "proxy": "http://proxy.example.com:3128",
                    "tls": { "ca_file": null, "client_cert": null, "client_key": null },
                    "headers": { "X-Client": "larder" },
                    "fetch": {
                      "policy": "cache-then-network",
                      "network_wait": "300ms",
                      "timeout": "30s",
                      "connect_timeout": "5s",
                      "ttl": null,
                      "store_no_store": false
                    },
                    "normalize": {
                      "by_type": true,
                      "types": [
                        { "type": "Book", "key": ["isbn"], "url": "/books/{isbn}", "version": "/updated_at" },
                        { "type": "Play", "key": ["title", { "author": ["name"] }] },
                        { "type": "Article", "lists": { "/comments": "append", "/prices": { "by": "currency" } } }
                      ],
                      "paths": [{ "url": "/articles/*", "at": "/author", "type": "User", "key": ["login"] }]
                    },
                    "modifiers": {
                      "respond_async": false,
                      "idempotency": { "header": "Idempotency-Key", "honoured": false },
                      "answer": "auto",
                      "after_unknown": "auto",
                      "accepted_limit": "10m",
                      "stalled_after": 10,
                      "refused_if": []
                    }
                  }
                ]
              },
              "OriginCommand": {
                "description": "A name, and the keys of an origin, as OriginSettings has them.",
                "type": "object",
                "additionalProperties": false,
                "required": ["name", "base_url"],
                "properties": {
                  "name": { "$ref": "#/components/schemas/OriginName" },
                  "base_url": {
                    "description": "Scheme, host, and where needed port and path.",
                    "type": "string",
                    "format": "uri"
                  },
                  "allow_private": {
                    "description": "Whether it may live on loopback or a private address.",
                    "type": "boolean",
                    "default": false
                  },
                  "redirect_hosts": {
                    "description": "Where else its redirects may lead: hosts, each with the port if it is not its scheme's.",
                    "type": "array",
                    "maxItems": 256,
                    "items": { "type": "string" }
                  },
                  "scope": {
                    "description": "Whose its answers are where their client has used no credential of its own: each user's and account's, or everybody's.",
                    "type": "string",
                    "enum": ["user", "shared"],
                    "default": "user"
                  },
                  "proxy": {
                    "description": "What its connections go through, such as `http://user:password@proxy.example.com:3128`.",
                    "type": ["string", "null"]
                  },
                  "tls": { "$ref": "#/components/schemas/OriginTLS" },
                  "headers": {
                    "description": "Sent with each request to it.",
                    "type": "object",
                    "additionalProperties": { "type": "string" }
                  },
                  "fetch": { "$ref": "#/components/schemas/OriginFetch" },
                  "normalize": {
                    "description": "Which objects in its answers are entities, each of which is kept once for all answers that show it; null: answers are only stored whole.",
                    "oneOf": [{ "$ref": "#/components/schemas/OriginNormalize" }, { "type": "null" }]
                  },
                  "modifiers": { "$ref": "#/components/schemas/OriginModifiers" }
                },
                "examples": [
                  { "name": "news", "base_url": "https://news.example.com", "fetch": { "policy": "network-first" } }
                ]
              },
              "OriginTLS": {
                "description": "Absolute paths of files in PEM where the daemon is: the roots that are trusted in place of the system's, the certificate that shows who asks, and its key.",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                  "ca_file": { "type": ["string", "null"] },
                  "client_cert": { "type": ["string", "null"] },
                  "client_key": { "type": ["string", "null"] }
                }
              },
              "OriginFetch": {
                "description": "How its answers are asked for and kept.",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                  "policy": { "$ref": "#/components/schemas/FetchPolicy" },
                  "network_wait": { "$ref": "#/components/schemas/Duration" },
                  "timeout": { "$ref": "#/components/schemas/Duration" },
                  "connect_timeout": { "$ref": "#/components/schemas/Duration" },
                  "ttl": {
                    "description": "How long each answer stays fresh; null leaves it to the answer's headers.",
                    "type": ["string", "null"]
                  },
                  "store_no_store": { "type": "boolean" }
                }
              },
              "OriginNormalize": {
                "description": "Which objects in its answers are entities.",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                  "by_type": {
                    "description": "Which members say an object's type and id, in the order in which they are looked through. `true` stands for the names in the default; null or false: no object is recognised by its type.",
                    "oneOf": [
                      { "$ref": "#/components/schemas/OriginTypeMembers" },
                      { "type": "boolean" },
                      { "type": "null" }
                    ]
                  },
                  "types": {
                    "description": "What is particular about a type; one rule for each.",
                    "type": "array",
                    "maxItems": 1000,
                    "items": { "$ref": "#/components/schemas/OriginTypeRule" }
                  },
                  "paths": {
                    "description": "Where entities stand in answers; where one fits, `by_type` does not count.",
                    "type": "array",
                    "maxItems": 1000,
                    "items": { "$ref": "#/components/schemas/OriginPathRule" }
                  }
                }
              },
              "OriginTypeMembers": {
                "type": "object",
                "additionalProperties": false,
                "properties": {
                  "type": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 16,
                    "items": { "type": "string" },
                    "default": ["__typename", "type", "@type"]
                  },
                  "id": {
                    "type": "array",
                    "minItems": 1,
                    "maxItems": 16,
                    "items": { "type": "string" },
                    "default": ["id", "_id"]
                  }
                }
              },
              "OriginTypeRule": {
                "description": "What is particular about the entities of one type.",
                "type": "object",
                "additionalProperties": false,
                "required": ["type"],
                "properties": {
                  "type": { "type": "string" },
                  "key": {
                    "description": "What tells two of them apart; null leaves it to the members of `by_type`.",
                    "oneOf": [{ "$ref": "#/components/schemas/OriginEntityKey" }, { "type": "null" }]
                  },
                  "url": {
                    "description": "The path of an entity's own answer after the base URL, with each member of its key in braces. Writes to the entity go there.",
                    "type": ["string", "null"]
                  },
                  "version": {
                    "description": "Where it says how new it is, as a JSON pointer: a lower version never overwrites a higher one.",
                    "type": ["string", "null"]
                  },
                  "lists": {
                    "description": "What becomes of its lists, by JSON pointers, when others come: `replace`, `append` (a list of entities, which grows by those that are new, and from which none goes), `append` with the query parameter that tells its pages apart (without it, or where it is empty, 0 or 1, the list starts again), or `by` a member (each element in place of the one with the same).",
                    "type": "object",
                    "maxProperties": 64,
                    "additionalProperties": {
                      "oneOf": [
                        { "type": "string", "enum": ["replace", "append"] },
                        {
                          "type": "object",
                          "additionalProperties": false,
                          "minProperties": 1,
                          "maxProperties": 1,
                          "properties": { "by": { "type": "string" }, "append": { "type": "string" } }
                        }
                      ]
                    }
                  },
                  "embed": {
                    "description": "Whether they are no entities and stay in what holds them.",
                    "type": "boolean",
                    "default": false
                  },
                  "on_deleted": {
                    "description": "What stands in place of one that is gone: null, nothing (`omit`), or what holds it counts as gone (`cascade`).",
                    "type": ["string", "null"],
                    "enum": [null, "null", "omit", "cascade"],
                    "default": null
                  }
                }
              },
              "OriginPathRule": {
                "description": "Says that at a place of some answers entities of a type stand.",
                "type": "object",
                "additionalProperties": false,
                "required": ["url", "at", "type"],
                "properties": {
                  "url": {
                    "description": "The answer's path after the base URL, without its query; `*` is one whole segment.",
                    "type": "string"
                  },
                  "at": {
                    "description": "Where in the answer, as a JSON pointer; `*` is any position of a list.",
                    "type": "string"
                  },
                  "type": { "type": "string" },
                  "key": {
                    "description": "What tells two of them apart; null leaves it to the rule of the type.",
                    "oneOf": [{ "$ref": "#/components/schemas/OriginEntityKey" }, { "type": "null" }]
                  }
                }
              },
              "OriginEntityKey": {
                "description": "Members in their order, 16 at most in all; those of an object within it stand under its name: `[\"title\", {\"author\": [\"name\"]}]`. None: there is only one entity of the type.",
                "type": "array",
                "maxItems": 16,
                "items": {
                  "oneOf": [
                    { "type": "string" },
                    {
                      "type": "object",
                      "minProperties": 1,
                      "maxProperties": 1,
                      "additionalProperties": { "$ref": "#/components/schemas/OriginEntityKey" }
                    }
                  ]
                }
              },
              "OriginModifiers": {
                "description": "How its modifiers are sent, and what its answers to them mean.",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                  "respond_async": {
                    "description": "Whether a write under `/o/{origin}/{path}` is a modifier unless it says otherwise.",
                    "type": "boolean",
                    "default": false
                  },
                  "idempotency": { "$ref": "#/components/schemas/OriginIdempotency" },
                  "answer": {
                    "description": "What the body of a 2xx is: what was changed where the answer says so, or always.",
                    "type": "string",
                    "enum": ["auto", "representation"],
                    "default": "auto"
                  },
                  "after_unknown": {
                    "description": "What becomes of a modifier that may have reached it without a clear answer: it is sent again if that cannot do it twice and else waits for a person, it is sent again with the same key, or it waits for a person.",
                    "type": "string",
                    "enum": ["auto", "resend", "hold"],
                    "default": "auto"
                  },
                  "accepted_limit": { "$ref": "#/components/schemas/Duration" },
                  "stalled_after": {
                    "description": "After how many answers by which a modifier was not done for now it is marked as stalled.",
                    "type": "integer",
                    "minimum": 1,
                    "maximum": 1000000,
                    "default": 10
                  },
                  "refused_if": {
                    "description": "A 2xx whose JSON body matches one of these rules is a refusal, such as a GraphQL answer with errors.",
                    "type": "array",
                    "maxItems": 16,
                    "default": [],
                    "items": {
                      "type": "object",
                      "required": ["pointer"],
                      "additionalProperties": false,
                      "properties": {
                        "pointer": {
                          "description": "A JSON pointer (RFC 6901) into the body.",
                          "type": "string",
                          "examples": ["/errors"]
                        },
                        "equals": {
                          "description": "The text of the string, number or boolean there; left out, any value but null, false, 0 and an empty string, list or object.",
                          "type": "string",
                          "examples": ["error"]
                        }
                      }
                    }
                  }
                }
              },
              "OriginIdempotency": {
                "description": "How it is told that a request repeats one that it may have had.",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                  "header": {
                    "description": "The header that carries a modifier's key.",
                    "type": "string",
                    "default": "Idempotency-Key"
                  },
                  "honoured": {
                    "description": "Whether it promises to do only once what carries the same key.",
                    "type": "boolean",
                    "default": false
                  }
                }
              },
              "OriginReport": {
                "type": "object",
                "required": ["name", "base_url", "source", "file", "state", "since", "offline_by_hand", "settings"],
                "properties": {
                  "name": { "$ref": "#/components/schemas/OriginName" },
                  "base_url": { "type": "string", "format": "uri" },
                  "source": {
                    "description": "Where it comes from: a `file` of the configuration, the `api`, or `implicit`: a public host that the user of a daemon of one's own asked.",
                    "type": "string",
                    "enum": ["file", "api", "implicit"]
                  },
                  "file": {
                    "description": "The file that it stands in; null where it comes from elsewhere.",
                    "type": ["string", "null"]
                  },
                  "state": {
                    "description": "What the last requests to it told, or `offline` while it is so by hand.",
                    "type": "string",
                    "enum": ["online", "unknown", "offline", "captive"]
                  },
                  "since": {
                    "description": "Since when that is so; null while nothing was asked of it.",
                    "type": ["string", "null"],
                    "format": "date-time"
                  },
                  "offline_by_hand": {
                    "description": "Whether it was set offline, so that nothing leaves for it.",
                    "type": "boolean"
                  },
                  "rests_until": {
                    "description": "Left out but while it has told some account, by a Retry-After of a 429 or 503, to wait: until then what nobody asks for leaves it alone. Of several accounts it is that of the last; of one's own, where there is one.",
                    "$ref": "#/components/schemas/Moment"
                  },
                  "rests_for": {
                    "description": "Which account that is: UID:ACCOUNT, or shared for what everybody sees. Left out with rests_until, and where it is another user's and the client is no administrator.",
                    "type": "string"
                  },
                  "settings": { "$ref": "#/components/schemas/OriginSettings" }
                },
                "examples": [
                  {
                    "name": "files",
                    "base_url": "https://files.example.com/",
                    "source": "api",
                    "file": null,
                    "state": "offline",
                    "since": "2026-11-20T21:04:11.799Z",
                    "offline_by_hand": false,
                    "settings": {
                    "base_url": "https://files.example.com/",
                    "allow_private": false,
                    "redirect_hosts": ["cdn.example.com:8443"],
                    "scope": "user",
                    "proxy": null,
                    "tls": { "ca_file": null, "client_cert": null, "client_key": null },
                    "headers": { "X-Client": "***" },
                    "fetch": {
                      "policy": "cache-then-network",
                      "network_wait": "300ms",
                      "timeout": "30s",
                      "connect_timeout": "5s",
                      "ttl": null,
                      "store_no_store": false
                    },
                    "normalize": {
                      "by_type": { "type": ["__typename", "type", "@type"], "id": ["id", "_id"] },
                      "types": [
                        {
                          "type": "Book",
                          "key": ["isbn"],
                          "url": "/books/{isbn}",
                          "version": "/updated_at",
                          "lists": { "/comments": "append", "/prices": { "by": "currency" } },
                          "embed": false,
                          "on_deleted": "cascade"
                        }
                      ],
                      "paths": [{ "url": "/articles/*", "at": "/author", "type": "User", "key": null }]
                    },
                    "modifiers": {
                      "respond_async": false,
                      "idempotency": { "header": "Idempotency-Key", "honoured": false },
                      "answer": "auto",
                      "after_unknown": "auto",
                      "accepted_limit": "10m",
                      "stalled_after": 10,
                      "refused_if": []
                    }
                  }
                  }
                ]
              },
              "OriginPage": {
                "type": "object",
                "required": ["items", "next"],
                "properties": {
                  "items": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/OriginReport" }
                  },
                  "next": { "type": "null" }
                }
              },
              "OriginCheckCommand": {
                "description": "Where to ask; without it at the base URL.",
                "type": "object",
                "additionalProperties": false,
                "properties": {
                  "path": {
                    "description": "Path and query on the origin's host, under its base URL.",
                    "type": "string"
                  }
                },
                "examples": [
                  { "path": "/articles/42" }
                ]
              },
              "OriginCheckReport": {
                "type": "object",
                "required": ["name", "url", "latency_ms", "status", "peer", "peer_is_proxy", "protocol", "tls", "problem"],
                "properties": {
                  "name": { "$ref": "#/components/schemas/OriginName" },
                  "url": { "type": "string", "format": "uri" },
                  "latency_ms": {
                    "description": "From the wish to the answer's head, the connection's making included.",
                    "type": "number",
                    "minimum": 0
                  },
                  "status": {
                    "description": "What it answered; null where it did not.",
                    "type": ["integer", "null"]
                  },
                  "peer": {
                    "description": "The address and port that the connection led to; null where none came about.",
                    "type": ["string", "null"]
                  },
                  "peer_is_proxy": { "type": "boolean" },
                  "protocol": {
                    "description": "`HTTP/1.1` or `HTTP/2`.",
                    "type": ["string", "null"]
                  },
                  "tls": {
                    "description": "The version, such as `TLS 1.3`, always with the certificate verified; null without TLS.",
                    "type": ["string", "null"]
                  },
                  "problem": {
                    "description": "Why it counts as not answering; null where it answered.",
                    "oneOf": [{ "type": "null" }, { "$ref": "#/components/schemas/Problem" }]
                  }
                },
                "examples": [
                  {
                    "name": "files",
                    "url": "https://files.example.com/articles/42",
                    "latency_ms": 83.4,
                    "status": 200,
                    "peer": "203.0.113.7:443",
                    "peer_is_proxy": false,
                    "protocol": "HTTP/2",
                    "tls": "TLS 1.3",
                    "problem": null
                  }
                ]
              },
              "StatsReport": {
                "type": "object",
                "required": ["uptime", "connections", "bytes", "requests", "lookups", "ready_answers", "fetches", "flights", "latencies", "evictions", "groups", "modifiers"],
                "properties": {
                  "uptime": {
                    "description": "Whole seconds since the start.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "connections": {
                    "type": "object",
                    "required": ["open", "accepted", "refused"],
                    "properties": {
                      "open": { "type": "integer", "minimum": 0 },
                      "accepted": { "type": "integer", "minimum": 0 },
                      "refused": {
                        "description": "Closed at once, as there were too many in all or of their user.",
                        "type": "integer",
                        "minimum": 0
                      }
                    }
                  },
                  "bytes": {
                    "description": "Bytes of bodies, heads left out.",
                    "type": "object",
                    "required": ["received", "sent"],
                    "properties": {
                      "received": { "type": "integer", "minimum": 0 },
                      "sent": { "type": "integer", "minimum": 0 }
                    }
                  },
                  "requests": {
                    "description": "Answers by family of routes and by the hundred of their status. `read` and `put` are GET, HEAD and PUT of one entry, `entries` the other routes under /v1/entries; `none` is what is no route or could not be read.",
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["family", "2xx", "3xx", "4xx", "5xx"],
                      "properties": {
                        "family": { "type": "string" },
                        "2xx": { "type": "integer", "minimum": 0 },
                        "3xx": { "type": "integer", "minimum": 0 },
                        "4xx": { "type": "integer", "minimum": 0 },
                        "5xx": { "type": "integer", "minimum": 0 }
                      }
                    }
                  },
                  "lookups": {
                    "description": "Reads of an id in the cache.",
                    "type": "object",
                    "required": ["hits", "ready", "misses"],
                    "properties": {
                      "hits": { "type": "integer", "minimum": 0 },
                      "ready": {
                        "description": "Those of the hits that were answered by bytes that were ready in memory.",
                        "type": "integer",
                        "minimum": 0
                      },
                      "misses": { "type": "integer", "minimum": 0 }
                    }
                  },
                  "ready_answers": {
                    "description": "Why plain reads were not answered by bytes that were ready in memory: none were kept, the second was over for which they were, or something that they show was written or may have been. And how many bytes those take that are kept now.",
                    "type": "object",
                    "required": ["missing", "expired", "stale", "bytes"],
                    "properties": {
                      "missing": { "type": "integer", "minimum": 0 },
                      "expired": { "type": "integer", "minimum": 0 },
                      "stale": { "type": "integer", "minimum": 0 },
                      "bytes": { "type": "integer", "minimum": 0 }
                    }
                  },
                  "fetches": {
                    "description": "Fetches by policy, by where the last thing came from that they showed, and by how they ended: as the `end` frame says, with a `problem` in place of frames, or `abandoned` by the client. Only what occurred is listed.",
                    "type": "array",
                    "items": {
                      "type": "object",
                      "required": ["policy", "source", "outcome", "count"],
                      "properties": {
                        "policy": { "$ref": "#/components/schemas/FetchPolicy" },
                        "source": { "type": "string", "enum": ["cache", "network", "none"] },
                        "outcome": {
                          "type": "string",
                          "enum": ["network", "unchanged", "deleted", "cache", "error", "shutdown", "problem", "abandoned"]
                        },
                        "count": { "type": "integer", "minimum": 1 }
                      }
                    }
                  },
                  "flights": {
                    "description": "Requests to origins.",
                    "type": "object",
                    "required": ["open", "started", "joined"],
                    "properties": {
                      "open": { "type": "integer", "minimum": 0 },
                      "started": { "type": "integer", "minimum": 0 },
                      "joined": {
                        "description": "Fetches that came along on another's.",
                        "type": "integer",
                        "minimum": 0
                      }
                    }
                  },
                  "latencies": {
                    "type": "object",
                    "required": ["hit", "fetch", "put", "network"],
                    "properties": {
                      "hit": {
                        "description": "A read of an entry, from the request whole to the answer handed to the socket; one in 16 is timed.",
                        "$ref": "#/components/schemas/Latency"
                      },
                      "fetch": {
                        "description": "A fetch until its first frame, or its problem.",
                        "$ref": "#/components/schemas/Latency"
                      },
                      "put": {
                        "description": "A put from its last byte to its commit.",
                        "$ref": "#/components/schemas/Latency"
                      },
                      "network": {
                        "description": "A request to an origin with its redirects and repetitions, until it was stored.",
                        "$ref": "#/components/schemas/Latency"
                      }
                    }
                  },
                  "evictions": {
                    "description": "Rows that had to go: `lru` for room, the least recently used; `expired`, blobs past their ttl; `asked`, those that somebody evicted.",
                    "type": "object",
                    "required": ["lru", "expired", "asked"],
                    "properties": {
                      "lru": { "type": "integer", "minimum": 0 },
                      "expired": { "type": "integer", "minimum": 0 },
                      "asked": { "type": "integer", "minimum": 0 }
                    }
                  },
                  "groups": {
                    "description": "How many writes one transaction of the cache took; null where there was none.",
                    "type": "object",
                    "required": ["count", "p50", "p90", "p99", "max"],
                    "properties": {
                      "count": { "type": "integer", "minimum": 0 },
                      "p50": { "type": ["integer", "null"], "minimum": 1 },
                      "p90": { "type": ["integer", "null"], "minimum": 1 },
                      "p99": { "type": ["integer", "null"], "minimum": 1 },
                      "max": { "type": ["integer", "null"], "minimum": 1 }
                    }
                  },
                  "modifiers": {
                    "description": "What became of modifiers, and how many requests of them may have left. `reverts` are those of the dead that had changed something here.",
                    "type": "object",
                    "required": ["accepted", "confirmed", "dead", "cancelled", "reverts", "attempts"],
                    "properties": {
                      "accepted": { "type": "integer", "minimum": 0 },
                      "confirmed": { "type": "integer", "minimum": 0 },
                      "dead": { "type": "integer", "minimum": 0 },
                      "cancelled": { "type": "integer", "minimum": 0 },
                      "reverts": { "type": "integer", "minimum": 0 },
                      "attempts": { "type": "integer", "minimum": 0 }
                    }
                  }
                },
                "examples": [
                  {
                    "uptime": 3600,
                    "connections": { "open": 2, "accepted": 10, "refused": 0 },
                    "bytes": { "received": 1000, "sent": 20000 },
                    "requests": [
                      { "family": "read", "2xx": 90, "3xx": 5, "4xx": 5, "5xx": 0 }
                    ],
                    "lookups": { "hits": 100, "ready": 40, "misses": 5 },
                    "ready_answers": { "missing": 30, "expired": 20, "stale": 5, "bytes": 32768 },
                    "fetches": [
                      { "policy": "cache-then-network", "source": "network", "outcome": "network", "count": 3 }
                    ],
                    "flights": { "open": 0, "started": 3, "joined": 1 },
                    "latencies": {
                      "hit": { "count": 6, "p50_ms": 0.00575, "p90_ms": 0.00767, "p99_ms": 0.01125, "max_ms": 0.01125 },
                      "fetch": { "count": 3, "p50_ms": 12.5, "p90_ms": 183.5, "p99_ms": 183.5, "max_ms": 183.5 },
                      "put": { "count": 0, "p50_ms": null, "p90_ms": null, "p99_ms": null, "max_ms": null },
                      "network": { "count": 3, "p50_ms": 12.5, "p90_ms": 183.5, "p99_ms": 183.5, "max_ms": 183.5 }
                    },
                    "evictions": { "lru": 0, "expired": 0, "asked": 2 },
                    "groups": { "count": 4, "p50": 1, "p90": 3, "p99": 3, "max": 3 },
                    "modifiers": { "accepted": 7, "confirmed": 4, "dead": 1, "cancelled": 1, "reverts": 1, "attempts": 6 }
                  }
                ]
              },
              "Latency": {
                "description": "Percentiles in milliseconds, at most a sixteenth above the true ones; null where nothing was timed.",
                "type": "object",
                "required": ["count", "p50_ms", "p90_ms", "p99_ms", "max_ms"],
                "properties": {
                  "count": { "type": "integer", "minimum": 0 },
                  "p50_ms": { "type": ["number", "null"], "minimum": 0 },
                  "p90_ms": { "type": ["number", "null"], "minimum": 0 },
                  "p99_ms": { "type": ["number", "null"], "minimum": 0 },
                  "max_ms": { "type": ["number", "null"], "minimum": 0 }
                }
              },
              "OriginStatus": {
                "type": "object",
                "required": ["name", "base_url", "state", "since", "offline_by_hand"],
                "properties": {
                  "name": { "$ref": "#/components/schemas/OriginName" },
                  "base_url": { "type": "string", "format": "uri" },
                  "state": {
                    "description": "What the last requests to it told.",
                    "type": "string",
                    "enum": ["online", "unknown", "offline", "captive"]
                  },
                  "since": {
                    "description": "Since when; null while nothing was asked of it.",
                    "type": ["string", "null"],
                    "format": "date-time"
                  },
                  "offline_by_hand": {
                    "description": "Whether it was set offline, so that nothing leaves for it.",
                    "type": "boolean"
                  },
                  "rests_until": {
                    "description": "As in an origin's own report.",
                    "$ref": "#/components/schemas/Moment"
                  },
                  "rests_for": {
                    "description": "As in an origin's own report.",
                    "type": "string"
                  }
                }
              },
              "UsageSum": {
                "description": "What some rows take together.",
                "type": "object",
                "required": ["entries", "bytes", "body_bytes"],
                "properties": {
                  "entries": { "type": "integer", "minimum": 0 },
                  "bytes": {
                    "description": "The accounted size: bodies, ids, headers and the fixed cost of rows.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "body_bytes": {
                    "description": "The bodies alone.",
                    "type": "integer",
                    "minimum": 0
                  }
                }
              },
              "UsageCount": {
                "description": "How many there are, and what they take.",
                "type": "object",
                "required": ["count", "bytes"],
                "properties": {
                  "count": { "type": "integer", "minimum": 0 },
                  "bytes": { "type": "integer", "minimum": 0 }
                }
              },
              "UsageReport": {
                "description": "The rows of the scope added up; each part names the 1,000 largest at most, the sums are exact.",
                "allOf": [
                  { "$ref": "#/components/schemas/UsageSum" },
                  {
                    "type": "object",
                    "required": ["by_kind", "by_origin", "by_user", "cache", "normalized", "pins", "files", "disk"],
                    "properties": {
                      "by_kind": {
                        "type": "array",
                        "items": {
                          "allOf": [
                            { "$ref": "#/components/schemas/UsageSum" },
                            {
                              "type": "object",
                              "required": ["kind"],
                              "properties": { "kind": { "type": ["string", "null"] } }
                            }
                          ]
                        }
                      },
                      "by_origin": {
                        "description": "The largest first; null stands for clients' own blobs.",
                        "type": "array",
                        "items": {
                          "allOf": [
                            { "$ref": "#/components/schemas/UsageSum" },
                            {
                              "type": "object",
                              "required": ["origin"],
                              "properties": { "origin": { "type": ["string", "null"] } }
                            }
                          ]
                        }
                      },
                      "by_user": {
                        "description": "The largest first; empty where one scope was asked for.",
                        "type": "array",
                        "items": {
                          "allOf": [
                            { "$ref": "#/components/schemas/UsageSum" },
                            {
                              "type": "object",
                              "required": ["scope", "account"],
                              "properties": {
                                "scope": { "$ref": "#/components/schemas/ScopeName" },
                                "account": { "type": ["string", "null"] }
                              }
                            }
                          ]
                        }
                      },
                      "cache": {
                        "description": "Everybody's rows together.",
                        "type": "object",
                        "required": ["bytes", "max_bytes", "budget_bytes"],
                        "properties": {
                          "bytes": { "type": "integer", "minimum": 0 },
                          "max_bytes": { "type": "integer", "minimum": 0 },
                          "budget_bytes": {
                            "description": "What they may be now: less than `max_bytes` while the disk is short of space.",
                            "type": "integer",
                            "minimum": 0
                          }
                        }
                      },
                      "normalized": {
                        "description": "What normalized answers share, and what holds them together; the entities are among the rows.",
                        "type": "object",
                        "required": ["entities", "skeletons", "references"],
                        "properties": {
                          "entities": { "$ref": "#/components/schemas/UsageCount" },
                          "skeletons": { "$ref": "#/components/schemas/UsageCount" },
                          "references": { "$ref": "#/components/schemas/UsageCount" }
                        }
                      },
                      "pins": {
                        "description": "What is kept for good. It stands in `state.db`, has a budget of its own, and is none of the rows above.",
                        "type": "object",
                        "required": ["count", "waiting", "bytes", "total_bytes", "max_bytes"],
                        "properties": {
                          "count": {
                            "description": "Pins of the scope.",
                            "type": "integer",
                            "minimum": 0
                          },
                          "waiting": {
                            "description": "Of these, the ones that are fetched as soon as their origins answer.",
                            "type": "integer",
                            "minimum": 0
                          },
                          "bytes": {
                            "description": "The accounted size of the scope's pins.",
                            "type": "integer",
                            "minimum": 0
                          },
                          "total_bytes": {
                            "description": "That of everybody's pins.",
                            "type": "integer",
                            "minimum": 0
                          },
                          "max_bytes": {
                            "description": "`pins.max_bytes`, which they never exceed together.",
                            "type": "integer",
                            "minimum": 0
                          }
                        }
                      },
                      "files": {
                        "description": "`cache.db` with the rows, then `state.db` with the pins.",
                        "type": "array",
                        "items": {
                          "type": "object",
                          "required": ["name", "bytes", "wal_bytes", "free_bytes"],
                          "properties": {
                            "name": { "type": "string" },
                            "bytes": { "type": "integer", "minimum": 0 },
                            "wal_bytes": { "type": "integer", "minimum": 0 },
                            "free_bytes": {
                              "description": "Pages inside that hold nothing; null where it was not looked at.",
                              "type": ["integer", "null"],
                              "minimum": 0
                            }
                          }
                        }
                      },
                      "disk": {
                        "type": "object",
                        "required": ["free_bytes", "min_free_bytes"],
                        "properties": {
                          "free_bytes": {
                            "description": "On the cache's disk; null where the file system does not say.",
                            "type": ["integer", "null"],
                            "minimum": 0
                          },
                          "min_free_bytes": {
                            "description": "`cache.min_free_bytes`.",
                            "type": "integer",
                            "minimum": 0
                          }
                        }
                      }
                    }
                  }
                ],
                "examples": [
                  {
                    "entries": 3,
                    "bytes": 1400,
                    "body_bytes": 500,
                    "by_kind": [
                      { "kind": "fetched", "entries": 2, "bytes": 1000, "body_bytes": 400 },
                      { "kind": "blob", "entries": 1, "bytes": 400, "body_bytes": 100 }
                    ],
                    "by_origin": [
                      { "origin": "example", "entries": 2, "bytes": 1000, "body_bytes": 400 },
                      { "origin": null, "entries": 1, "bytes": 400, "body_bytes": 100 }
                    ],
                    "by_user": [
                      { "scope": "uid:1000", "account": "default", "entries": 2, "bytes": 1000, "body_bytes": 400 },
                      { "scope": "shared", "account": null, "entries": 1, "bytes": 400, "body_bytes": 100 }
                    ],
                    "cache": { "bytes": 1400, "max_bytes": 536870912, "budget_bytes": 536870912 },
                    "normalized": {
                      "entities": { "count": 1, "bytes": 300 },
                      "skeletons": { "count": 1, "bytes": 120 },
                      "references": { "count": 2, "bytes": 96 }
                    },
                    "pins": { "count": 2, "waiting": 1, "bytes": 812, "total_bytes": 5120, "max_bytes": 268435456 },
                    "files": [
                      { "name": "cache.db", "bytes": 57344, "wal_bytes": 0, "free_bytes": 4096 },
                      { "name": "state.db", "bytes": 24576, "wal_bytes": 0, "free_bytes": null }
                    ],
                    "disk": { "free_bytes": 21474836480, "min_free_bytes": 268435456 }
                  }
                ]
              },
              "PurgeReport": {
                "description": "What a purge took away.",
                "type": "object",
                "required": ["entries", "bytes", "modifiers"],
                "properties": {
                  "entries": {
                    "description": "Entries and entities, pinned ones among them.",
                    "type": "integer",
                    "minimum": 0
                  },
                  "bytes": { "description": "Their accounted size.", "type": "integer", "minimum": 0 },
                  "modifiers": {
                    "description": "Writes: those that were still to be sent, and dead letters.",
                    "type": "integer",
                    "minimum": 0
                  }
                },
                "examples": [{ "entries": 412, "bytes": 1873920, "modifiers": 3 }]
              },
              "ReloadReport": {
                "type": "object",
                "required": ["state", "file", "taken", "needs_restart", "refused", "warnings"],
                "properties": {
                  "state": {
                    "type": "string",
                    "enum": ["taken", "refused"],
                    "description": "Of `refused` nothing is in force."
                  },
                  "file": {
                    "type": ["string", "null"],
                    "description": "The absolute path of the configuration's file; null where there is none and the defaults count."
                  },
                  "taken": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "The keys that have changed and are in force; an origin is `origins.NAME`."
                  },
                  "needs_restart": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "The keys that have changed and count from the next start on."
                  },
                  "refused": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "Why it is refused, one sentence each, with file, line and column."
                  },
                  "warnings": {
                    "type": "array",
                    "items": { "type": "string" },
                    "description": "What is right and should be looked at."
                  }
                },
                "examples": [
                  {
                    "state": "taken",
                    "file": "/etc/larder/larder.yaml",
                    "taken": ["queue.max_modifiers", "origins.example"],
                    "needs_restart": ["sockets.mode"],
                    "refused": [],
                    "warnings": []
                  }
                ]
              },
              "CheckReport": {
                "type": "object",
                "required": ["findings"],
                "properties": {
                  "findings": {
                    "type": "array",
                    "items": { "$ref": "#/components/schemas/Finding" }
                  }
                },
                "examples": [
                  {
                    "findings": [
                      { "subject": "cache.db", "state": "ok", "detail": "the file is sound", "fix": null },
                      {
                        "subject": "permissions",
                        "state": "warning",
                        "detail": "/var/lib/larder is open to others: 0755",
                        "fix": "chmod 0700 '/var/lib/larder'"
                      }
                    ]
                  }
                ]
              },
              "Finding": {
                "type": "object",
                "required": ["subject", "state", "detail", "fix"],
                "properties": {
                  "subject": {
                    "description": "What was looked at, such as `cache.db`.",
                    "type": "string"
                  },
                  "state": {
                    "description": "`warning`: it works, and somebody should look at it. `failed`: it does not work, or not safely. `skipped`: it was not looked at, or not to its end.",
                    "type": "string",
                    "enum": ["ok", "warning", "failed", "skipped"]
                  },
                  "detail": { "type": "string" },
                  "fix": {
                    "description": "What to do; null where nothing has to be done.",
                    "type": ["string", "null"]
                  }
                }
              },
              "Health": {
                "type": "object",
                "required": ["status"],
                "properties": {
                  "status": { "const": "ok" }
                }
              },
              "Problem": {
                "description": "An error, as RFC 9457 has it.",
                "type": "object",
                "required": ["type", "title", "status", "detail", "request_id", "retryable", "hint"],
                "properties": {
                  "type": { "$ref": "#/components/schemas/ProblemType" },
                  "title": {
                    "description": "What the type means, always in the same words.",
                    "type": "string"
                  },
                  "status": {
                    "description": "The status of the answer; in a frame, what it would have been.",
                    "type": "integer",
                    "minimum": 400,
                    "maximum": 599
                  },
                  "detail": {
                    "description": "One sentence on this occurrence.",
                    "type": "string"
                  },
                  "request_id": {
                    "description": "Which request it was.",
                    "type": "string"
                  },
                  "retryable": {
                    "description": "Whether the same request may go well later without anybody changing it.",
                    "type": "boolean"
                  },
                  "hint": {
                    "description": "One sentence that says what to do.",
                    "type": "string"
                  },
                  "raw_href": {
                    "description": "For `urn:larder:entry-too-large` of a fetch: the path under which the answer is passed through.",
                    "type": "string"
                  },
                  "oldest": {
                    "description": "For `urn:larder:since-too-old`: the oldest revision that a watch can begin after.",
                    "$ref": "#/components/schemas/Revision"
                  },
                  "origin_status": {
                    "description": "What the origin answered, for `urn:larder:origin-status` and `urn:larder:deleted`.",
                    "type": "integer"
                  },
                  "body": {
                    "description": "The first 64 KiB of an origin's refusal: JSON as it is, anything else as a string."
                  }
                },
                "examples": [
                  {
                    "type": "urn:larder:miss",
                    "title": "Nothing is cached under the id",
                    "status": 404,
                    "detail": "nothing is cached under 'notes/1'",
                    "request_id": "mwpgvo72-1",
                    "retryable": false,
                    "hint": "Fetch it with a policy that asks the network."
                  },
                  {
                    "type": "urn:larder:origin-status",
                    "title": "The origin refused the request",
                    "status": 502,
                    "detail": "https://api.example.com answered 403",
                    "request_id": "mwpgvo72-2",
                    "retryable": false,
                    "hint": "See origin_status and body for what the origin said.",
                    "origin_status": 403,
                    "body": { "error": "forbidden" }
                  }
                ]
              },
              "ProblemType": {
                "description": "What went wrong, for programs. `x-status` is the usual status; `urn:larder:deleted` is 404 for a fetch and 410 for an entry.",
                "type": "string",
                "oneOf": [
                  { "const": "urn:larder:bad-request", "title": "The request cannot be understood", "x-status": 400, "x-retryable": false },
                  { "const": "urn:larder:bad-id", "title": "The id cannot be taken", "x-status": 400, "x-retryable": false },
                  { "const": "urn:larder:bad-url", "title": "The URL cannot be fetched", "x-status": 400, "x-retryable": false },
                  { "const": "urn:larder:unknown-parameter", "title": "A query parameter is unknown", "x-status": 400, "x-retryable": false },
                  { "const": "urn:larder:unknown-member", "title": "A member of the body is unknown", "x-status": 400, "x-retryable": false },
                  { "const": "urn:larder:origin-needed", "title": "It has to be said whose the key is", "x-status": 400, "x-retryable": false },
                  { "const": "urn:larder:not-found", "title": "There is no such route", "x-status": 404, "x-retryable": false },
                  { "const": "urn:larder:method-not-allowed", "title": "The route does not take this method", "x-status": 405, "x-retryable": false },
                  { "const": "urn:larder:not-acceptable", "title": "The answer cannot take the form that is accepted", "x-status": 406, "x-retryable": false },
                  { "const": "urn:larder:body-too-large", "title": "The body of the request is too large", "x-status": 413, "x-retryable": false },
                  { "const": "urn:larder:head-too-large", "title": "The head of the request is too large", "x-status": 431, "x-retryable": false },
                  { "const": "urn:larder:unknown-origin", "title": "The URL belongs to no configured origin", "x-status": 403, "x-retryable": false },
                  { "const": "urn:larder:not-permitted", "title": "Only an administrator may do this", "x-status": 403, "x-retryable": false },
                  { "const": "urn:larder:origin-id", "title": "The id belongs to an origin", "x-status": 409, "x-retryable": false },
                  { "const": "urn:larder:no-such-origin", "title": "There is no such origin", "x-status": 404, "x-retryable": false },
                  { "const": "urn:larder:origin-exists", "title": "There is such an origin already", "x-status": 409, "x-retryable": false },
                  { "const": "urn:larder:origin-in-file", "title": "The origin stands in a file of the configuration", "x-status": 409, "x-retryable": false },
                  { "const": "urn:larder:entry-too-large", "title": "The entry is larger than the cache takes", "x-status": 413, "x-retryable": false },
                  { "const": "urn:larder:cache-full", "title": "The cache is full of protected entries", "x-status": 507, "x-retryable": true },
                  { "const": "urn:larder:disk-full", "title": "The disk is full", "x-status": 507, "x-retryable": true },
                  { "const": "urn:larder:precondition-failed", "title": "The entry is not as the request expects", "x-status": 412, "x-retryable": false },
                  { "const": "urn:larder:pinned", "title": "The entry is pinned", "x-status": 409, "x-retryable": false },
                  { "const": "urn:larder:pins-full", "title": "There is no room for what is pinned", "x-status": 507, "x-retryable": false },
                  { "const": "urn:larder:no-request", "title": "The modifier says nothing to send", "x-status": 422, "x-retryable": false },
                  { "const": "urn:larder:unsupported", "title": "This version cannot do it", "x-status": 422, "x-retryable": false },
                  { "const": "urn:larder:modifier-exists", "title": "There is another modifier of this id", "x-status": 409, "x-retryable": false },
                  { "const": "urn:larder:no-such-modifier", "title": "There is no such modifier", "x-status": 404, "x-retryable": false },
                  { "const": "urn:larder:already-sent", "title": "Bytes of the modifier may have left", "x-status": 409, "x-retryable": false },
                  { "const": "urn:larder:already-settled", "title": "The modifier is settled", "x-status": 409, "x-retryable": false },
                  { "const": "urn:larder:in-use", "title": "What is to be taken away is in use", "x-status": 409, "x-retryable": true },
                  { "const": "urn:larder:queue-full", "title": "There is no room for another modifier", "x-status": 507, "x-retryable": true },
                  { "const": "urn:larder:targeted", "title": "The entry has modifiers that are not settled", "x-status": 409, "x-retryable": false },
                  { "const": "urn:larder:not-applied", "title": "The modifier was not applied", "x-status": 409, "x-retryable": false },
                  { "const": "urn:larder:miss", "title": "Nothing is cached under the id", "x-status": 404, "x-retryable": false },
                  { "const": "urn:larder:deleted", "title": "It is gone", "x-status": 404, "x-retryable": false },
                  { "const": "urn:larder:since-too-old", "title": "The changes since then are not known any more", "x-status": 410, "x-retryable": false },
                  { "const": "urn:larder:unreachable", "title": "The origin cannot be reached", "x-status": 502, "x-retryable": true },
                  { "const": "urn:larder:captive", "title": "A captive portal stands before the network", "x-status": 502, "x-retryable": true },
                  { "const": "urn:larder:offline", "title": "The origin was set offline", "x-status": 503, "x-retryable": true },
                  { "const": "urn:larder:timeout", "title": "The origin did not answer in time", "x-status": 504, "x-retryable": true },
                  { "const": "urn:larder:origin-status", "title": "The origin refused the request", "x-status": 502, "x-retryable": false },
                  { "const": "urn:larder:redirect-refused", "title": "The origin redirects to a host that is not listed", "x-status": 502, "x-retryable": false },
                  { "const": "urn:larder:address-refused", "title": "The origin's address is not permitted", "x-status": 502, "x-retryable": false },
                  { "const": "urn:larder:bad-answer", "title": "The origin's answer cannot be used", "x-status": 502, "x-retryable": true },
                  { "const": "urn:larder:overloaded", "title": "The daemon has too much to do", "x-status": 503, "x-retryable": true },
                  { "const": "urn:larder:shutting-down", "title": "The daemon is ending", "x-status": 503, "x-retryable": true },
                  { "const": "urn:larder:storage", "title": "The cache's file cannot be used", "x-status": 500, "x-retryable": true },
                  { "const": "urn:larder:internal", "title": "The daemon made a mistake", "x-status": 500, "x-retryable": false }
                ]
              }
            }
          }
        }

        """#
}
