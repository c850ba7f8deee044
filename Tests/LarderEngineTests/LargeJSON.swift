/// A JSON text that is too large for a row, so that it is kept in chunks.
let largeJSON = "\"" + String(repeating: "x", count: 100_000) + "\""
