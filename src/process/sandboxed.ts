/**
 * How a program runs inside a sandbox, behind the shim (`shim.ts`).
 *
 * 1. Bubblewrap gives it a PID namespace, whose first process is a small shell. When the program has exited, that shell
 *    notes the exit status and ends everything else in the namespace: SIGTERM, the grace, SIGKILL.
 * 2. SIGTERM to the process group ends bubblewrap itself, not the namespace. So the shim does not rely on bubblewrap's exit: it
 *    reads the status from a pipe that only the first process holds, and waits until that process is gone.
 * 3. SIGKILL to the first process ends the whole namespace; the kernel guarantees that. The file `sandbox` in the run's folder
 *    identifies the namespace, so that a sweep finds every process in it, whatever its environment or session is.
 * 4. Nothing runs in a sandbox whose mounts are not where they should be (`sandbox/mounts.ts`).
 * 5. Nothing depends on Ralph: as without a sandbox, the program continues when its owner dies.
 */

/** The command line that puts a program into a sandbox; the program and its arguments are appended. */
export type Wrapper =
  /** Bubblewrap with its options. */
  | {
      readonly kind: 'namespace';
      readonly command: readonly string[];
      readonly graceMs: number;
      /** Parts of `/proc/self/mountinfo` without which nothing is started. */
      readonly mounts: readonly string[];
    }
  /** A program that replaces itself with the one that it starts, such as `sandbox-exec`. */
  | { readonly kind: 'prefix'; readonly command: readonly string[] };

/** The file in a run's folder that identifies its namespace. */
export const NAMESPACE_FILE = 'sandbox';

/** Descriptors: 3 is the program's stderr, 4 its stdout, 8 the file `sandbox`, 9 the pipe for the exit status. */
export const RUN_IN_NAMESPACE: string = `
exec 4>&1
ralph_said=$(exec 9>&1 1>&4 8>"$ralph_dir/${NAMESPACE_FILE}"; umask "$ralph_umask"; exec "$@" 2>&3 3>&- 4>&-)
ralph_status=$?
ralph_own=\${ralph_said%%
*}
case $ralph_own in
"" | *[!0-9]*) case $ralph_status in 0 | 129 | 130 | 131 | 143) ralph_status=137 ;; esac ;;
*) ralph_status=$ralph_own ;;
esac
case $ralph_said in
*over) ;;
*)
  ralph_first=
  while read -r ralph_key ralph_value; do
    case $ralph_key in '"child-pid":') ralph_first=\${ralph_value%,} ;; esac
  done <"$ralph_dir/${NAMESPACE_FILE}"
  ralph_looks=0
  while [ -n "$ralph_first" ] && [ $ralph_looks -lt 500 ] && read -r ralph_stat <"/proc/$ralph_first/stat"; do
    case $ralph_stat in *") Z "* | *") X "*) break ;; esac
    ralph_looks=$((ralph_looks + 1))
    sleep 0.01 || break
  done
  ;;
esac
`;

/** The first process of the namespace. */
const FIRST = `
trap : HUP INT QUIT TERM
ralph_left=$1
shift
exec 3>&2 2>/dev/null
(exec "$@" 2>&3 3>&- 9>&-)
ralph_status=$?
echo $ralph_status >&9
if kill -s TERM -- -1; then
  while [ "$ralph_left" -gt 0 ] && kill -s 0 -- -1; do
    sleep 0.05 || break
    ralph_left=$((ralph_left - 50))
  done
  while kill -s KILL -- -1; do sleep 0.01 || break; done
fi
echo over >&9
exit $ralph_status
`;

/** Looks at the mounts, and becomes the program. A `cat` could be the agent's. */
const CHECKED = `
ralph_mounts=
while read -r ralph_mount; do
  ralph_mounts="$ralph_mounts
$ralph_mount"
done </proc/self/mountinfo
set -f
IFS='
'
for ralph_mount in $1; do
  case $ralph_mounts in
  *"$ralph_mount"*) ;;
  *)
    echo "ralph: another process has moved a folder of the sandbox while it was made:$ralph_mount" >&2
    exit 126
    ;;
  esac
done
shift
exec "$@"
`;

function checked(mounts: readonly string[]): readonly string[] {
  return ['/bin/sh', '-c', CHECKED, 'ralph-checked', mounts.join('\n')];
}

/** The command line of a program in a sandbox. */
export function wrapped(wrapper: Wrapper, argv: readonly string[]): readonly [string, ...string[]] {
  const [program = '', ...options] = wrapper.command;
  if (wrapper.kind === 'prefix') return [program, ...options, ...argv];
  const grace = String(Math.round(wrapper.graceMs));
  // A session of its own: otherwise `kill 0` inside would reach the shim.
  const namespace = ['--unshare-pid', '--as-pid-1', '--new-session', '--info-fd', '8'];
  const first = ['/bin/sh', '-c', FIRST, 'ralph-first', grace];
  return [program, ...options, ...namespace, '--', ...checked(wrapper.mounts), ...first, ...argv];
}

/** The same for a program that ends by itself and starts nothing that stays: the namespace ends with it. */
export function wrappedShort(wrapper: Wrapper, argv: readonly string[]): readonly [string, ...string[]] {
  const [program = '', ...options] = wrapper.command;
  if (wrapper.kind === 'prefix') return [program, ...options, ...argv];
  return [program, ...options, '--unshare-pid', '--', ...checked(wrapper.mounts), ...argv];
}
