import { expect, it } from 'vitest';
import { KeyReader, type Key } from './keys.ts';

const key = (name: string): Key => ({ is: 'key', name });

it('reads letters, named keys and keys with Ctrl, also of a piece with several', () => {
  const keys = new KeyReader();
  expect(keys.read('j買\r\t\u007F\u0003\u001A')).toEqual(
    ['j', '買', 'enter', 'tab', 'backspace', 'ctrl-c', 'ctrl-z'].map(key),
  );
  expect(keys.read('\u001B[A\u001BOB\u001B[5~\u001B[Z')).toEqual(
    ['up', 'down', 'page-up', 'shift-tab'].map(key),
  );
});

it('reads a sequence that comes in two pieces, and a lone Esc once nothing follows', () => {
  const keys = new KeyReader();
  expect(keys.read('\u001B')).toEqual([]);
  expect(keys.isHolding).toBe(true);
  expect(keys.read('[A')).toEqual([key('up')]);
  expect(keys.read('a\u001B')).toEqual([key('a')]);
  expect(keys.release()).toEqual([key('escape')]);
  expect(keys.isHolding).toBe(false);
});

it('reads a paste as one text, so that none of its letters is a command', () => {
  const keys = new KeyReader();
  expect(keys.read('\u001B[200~quit\r')).toEqual([]);
  expect(keys.read('now\u001B[201~q')).toEqual([{ is: 'paste', text: 'quit\rnow' }, key('q')]);
});

it('ignores what no key sends that it knows, such as reports of a mouse', () => {
  expect(new KeyReader().read('\u001B[<0;3;4M\u001B[15~\u0000x')).toEqual([key('x')]);
});
