// An origin with GraphQL (graphql-js) at /graphql and the same books at /books/ID, on a port of 127.0.0.1.
// After a request for /break the resolver of `stock` fails.
"use strict";
const { createServer } = require("node:http");
const { buildSchema, graphql } = require("graphql");

const schema = buildSchema(`
  type Book { id: ID! title: String likes: Int stock: Int }
  type Query { books(first: Int): [Book!]! book(id: ID!): Book }
  type Mutation { like(id: ID!): Book }
`);
const books = [1, 2, 3].map((id) => ({ id: String(id), title: `Title ${id}`, likes: 0 }));
const found = (id) => books.find((book) => book.id === id);
let isBroken = false;
const stock = () => {
  if (isBroken) throw new Error("the stock is unknown");
  return 7;
};
const shown = (book) => book && { ...book, stock };
const rootValue = {
  books: ({ first }) => books.slice(0, first).map(shown),
  book: ({ id }) => shown(found(id)),
  like: ({ id }) => {
    found(id).likes += 1;
    return shown(found(id));
  },
};

async function answer(request, body) {
  if (request.url === "/break") return { broken: (isBroken = true) };
  const id = request.url.startsWith("/books/") ? request.url.slice(7) : undefined;
  if (id) return { __typename: "Book", ...found(id) };
  const { query, variables, operationName } = JSON.parse(body);
  return graphql({ schema, source: query, rootValue, variableValues: variables, operationName });
}

createServer((request, response) => {
  let body = "";
  request.on("data", (piece) => (body += piece));
  request.on("end", async () => {
    console.log(`${request.method} ${request.url} ${body}`);
    const json = JSON.stringify(await answer(request, body));
    response.writeHead(200, { "Content-Type": "application/json", Vary: "Accept-Encoding" });
    response.end(json);
  });
}).listen(Number(process.argv[2]), "127.0.0.1");
