// A program that reads books by GraphQL. Larder is one line in it: the fetch that it calls.
"use strict";
const larder = require(`${process.env.LARDER_NODE}/index.js`);
const [url, socket] = process.argv.slice(2);

const fetch = larder.createFetch({ socket });

async function ask(query, variables) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/graphql-response+json, application/json" },
    body: JSON.stringify({ query, variables }),
  });
  return response.json();
}

ask("query Books($first: Int) { books(first: $first) { __typename id title } }", { first: 2 }).then(
  ({ data }) => console.log(data.books.map((book) => book.title).join(", ")),
  (error) => console.log(error.cause?.code ?? error.message),
);
