import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { runInProcess } from './cli-in-process.ts';
import { copyHome, type RecordedCall, recordCall, withJournal } from './journal-home.ts';

const MAIN = fileURLToPath(new URL('../../apps/cli/src/main.ts', import.meta.url));

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

const palyra = (args: readonly string[], { input = '' }: { readonly input?: string } = {}) =>
  runInProcess({ args, input, cwd: parent, variables: { NO_COLOR: '1', PALYRA_HOME: home } });

async function json(args: readonly string[], options?: { readonly input: string }): Promise<Record<string, unknown>> {
  const { exit, out, err } = await palyra([...args, '--json'], options);
  return { exit, ...(JSON.parse(out === '' ? err : out) as Record<string, unknown>) };
}

function put(name: string, text: string): string {
  writeFileSync(join(parent, name), text);
  return name;
}

function tamper(sql: string): void {
  const database = new DatabaseSync(join(home, 'palyra.db'), { timeout: 5_000 });
  database.exec(sql);
  database.close();
}

const ROOT_KEY = 'home/identity/journal-root.pub';

test('a process of its own ends with the code and the words of the answer', () => {
  const start = (...args: readonly string[]) =>
    spawnSync(process.execPath, ['--conditions=palyra-source', MAIN, ...args], {
      cwd: parent,
      env: { NO_COLOR: '1', PALYRA_HOME: home },
      encoding: 'utf8',
    });
  expect(start('verify', '--json')).toMatchObject({
    status: 0,
    stdout: expect.stringContaining('"verdict":"sound"'),
    stderr: '',
  });
  tamper("UPDATE journal_entries SET data = data || ' ' WHERE seq = 6");
  expect(start('verify')).toMatchObject({ status: 7, stdout: expect.stringContaining('entry 6') });
});

describe('journal show', () => {
  test('one line for each entry, filtered and paged', async () => {
    const { exit, out, err } = await palyra(['journal', 'show']);
    expect([exit, err, out.split('\n')[0]]).toEqual([
      0,
      '',
      expect.stringMatching(/^TIME +SEQ +KIND +ACTOR +TOOL +OUTCOME +RUN +CALL$/),
    ]);
    expect(out.split('\n')).toHaveLength(1 + 3 + 2 * 5 + 1);

    const filter = ['--kind', 'outcome', '--kind', 'decision', '--tool', 'palyra.echo', '--since', '1d'];
    const page = await json(['journal', 'show', ...filter, '--newest', '--limit', '3']);
    expect(page).toMatchObject({ exit: 0, next: expect.any(Number) });
    const rest = await json(['journal', 'show', ...filter, '--newest', '--cursor', String(page['next'])]);
    const kinds = [page, rest].flatMap((shown) => shown['entries'] as { kind: string }[]).map(({ kind }) => kind);
    expect(kinds).toEqual(['outcome', 'decision', 'outcome', 'decision']);
  });

  test('a run by the end of its id', async () => {
    const run = calls[1]?.run as string;
    expect((await json(['journal', 'show', run.slice(-8).toLowerCase()]))['entries']).toHaveLength(5);
    expect(await json(['journal', 'show', 'ZZZZZZ'])).toMatchObject({ exit: 8, error: { code: 'journal.not_found' } });
    expect(await json(['journal', 'show', 'ZZ'])).toMatchObject({ exit: 2, error: { code: 'journal.invalid_query' } });
    expect(await json(['journal', 'show', '--kind', 'x'])).toMatchObject({
      exit: 2,
      error: { code: 'journal.invalid_query' },
    });
    expect(await json(['journal', 'show', '--since', 'x'])).toMatchObject({
      exit: 2,
      error: { code: 'cli.invalid_option' },
    });
  });

  test('a home without a journal has nothing to show, and verify says so', async () => {
    const elsewhere = ['--home', 'elsewhere'];
    expect(await json([...elsewhere, 'journal', 'show'])).toMatchObject({ exit: 8, error: { code: 'journal.no_log' } });
    expect(await json([...elsewhere, 'verify'])).toMatchObject({ exit: 8, error: { code: 'journal.no_log' } });
    expect(existsSync(join(parent, 'elsewhere/palyra.db'))).toBe(false);
  });
});

describe('what entries name', () => {
  const input = () => calls[0]?.input as string;

  test('is shown with the entries, and printed', async () => {
    expect((await palyra(['journal', 'show'])).out).not.toContain(input());
    const long = (await palyra(['journal', 'show', '--long', '--kind', 'proposal', '--limit', '1'])).out.split('\n');
    expect(long[2]).toMatch(/^ {2}\{"call_id":/);
    expect(long[2]).toContain(`"input":"${input()}"`);

    expect(await palyra(['journal', 'body', input()])).toEqual({ exit: 0, out: 'first', err: '' });
    expect(await json(['journal', 'body', input()])).toMatchObject({
      exit: 0,
      bytes: 5,
      total_bytes: 5,
      body: Buffer.from('first').toString('base64'),
    });
    expect(await json(['journal', 'body', input(), '--out', 'body'])).toMatchObject({ exit: 0, bytes: 5 });
    expect(readFileSync(join(parent, 'body'), 'utf8')).toBe('first');
    expect(await json(['journal', 'body', 'a'.repeat(64)])).toMatchObject({
      exit: 8,
      error: { code: 'journal.not_found' },
    });
  });

  test('is a policy snapshot, which is the one with its digest', async () => {
    const [entry] = (await json(['journal', 'show', '--kind', 'decision', '--limit', '1']))['entries'] as {
      data: { policy_snapshot: string };
    }[];
    const digest = entry?.data.policy_snapshot as string;
    expect(await json(['journal', 'snapshot', digest])).toMatchObject({ exit: 0, preset: 'coding' });
    expect((await palyra(['journal', 'snapshot', digest])).out).toContain('  "preset": "coding",\n');
    expect(await json(['journal', 'snapshot', 'a'.repeat(64)])).toMatchObject({ exit: 8 });
    tamper("update journal_snapshots set text = replace(text, 'coding', 'locked')");
    expect(await json(['journal', 'snapshot', digest])).toMatchObject({ error: { code: 'journal.invalid_snapshot' } });
  });
});

describe('verify', () => {
  test('a database that is damaged is broken, and is kept', async () => {
    for (const name of ['palyra.db-wal', 'palyra.db-shm']) rmSync(join(home, name), { force: true });
    writeFileSync(join(home, 'palyra.db'), 'this was a database once\n'.repeat(400), { mode: 0o600 });
    const { exit, out } = await palyra(['verify']);
    expect([exit, out.split('\n')]).toEqual([
      7,
      [
        expect.stringMatching(/^BROKEN: The database is damaged\./),
        expect.stringContaining('finding not_a_log'),
        expect.stringContaining('it is evidence'),
        '',
      ],
    ]);
    expect(await json(['verify'])).toMatchObject({ exit: 7, verdict: 'broken', finding: { code: 'not_a_log' } });
  });

  test('what was given and cannot be used is said', async () => {
    const old = put('old', (await palyra(['journal', 'checkpoint'])).out);
    await record('third');
    put('bundle', (await palyra(['journal', 'bundle', calls[0]?.call as string])).out);
    await palyra(['journal', 'export', '--kind', 'outcome', '--out', 'part']);
    for (const file of ['bundle', 'part']) {
      expect(await json(['verify', file, '--state', 's'])).toMatchObject({
        exit: 2,
        error: { code: 'cli.invalid_usage' },
      });
      const { exit, remarks } = await json(['verify', file, '--checkpoint', old]);
      expect([exit, remarks]).toEqual([0, expect.arrayContaining([expect.stringContaining('was not compared')])]);
      const head = put('head', (await palyra(['journal', 'checkpoint'])).out);
      expect((await palyra(['verify', file, '--checkpoint', head])).out).not.toContain('was not compared');
    }
    expect(existsSync(join(parent, 's'))).toBe(false);
  });

  test('a home, with the key and without', async () => {
    const alone = await palyra(['verify']);
    expect([alone.exit, alone.err]).toEqual([0, '']);
    expect(alone.out).toMatch(/^sound: home /);
    expect(alone.out).toContain('signed by a key you did not pin');
    expect(await json(['verify', 'home', '--key', ROOT_KEY])).toMatchObject({
      exit: 0,
      verdict: 'sound',
      target: 'home',
      established: { level: 'signed' },
      entries: 13,
      attestations: 2,
    });
  });

  test('what was edited, cut off or taken away is named', async () => {
    const checkpoint = put('head', (await palyra(['journal', 'checkpoint'])).out);
    copyHome(home, join(parent, 'copy'));
    tamper("update journal_entries set actor = 'agent:other' where seq = 6");
    const edited = await palyra(['verify']);
    expect([edited.exit, edited.out.split('\n')[0]]).toEqual([7, expect.stringMatching(/^BROKEN at entry 6: /)]);
    expect(await json(['verify'])).toMatchObject({
      exit: 7,
      verdict: 'broken',
      finding: { code: 'entry_edited', seq: 6 },
    });

    expect(await json(['verify', 'copy', '--checkpoint', checkpoint])).toMatchObject({ exit: 0 });
    rmSync(home, { recursive: true });
    copyHome(join(parent, 'copy'), home);
    tamper('delete from journal_checkpoints where size > 8; delete from journal_entries where seq >= 8');
    expect(await json(['verify', '--checkpoint', checkpoint])).toMatchObject({ exit: 7, verdict: 'broken' });

    rmSync(join(home, 'palyra.db'));
    expect(await json(['verify'])).toMatchObject({ exit: 7, finding: { code: 'truncated' } });
    expect(await json(['verify', 'nowhere'])).toMatchObject({ exit: 8, error: { code: 'cli.file_missing' } });
  });

  test('goes on from its last state, and notices an older copy', async () => {
    copyHome(home, join(parent, 'copy'));
    expect(await json(['verify', '--state', 'state'])).toMatchObject({ exit: 0, entries: 13 });
    await record('third');
    expect(await json(['verify', '--state', 'state'])).toMatchObject({ exit: 0, entries: 5, size: 18 });
    const kept = readFileSync(join(parent, 'state'), 'utf8');
    expect(await json(['verify', 'copy', '--state', 'state'])).toMatchObject({
      exit: 7,
      finding: { code: 'truncated' },
    });
    expect(readFileSync(join(parent, 'state'), 'utf8')).toBe(kept);
    put('state', '{}');
    expect(await json(['verify', '--state', 'state'])).toMatchObject({
      exit: 2,
      error: { code: 'cli.invalid_option' },
    });
  });

  test('another key, no key, no file and no witness are told apart', async () => {
    put('key', readFileSync(join(parent, ROOT_KEY), 'utf8'));
    await palyra(['--home', 'elsewhere', 'journal', 'cosign', '--store', 'w', put('request', await request())]);
    expect(await json(['verify', '--key', 'w/witness.pub'])).toMatchObject({
      exit: 7,
      finding: { code: 'root_differs' },
    });
    expect(await json(['verify', '--key', 'x'])).toMatchObject({ exit: 2, error: { code: 'journal.invalid_key' } });
    expect(await json(['verify', '--witness', 'key'])).toMatchObject({
      exit: 2,
      error: { code: 'cli.invalid_option' },
    });
    expect(await json(['verify', '--require-witness'])).toMatchObject({
      exit: 2,
      error: { code: 'cli.invalid_usage' },
    });
    expect(await json(['verify', put('junk', 'x')])).toMatchObject({
      exit: 2,
      error: { code: 'journal.invalid_export' },
    });
    const strict = ['verify', '--key', 'key', '--witness', 'w/witness.pub', '--require-witness'];
    expect(await json(strict)).toMatchObject({ exit: 3, verdict: 'sound', established: { level: 'signed' } });
    expect((await palyra(strict)).out).toMatch(/^NOT WITNESSED: /);
  });
});

describe('export and bundle', () => {
  test('an export verifies, whole and in part, from a file and from a pipe', async () => {
    const { exit, out } = await palyra(['journal', 'export', '--bodies']);
    expect(exit).toBe(0);
    expect(await json(['verify', '-', '--key', ROOT_KEY], { input: out })).toMatchObject({
      exit: 0,
      target: 'export',
      established: { level: 'signed' },
      entries: 13,
      bodies: { left_out: 0 },
    });
    const lines = out.split('\n');
    expect(await json(['verify', '-'], { input: lines.toSpliced(5, 1).join('\n') })).toMatchObject({ exit: 7 });
    expect(await json(['verify', '-'], { input: lines.slice(0, 8).join('\n') })).toMatchObject({ exit: 7 });

    const run = calls[0]?.run as string;
    expect(await json(['journal', 'export', '--run', run.slice(-6), '--out', 'part'])).toMatchObject({ exit: 0 });
    expect(statSync(join(parent, 'part')).mode & 0o777).toBe(0o600);
    expect(await json(['verify', 'part'])).toMatchObject({ exit: 0, of: 'selection', entries: 5 });
    expect(await json(['journal', 'export', '--out', 'part'])).toMatchObject({
      exit: 7,
      error: { code: 'cli.file_exists' },
    });
  });

  test('a bundle verifies alone, and not when it was touched', async () => {
    const call = calls[1]?.call as string;
    const { exit, out } = await palyra(['journal', 'bundle', call.slice(-6), '--bodies']);
    expect(exit).toBe(0);
    expect(await json(['verify', put('bundle', out), '--key', ROOT_KEY])).toMatchObject({
      exit: 0,
      target: 'bundle',
      established: { level: 'signed' },
      input: 'checked',
      attestation: { call_id: call },
    });
    const bundle = JSON.parse(out) as { input: { body: string } };
    bundle.input.body = Buffer.from('other').toString('base64');
    expect(await json(['verify', put('touched', JSON.stringify(bundle))])).toMatchObject({
      exit: 7,
      finding: { code: 'body_swapped' },
    });
    expect(await json(['journal', 'bundle', 'ZZZZZZ'])).toMatchObject({ exit: 8 });
  });
});

async function request(...options: readonly string[]): Promise<string> {
  return (await palyra(['journal', 'checkpoint', '--request', ...options])).out;
}

describe('a witness', () => {
  const cosign = (...args: readonly string[]) =>
    palyra(['--home', 'elsewhere', 'journal', 'cosign', '--store', 'w', '--key', ROOT_KEY, ...args]);
  const strict = ['verify', '--key', ROOT_KEY, '--witness', 'w/witness.pub', '--require-witness'];

  test('elsewhere cosigns, the log takes it up, and verify requires it', async () => {
    const answer = await cosign(put('request', await request()), '--name', 'phone');
    expect(answer).toMatchObject({ exit: 0, err: expect.stringMatching(/^warning: A new witness: phone\+/) });
    expect(await json(['journal', 'cosigned', put('answer', answer.out)])).toMatchObject({
      exit: 0,
      recorded: true,
      witness: 'phone',
      size: 13,
    });
    expect(await json(strict)).toMatchObject({
      exit: 0,
      established: { level: 'witnessed', witness: 'phone', size: 13, time: expect.any(Number) },
    });
    const bundle = (await palyra(['journal', 'bundle', calls[0]?.call as string])).out;
    expect(await json([...strict, put('bundle', bundle)])).toMatchObject({
      exit: 0,
      established: { level: 'witnessed' },
    });

    await record('third');
    expect(await cosign(put('request', await request()))).toMatchObject({
      exit: 7,
      out: expect.stringContaining('--since 13'),
    });
    expect(await cosign(put('request', await request('--since', '13')))).toMatchObject({ exit: 0, err: '' });
  });

  test('does not live in the home of the log', async () => {
    const args = ['journal', 'cosign', put('request', await request()), '--store', 'w'];
    expect(await json(args)).toMatchObject({ exit: 7, error: { code: 'journal.own_log' } });
  });

  test('notices the older copy that the log itself cannot, and recover is the honest way on', async () => {
    copyHome(home, join(parent, 'copy'));
    await record('third');
    const { out } = await cosign(put('request', await request()));
    rmSync(home, { recursive: true });
    copyHome(join(parent, 'copy'), home);

    expect(await json(['verify', '--key', ROOT_KEY])).toMatchObject({ exit: 0 });
    expect(await json(['verify', '--key', ROOT_KEY, '--checkpoint', put('seen', out)])).toMatchObject({
      exit: 7,
      finding: { code: 'truncated' },
    });
    expect(await cosign(put('request', await request()))).toMatchObject({
      exit: 7,
      err: expect.stringContaining('journal.not_consistent'),
    });

    const before = await json(['verify']);
    expect(await json(['journal', 'recover'])).toMatchObject({ exit: 9, error: { code: 'cli.not_confirmed' } });
    const recovered = await json(['journal', 'recover', '--yes']);
    expect(recovered).toMatchObject({ exit: 0, previous: before['origin'] });
    await record('after');
    expect(await json(['verify', '--key', ROOT_KEY])).toMatchObject({
      exit: 0,
      origin: recovered['origin'],
      earlier_logs: [{ origin: before['origin'], size: 13, root: before['root'] }],
    });
    expect(await cosign(put('request', await request()))).toMatchObject({ exit: 0 });
  });

  test('recover begins anew where the database is lost, and nowhere else', async () => {
    expect(await json(['--home', 'elsewhere', 'journal', 'recover', '--yes'])).toMatchObject({
      exit: 8,
      error: { code: 'journal.no_log' },
    });
    rmSync(join(home, 'palyra.db'));
    expect(await json(['journal', 'show'])).toMatchObject({ exit: 8, error: { code: 'journal.no_log' } });
    expect(await json(['journal', 'recover', '--yes'])).toMatchObject({ exit: 0, previous: null });
    expect(await json(['verify', '--key', ROOT_KEY])).toMatchObject({ exit: 0, size: 3 });
  });
});

describe('recover', () => {
  const rootKey = () => join(home, 'identity/journal-root.key');
  const published = () => readFileSync(join(parent, ROOT_KEY), 'utf8').trim();

  test.each(['with the database', 'without the database'])('makes no root key in silence, %s', async (which) => {
    const pinned = published();
    rmSync(rootKey());
    if (which === 'without the database') rmSync(join(home, 'palyra.db'));
    const refused = await json(['journal', 'recover', '--yes']);
    expect(refused).toMatchObject({ exit: 7, error: { code: 'journal.key_missing' } });
    expect([existsSync(rootKey()), published()]).toEqual([false, pinned]);

    const recovered = await palyra(['journal', 'recover', '--yes', '--new-root-key']);
    expect(published()).not.toBe(pinned);
    expect(recovered).toMatchObject({ exit: 0, out: expect.stringContaining(published()) });
    expect(recovered.out).toContain('Everybody who pinned the old root key must pin this one');
    expect(await json(['verify', '--key', ROOT_KEY])).toMatchObject({ exit: 0, established: { level: 'signed' } });
    expect(await json(['verify', '--key', pinned])).toMatchObject({ exit: 7, finding: { code: 'root_differs' } });
  });

  test("does not take another root key for the log's own", async () => {
    rmSync(rootKey());
    cpSync(join(home, 'identity/journal-checkpoint.key'), rootKey());
    expect(await json(['journal', 'recover', '--yes'])).toMatchObject({
      exit: 7,
      error: { code: 'journal.key_missing' },
    });
  });

  test('leaves the old log within reach', async () => {
    const { origin: old } = (await json(['verify'])) as { origin: string };
    const { origin } = (await json(['journal', 'recover', '--yes'])) as { origin: string };
    await record('after');
    expect(await json(['journal', 'logs'])).toMatchObject({
      logs: [
        { origin: old, size: 13, pruned: 0 },
        { origin, size: 8, pruned: 0, root_key: readFileSync(join(parent, ROOT_KEY), 'utf8').trim() },
      ],
    });
    expect((await palyra(['journal', 'logs'])).out.split('\n').slice(1)).toEqual([
      expect.stringMatching(/ 13 +ended$/),
      expect.stringMatching(/ 8 +in use$/),
      '',
    ]);
    const end = old.slice(-6).toLowerCase();
    expect(await json(['journal', 'show', '--log', end])).toMatchObject({ exit: 0, origin: old, size: 13 });
    expect((await json(['journal', 'show', calls[0]?.run as string, '--log', old]))['entries']).toHaveLength(5);
    expect(await json(['journal', 'show', '--log', 'ZZZZZZ'])).toMatchObject({ exit: 8 });
    expect(await json(['journal', 'show', '--log', 'Z'])).toMatchObject({ exit: 2 });
    await palyra(['journal', 'export', '--log', end, '--out', 'whole']);
    await palyra(['journal', 'export', '--log', end, '--kind', 'outcome', '--out', 'part']);
    expect(await json(['verify', 'whole'])).toMatchObject({ exit: 0, origin: old, entries: 13 });
    expect(await json(['verify', 'part'])).toMatchObject({ exit: 0, origin: old, entries: 2 });
    put('bundle', (await palyra(['journal', 'bundle', calls[0]?.call as string])).out);
    expect(await json(['verify', 'bundle'])).toMatchObject({ exit: 0, origin: old });
  });
});

describe('keeping', () => {
  test('a body is erased for good, and the log still verifies', async () => {
    const body = calls[0]?.input as string;
    expect(await json(['journal', 'erase', body])).toMatchObject({ exit: 9 });
    expect(await json(['journal', 'erase', body, '--yes'])).toMatchObject({ exit: 0, erased: body });
    expect(await json(['journal', 'erase', body, '--yes'])).toMatchObject({
      exit: 7,
      error: { code: 'journal.body_erased' },
    });
    expect(await json(['verify'])).toMatchObject({ exit: 0, bodies: { erased: 1 } });
  });

  test('what is archived and pruned is in files that verify, and the log verifies on', async () => {
    const { archived } = (await json(['journal', 'archive', 'archive', '--now'])) as unknown as {
      archived: { path: string }[];
    };
    expect(archived).toMatchObject([{ first: 0, next: 13 }]);
    expect(await json(['verify', archived[0]?.path as string, '--key', ROOT_KEY])).toMatchObject({
      exit: 0,
      entries: 13,
    });
    await record('third');
    expect(await json(['journal', 'archive', 'archive', '--now', '--prune-older-than', '0'])).toMatchObject({
      exit: 0,
    });
    expect(await json(['verify', '--key', ROOT_KEY])).toMatchObject({ exit: 0, established: { level: 'signed' } });
    expect(await json(['journal', 'show', '--limit', '1'])).not.toMatchObject({ entries: [{ seq: 0 }] });
  });

  test('keys are rotated, and what they signed before still counts', async () => {
    for (const role of ['checkpoint', 'attestation']) {
      expect(await json(['journal', 'rotate-key', role])).toMatchObject({ exit: 0, rotated: role });
    }
    await record('third');
    expect(await json(['verify', '--key', ROOT_KEY])).toMatchObject({ exit: 0, attestations: 3 });
    expect(await json(['journal', 'rotate-key', 'root'])).toMatchObject({ exit: 2 });
  });
});
