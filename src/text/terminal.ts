/**
 * Makes text of agents, checks and repositories harmless and honest, on a terminal and in a pipe or file that a terminal may
 * show later.
 *
 * 1. It cannot control a terminal: escape sequences and control characters are removed. Colours stay on a terminal alone.
 * 2. It looks like what it is: characters that are invisible or reorder the text are shown as `<U+202E>`. Emoji and scripts
 *    that need such characters keep them.
 */

/** Removes control characters and escape sequences, on a terminal except colours, and makes invisible characters visible. */
export function sanitize(text: string, isTerminal: boolean): string {
  return reveal(withoutControls(text, isTerminal));
}

/** The same for JSON, which keeps its meaning: what could control or deceive a terminal is written as an escape. */
export function escapeInJson(json: string): string {
  if (!BEYOND_ASCII.test(json)) return json;
  return json.replaceAll(C1, escaped).replaceAll(invisibleCharacters(), escaped);
}

function escaped(text: string): string {
  const units = Array.from({ length: text.length }, (_, at) => text.charCodeAt(at));
  return units.map((unit) => `\\u${hex(unit).toLowerCase()}`).join('');
}

// oxlint-disable-next-line no-control-regex -- control characters are what this is about
const BEYOND_ASCII = /[^\u0000-\u007E]/;
const C1 = /[\u007F-\u009F]/g;

export function withoutControls(text: string, isTerminal: boolean): string {
  return text.replaceAll(CONTROL, (match) =>
    isTerminal && COLOUR.test(match) && !conceals(match) ? match : '',
  );
}

// oxlint-disable-next-line no-control-regex -- as above
const COLOUR = /^\u001B\[[0-9;]*m$/;
const CONTROL =
  // oxlint-disable-next-line no-control-regex -- as above
  /\u001B(?:\[[0-?]*[ -/]*[@-~]|\][^\u0007\u001B]*(?:\u0007|\u001B\\)?|.)?|[\u0000-\u0008\u000B-\u001A\u001C-\u001F\u007F-\u009F]/gs;

/** Whether a colour code hides text: 8, unless it is the number of a colour (`38;5;8`). */
function conceals(code: string): boolean {
  const numbers = code.slice(2, -1).split(';').map(Number);
  for (let at = 0; at < numbers.length; at++) {
    if (numbers[at] === 8) return true;
    const isColour = [38, 48, 58].includes(numbers[at] ?? 0);
    if (isColour) at += numbers[at + 1] === 5 ? 2 : numbers[at + 1] === 2 ? 4 : 0;
  }
  return false;
}

/** Shows invisible characters as `<U+200B>`; `before` is what stands in front of the text. */
export function reveal(text: string, before: string = ''): string {
  if (!BEYOND_LATIN.test(text)) return text;
  return text.replaceAll(invisibleCharacters(), (character: string, ...more: unknown[]) => {
    const at = Number(more[0]);
    const context = at < CONTEXT_LENGTH ? before + text.slice(0, at) : text.slice(at - CONTEXT_LENGTH, at);
    return kept().some(({ after, is }) => is.test(character) && after.test(context))
      ? character
      : named(character);
  });
}

function named(character: string): string {
  return `<U+${hex(character.codePointAt(0) ?? 0)}>`;
}

function hex(code: number): string {
  return code.toString(16).toUpperCase().padStart(4, '0');
}

/** As long as the sequence of a flag; most text has none of these characters. */
export const CONTEXT_LENGTH = 16;
// oxlint-disable-next-line no-control-regex -- all characters up to there
const BEYOND_LATIN = /[^\u0000-\u00AC\u00AE-\u02FF]/;

let invisible: RegExp | null = null;

/** What has no shape of its own: joiners, fillers, variation selectors, tags, marks and overrides of the direction. */
function invisibleCharacters(): RegExp {
  // Made when a text may contain one: it takes a millisecond.
  invisible ??= /[\p{Default_Ignorable_Code_Point}\u2028\u2029\uFFF9-\uFFFB]/gu;
  return invisible;
}

interface Kept {
  readonly is: RegExp;
  readonly after: RegExp;
}

let keptOnes: readonly Kept[] | null = null;

/** Where an invisible character belongs to the one before it. Made when there is one: it takes a millisecond. */
function kept(): readonly Kept[] {
  keptOnes ??= [
    // A family, a profession, a skin tone with a joiner.
    { is: /\u200D/, after: /(?:\p{Extended_Pictographic}|\p{Emoji_Modifier})\uFE0F?$/u },
    // The scripts in which a joiner or non-joiner changes the shape of a letter.
    {
      is: /[\u200C\u200D]/,
      after:
        /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Myanmar}\p{Script=Khmer}\p{Script=Tibetan}]$/u,
    },
    // The coloured or plain form of a symbol.
    { is: /[\uFE0E\uFE0F]/, after: /[\p{Emoji}\p{So}\p{Sm}]$/u },
    { is: /[\uFE00-\uFE0D]/, after: /[\p{So}\p{Sm}\p{Script=Han}\p{Script=Myanmar}]$/u },
    { is: /[\u{E0100}-\u{E01EF}]/u, after: /\p{Script=Han}$/u },
    { is: /[\u180B-\u180F]/, after: /\p{Script=Mongolian}$/u },
    // The flags of England, Scotland and Wales.
    { is: /[\u{E0020}-\u{E007F}]/u, after: /\u{1F3F4}[\u{E0061}-\u{E007A}]{0,5}$/u },
  ];
  return keptOnes;
}
