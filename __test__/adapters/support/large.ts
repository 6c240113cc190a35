/** A JSON value of 50 to 60 KB: what a search of an agent returns. */
export const LARGE = {
  query: 'customers',
  results: Array.from({ length: 500 }, (_, index) => ({
    id: index,
    name: `Customer number ${index}`,
    note: `pays on time, lives at ${index} Harbour Street, prefers letters`,
  })),
}
