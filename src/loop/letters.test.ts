import { expect, it } from 'vitest';
import { plainLetters } from './letters.ts';

it.each([
  ['Arregla el módulo de autenticación', 'Arregla el modulo de autenticacion'],
  ['e\u0301tude', 'etude'],
  ['ÀÉÎÕÜ Çñåž', 'AEIOU Cnaz'],
  ['Straße, Øre, Łódź, cœur', 'Strasse, Ore, Lodz, coeur'],
  ['npm test -- --grep "日本"', 'npm test -- --grep "日本"'],
])('takes the accents of letters away: %s', (text, plain) => {
  expect(plainLetters(text)).toBe(plain);
});
