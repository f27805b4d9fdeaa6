/**
 * The public address of the repository, which package.json and links in packed pages have.
 *
 *   node scripts/address.mjs       refuses, before a publication, while the placeholder stands for it
 *   node scripts/address.mjs URL   puts the address in the place of the placeholder: npm run address -- https://…
 */
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';

// In two parts, so that this file is not one of those that have it.
const PLACEHOLDER = ['https://example', 'invalid/ralph-until-done'].join('.');

const [address] = process.argv.slice(2);
const files = filesWith(PLACEHOLDER);
if (address === undefined) refuse();
else replace(address.replace(/(?:\.git)?\/*$/, ''));

function refuse() {
  if (files.length === 0) return;
  process.stderr.write(
    `cannot publish: the placeholder ${PLACEHOLDER} is still in ${files.join(', ')}\n` +
      'Put in the address of the repository: npm run address -- https://HOST/OWNER/REPOSITORY\n',
  );
  process.exitCode = 1;
}

function replace(url) {
  if (!/^https:\/\/[^/\s]+\/\S+$/.test(url)) {
    process.stderr.write(
      `expected an address like https://HOST/OWNER/REPOSITORY, found ${JSON.stringify(url)}\n`,
    );
    process.exitCode = 2;
    return;
  }
  if (files.length === 0) {
    process.stderr.write('no placeholder is left; the address of the repository is in package.json\n');
    process.exitCode = 1;
    return;
  }
  for (const file of files) writeFileSync(file, readFileSync(file, 'utf8').replaceAll(PLACEHOLDER, url));
  process.stdout.write(`replaced the placeholder in ${files.length} files\n`);
}

function filesWith(text) {
  try {
    const found = execFileSync(
      'git',
      ['grep', '--files-with-matches', '--fixed-strings', '-e', text, '--', ':/'],
      {
        encoding: 'utf8',
      },
    );
    return found.split('\n').filter((file) => file !== '');
  } catch (error) {
    // No file has it.
    if (error.status === 1) return [];
    throw error;
  }
}
