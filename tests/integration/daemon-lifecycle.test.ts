import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { connect } from 'node:http2';
import { join } from 'node:path';
import { Code } from '@connectrpc/connect';
import { StatusService, ToolService } from '@palyra/api';
import { homeLayout } from '@palyra/config';
import { clientTlsOptions, credentialDirectory, openCredential } from '@palyra/identity';
import { expect, test } from 'vitest';
import { createTemporaryHome } from '../../packages/testkit/src/temporary-home.ts';
import { makeHome, type PalyradProcess, runPalyrad, startPalyrad } from '../palyrad-process.ts';

function drafts({ home }: Pick<PalyradProcess, 'home'>): readonly string[] {
  return readdirSync(home.root).filter((name) => name.includes('palyrad-'));
}

test('a home without identities is told what to do', async () => {
  await using place = await createTemporaryHome();
  const { code, said } = await runPalyrad(homeLayout(join(place.path, 'palyra')));
  expect(code).toBe(8);
  expect(said).toContain('error[identity.not_initialised]: This home has no identities yet.');
  expect(said).toContain('fix: Run `palyra init`, or check --home.');
});

test('an argument that nobody knows is refused, and its version is told', async () => {
  await using place = await createTemporaryHome();
  const home = homeLayout(join(place.path, 'palyra'));
  expect(await runPalyrad(home, { arguments: ['--listen-everywhere'] })).toMatchObject({ code: 2 });
  expect(await runPalyrad(home, { arguments: ['--version'] })).toEqual({ code: 0, said: '' });
  expect(existsSync(home.root)).toBe(false);
});

test('it ends when told to, and leaves nothing behind', async () => {
  await using palyrad = await startPalyrad();
  const before = readdirSync(palyrad.home.root).filter((name) => !name.startsWith('palyrad'));
  await palyrad.client(ToolService, 'local-agent').listTools({});
  expect(await runPalyrad(palyrad.home)).toMatchObject({ code: 7, said: expect.stringContaining('storage.locked') });
  expect(existsSync(join(palyrad.home.root, 'palyrad.json'))).toBe(true);
  palyrad.child.kill('SIGTERM');
  expect(await palyrad.ended()).toBe(0);
  expect(existsSync(join(palyrad.home.root, 'palyrad.json'))).toBe(false);
  expect(drafts(palyrad)).toEqual([]);
  const after = readdirSync(palyrad.home.root).filter((name) => !name.startsWith('palyrad'));
  expect(after.filter((name) => !before.includes(name))).toEqual([]);
});

test('an operator ends it over the API, and no agent does', async () => {
  await using palyrad = await startPalyrad();
  const agent = palyrad.client(StatusService, 'local-agent');
  await expect(agent.shutdown({})).rejects.toMatchObject({ code: Code.PermissionDenied });
  await palyrad.client(StatusService, 'operator').shutdown({});
  expect(await palyrad.ended()).toBe(0);
});

test('killed, it leaves an address that the next one replaces', async () => {
  await using palyrad = await startPalyrad();
  palyrad.child.kill('SIGKILL');
  await palyrad.ended();
  const file = join(palyrad.home.root, 'palyrad.json');
  const { pid } = JSON.parse(readFileSync(file, 'utf8')) as { pid: number };
  expect(pid).toBe(palyrad.child.pid);
  const again = await palyrad.restart();
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ pid: again.child.pid, address: again.address });
  await again.client(ToolService, 'local-agent').listTools({});
  again.child.kill('SIGTERM');
  expect(await again.ended()).toBe(0);
});

test('started on demand it ends when nobody uses it, and not while somebody is connected', async () => {
  await using palyrad = await startPalyrad({ config: '[daemon]\nidle_minutes = 0.01\n', arguments: ['--idle-exit'] });
  const { tls } = openCredential(credentialDirectory(palyrad.home.identity, 'local-agent'));
  const session = connect(`https://${palyrad.address}`, clientTlsOptions(tls));
  await once(session, 'connect');
  // Longer than it would have stayed alone, by its own clock.
  for (let asked = 0; asked < 3; asked += 1) {
    const [duration] = await new Promise<[number]>((resolve, reject) => {
      setTimeout(() => session.ping((error, took) => (error === null ? resolve([took]) : reject(error))), 700);
    });
    expect(duration).toBeGreaterThan(0);
  }
  expect(palyrad.child.exitCode).toBeNull();
  session.close();
  expect(await palyrad.ended()).toBe(0);
});

test('a setting that is wrong is named before anything is opened', async () => {
  await using place = await createTemporaryHome();
  const home = homeLayout(join(place.path, 'palyra'));
  await makeHome(home);
  expect(await runPalyrad(home, { config: '[daemon]\nlisten = "8443"\n' })).toMatchObject({
    code: 2,
    said: expect.stringContaining('daemon.listen'),
  });
});
