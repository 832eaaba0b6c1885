// Imported by the script of every page. The token of the link has become a cookie: who copies the address from
// here on copies no token.

const query = new URLSearchParams(location.search);
if (query.has("token")) {
  query.delete("token");
  history.replaceState(null, "", location.pathname + (query.size ? `?${query}` : "") + location.hash);
}
