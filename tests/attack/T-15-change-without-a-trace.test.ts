// T-15: persistence. Bytes of a protected file change through a shared mapping, which moves no time of the file again, after
// another command's look has already read it.
import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { changesOf, makeWorkspace } from './protected-workspace.ts';
import { describeBothWays, python, tierC, until } from './sandboxed.ts';

/** Pads the file with a comment, touches the mapped page once, and writes over the comment when it is told to. */
const MAPPING = `
import mmap, os, time
evil = b'[core]\\n\\tfsmonitor = touch /tmp/trap\\n'
with open('.git/config', 'r+b') as file:
    old = file.read()
    file.write(b'#' + b'x' * len(evil) + b'\\n')
    file.flush()
    mapped = mmap.mmap(file.fileno(), 0)
    mapped[len(old)] = ord('#')
    open('ready', 'w').close()
    while not os.path.exists('go'): time.sleep(0.01)
    mapped[len(old):len(old) + len(evil)] = evil
`;

describeBothWays((place) => {
  test('a trap is found that was written without moving a time', async () => {
    const { daemon } = place();
    const { workspace, operator } = makeWorkspace(place());
    const profile = tierC({ workspace });
    const { ended } = daemon.start(python(MAPPING), profile);
    await until('the page is mapped', () => existsSync(join(workspace, 'ready')));
    // What changed so shortly before is read again anyway; from now on it would count as settled.
    const from = Date.now();
    await until('the change is old', () => Date.now() - from > 200);
    await daemon.run({ argv: ['true'] }, profile);
    writeFileSync(join(workspace, 'go'), '');
    expect(changesOf(await ended, workspace)).toEqual(['changed .git/config']);
    expect(operator('git config --get core.fsmonitor || echo none')).toBe('none\n');
  });
});
