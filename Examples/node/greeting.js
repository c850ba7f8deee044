// Reads a URL: the server's answer, or the cached one if there is no network.
//
// usage: node greeting.js URL

import { Larder } from "larder";

const url = process.argv[2];
const entry = await new Larder().get(url);
console.log(entry.source, entry.stale, entry.json().hello);
