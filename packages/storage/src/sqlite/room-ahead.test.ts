import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, readFileSync, renameSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createTemporaryHome } from '@palyra/testkit';
import { expect, onTestFinished, test } from 'vitest';
import { type Connection, openForWriting } from './connection.ts';
import { identityOf } from './files-in-place.ts';
import { createRoomAhead, type LogFile, logFile } from './room-ahead.ts';

const SQLITE = process.versions['sqlite'];
const FRAME = 4096 + 24;
const KIB = 1024;
const PLENTY = 1024 * KIB * KIB;

async function place() {
  const home = await createTemporaryHome();
  const path = join(home.path, 'x.db');
  const connection = open(path);
  connection.database.exec('create table pages (id integer primary key, bytes blob)');
  onTestFinished(async () => {
    if (connection.database.isOpen) connection.close();
    await home[Symbol.asyncDispose]();
  });
  const wal = `${path}-wal`;
  const openLog = logFile(wal, () => identityOf(wal));
  const calls: string[] = [];
  /** The real file, but what it says and does may be put in its place. */
  const roomWith = (changed: (log: LogFile) => Partial<LogFile>) =>
    createRoomAhead({
      connection,
      sqlite: SQLITE,
      openLog() {
        calls.push(`open ${connection.database.isTransaction ? 'locked' : 'unlocked'}`);
        const log = openLog();
        return log && { ...log, free: () => PLENTY, ...changed(log) };
      },
    });
  const bytes = () => statSync(wal).size;
  const used = () => 32 + FRAME * Number(connection.query('pragma wal_checkpoint(noop)', []).rows[0]?.['log']);
  return { home, path, wal, connection, calls, roomWith, bytes, used };
}

function open(path: string): Connection {
  return openForWriting({ path, lockTimeoutMs: 100 });
}

/** Every fourth time it looks. */
function write(connection: Connection, room: { look(): void }, commits: number): void {
  for (let at = 0; at < commits; at += 1) {
    connection.query('insert into pages (bytes) values (zeroblob(5000))', []);
    room.look();
  }
}

test('commits find zeros where they come, in steps that grow with the log', async () => {
  const { connection, roomWith, bytes, used } = await place();
  const room = roomWith(() => ({}));
  write(connection, room, 3);
  expect(bytes()).toBe(used());
  write(connection, room, 1);
  expect(bytes()).toBe(used() + 256 * KIB);
  const seen = new Set<number>();
  for (let at = 0; at < 200; at += 1) {
    const before = bytes();
    write(connection, room, 1);
    if (bytes() > before) seen.add(bytes() - before);
    expect(bytes()).toBeGreaterThan(used());
  }
  expect(Math.min(...seen)).toBeGreaterThanOrEqual(256 * KIB);
  expect(Math.max(...seen)).toBe(KIB * KIB);
});

test('what is behind the last frame is zeros, with the mode that the log had', async () => {
  const { connection, roomWith, wal, used } = await place();
  const { mode } = statSync(wal);
  const room = roomWith(() => ({}));
  write(connection, room, 4);
  const behind = readFileSync(wal).subarray(used());
  expect([behind.length, behind.every((byte) => byte === 0)]).toEqual([256 * KIB, true]);
  expect(statSync(wal).mode).toBe(mode);
  expect(mode & 0o777).toBe(0o600);
});

test('SECURITY: T-32 — it is written with the write lock held, and never while another holds it', async () => {
  const { path, connection, roomWith, bytes } = await place();
  const locks: boolean[] = [];
  const room = roomWith((log) => ({
    append(zeros) {
      locks.push(connection.database.isTransaction);
      return log.append(zeros);
    },
  }));
  write(connection, room, 3);
  connection.query('insert into pages (bytes) values (zeroblob(5000))', []);
  const other = open(path);
  other.query('begin immediate', []);
  const before = bytes();
  room.look();
  expect([bytes(), locks]).toEqual([before, []]);
  other.query('rollback', []);
  other.close();
  write(connection, room, 4);
  expect(bytes()).toBeGreaterThan(before);
  expect(new Set(locks)).toEqual(new Set([true]));
  expect(connection.database.isTransaction).toBe(false);
});

/** What another process finds that opens a copy of the files, as after a crash. */
function recovered(path: string, prepare: (wal: string) => void): unknown {
  const copy = `${path}.copy`;
  copyFileSync(path, copy);
  copyFileSync(`${path}-wal`, `${copy}-wal`);
  prepare(`${copy}-wal`);
  const connection = open(copy);
  const { rows } = connection.query('select count(*) as count, max(id) as last from pages', []);
  connection.query('insert into pages (bytes) values (zeroblob(5000))', []);
  const [check] = connection.query('pragma integrity_check', []).rows;
  connection.close();
  return { ...rows[0], ...check };
}

test.each([
  ['as it is', (_used: number) => undefined],
  ['cut in the middle of the zeros', (used: number) => used + 100 * KIB + 7],
  ['cut in the middle of the first frame of zeros', (used: number) => used + 11],
  ['cut where the zeros begin', (used: number) => used],
])(
  'SECURITY: T-32 — after a crash a log with zeros behind it, %s, has all that was committed',
  async (_name, cutAt) => {
    const { path, connection, roomWith, used, bytes } = await place();
    const room = roomWith(() => ({}));
    write(connection, room, 4);
    expect(bytes()).toBeGreaterThan(used());
    const cut = cutAt(used());
    expect(recovered(path, (wal) => cut !== undefined && truncateSync(wal, cut))).toEqual({
      count: 4,
      last: 4,
      integrity_check: 'ok',
    });
  },
);

test('SECURITY: T-32 — a log of nothing but zeros, which was cut before, is an empty one', async () => {
  const { path, connection, roomWith } = await place();
  const room = roomWith(() => ({}));
  write(connection, room, 4);
  connection.query('pragma wal_checkpoint(truncate)', []);
  const expected = { count: 4, last: 4, integrity_check: 'ok' };
  expect(recovered(path, (wal) => writeFileSync(wal, new Uint8Array(256 * KIB)))).toEqual(expected);
});

test('a log that was cut, here or by another process, gets room again', async () => {
  const { path, connection, roomWith, bytes, used } = await place();
  const room = roomWith(() => ({}));
  write(connection, room, 8);
  connection.query('pragma wal_checkpoint(truncate)', []);
  room.forget();
  expect(bytes()).toBe(0);
  write(connection, room, 4);
  expect(bytes()).toBe(used() + 256 * KIB);
  write(connection, room, 12);
  const other = open(path);
  other.query('pragma wal_checkpoint(truncate)', []);
  other.close();
  expect(bytes()).toBe(0);
  write(connection, room, 8);
  expect(bytes()).toBeGreaterThan(used() + 200 * KIB);
});

test('a log that has its full length is seldom looked at, and has room again soon after somebody cut it', async () => {
  const { path, connection, calls, roomWith, bytes, used } = await place();
  const room = roomWith(() => ({}));
  connection.query('insert into pages (bytes) values (zeroblob(?))', [3_800 * 4096]);
  write(connection, room, 8);
  const full = bytes();
  expect(full).toBeGreaterThan(4_000 * FRAME);
  expect(calls).toHaveLength(1);
  write(connection, room, 60);
  expect([bytes(), calls.length]).toEqual([full, 1]);
  const other = open(path);
  other.query('pragma wal_checkpoint(truncate)', []);
  other.close();
  write(connection, room, 64);
  expect(bytes()).toBeGreaterThan(used() + 100 * KIB);
});

test('a log that is as long as it ever gets is not made longer, nor one that begins anew', async () => {
  const { connection, calls, roomWith } = await place();
  const room = roomWith(() => ({}));
  connection.query('insert into pages (bytes) values (zeroblob(?))', [4_000 * 4096]);
  write(connection, room, 4);
  expect(calls).toEqual([]);
  connection.query('pragma wal_checkpoint(passive)', []);
  for (let look = 0; look < 8; look += 1) room.look();
  expect(calls).toEqual([]);
});

const FULL = Object.assign(new Error('no space'), { code: 'ENOSPC' });

test.each<[string, (log: LogFile) => Partial<LogFile>]>([
  ['is full in the middle of it', (log) => ({ append: (zeros) => log.append(zeros.subarray(0, 5_000)) })],
  [
    'is full, and says so',
    (log) => ({
      append(zeros) {
        log.append(zeros.subarray(0, 5_000));
        throw FULL;
      },
    }),
  ],
  ['is nearly full', () => ({ free: () => KIB * KIB })],
])('when the disk %s, the log is as it was, commits go on, and it is not tried with each', async (_name, changed) => {
  const { connection, calls, roomWith, bytes, used } = await place();
  const room = roomWith(changed);
  write(connection, room, 4);
  expect(bytes()).toBe(used());
  write(connection, room, 200);
  expect([bytes(), calls]).toEqual([used(), ['open unlocked']]);
});

test('zeros that cannot be flushed fail nothing', async () => {
  const { connection, roomWith } = await place();
  const room = roomWith(() => ({
    flush() {
      throw FULL;
    },
  }));
  write(connection, room, 8);
  expect(connection.query('select count(*) as count from pages', []).rows).toEqual([{ count: 8 }]);
});

test('SECURITY: T-32 — another file that took the name of the log is left alone', async () => {
  const { wal, connection } = await place();
  const own = identityOf(wal);
  const room = createRoomAhead({ connection, sqlite: SQLITE, openLog: logFile(wal, () => own) });
  renameSync(wal, `${wal}.away`);
  writeFileSync(wal, 'of somebody else');
  write(connection, room, 8);
  expect(readFileSync(wal, 'utf8')).toBe('of somebody else');
  renameSync(`${wal}.away`, wal);
});

test('SECURITY: T-32 — a pipe that took the name of the log is not waited for', async () => {
  const { home, wal } = await place();
  const own = identityOf(wal);
  const pipe = join(home.path, 'pipe');
  execFileSync('mkfifo', [pipe]);
  // Whoever did wait would be let go then, and would find that it is another file.
  const rescue = spawn('sh', ['-c', 'sleep 3; exec timeout 3 cat "$0"', pipe], { stdio: 'ignore' });
  expect(logFile(pipe, () => own)).toThrow('ENXIO');
  const ended = once(rescue, 'close');
  rescue.kill();
  await ended;
});

test.each([undefined, '3.40.1', '3.50.4', '3.51.2'])(
  'SECURITY: T-32 — SQLite %s, to which noop may mean to bring the log over, is asked nothing',
  async (sqlite) => {
    const { connection, bytes, used } = await place();
    const asked: string[] = [];
    const query: Connection['query'] = (sql, parameters) => {
      asked.push(sql);
      return connection.query(sql, parameters);
    };
    const room = createRoomAhead({ connection: { query }, sqlite, openLog: () => undefined });
    write(connection, room, 200);
    room.forget();
    expect([asked, bytes()]).toEqual([[], used()]);
  },
);
