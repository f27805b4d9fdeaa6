/** `ralph ui`: the page in the browser. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runAttached } from '../process/attached.ts';
import { UserError } from '../user-error.ts';
import { pageFiles } from '../web/files.ts';
import { serveUi } from '../web/server.ts';
import { hall } from './hall.ts';
import { print, warn } from './print.ts';

export interface UiCommandOptions {
  readonly port?: string;
  readonly open?: boolean;
  readonly readOnly?: boolean;
}

/** Serves the page until a signal ends it. */
export async function ui({ port, open = false, readOnly = false }: UiCommandOptions): Promise<number> {
  const files = pageFiles(fileURLToPath(new URL('../web', import.meta.url)));
  const server = await serveUi({ loops: hall(), port: portOf(port), isReadOnly: readOnly, files });
  const { address } = server;
  print(`Ralph in the browser${readOnly ? ', read-only' : ''}: ${address}\n`);
  print(
    `from another machine: ssh -L ${server.port}:127.0.0.1:${server.port} THIS_MACHINE, then the same address there\n`,
  );
  print('the address has a secret, which lets its reader steer your loops; end with Ctrl-C\n');
  const ended = untilSignal();
  const folder = open ? folderLeadingTo(server.handOver) : null;
  if (folder !== null) void showInBrowser(folder);
  const code = await ended;
  if (folder !== null) rmSync(folder, { recursive: true, force: true });
  await server.close();
  return code;
}

function portOf(text: string | undefined): number {
  if (text === undefined) return 0;
  const port = Number(text);
  if (/^\d+$/.test(text) && port >= 1 && port <= 65_535) return port;
  throw new UserError(`--port must be a number from 1 to 65535, got ${JSON.stringify(text)}`);
}

/** Everyone on the machine can read the arguments of a program, so the address with the secret is in a file. */
function folderLeadingTo(address: string): string {
  const folder = mkdtempSync(join(tmpdir(), 'ralph-ui-'));
  const page = `<!doctype html><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0;url=${address}">`;
  writeFileSync(join(folder, PAGE), `${page}\n`, { mode: 0o600 });
  return folder;
}

const PAGE = 'ralph-ui.html';

async function showInBrowser(folder: string): Promise<void> {
  const program = process.platform === 'darwin' ? 'open' : 'xdg-open';
  const code = await runAttached([program, join(folder, PAGE)], {
    cwd: folder,
    env: { PATH: '', ...process.env },
  });
  if (code !== 0) warn(`ralph: warning: cannot open a browser with ${program}; open the address above\n`);
}

/** As a shell reports it. */
function untilSignal(): Promise<number> {
  return new Promise((resolve) => {
    process
      .once('SIGINT', () => resolve(130))
      .once('SIGTERM', () => resolve(143))
      .once('SIGHUP', () => resolve(129));
  });
}
