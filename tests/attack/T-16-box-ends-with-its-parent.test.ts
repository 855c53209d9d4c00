/**
 * T-16: a tool lives on when whoever started its box was killed. Keepers and the launcher's own last words end it as well: here
 * none of them is there, and only the box's own option is.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { changed, type PlannedBox, planBox, startBox } from './planned-box.ts';
import { describeBothWays, processesWith, statusOf, uniqueMark, until } from './sandboxed.ts';

/** Stays the box's parent. */
const PARENT = `
import os, sys
if os.fork() == 0: os.execvp(sys.argv[1], sys.argv[1:])
os.wait()
`;

/** Deaf, and answers when it is asked. Where nothing ended it, it ends with the place. */
const TOOL = `
import os, signal, sys, time
for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGPIPE): signal.signal(number, signal.SIG_IGN)
os.chdir(sys.argv[1])
open('ready', 'w').close()
while os.path.exists('ready') and not os.path.exists('question'): time.sleep(0.005)
if os.path.exists('question'): open('answer', 'w').close()
`;

describeBothWays((place) => {
  let box: PlannedBox;
  beforeAll(async () => {
    box = await planBox(place());
  });

  const at = (name: string) => join(place().workspace, name);

  async function startAndKillParent(made: PlannedBox) {
    for (const name of ['ready', 'question', 'answer']) rmSync(at(name), { force: true });
    const mark = uniqueMark();
    const argv = ['/usr/bin/python3', '-c', TOOL, place().workspace, mark];
    const { pid, ended } = startBox(place(), made, argv, { through: ['/usr/bin/python3', '-c', PARENT] });
    await until('the tool runs', () => existsSync(at('ready')));
    process.kill(pid, 'SIGKILL');
    // The kernel has told its children by then.
    await until('the parent is gone', () => /^(?:|Z.*)$/.test(statusOf(pid, 'State')));
    return { mark, ended };
  }

  test('--die-with-parent: nothing of the box is left, and nobody answers', async () => {
    const { mark, ended } = await startAndKillParent(box);
    await until('nothing of it lives', () => processesWith(mark).length === 0);
    await ended;
    expect(existsSync(at('answer'))).toBe(false);
  });

  test('without it the tool lives on, and answers', async () => {
    const { mark, ended } = await startAndKillParent(changed(box, { without: [['--die-with-parent']] }));
    writeFileSync(at('question'), '');
    await ended;
    expect(existsSync(at('answer'))).toBe(true);
    expect(processesWith(mark)).toEqual([]);
  });
});
