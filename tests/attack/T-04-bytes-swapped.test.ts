// T-04: what was approved is swapped for something else before it runs, or while it is started.
import {
  chmodSync,
  chownSync,
  copyFileSync,
  mkdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import type { Binding, SandboxCommand, SandboxProfile } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { describeBothWays, describeRoot, IS_ROOT, type Place, python, tierB, tierC, uniqueMark } from './sandboxed.ts';

/** In turn: rename over, write in place, a link that is turned, a hard link, and a directory exchanged; each there and back. */
const SWAPPER = `
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
good, evil = open('good.sh', 'rb').read(), open('evil.sh', 'rb').read()
def fresh(content):
  with open('next', 'wb') as f: f.write(content)
  os.chmod('next', 0o755)
  os.replace('next', 'victim.sh')
def write(content):
  with open('victim.sh', 'r+b') as f: f.write(content)
def turn(name):
  os.symlink(name, 'next')
  os.replace('next', 'victim.sh')
def link(name):
  os.link(name, 'next')
  os.replace('next', 'victim.sh')
def exchange(_): libc.renameat2(-100, b'inner', -100, b'other', 2)
swaps = 0
while True:
  for act, away, back in (fresh, evil, good), (write, evil, good), (turn, 'evil.sh', 'good.sh'), (link, 'evil.sh', 'good.sh'), (exchange, 0, 0):
    if act is write: fresh(good)
    act(away)
    time.sleep(0.0005)
    act(back)
    time.sleep(0.0005)
    swaps += 2
    if swaps % 100 == 0: print(swaps, flush=True)
`;

const SWAPS = 2000;
/** Of four commands each. */
const ROUNDS = 30;

function put({ workspace }: Pick<Place, 'workspace'>, name: string, text: string): string {
  const path = join(workspace, name);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
  chmodSync(path, 0o755);
  own(workspace, path);
  own(workspace, dirname(path));
  return path;
}

function own(workspace: string, path: string): void {
  const { uid, gid } = statSync(workspace);
  if (IS_ROOT) chownSync(path, uid, gid);
}

async function approve({ daemon }: Place, command: SandboxCommand, profile: SandboxProfile): Promise<Binding> {
  const bound = await daemon.bind(command, profile);
  if (bound.kind === 'refused') throw new Error(JSON.stringify(bound));
  return bound;
}

const CHANGED = { kind: 'refused', code: 'sandbox.changed_since_approved' } as const;

describeBothWays((place) => {
  test('2,000 racing swaps by a second sandbox: what runs is what was approved, or nothing', async () => {
    const [good, evil] = ['approved', 'swapped!'].map((word) => `#!/bin/sh\necho ${word}\n`) as [string, string];
    for (const name of ['victim.sh', 'good.sh', 'inner/victim.sh']) put(place(), name, good);
    for (const name of ['evil.sh', 'other/victim.sh']) put(place(), name, evil);
    const commands = [['./victim.sh'], ['sh', 'victim.sh'], ['./inner/victim.sh'], ['sh', 'inner/victim.sh']];
    const approved = await Promise.all(
      commands.map(async (argv) => ({ command: { argv }, bound: await approve(place(), { argv }, tierC(place())) })),
    );
    const swapping = place().daemon.start(python(SWAPPER), tierC(place(), { limits: { wallMs: 120_000 } }));
    await swapping.running;
    const seen = new Map<string, number>();
    const swaps = () => Number(swapping.text().trim().split('\n').at(-1));
    for (let round = 0; round < ROUNDS || swaps() < SWAPS; round += 1) {
      for (const { command, bound } of approved) {
        const { outcome, stdout, detail } = await place().daemon.run(command, tierC(place()), { bound });
        const what = outcome.kind === 'completed' ? stdout.trim() : detail;
        seen.set(what, (seen.get(what) ?? 0) + 1);
      }
    }
    swapping.cancel();
    await swapping.ended;
    expect(swaps()).toBeGreaterThanOrEqual(SWAPS);
    // Both, or it never came to it.
    expect([...seen.keys()].toSorted()).toEqual(['approved', 'sandbox.changed_since_approved']);
  });

  test('a script that is swapped after it was approved does not run, also with its old time', async () => {
    const path = put(place(), 'late.sh', '#!/bin/sh\necho approved\n');
    const command = { argv: ['sh', 'late.sh'] };
    const bound = await approve(place(), command, tierC(place()));
    const { atime, mtime } = statSync(path);
    writeFileSync(path, '#!/bin/sh\necho swapped!\n');
    utimesSync(path, atime, mtime);
    const { outcome } = await place().daemon.run(command, tierC(place()), { bound });
    expect(outcome).toMatchObject(CHANGED);
  });

  test('an interpreter in a directory of tools that the tool may write is bound, and a swapped one is not started', async () => {
    const tools = join(place().base, `tools-${uniqueMark()}`);
    const profile = tierC(place(), { writablePaths: [tools] });
    const shell = join(tools, 'mysh');
    mkdirSync(tools);
    own(place().workspace, tools);
    copyFileSync('/bin/sh', shell);
    own(place().workspace, shell);
    put(place(), 'tooled.sh', `#!${shell}\necho ran\n`);
    const command = { argv: ['./tooled.sh'] };
    const bound = await approve(place(), command, profile);
    expect(bound.files.map(({ role, how }) => `${role} ${how}`)).toEqual(['program copied', 'interpreter copied']);
    expect((await place().daemon.run(command, profile, { bound })).stdout).toBe('ran\n');
    copyFileSync('/bin/echo', shell);
    expect((await place().daemon.run(command, profile, { bound })).outcome).toMatchObject(CHANGED);
    rmSync(tools, { recursive: true });
  });

  test('a shebang interpreter in the workspace is bound, and a swapped one is not started', async () => {
    const shell = put(place(), 'own-shell', '');
    copyFileSync('/bin/sh', shell);
    put(place(), 'owned.sh', `#!${shell}\necho ran\n`);
    const command = { argv: ['./owned.sh'] };
    const bound = await approve(place(), command, tierC(place()));
    expect((await place().daemon.run(command, tierC(place()), { bound })).stdout).toBe('ran\n');
    copyFileSync('/bin/echo', `${shell}-2`);
    own(place().workspace, `${shell}-2`);
    renameSync(`${shell}-2`, shell);
    expect((await place().daemon.run(command, tierC(place()), { bound })).outcome).toMatchObject(CHANGED);
  });

  test('a link that leads to another program, and a program that is gone, are not what was approved', async () => {
    const link = join(place().workspace, 'tool');
    put(place(), 'one.sh', '#!/bin/sh\necho one\n');
    put(place(), 'two.sh', '#!/bin/sh\necho two\n');
    symlinkSync('one.sh', link);
    const command = { argv: ['./tool'] };
    const bound = await approve(place(), command, tierC(place()));
    expect((await place().daemon.run(command, tierC(place()), { bound })).stdout).toBe('one\n');
    unlinkSync(link);
    expect((await place().daemon.run(command, tierC(place()), { bound })).outcome).toMatchObject(CHANGED);
    symlinkSync('two.sh', link);
    expect((await place().daemon.run(command, tierC(place()), { bound })).outcome).toMatchObject(CHANGED);
  });

  test('the copy cannot be changed from inside: not written, not removed, not covered', async () => {
    put(
      place(),
      'self.sh',
      '#!/bin/sh\necho evil >"$0"; rm -f "$0"; chmod 777 "$0"; mv "$0" /tmp/x; cat "$0" | tail -1\necho end\n',
    );
    const command = { argv: ['./self.sh'] };
    const bound = await approve(place(), command, tierC(place()));
    const { stdout, stderr } = await place().daemon.run(command, tierC(place()), { bound });
    expect(stdout).toBe('echo end\nend\n');
    expect(stderr.match(/Read-only file system/g)?.length).toBeGreaterThanOrEqual(3);
  });

  test('a link to what the tool may not see is not read for it, and its bytes reach nobody', async () => {
    const secret = uniqueMark();
    const outside = join(place().home, `.secret-${secret}`);
    writeFileSync(outside, `#!/bin/sh\necho ${secret}\n`, { mode: 0o700 });
    own(place().workspace, outside);
    symlinkSync(outside, join(place().workspace, 'leak.sh'));
    const viaShell = { argv: ['sh', 'leak.sh'] };
    const bound = await approve(place(), viaShell, tierC(place()));
    expect(bound.files.map(({ role }) => role)).toEqual(['program']);
    const ran = await place().daemon.run(viaShell, tierC(place()), { bound });
    expect(ran.stdout + ran.stderr).not.toContain(secret);
    expect(await place().daemon.bind({ argv: ['./leak.sh'] }, tierC(place()))).toMatchObject({
      kind: 'refused',
      code: 'sandbox.executable_not_found',
    });
    rmSync(outside);
  });

  test('Tier B has no place for a copy: what could be swapped is refused there', async () => {
    put(place(), 'b.sh', '#!/bin/sh\necho b\n');
    const profile = tierB(place(), { startedFor: 'operator' });
    for (const argv of [['./b.sh'], ['sh', 'b.sh']]) {
      const answer = await place().daemon.bind({ argv }, profile);
      expect(answer).toMatchObject({ kind: 'refused', code: 'sandbox.not_bindable' });
    }
    const command = { argv: ['sh', '-c', 'echo in place'] };
    const bound = await approve(place(), command, profile);
    expect(bound.files.map(({ how }) => how)).toEqual(['in_place']);
    expect((await place().daemon.run(command, profile, { bound })).stdout).toBe('in place\n');
  });
});

describeRoot((place) => {
  test("a script of root's alone in somebody's workspace is not read for the tool by a daemon that is root", async () => {
    const workspace = join(place().base, 'of-somebody');
    const secret = uniqueMark();
    mkdirSync(workspace);
    chownSync(workspace, 70_001, 70_001);
    writeFileSync(join(workspace, 'x.sh'), `echo ${secret}\n`, { mode: 0o600 });
    const command = { argv: ['sh', 'x.sh'] };
    const bound = await approve(place(), command, tierC({ workspace }));
    expect(bound.files.map(({ role }) => role)).toEqual(['program']);
    const ran = await place().daemon.run(command, tierC({ workspace }), { bound });
    expect(ran.stdout + ran.stderr).not.toContain(secret);
    expect(ran.stderr).toMatch(/Permission denied|cannot open/);
  });
});
