// A program that reads books by GraphQL. Larder is two lines in it: the import, and the fetch that it calls.
import { createFetch } from "../../clients/node/index.js";

const [url, socket] = process.argv.slice(2);
const fetch = createFetch({ socket });

async function ask(query, variables) {
  const response = await fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json", accept: "application/graphql-response+json, application/json" },
    body: JSON.stringify({ query, variables }),
  });
  return response.json();
}

try {
  const query = "query Books($first: Int) { books(first: $first) { __typename id title } }";
  const { data } = await ask(query, { first: 2 });
  console.log(data.books.map((book) => book.title).join(", "));
} catch (error) {
  console.log(error.cause?.code ?? error.message);
}
