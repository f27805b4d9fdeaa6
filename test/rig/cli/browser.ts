import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type Page } from 'playwright-core';

const PATH = '/usr/bin/chromium';

/** A real browser without a window, which asks nothing of the network. */
export function startBrowser(): Promise<Browser> {
  // It keeps reports of crashes below the home.
  const home = mkdtempSync(join(tmpdir(), 'ralph-browser-'));
  return chromium.launch({
    executablePath: PATH,
    env: { PATH: process.env['PATH'] ?? '', HOME: home, TMPDIR: home },
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}

/** A page, and what went wrong on it: errors of its scripts, and requests to anywhere but `origin`. */
export async function newPage(
  context: BrowserContext,
  origin: string,
): Promise<{ readonly page: Page; readonly faults: readonly string[] }> {
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => void faults.push(String(error)));
  page.on('console', (message) => {
    // The browser says so for a server that does not run, which some tests want.
    if (message.type() === 'error' && !/net::ERR_|status of 403/.test(message.text()))
      faults.push(message.text());
  });
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) faults.push(`a request to ${request.url()}`);
  });
  return { page, faults };
}
