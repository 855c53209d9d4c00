/**
 * T-22: the launcher makes the network of the next sandbox while nobody waits, and two sandboxes come to share it, or one comes to
 * have the host's.
 */
import { readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createSandbox, type Sandbox } from '@palyra/sandbox';
import { expect, test } from 'vitest';
import { describeRoot, type Place, sh, tierC, until } from './sandboxed.ts';

async function open({ home }: Place): Promise<Sandbox> {
  const operator = { path: '/usr/bin:/bin', home, palyraHome: `${home}/.palyra`, environment: {} };
  return createSandbox({ operator, logger: { error: () => {} }, pool: 'off' });
}

/** Those that the launcher has open: at most the one that it has made, and for a moment its own, to come back to. */
function networksOf({ about }: Sandbox): readonly string[] {
  const directory = `/proc/${about.launcher.pid}/fd`;
  return readdirSync(directory).flatMap((fd) => {
    try {
      const target = readlinkSync(`${directory}/${fd}`);
      return target.startsWith('net:[') && target !== HOST ? [target] : [];
    } catch {
      return [];
    }
  });
}

const HOST = readlinkSync('/proc/self/ns/net');
/** Until all of them are there, for the number of a network that is gone is given to another one. */
const WHERE = sh(
  'readlink /proc/self/ns/net; tail -n +3 /proc/net/dev | cut -d: -f1; while [ ! -e go ]; do sleep 0.01; done',
);
const AT_ONCE = 3;

describeRoot((place) => {
  test('each network that is made ahead is that of one sandbox, and of nothing else', async () => {
    const sandbox = await open(place());
    const go = join(place().workspace, 'go');
    let there = 0;
    const run = async () => {
      let said = '';
      const onOutput = (_stream: string, bytes: Uint8Array) => {
        said += Buffer.from(bytes).toString();
        if (!said.endsWith('lo\n')) return;
        there += 1;
        if (there === AT_ONCE) writeFileSync(go, '');
      };
      const result = await sandbox.run(WHERE, tierC(place()), { onOutput });
      if (result.kind !== 'completed') throw new Error(JSON.stringify(result));
      expect(result.facts?.network).toBe('isolated');
      const [network = '', ...interfaces] = said.trim().split(/\s+/);
      expect(interfaces).toEqual(['lo']);
      return network;
    };
    try {
      for (let round = 0; round < 5; round += 1) {
        // Before the first round none was asked for.
        const ahead = networksOf(sandbox);
        const seen = await Promise.all(Array.from({ length: AT_ONCE }, run));
        expect([new Set(seen).size, seen.includes(HOST)]).toEqual([AT_ONCE, false]);
        expect([ahead.length, seen]).toEqual([round === 0 ? 0 : 1, expect.arrayContaining([...ahead])]);
        there = 0;
        rmSync(go);
        await until('there is one for the next', () => networksOf(sandbox).length === 1);
      }
      // It comes back from each that it makes: gates would be in it otherwise.
      await until('it is back', () => readlinkSync(`/proc/${sandbox.about.launcher.pid}/ns/net`) === HOST);
    } finally {
      await sandbox.close();
    }
  });
});
