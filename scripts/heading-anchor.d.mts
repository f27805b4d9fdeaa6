/** The anchor of a heading, as GitHub makes it from the words of the heading. */
export function headingAnchor(words: string): string;
