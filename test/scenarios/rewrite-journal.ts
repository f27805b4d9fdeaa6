import { readFileSync, writeFileSync } from 'node:fs';
import { crc32 } from 'node:zlib';
import type { JournalEvent, Stage } from './stage.ts';

/** Changes the events of the loop `it`, with checksums that match. */
export function rewriteJournal(stage: Stage, change: (event: JournalEvent) => object): void {
  const path = stage.file('journal.jsonl');
  const [header = ''] = readFileSync(path, 'utf8').split('\n');
  const lines = stage.journal.map((event, index) => {
    const text = JSON.stringify(change(event));
    const sum = crc32(`${index + 1}:${text}`)
      .toString(16)
      .padStart(8, '0');
    return `{"n":${index + 1},"sum":"${sum}","event":${text}}`;
  });
  writeFileSync(path, `${[header, ...lines].join('\n')}\n`);
}
