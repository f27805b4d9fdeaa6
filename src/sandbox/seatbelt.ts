/** The command line of `sandbox-exec`, the sandbox on macOS. Not tested on a Mac; it has no PID namespace. */
import type { Place } from './sandbox.ts';

export function seatbeltCommand(places: readonly Place[], network: boolean): readonly string[] {
  return ['/usr/bin/sandbox-exec', '-p', seatbeltProfile(places, network)];
}

/** A later rule overrides an earlier one. */
export function seatbeltProfile(places: readonly Place[], network: boolean): string {
  return [
    '(version 1)',
    '(allow default)',
    '(deny file-write*)',
    '(allow file-write* (subpath "/dev"))',
    ...places.flatMap(({ path, is }) => {
      const filter = `(subpath ${JSON.stringify(path)})`;
      switch (is) {
        // Without mounts there is no private folder: the real one is writable.
        case 'private':
        case 'writable':
          return [`(allow file-read* file-write* ${filter})`];
        case 'read-only':
          return [`(allow file-read* ${filter})`, `(deny file-write* ${filter})`];
        case 'hidden':
          return [
            `(deny file-read* file-write* ${filter})`,
            `(deny network-outbound (path ${JSON.stringify(path)}))`,
          ];
      }
    }),
    ...(network ? [] : ['(deny network*)']),
  ].join('\n');
}
