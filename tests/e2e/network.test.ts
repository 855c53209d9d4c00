import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ensureHome, homeLayout, writeConfig } from '@palyra/config';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type StandIn, standIn } from '../integration/network-house.ts';
import { type Ended, type Newcomer, newcomer } from './palyra-process.ts';

let here: Newcomer;
let web: StandIn;
let outside: string;
let first: Ended;

beforeAll(async () => {
  here = newcomer();
  outside = join(here.person, 'outside');
  mkdirSync(outside);
  makeRepository(join(outside, 'repo.git'));
  web = await standIn(serve);
  const names = ['web.example', 'git.example', 'packages.example', 'other.example'];
  const home = homeLayout(here.home);
  ensureHome(home);
  const toml = `[egress]
hosts = "${names.map((name) => `${name}=127.0.0.1`).join(', ')}"
private_ranges = "127.0.0.1:${web.port}"
registries = "packages.example:${web.port}"
`;
  writeConfig(home.configFile, toml, { mode: 'create' });
  await here.palyra(['workspace', 'add', here.workspace]);
  first = await here.palyra(['exec', '--', 'true']);
});
afterAll(async () => {
  await here[Symbol.asyncDispose]();
  await web[Symbol.asyncDispose]();
});

/** A repository as files, as git reads it over plain HTTP. */
function makeRepository(at: string): void {
  const from = join(outside, 'from');
  const git = (...words: readonly string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...words], {
      cwd: from,
      stdio: 'pipe',
    });
  mkdirSync(from);
  git('init', '-q', '-b', 'main');
  writeFileSync(join(from, 'README.md'), 'from a repository\n');
  git('add', '.');
  git('commit', '-qm', 'one');
  git('clone', '-q', '--bare', from, at);
  execFileSync('git', ['update-server-info'], { cwd: at });
}

/** A host with a page, a repository and a registry of one package. */
const serve: Answer = (request, response) => {
  const { host = '', 'user-agent': agent = '' } = request.headers;
  const path = (request.url ?? '/').replace(/\?.*/, '');
  if (host.startsWith('git.example') && agent.startsWith('git/')) return sendFile(path, response);
  if (!host.startsWith('packages.example')) return void response.end(`hello from ${host}\n`);
  const tarball = packed();
  if (path.endsWith('.tgz')) return void response.end(tarball);
  const dist = {
    tarball: `http://${host}/tiny/-/tiny-1.0.0.tgz`,
    integrity: `sha512-${createHash('sha512').update(tarball).digest('base64')}`,
  };
  const versions = { '1.0.0': { name: 'tiny', version: '1.0.0', dist } };
  response.setHeader('content-type', 'application/json');
  response.end(JSON.stringify({ name: 'tiny', 'dist-tags': { latest: '1.0.0' }, versions }));
};

function sendFile(path: string, response: Parameters<Answer>[1]): void {
  try {
    response.end(readFileSync(join(outside, path)));
  } catch {
    response.writeHead(404).end();
  }
}

let tarball: Buffer | undefined;
function packed(): Buffer {
  if (tarball !== undefined) return tarball;
  const folder = join(outside, 'package');
  mkdirSync(folder);
  writeFileSync(join(folder, 'package.json'), '{"name":"tiny","version":"1.0.0","main":"index.js"}');
  writeFileSync(join(folder, 'index.js'), 'module.exports = "from a package";\n');
  tarball = execFileSync('tar', ['-czf', '-', '-C', outside, 'package']);
  return tarball;
}

const url = (name: string, path = '/') => `http://${name}:${web.port}${path}`;

async function approved(args: readonly string[], scope: string) {
  const { ended } = here.start(args);
  const { approval_id: id } = await here.question();
  const shown = await here.palyra(['approve', id, '--yes', '--scope', scope]);
  expect(shown).toMatchObject({ exit: 0 });
  return { ended: await ended, shown: shown.out };
}

describe('palyra exec --net', () => {
  test('absent, with a command that connects to nothing: nothing is asked and nothing is said', () => {
    expect(first).toMatchObject({ exit: 0, out: '', err: '' });
  });

  test('HOST: asked before it starts, reached, and on record for log, why and --json', async () => {
    const net = ['exec', '--json', '--net', `web.example:${web.port}`, '--', 'curl', '-sS', url('web.example')];
    const { ended } = await approved(net, 'once');
    expect(ended.exit).toBe(0);
    const result = JSON.parse(ended.out) as { call_id: string; outcome: { stdout: string; output: object } };
    expect(result.outcome.stdout).toBe(`hello from web.example:${web.port}\n`);
    expect(result.outcome.output).toMatchObject({
      egress: 'strict',
      connections: [{ host: 'web.example', port: web.port, outcome: 'allowed' }],
    });
    const why = await here.palyra(['why', result.call_id.slice(-6)]);
    expect(why.out).toMatch(new RegExp(`network +web.example:${web.port} allowed, \\d+ bytes out, \\d+ in`));
    const log = await here.palyra(['log', '--json']);
    expect(log.out).toContain(`→ web.example:${web.port}`);
  }, 120_000);

  test('git over http, by a rule that the operator wrote', async () => {
    expect(await here.palyra(['allow', `host:git.example:${web.port}`])).toMatchObject({ exit: 0 });
    const script = `git clone -q ${url('git.example', '/repo.git')} /tmp/copy && cat /tmp/copy/README.md`;
    const named = ['exec', '--net', `git.example:${web.port}`, '--', 'sh', '-c', script];
    expect(await here.palyra(named)).toMatchObject({ exit: 0, out: 'from a repository\n' });
    // Not named, it is the same rule that lets the connection pass.
    expect(await here.palyra(['exec', '--', 'sh', '-c', script])).toMatchObject({
      exit: 0,
      out: 'from a repository\n',
    });
  }, 120_000);

  test('npm with nothing named: the registry is one question, and the install goes on', async () => {
    const script = `npm install --no-audit --no-fund --silent --registry ${url('packages.example')} tiny && node -p 'require("tiny")'`;
    const { ended } = await approved(['exec', '--', 'sh', '-c', script], 'session');
    expect(ended).toMatchObject({ exit: 0, out: 'from a package\n' });
    const { out } = await here.palyra(['log', '--json']);
    const { runs } = JSON.parse(out) as { runs: { calls: { call_id: string }[] }[] };
    const why = await here.palyra(['why', runs.at(-1)?.calls.at(-1)?.call_id.slice(-6) ?? '']);
    expect(why.out).toMatch(new RegExp(`let through +packages.example:${web.port} by registries, approval`));
  }, 120_000);

  test('off reaches nothing, and the exit is the command’s', async () => {
    const { exit } = await here.palyra(['exec', '--net', 'off', '--', 'curl', '-sS', url('web.example')]);
    expect(exit).toBe(6);
  });

  test('HOST and another one: 403, with the reason where an agent reads it', async () => {
    const net = ['exec', '--net', `git.example:${web.port}`, '--', 'curl', '-sS', url('other.example')];
    const { out } = await here.palyra(net);
    expect(JSON.parse(out)).toMatchObject({ error: { code: 'egress.host_not_allowed', host: 'other.example' } });
  });

  test('a host that is none is refused before anything runs', async () => {
    const { exit, err } = await here.palyra(['exec', '--net', 'web.example/path', '--', 'true']);
    expect(exit).toBe(242);
    expect(err).toContain('error[gateway.invalid_input]');
  });

  test('in a terminal the last line says what was reached', async () => {
    const { out } = await here.inTerminal(['exec', '--', 'curl', '-sS', url('git.example', '/x')]);
    expect(out).toMatch(new RegExp(`palyra · in the box · .* · reached git.example:${web.port} · receipt`));
  });
});

test('palyra.http.fetch by the same rule', async () => {
  const input = JSON.stringify({ url: url('git.example', '/x') });
  const { exit, out } = await here.palyra(['tool', 'call', 'palyra.http.fetch', '--input', input, '--json']);
  expect(exit).toBe(0);
  expect(JSON.parse(out)).toMatchObject({
    outcome: { stdout: `hello from git.example:${web.port}\n`, output: { status: 200 } },
  });
});
