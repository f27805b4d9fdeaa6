import * as fc from 'fast-check';

/**
 * Any characters, as `fc.string({ unit: 'binary' })` draws them. That one makes a map of all 1,112,064 characters: a second of
 * CPU and 100 MB in every worker, and starting a process costs more the larger the worker is.
 */
export function anyText(
  limits: { readonly minLength?: number; readonly maxLength?: number } = {},
): fc.Arbitrary<string> {
  return fc.string({ ...limits, unit: character });
}

/** Surrogates are halves of characters. */
const FIRST_SURROGATE = 0xd800;
const SURROGATES = 0x800;

const character = fc.nat({ max: 0x10_ffff - SURROGATES }).map(
  (index) => String.fromCodePoint(index < FIRST_SURROGATE ? index : index + SURROGATES),
  (text) => {
    const code = typeof text === 'string' ? text.codePointAt(0) : undefined;
    const isWhole = code !== undefined && String.fromCodePoint(code) === text;
    if (!isWhole || (code >= FIRST_SURROGATE && code < FIRST_SURROGATE + SURROGATES))
      throw new Error('not one character');
    return code < FIRST_SURROGATE ? code : code - SURROGATES;
  },
);
