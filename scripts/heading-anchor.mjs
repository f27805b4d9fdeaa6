/** The anchor of a heading, as GitHub makes it from the words of the heading; the site makes the same one. */
export function headingAnchor(words) {
  return words
    .toLowerCase()
    .trim()
    .replaceAll(/[^\p{L}\p{N}\p{M}\p{Pc}\s-]/gu, '')
    .replaceAll(/\s/g, '-');
}
