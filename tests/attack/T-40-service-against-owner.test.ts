/**
 * T-40: a palyrad that was taken over, as a service, against the process that has the owner's user: that one opens the sandbox
 * once more, with a launcher of the attacker's choice, and so runs any program as the owner and outside of every box.
 */
import { spawn } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Duplex } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { ordinaryUser, removeOrdinaryUser } from '@palyra/testkit';
import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest';
import { encodeFrame } from '../../packages/sandbox/src/launcher/wire.ts';
import {
  createMessageReader,
  FROM_HOST,
  type HostOpening,
  TO_HOST,
} from '../../packages/sandbox/src/remote/host-messages.ts';
import { encodeValue } from '../../packages/sandbox/src/remote/plain-values.ts';
import { copyIntoCheckout } from '../../packages/testkit/src/readable-checkout.ts';
import { launcherIn } from './sandbox-daemon.ts';
import { IS_ROOT } from './sandboxed.ts';

const CHECKOUT = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAM = 'packages/sandbox/src/remote/sandbox-host-program.ts';

afterAll(removeOrdinaryUser);

describe.runIf(IS_ROOT)('the process between [needs: root]', () => {
  let base: string;
  beforeEach(() => {
    base = mkdtempSync('/tmp/palyra-host-');
    chmodSync(base, 0o755);
  });
  afterEach(() => rmSync(base, { recursive: true }));

  test('is opened once, and ends when it is to be opened again', async () => {
    const { checkout } = await ordinaryUser();
    await copyIntoCheckout(CHECKOUT, checkout, PROGRAM);
    const uid = randomInt(80_000, 90_000);
    const owned = (name: string) => {
      const path = join(base, name);
      mkdirSync(path, { mode: 0o700 });
      chownSync(path, uid, uid);
      return path;
    };
    const [home, kept, theirs] = [owned('home'), owned('kept'), owned('theirs')];
    const stolen = join(home, 'stolen');
    const program = join(base, 'program');
    writeFileSync(program, `#!/bin/sh\nid -u > ${stolen}\n`, { mode: 0o755 });
    const opening: HostOpening = {
      operator: { path: '/usr/bin:/bin', home, palyraHome: base, environment: {} },
      keptDirectory: kept,
      launcherProgram: launcherIn(checkout),
      pool: 'off',
      owner: { uid, gid: uid },
    };
    const node = [join(checkout, 'bin/node'), '--conditions=palyra-source', join(checkout, PROGRAM)];
    const host = spawn(node[0] ?? '', node.slice(1), {
      stdio: ['ignore', 'inherit', 'inherit', 'pipe'],
      env: {},
      cwd: '/',
    });
    const gone = once(host, 'close');
    const channel = host.stdio[3] as Duplex;
    channel.on('error', () => {});
    const read = createMessageReader();
    const opened = Promise.withResolvers<number>();
    channel.on('data', (chunk: Buffer) => {
      for (const { kind } of read(chunk)) opened.resolve(kind);
    });
    const open = (how: HostOpening) => channel.write(encodeFrame(TO_HOST.open, 0, encodeValue(how)));
    open(opening);
    expect(await opened.promise).toBe(FROM_HOST.opened);
    const { owner: _owner, ...again } = { ...opening, launcherProgram: program, keptDirectory: theirs };
    open(again);
    const asked = setTimeout(() => channel.end(), 3000);
    await gone;
    clearTimeout(asked);
    expect(existsSync(stolen)).toBe(false);
  });
});
