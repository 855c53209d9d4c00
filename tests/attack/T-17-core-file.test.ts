/**
 * T-17: a tool that crashes has all of its memory written to a file, as often as it likes and as large as that is; and on a host
 * that hands such files to a program of root, it chooses what that one reads.
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { as, startDaemon } from './sandbox-daemon.ts';
import { describeBothWays, IS_ROOT, python, textOf, tierB, tierC } from './sandboxed.ts';

/** Asks for as large a file as there can be, crashes, and prints what it got and what was left. */
const CRASH = `
import os, resource, sys
pid = os.fork()
if pid == 0:
  try: resource.setrlimit(resource.RLIMIT_CORE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
  except (OSError, ValueError): print('refused', flush=True)
  os.abort()
print('ended by', os.WTERMSIG(os.waitpid(pid, 0)[1]))
for name in os.listdir('.'):
  if name.startswith('core'):
    os.unlink(name)
    print('left a core')
`;
const TIERS = [
  ['B', tierB],
  ['C', tierC],
] as const;
const NOTHING_LEFT = 'refused\nended by 6\n';
/** Elsewhere, or to a program, where the host says so. */
const IS_LEFT_HERE = /^core\b[^/|]*$/.test(textOf('/proc/sys/kernel/core_pattern').trim());
/** Who starts the tests may have been given a limit already. */
const MAY_HAVE_ONE = IS_ROOT || /^Max core file size +\S+ +unlimited/m.test(textOf('/proc/self/limits'));

describeBothWays((place) => {
  test('outside of any sandbox the file is there, on a host that leaves it, so the attack itself works', () => {
    const argv = as(place(), ['sh', '-c', 'cd "$1" && exec python3 -c "$2"', 'sh', place().workspace, CRASH]);
    const [file = '', ...args] = IS_ROOT ? ['prlimit', '--core=unlimited:unlimited', ...argv] : argv;
    const left = IS_LEFT_HERE ? 'ended by 6\nleft a core\n' : 'ended by 6\n';
    expect(execFileSync(file, args).toString()).toBe(MAY_HAVE_ONE ? left : NOTHING_LEFT);
  });

  test.each(TIERS)('Tier %s: there is none, and no more can be had', async (_, profile) => {
    const { stdout } = await place().daemon.run(python(CRASH), profile(place()));
    expect(stdout).toBe(NOTHING_LEFT);
  });

  test('under a launcher that has no such limit the tool’s own is enough', async () => {
    const launcherProgram = compileUnlimited(place().base);
    const daemon = await startDaemon(place(), { launcherProgram });
    const said = [];
    for (const [, profile] of TIERS) said.push((await daemon.run(python(CRASH), profile(place()))).stdout);
    await daemon.close();
    expect(said).toEqual([NOTHING_LEFT, NOTHING_LEFT]);
  });
});

/** The launcher without the limit that it gives to itself, and so to everything that it starts. */
function compileUnlimited(place: string): string {
  const native = fileURLToPath(new URL('../../packages/sandbox/native/', import.meta.url));
  const sources = readdirSync(native).filter((name) => name.endsWith('.c') && name !== 'launcher.c');
  const own = '  setrlimit(RLIMIT_CORE, &none);\n';
  const text = readFileSync(join(native, 'launcher.c'), 'utf8');
  expect(text.split(own)).toHaveLength(2);
  writeFileSync(join(place, 'launcher.c'), text.replace(own, '  (void)none;\n'));
  const program = join(place, 'palyra-launcher');
  const files = [join(place, 'launcher.c'), ...sources.map((name) => join(native, name))];
  execFileSync('cc', ['-std=c17', '-D_GNU_SOURCE', '-O0', '-static', `-I${native}`, '-o', program, ...files]);
  return program;
}
