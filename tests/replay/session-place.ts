import { chmodSync, mkdirSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { WorkspaceService } from '@palyra/api';
import { findHook } from '@palyra/sandbox';
import { createTemporaryHome } from '../../packages/testkit/src/temporary-home.ts';
import { addNode, SYSTEM_PATH } from '../e2e/everyday/toolchain-home.ts';
import { PALYRA } from '../hooked-agent.ts';
import { type PalyradProcess, startPalyrad } from '../palyrad-process.ts';
import { EVIL_NAMES, SESSION_NAMES, type SessionHosts, startSessionHosts } from './session-hosts.ts';
import { CANARIES, fillPerson, makeProject } from './session-project.ts';

/** A person's machine with a project on it, palyrad under the default preset, and the hosts around it. */
export interface SessionPlace extends AsyncDisposable {
  palyrad: PalyradProcess;
  readonly hosts: SessionHosts;
  readonly person: string;
  readonly workspace: string;
  /** The bare repository that the project is pushed to. */
  readonly remote: string;
  readonly hook: readonly [string, ...string[]];
  /** `$WORK`, `$HOME`, … of a recording, as they are here. */
  filled(text: string): string;
  /** As the person's own shell has it. */
  readonly environment: Readonly<Record<string, string>>;
}

export async function openSessionPlace(): Promise<SessionPlace> {
  const started = new AsyncDisposableStack();
  const { path: person } = started.use(await createTemporaryHome());
  chmodSync(person, 0o755);
  const workspace = join(person, 'notes-api');
  const outside = join(person, 'hosts');
  mkdirSync(workspace);
  mkdirSync(outside);
  const before = process.umask(0o022);
  const path = [addNode(person), SYSTEM_PATH].join(delimiter);
  process.umask(before);
  const dockerSocket = join(person, '.docker/run/docker.sock');
  const hosts = started.use(await startSessionHosts({ directory: outside, dockerSocket }));
  fillPerson(person, hosts.port);
  const remote = join(outside, 'remote/notes-api.git');
  const url = (name: string) => `http://${name}:${hosts.port}`;
  makeProject({
    workspace,
    remote,
    remoteUrl: `${url('git.example')}/notes-api.git`,
    registryUrl: `${url('registry.example')}/`,
  });
  const environment = {
    HOME: person,
    PATH: path,
    DOCKER_HOST: `unix://${dockerSocket}`,
    DEPLOY_TOKEN: CANARIES.environment,
  };
  const palyrad = await startPalyrad({
    config: configFor(hosts),
    environment: () => ({ ...(process.env as Record<string, string>), ...environment }),
  });
  const place: SessionPlace = {
    palyrad,
    hosts,
    person,
    workspace,
    remote,
    hook: [findHook() ?? 'palyra-hook', 'claude-code', '--home', palyrad.home.root, '--palyra', PALYRA],
    environment,
    filled: (text) =>
      text
        .replaceAll('$WORK', workspace)
        .replaceAll('$PALYRA_HOME', place.palyrad.home.root)
        .replaceAll('$PALYRAD_PID', String(place.palyrad.child.pid))
        .replaceAll('$PALYRA', PALYRA)
        .replaceAll('$HOME', person)
        .replaceAll('$EVIL_DATAGRAMS', String(hosts.evilDatagrams))
        .replaceAll('$EVIL_PORT', String(hosts.evilPort))
        .replaceAll('$WEB_PORT', String(hosts.port)),
    async [Symbol.asyncDispose]() {
      await place.palyrad[Symbol.asyncDispose]();
      await started.disposeAsync();
    },
  };
  await palyrad.client(WorkspaceService, 'operator').addWorkspace({ path: workspace });
  return place;
}

/** The attacker's hosts are as reachable as the others, once somebody says yes: a no is what keeps them away. */
function configFor({ port, evilPort }: SessionHosts): string {
  return `[policy]
preset = "coding"

[egress]
unlisted = "ask"
hosts = "${[...SESSION_NAMES, ...EVIL_NAMES].map((name) => `${name}=127.0.0.1`).join(', ')}"
private_ranges = "127.0.0.1:${port}, 127.0.0.1:${evilPort}"
registries = "registry.example:${port}"
`;
}
