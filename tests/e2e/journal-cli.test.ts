import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type RecordedCall, recordCall, withJournal } from './journal-home.ts';

/** Past the bin, which the other tests go through: it starts a second Node, and here it would be hundreds. */
const MAIN = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url));
const COMPILE_CACHE = fileURLToPath(new URL('../../.cache/compiled', import.meta.url));

let parent = '';
let home = '';
let calls: readonly RecordedCall[] = [];

beforeEach(async () => {
  parent = mkdtempSync(join(tmpdir(), 'palyra-journal-e2e-'));
  home = join(parent, 'home');
  mkdirSync(home, { mode: 0o700 });
  mkdirSync(join(parent, 'elsewhere'), { mode: 0o700 });
  calls = await record('first', 'second');
});

afterEach(() => rmSync(parent, { recursive: true }));

function record(...texts: readonly string[]): Promise<readonly RecordedCall[]> {
  return withJournal(home, async (journal) => {
    const made: RecordedCall[] = [];
    for (const text of texts) made.push(await recordCall(journal, text));
    return made;
  });
}

interface Options {
  readonly input?: string;
}

function palyra(args: readonly string[], { input = '' }: Options = {}) {
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('PALYRA_')));
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--conditions=palyra-source', MAIN, ...args], {
    cwd: parent,
    env: { ...inherited, NO_COLOR: '1', PALYRA_HOME: home, NODE_COMPILE_CACHE: COMPILE_CACHE },
    encoding: 'utf8',
    input,
    timeout: 20_000,
  });
  return { exit: status, out: stdout, err: stderr };
}

function json(args: readonly string[], options?: Options): Record<string, unknown> {
  const { exit, out, err } = palyra([...args, '--json'], options);
  return { exit, ...(JSON.parse(out === '' ? err : out) as Record<string, unknown>) };
}

function put(name: string, text: string): string {
  writeFileSync(join(parent, name), text);
  return name;
}

/** As a backup does; without the mode, the home would be open to others, and refused. */
function copyHome(from: string, to: string): void {
  cpSync(from, to, { recursive: true });
  chmodSync(to, 0o700);
}

function tamper(sql: string): void {
  const database = new DatabaseSync(join(home, 'palyra.db'));
  database.exec(sql);
  database.close();
}

const ROOT_KEY = 'home/identity/journal-root.pub';

describe('journal show', () => {
  test('one line for each entry, filtered and paged', () => {
    const { exit, out, err } = palyra(['journal', 'show']);
    expect([exit, err, out.split('\n')[0]]).toEqual([
      0,
      '',
      expect.stringMatching(/^TIME +SEQ +KIND +ACTOR +TOOL +OUTCOME +RUN +CALL$/),
    ]);
    expect(out.split('\n')).toHaveLength(1 + 3 + 2 * 5 + 1);

    const filter = ['--kind', 'outcome', '--kind', 'decision', '--tool', 'palyra.echo', '--since', '1d'];
    const page = json(['journal', 'show', ...filter, '--newest', '--limit', '3']);
    expect(page).toMatchObject({ exit: 0, next: expect.any(Number) });
    const rest = json(['journal', 'show', ...filter, '--newest', '--cursor', String(page['next'])]);
    const kinds = [page, rest].flatMap((shown) => shown['entries'] as { kind: string }[]).map(({ kind }) => kind);
    expect(kinds).toEqual(['outcome', 'decision', 'outcome', 'decision']);
  });

  test('a run by the end of its id', () => {
    const run = calls[1]?.run as string;
    expect(json(['journal', 'show', run.slice(-8).toLowerCase()])['entries']).toHaveLength(5);
    expect(json(['journal', 'show', 'ZZZZZZ'])).toMatchObject({ exit: 8, error: { code: 'journal.not_found' } });
    expect(json(['journal', 'show', 'ZZ'])).toMatchObject({ exit: 2, error: { code: 'journal.invalid_query' } });
    expect(json(['journal', 'show', '--kind', 'x'])).toMatchObject({
      exit: 2,
      error: { code: 'journal.invalid_query' },
    });
    expect(json(['journal', 'show', '--since', 'x'])).toMatchObject({ exit: 2, error: { code: 'cli.invalid_option' } });
  });

  test('a home without a journal has nothing to show, and verify says so', () => {
    const elsewhere = ['--home', 'elsewhere'];
    expect(json([...elsewhere, 'journal', 'show'])).toMatchObject({ exit: 8, error: { code: 'journal.no_log' } });
    expect(json([...elsewhere, 'verify'])).toMatchObject({ exit: 8, error: { code: 'journal.no_log' } });
    expect(existsSync(join(parent, 'elsewhere/palyra.db'))).toBe(false);
  });
});

describe('what entries name', () => {
  const input = () => calls[0]?.input as string;

  test('is shown with the entries, and printed', () => {
    expect(palyra(['journal', 'show']).out).not.toContain(input());
    const long = palyra(['journal', 'show', '--long', '--kind', 'proposal', '--limit', '1']).out.split('\n');
    expect(long[2]).toMatch(/^ {2}\{"call_id":/);
    expect(long[2]).toContain(`"input":"${input()}"`);

    expect(palyra(['journal', 'body', input()])).toEqual({ exit: 0, out: 'first', err: '' });
    expect(json(['journal', 'body', input()])).toMatchObject({
      exit: 0,
      bytes: 5,
      total_bytes: 5,
      body: Buffer.from('first').toString('base64'),
    });
    expect(json(['journal', 'body', input(), '--out', 'body'])).toMatchObject({ exit: 0, bytes: 5 });
    expect(readFileSync(join(parent, 'body'), 'utf8')).toBe('first');
    expect(json(['journal', 'body', 'a'.repeat(64)])).toMatchObject({ exit: 8, error: { code: 'journal.not_found' } });
  });

  test('is a policy snapshot, which is the one with its digest', () => {
    const [entry] = json(['journal', 'show', '--kind', 'decision', '--limit', '1'])['entries'] as {
      data: { policy_snapshot: string };
    }[];
    const digest = entry?.data.policy_snapshot as string;
    expect(json(['journal', 'snapshot', digest])).toMatchObject({ exit: 0, preset: 'coding' });
    expect(palyra(['journal', 'snapshot', digest]).out).toContain('  "preset": "coding",\n');
    expect(json(['journal', 'snapshot', 'a'.repeat(64)])).toMatchObject({ exit: 8 });
    tamper("update journal_snapshots set text = replace(text, 'coding', 'locked')");
    expect(json(['journal', 'snapshot', digest])).toMatchObject({ error: { code: 'journal.invalid_snapshot' } });
  });
});

describe('verify', () => {
  test('a database that is damaged is broken, and is kept', () => {
    for (const name of ['palyra.db-wal', 'palyra.db-shm']) rmSync(join(home, name), { force: true });
    writeFileSync(join(home, 'palyra.db'), 'this was a database once\n'.repeat(400), { mode: 0o600 });
    const { exit, out } = palyra(['verify']);
    expect([exit, out.split('\n')]).toEqual([
      7,
      [
        expect.stringMatching(/^BROKEN: The database is damaged\./),
        expect.stringContaining('finding not_a_log'),
        expect.stringContaining('it is evidence'),
        '',
      ],
    ]);
    expect(json(['verify'])).toMatchObject({ exit: 7, verdict: 'broken', finding: { code: 'not_a_log' } });
  });

  test('what was given and cannot be used is said', async () => {
    const old = put('old', palyra(['journal', 'checkpoint']).out);
    await record('third');
    put('bundle', palyra(['journal', 'bundle', calls[0]?.call as string]).out);
    palyra(['journal', 'export', '--kind', 'outcome', '--out', 'part']);
    for (const file of ['bundle', 'part']) {
      expect(json(['verify', file, '--state', 's'])).toMatchObject({ exit: 2, error: { code: 'cli.invalid_usage' } });
      const { exit, remarks } = json(['verify', file, '--checkpoint', old]);
      expect([exit, remarks]).toEqual([0, expect.arrayContaining([expect.stringContaining('was not compared')])]);
      const head = put('head', palyra(['journal', 'checkpoint']).out);
      expect(palyra(['verify', file, '--checkpoint', head]).out).not.toContain('was not compared');
    }
    expect(existsSync(join(parent, 's'))).toBe(false);
  });

  test('a home, with the key and without', () => {
    const alone = palyra(['verify']);
    expect([alone.exit, alone.err]).toEqual([0, '']);
    expect(alone.out).toMatch(/^sound: home /);
    expect(alone.out).toContain('signed by a key you did not pin');
    expect(json(['verify', 'home', '--key', ROOT_KEY])).toMatchObject({
      exit: 0,
      verdict: 'sound',
      target: 'home',
      established: { level: 'signed' },
      entries: 13,
      attestations: 2,
    });
  });

  test('what was edited, cut off or taken away is named', () => {
    const checkpoint = put('head', palyra(['journal', 'checkpoint']).out);
    copyHome(home, join(parent, 'copy'));
    tamper("update journal_entries set actor = 'agent:other' where seq = 6");
    const edited = palyra(['verify']);
    expect([edited.exit, edited.out.split('\n')[0]]).toEqual([7, expect.stringMatching(/^BROKEN at entry 6: /)]);
    expect(json(['verify'])).toMatchObject({ exit: 7, verdict: 'broken', finding: { code: 'entry_edited', seq: 6 } });

    expect(json(['verify', 'copy', '--checkpoint', checkpoint])).toMatchObject({ exit: 0 });
    rmSync(home, { recursive: true });
    copyHome(join(parent, 'copy'), home);
    tamper('delete from journal_checkpoints where size > 8; delete from journal_entries where seq >= 8');
    expect(json(['verify', '--checkpoint', checkpoint])).toMatchObject({ exit: 7, verdict: 'broken' });

    rmSync(join(home, 'palyra.db'));
    expect(json(['verify'])).toMatchObject({ exit: 7, finding: { code: 'truncated' } });
    expect(json(['verify', 'nowhere'])).toMatchObject({ exit: 8, error: { code: 'cli.file_missing' } });
  });

  test('goes on from its last state, and notices an older copy', async () => {
    copyHome(home, join(parent, 'copy'));
    expect(json(['verify', '--state', 'state'])).toMatchObject({ exit: 0, entries: 13 });
    await record('third');
    expect(json(['verify', '--state', 'state'])).toMatchObject({ exit: 0, entries: 5, size: 18 });
    const kept = readFileSync(join(parent, 'state'), 'utf8');
    expect(json(['verify', 'copy', '--state', 'state'])).toMatchObject({ exit: 7, finding: { code: 'truncated' } });
    expect(readFileSync(join(parent, 'state'), 'utf8')).toBe(kept);
    put('state', '{}');
    expect(json(['verify', '--state', 'state'])).toMatchObject({ exit: 2, error: { code: 'cli.invalid_option' } });
  });

  test('another key, no key, no file and no witness are told apart', () => {
    put('key', readFileSync(join(parent, ROOT_KEY), 'utf8'));
    palyra(['--home', 'elsewhere', 'journal', 'cosign', '--store', 'w', put('request', request())]);
    expect(json(['verify', '--key', 'w/witness.pub'])).toMatchObject({ exit: 7, finding: { code: 'root_differs' } });
    expect(json(['verify', '--key', 'x'])).toMatchObject({ exit: 2, error: { code: 'journal.invalid_key' } });
    expect(json(['verify', '--witness', 'key'])).toMatchObject({ exit: 2, error: { code: 'cli.invalid_option' } });
    expect(json(['verify', '--require-witness'])).toMatchObject({ exit: 2, error: { code: 'cli.invalid_usage' } });
    expect(json(['verify', put('junk', 'x')])).toMatchObject({ exit: 2, error: { code: 'journal.invalid_export' } });
    const strict = ['verify', '--key', 'key', '--witness', 'w/witness.pub', '--require-witness'];
    expect(json(strict)).toMatchObject({ exit: 3, verdict: 'sound', established: { level: 'signed' } });
    expect(palyra(strict).out).toMatch(/^NOT WITNESSED: /);
  });
});

describe('export and bundle', () => {
  test('an export verifies, whole and in part, from a file and from a pipe', () => {
    const { exit, out } = palyra(['journal', 'export', '--bodies']);
    expect(exit).toBe(0);
    expect(json(['verify', '-', '--key', ROOT_KEY], { input: out })).toMatchObject({
      exit: 0,
      target: 'export',
      established: { level: 'signed' },
      entries: 13,
      bodies: { left_out: 0 },
    });
    const lines = out.split('\n');
    expect(json(['verify', '-'], { input: lines.toSpliced(5, 1).join('\n') })).toMatchObject({ exit: 7 });
    expect(json(['verify', '-'], { input: lines.slice(0, 8).join('\n') })).toMatchObject({ exit: 7 });

    const run = calls[0]?.run as string;
    expect(json(['journal', 'export', '--run', run.slice(-6), '--out', 'part'])).toMatchObject({ exit: 0 });
    expect(statSync(join(parent, 'part')).mode & 0o777).toBe(0o600);
    expect(json(['verify', 'part'])).toMatchObject({ exit: 0, of: 'selection', entries: 5 });
    expect(json(['journal', 'export', '--out', 'part'])).toMatchObject({ exit: 7, error: { code: 'cli.file_exists' } });
  });

  test('a bundle verifies alone, and not when it was touched', () => {
    const call = calls[1]?.call as string;
    const { exit, out } = palyra(['journal', 'bundle', call.slice(-6), '--bodies']);
    expect(exit).toBe(0);
    expect(json(['verify', put('bundle', out), '--key', ROOT_KEY])).toMatchObject({
      exit: 0,
      target: 'bundle',
      established: { level: 'signed' },
      input: 'checked',
      attestation: { call_id: call },
    });
    const bundle = JSON.parse(out) as { input: { body: string } };
    bundle.input.body = Buffer.from('other').toString('base64');
    expect(json(['verify', put('touched', JSON.stringify(bundle))])).toMatchObject({
      exit: 7,
      finding: { code: 'body_swapped' },
    });
    expect(json(['journal', 'bundle', 'ZZZZZZ'])).toMatchObject({ exit: 8 });
  });
});

function request(...options: readonly string[]): string {
  return palyra(['journal', 'checkpoint', '--request', ...options]).out;
}

describe('a witness', () => {
  const cosign = (...args: readonly string[]) =>
    palyra(['--home', 'elsewhere', 'journal', 'cosign', '--store', 'w', '--key', ROOT_KEY, ...args]);
  const strict = ['verify', '--key', ROOT_KEY, '--witness', 'w/witness.pub', '--require-witness'];

  test('elsewhere cosigns, the log takes it up, and verify requires it', async () => {
    const answer = cosign(put('request', request()), '--name', 'phone');
    expect(answer).toMatchObject({ exit: 0, err: expect.stringMatching(/^warning: A new witness: phone\+/) });
    expect(json(['journal', 'cosigned', put('answer', answer.out)])).toMatchObject({
      exit: 0,
      recorded: true,
      witness: 'phone',
      size: 13,
    });
    expect(json(strict)).toMatchObject({
      exit: 0,
      established: { level: 'witnessed', witness: 'phone', size: 13, time: expect.any(Number) },
    });
    const bundle = palyra(['journal', 'bundle', calls[0]?.call as string]).out;
    expect(json([...strict, put('bundle', bundle)])).toMatchObject({ exit: 0, established: { level: 'witnessed' } });

    await record('third');
    expect(cosign(put('request', request()))).toMatchObject({ exit: 7, out: expect.stringContaining('--since 13') });
    expect(cosign(put('request', request('--since', '13')))).toMatchObject({ exit: 0, err: '' });
  });

  test('does not live in the home of the log', () => {
    const args = ['journal', 'cosign', put('request', request()), '--store', 'w'];
    expect(json(args)).toMatchObject({ exit: 7, error: { code: 'journal.own_log' } });
  });

  test('notices the older copy that the log itself cannot, and recover is the honest way on', async () => {
    copyHome(home, join(parent, 'copy'));
    await record('third');
    const { out } = cosign(put('request', request()));
    rmSync(home, { recursive: true });
    copyHome(join(parent, 'copy'), home);

    expect(json(['verify', '--key', ROOT_KEY])).toMatchObject({ exit: 0 });
    expect(json(['verify', '--key', ROOT_KEY, '--checkpoint', put('seen', out)])).toMatchObject({
      exit: 7,
      finding: { code: 'truncated' },
    });
    expect(cosign(put('request', request()))).toMatchObject({
      exit: 7,
      err: expect.stringContaining('journal.not_consistent'),
    });

    const before = json(['verify']);
    expect(json(['journal', 'recover'])).toMatchObject({ exit: 9, error: { code: 'cli.not_confirmed' } });
    const recovered = json(['journal', 'recover', '--yes']);
    expect(recovered).toMatchObject({ exit: 0, previous: before['origin'] });
    await record('after');
    expect(json(['verify', '--key', ROOT_KEY])).toMatchObject({
      exit: 0,
      origin: recovered['origin'],
      earlier_logs: [{ origin: before['origin'], size: 13, root: before['root'] }],
    });
    expect(cosign(put('request', request()))).toMatchObject({ exit: 0 });
  });

  test('recover begins anew where the database is lost, and nowhere else', () => {
    expect(json(['--home', 'elsewhere', 'journal', 'recover', '--yes'])).toMatchObject({
      exit: 8,
      error: { code: 'journal.no_log' },
    });
    rmSync(join(home, 'palyra.db'));
    expect(json(['journal', 'show'])).toMatchObject({ exit: 8, error: { code: 'journal.no_log' } });
    expect(json(['journal', 'recover', '--yes'])).toMatchObject({ exit: 0, previous: null });
    expect(json(['verify', '--key', ROOT_KEY])).toMatchObject({ exit: 0, size: 3 });
  });
});

describe('recover', () => {
  const rootKey = () => join(home, 'identity/journal-root.key');
  const published = () => readFileSync(join(parent, ROOT_KEY), 'utf8').trim();

  test.each(['with the database', 'without the database'])('makes no root key in silence, %s', (which) => {
    const pinned = published();
    rmSync(rootKey());
    if (which === 'without the database') rmSync(join(home, 'palyra.db'));
    const refused = json(['journal', 'recover', '--yes']);
    expect(refused).toMatchObject({ exit: 7, error: { code: 'journal.key_missing' } });
    expect([existsSync(rootKey()), published()]).toEqual([false, pinned]);

    const recovered = palyra(['journal', 'recover', '--yes', '--new-root-key']);
    expect(published()).not.toBe(pinned);
    expect(recovered).toMatchObject({ exit: 0, out: expect.stringContaining(published()) });
    expect(recovered.out).toContain('Everybody who pinned the old root key must pin this one');
    expect(json(['verify', '--key', ROOT_KEY])).toMatchObject({ exit: 0, established: { level: 'signed' } });
    expect(json(['verify', '--key', pinned])).toMatchObject({ exit: 7, finding: { code: 'root_differs' } });
  });

  test("does not take another root key for the log's own", () => {
    rmSync(rootKey());
    cpSync(join(home, 'identity/journal-checkpoint.key'), rootKey());
    expect(json(['journal', 'recover', '--yes'])).toMatchObject({ exit: 7, error: { code: 'journal.key_missing' } });
  });

  test('leaves the old log within reach', async () => {
    const { origin: old } = json(['verify']) as { origin: string };
    const { origin } = json(['journal', 'recover', '--yes']) as { origin: string };
    await record('after');
    expect(json(['journal', 'logs'])).toMatchObject({
      logs: [
        { origin: old, size: 13, pruned: 0 },
        { origin, size: 8, pruned: 0, root_key: readFileSync(join(parent, ROOT_KEY), 'utf8').trim() },
      ],
    });
    expect(palyra(['journal', 'logs']).out.split('\n').slice(1)).toEqual([
      expect.stringMatching(/ 13 +ended$/),
      expect.stringMatching(/ 8 +in use$/),
      '',
    ]);
    const end = old.slice(-6).toLowerCase();
    expect(json(['journal', 'show', '--log', end])).toMatchObject({ exit: 0, origin: old, size: 13 });
    expect(json(['journal', 'show', calls[0]?.run as string, '--log', old])['entries']).toHaveLength(5);
    expect(json(['journal', 'show', '--log', 'ZZZZZZ'])).toMatchObject({ exit: 8 });
    expect(json(['journal', 'show', '--log', 'Z'])).toMatchObject({ exit: 2 });
    palyra(['journal', 'export', '--log', end, '--out', 'whole']);
    palyra(['journal', 'export', '--log', end, '--kind', 'outcome', '--out', 'part']);
    expect(json(['verify', 'whole'])).toMatchObject({ exit: 0, origin: old, entries: 13 });
    expect(json(['verify', 'part'])).toMatchObject({ exit: 0, origin: old, entries: 2 });
    put('bundle', palyra(['journal', 'bundle', calls[0]?.call as string]).out);
    expect(json(['verify', 'bundle'])).toMatchObject({ exit: 0, origin: old });
  });
});

describe('keeping', () => {
  test('a body is erased for good, and the log still verifies', () => {
    const body = calls[0]?.input as string;
    expect(json(['journal', 'erase', body])).toMatchObject({ exit: 9 });
    expect(json(['journal', 'erase', body, '--yes'])).toMatchObject({ exit: 0, erased: body });
    expect(json(['journal', 'erase', body, '--yes'])).toMatchObject({
      exit: 7,
      error: { code: 'journal.body_erased' },
    });
    expect(json(['verify'])).toMatchObject({ exit: 0, bodies: { erased: 1 } });
  });

  test('what is archived and pruned is in files that verify, and the log verifies on', async () => {
    const { archived } = json(['journal', 'archive', 'archive', '--now']) as unknown as {
      archived: { path: string }[];
    };
    expect(archived).toMatchObject([{ first: 0, next: 13 }]);
    expect(json(['verify', archived[0]?.path as string, '--key', ROOT_KEY])).toMatchObject({ exit: 0, entries: 13 });
    await record('third');
    expect(json(['journal', 'archive', 'archive', '--now', '--prune-older-than', '0'])).toMatchObject({ exit: 0 });
    expect(json(['verify', '--key', ROOT_KEY])).toMatchObject({ exit: 0, established: { level: 'signed' } });
    expect(json(['journal', 'show', '--limit', '1'])).not.toMatchObject({ entries: [{ seq: 0 }] });
  });

  test('keys are rotated, and what they signed before still counts', async () => {
    for (const role of ['checkpoint', 'attestation']) {
      expect(json(['journal', 'rotate-key', role])).toMatchObject({ exit: 0, rotated: role });
    }
    await record('third');
    expect(json(['verify', '--key', ROOT_KEY])).toMatchObject({ exit: 0, attestations: 3 });
    expect(json(['journal', 'rotate-key', 'root'])).toMatchObject({ exit: 2 });
  });
});
