/** The token of this start of `ralph ui`: it comes in the fragment of the address, and is kept for this tab alone. */
const KEY = 'ralph-token';

/** Null if the page was opened without one. */
export function token(): string | null {
  return sessionStorage.getItem(KEY);
}

/** Takes the token out of the address, where it would stay in the history; whether there was one. */
export function takeToken(): boolean {
  const [, given] = /^#token=([\w-]+)$/.exec(location.hash) ?? [];
  if (given === undefined) return false;
  sessionStorage.setItem(KEY, given);
  history.replaceState(null, '', '/#/');
  return true;
}
