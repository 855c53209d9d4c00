import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter } from 'node:path';
import { buffer } from 'node:stream/consumers';

export interface Outcome {
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface HostCommand {
  readonly argv: readonly [string, ...string[]];
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly network?: 'as it is' | 'none';
}

/** PATH as a person has it: npm puts node_modules/.bin in front, where `node` is the pinned one. */
export const HOST_PATH: string = (process.env['PATH'] ?? '')
  .split(delimiter)
  .filter((folder) => !/node_modules|node-gyp-bin/.test(folder))
  .join(delimiter);

// What a machine needs to reach its registry at all, and npm's cache, so that a second run needs no network.
const PASSED_ON = [
  'HOME',
  'LANG',
  'http_proxy',
  'https_proxy',
  'no_proxy',
  'HTTP_PROXY',
  'HTTPS_PROXY',
  'NO_PROXY',
  'NODE_EXTRA_CA_CERTS',
];

const HOST_ENV: Readonly<Record<string, string>> = {
  PATH: HOST_PATH,
  ...Object.fromEntries(PASSED_ON.flatMap((name) => entryOf(name))),
};

/** The version of the Node that is in the host's PATH. */
export const HOST_NODE: string = execFileSync('node', ['--version'], { env: HOST_ENV, encoding: 'utf8' })
  .trim()
  .slice(1);

/** A command as a person on this machine would run it, outside any npm script. */
export async function runOnHost({ argv, cwd, env = {}, network = 'as it is' }: HostCommand): Promise<Outcome> {
  const [file, ...args] = network === 'none' ? withoutNetwork(argv) : argv;
  const child = spawn(file, args, { cwd, env: { ...HOST_ENV, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const [stdout, stderr, [exitCode, signal]] = await Promise.all([
    buffer(child.stdout),
    buffer(child.stderr),
    once(child, 'close'),
  ]);
  return { exitCode, signal, stdout: stdout.toString(), stderr: stderr.toString() };
}

/** In a network namespace of its own, with loopback and nothing else. */
function withoutNetwork(argv: readonly string[]): [string, ...string[]] {
  const asRoot = process.getuid?.() === 0 ? [] : ['--map-root-user'];
  const script = 'PATH="$PATH:/usr/sbin:/sbin" ip link set lo up && exec "$@"';
  return ['unshare', ...asRoot, '--net', '--', 'sh', '-c', script, 'sh', ...argv];
}

function entryOf(name: string): [string, string][] {
  const value = process.env[name];
  return value === undefined ? [] : [[name, value]];
}
