import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import { launcher } from './launcher-step.mjs';

const NATIVE = 'packages/sandbox/native';

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'palyra-launcher-step-'));
  onTestFinished(() => rmSync(root, { recursive: true, force: true }));
  for (const folder of ['', 'attacker', 'bare', 'hook', 'stage']) {
    mkdirSync(join(root, NATIVE, folder), { recursive: true });
    writeFileSync(join(root, NATIVE, folder, 'source.c'), `/* ${folder} */`);
  }
});

/** A compiler whose programs end as a hook does, or do not run when they are bare, or that fails at bare ones or at all. */
function useCompiler(failsAt: 'nothing' | 'bare programs' | 'running bare programs' | 'everything'): void {
  const folder = join(root, 'bin');
  mkdirSync(folder, { recursive: true });
  const pattern = { 'bare programs': '-nostdlib', everything: '-o' }[failsAt as string] ?? 'no such flag';
  const script = `#!/bin/sh
code=2
for each; do
  [ "$each" = '${pattern}' ] && exit 1
  [ "$each" = -nostdlib ] && code=${failsAt === 'running bare programs' ? 139 : 2}
  last=$each
done
printf '#!/bin/sh\nexit %s\n' $code > "$last"
chmod 755 "$last"
`;
  writeFileSync(join(folder, 'cc'), script);
  chmodSync(join(folder, 'cc'), 0o755);
  vi.stubEnv('PATH', `${folder}:/usr/bin:/bin`);
  onTestFinished(() => void vi.unstubAllEnvs());
}

const context = () => ({ root, groups: [], log: join(root, 'log'), onChild: () => {} });
const built = () => join(root, NATIVE, 'build', `${process.platform}-${process.arch}`);

describe.skipIf(process.platform !== 'linux')('the programs in C', () => {
  it('are compiled once, and again when a source of any of them changes', async () => {
    useCompiler('nothing');
    expect(await launcher.probe(context())).toEqual({ kind: 'work', why: 'it is not compiled yet' });
    expect(await launcher.work(context())).toBe('compiled');
    expect(readdirSync(built()).toSorted()).toEqual([
      'palyra-attacker',
      'palyra-hook',
      'palyra-launcher',
      'palyra-stage',
      'stamp',
    ]);
    expect(await launcher.probe(context())).toEqual({ kind: 'ready', detail: 'compiled, static' });
    for (const folder of ['', 'attacker', 'bare', 'hook', 'stage']) {
      writeFileSync(join(root, NATIVE, folder, 'source.c'), '/* changed */');
      expect(await launcher.probe(context())).toEqual({ kind: 'work', why: 'its sources changed' });
      await launcher.work(context());
    }
  });

  it('are compiled again when one of them is gone', async () => {
    useCompiler('nothing');
    for (const name of ['palyra-attacker', 'palyra-hook', 'palyra-launcher', 'palyra-stage']) {
      await launcher.work(context());
      rmSync(join(built(), name));
      expect(await launcher.probe(context())).toEqual({ kind: 'work', why: 'it is not compiled yet' });
    }
  });

  it('do without the stage where it does not compile, and leave no old one beside a new launcher', async () => {
    useCompiler('nothing');
    await launcher.work(context());
    useCompiler('bare programs');
    const missing = 'without palyra-stage, so sandboxes start more slowly';
    expect(await launcher.work(context())).toBe(`compiled; ${missing}`);
    expect(readdirSync(built()).toSorted()).toEqual(['palyra-attacker', 'palyra-hook', 'palyra-launcher', 'stamp']);
    expect(await launcher.probe(context())).toEqual({ kind: 'ready', detail: `compiled, static; ${missing}` });
  });

  it('are tried again by another compiler where one of them did not compile, and only there', async () => {
    useCompiler('bare programs');
    await launcher.work(context());
    useCompiler('nothing');
    expect(await launcher.probe(context())).toEqual({
      kind: 'work',
      why: 'there is another compiler for palyra-stage',
    });
    expect(await launcher.work(context())).toBe('compiled');
    useCompiler('bare programs');
    expect(await launcher.probe(context())).toEqual({ kind: 'ready', detail: 'compiled, static' });
  });

  it('SECURITY: T-58 — are no hook that does not run: it is compiled with a library then, and refused where that does not run', async () => {
    const hook = () => readFileSync(join(built(), 'palyra-hook'), 'utf8');
    useCompiler('running bare programs');
    await launcher.work(context());
    expect(hook()).toContain('exit 2');
    writeFileSync(
      join(root, 'bin/cc'),
      '#!/bin/sh\nfor each; do last=$each; done\nprintf "#!/bin/sh\\nexit 1\\n" > "$last"\n',
    );
    await expect(launcher.work(context())).rejects.toMatchObject({
      code: 'setup.compile_failed',
      output: expect.stringContaining('does not run'),
    });
    expect(hook()).toContain('exit 2');
  });

  it('stay as they are where no compiler is left', async () => {
    useCompiler('bare programs');
    await launcher.work(context());
    vi.stubEnv('PATH', join(root, 'none'));
    expect(await launcher.probe(context())).toMatchObject({ kind: 'ready' });
  });

  it('are refused where the launcher does not compile', async () => {
    useCompiler('everything');
    await expect(launcher.work(context())).rejects.toMatchObject({ code: 'setup.compile_failed' });
    expect(existsSync(join(built(), 'stamp'))).toBe(false);
  });
});
