import { stripVTControlCharacters } from 'node:util';

/**
 * What a person sees of an output: without colours and other sequences for the terminal, and without carriage returns. After
 * one that does not end its line the program writes this line again, so it begins another line.
 */
export function seenText(text: string): string {
  if (!CONTROL.test(text)) return text;
  return (
    stripVTControlCharacters(text)
      // Once for each row of them, however long it is.
      .replaceAll(/(?<!\r)\r+(?=\n|$)/g, '')
      .replaceAll('\r', '\n')
      .replaceAll(UNSEEN, '')
  );
}

const CONTROL = /[^\P{Cc}\n\t]/u;
const UNSEEN = new RegExp(CONTROL, 'gu');
