import { readRegular } from './files.ts';

/** The value in a JSON file; null if the file is missing, too large, not a regular file or not JSON. */
export function readJsonFile(path: string, maxBytes: number = MAX_JSON_BYTES): unknown {
  try {
    const content = readRegular(path, maxBytes);
    return content === null ? null : JSON.parse(content.toString('utf8'));
  } catch {
    return null;
  }
}

/** Ralph's own notes are small; a larger file is not one of them. */
const MAX_JSON_BYTES = 8 * 2 ** 20;
