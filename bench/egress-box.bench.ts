import { spawn } from 'node:child_process';
import { callTo, type EgressPlace, makeEgressPlace } from './egress-place.ts';
import { type Contender, defineBenchmark } from './harness.ts';
import { COMMAND, profileOf, succeeded } from './sandbox-place.ts';
import { untilClosed } from './until-closed.ts';

/** So that a loopback address goes through the proxy, too. */
const CURL = ['curl', '-sS', '-o', '/dev/null', '--fail'];

export default defineBenchmark<EgressPlace>({
  name: 'egress-box',
  description:
    'A curl in Tier C through the proxy, against socat in its place and no sandbox; and the cost of a way out.',
  baseline: 'tier-c',
  ratioOf: 'p50_ms',
  defaults: { rounds: 10, seconds: 10 },
  setup: () => makeEgressPlace(),
  teardown: (place) => place.close(),
  contenders: [
    boxed('tier-c', [COMMAND], 'offline'),
    boxed('tier-c-way-out', [COMMAND], 'way out'),
    {
      name: 'host-curl',
      prepare: ({ workspace, url }) => ({
        operation: () =>
          untilClosed(spawn('curl', [...CURL.slice(1), url], { cwd: workspace, stdio: ['ignore', 'pipe', 'pipe'] })),
      }),
    },
    boxed('tier-c-curl', 'curl', 'way out'),
    socat('socat-curl'),
  ],
});

/** A command in Tier C, started cold; with a way out it is opened, passed and closed each time, as for a call. */
function boxed(name: string, argv: readonly string[] | 'curl', how: 'offline' | 'way out'): Contender<EgressPlace> {
  return {
    name,
    prepare({ sandbox, egress, workspace, url, port }) {
      const profile = profileOf('C', workspace);
      const command = { argv: argv === 'curl' ? [...CURL, '--noproxy', '', url] : argv };
      return {
        async operation() {
          if (how === 'offline') return succeeded(await sandbox.run(command, profile));
          const opened = await egress.open(callTo(port));
          const { gate, label } = opened;
          const result = await sandbox.run(command, profile, { wayOut: { gate, label } });
          await opened.close();
          succeeded(result);
        },
      };
    },
  };
}

/** The least that others do: bubblewrap without a network, a helper inside, and a named socket to a proxy outside. */
function socat(name: string): Contender<EgressPlace> {
  const flags = ['--unshare-all', '--die-with-parent', '--ro-bind', '/', '/', '--proc', '/proc', '--dev', '/dev'];
  const script =
    'socat TCP-LISTEN:3128,bind=127.0.0.1,fork,reuseaddr UNIX-CONNECT:"$1" & ' +
    'while ! (: </dev/tcp/127.0.0.1/3128) 2>/dev/null; do :; done; ' +
    'shift; http_proxy=http://127.0.0.1:3128 "$@"; status=$?; kill %1; exit $status';
  return {
    name,
    prepare: ({ workspace, owner, socket, url }) => ({
      operation: () =>
        untilClosed(
          spawn('bwrap', [...flags, 'bash', '-c', script, 'bash', socket, ...CURL, '--noproxy', '', url], {
            cwd: workspace,
            stdio: ['ignore', 'pipe', 'pipe'],
            ...(owner === undefined ? {} : { uid: owner, gid: owner }),
          }),
        ),
    }),
  };
}
