// The pages that each query finds, in their order.
const answer = (queries) => {
  const prepared = courseRank.prepare(courseSearch);
  return queries.map((query) => courseRank.rank(prepared, query).map(
    ({ page }) => courseSearch.pages[page][0]));
};
