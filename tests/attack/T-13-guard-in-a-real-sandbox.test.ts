// T-12, T-13: what the guard of Tier B refuses runs all the same, because the sandbox does not ask the guard.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { makeWorkspace } from './protected-workspace.ts';
import { describeBothWays, tierB, tierC } from './sandboxed.ts';

const REFUSED = { interpreters: 'refused' } as const;

describeBothWays((place) => {
  test.each([
    ['a shell', ['sh', '-c', 'touch ran'], 'sandbox.interpreter_refused'],
    ['one by an attached option', ['bash', '-lctouch ran'], 'sandbox.interpreter_refused'],
    ['one that another program starts', ['env', 'sh', '-c', 'touch ran'], 'sandbox.interpreter_refused'],
    ['a search that starts programs', ['find', '.', '-exec', 'touch', 'ran', ';'], 'sandbox.interpreter_refused'],
    ['a script of the workspace', ['./script'], 'sandbox.interpreter_refused'],
    ['a path outside', ['touch', '../ran'], 'sandbox.argument_refused'],
  ])('%s is refused in Tier B before anything starts, and runs where it is allowed', async (_, argv, code) => {
    const { workspace } = makeWorkspace(place(), `printf '#!/bin/sh\\ntouch ran\\n' > script; chmod 755 script`);
    const ran = () => [join(workspace, 'ran'), join(workspace, '../ran')].some((path) => existsSync(path));
    const refused = await place().daemon.run({ argv }, tierB({ workspace }, REFUSED));
    expect([refused.kind, refused.detail, ran()]).toEqual(['refused', code, false]);
    // In Tier C the kernel is the wall: the same starts there, so that this proves something.
    const started = await place().daemon.run({ argv }, tierC({ workspace }));
    expect(started.kind).toBe('completed');
  });

  test('a program that is not on the list is refused', async () => {
    const { workspace } = makeWorkspace(place(), 'true');
    const only = tierB({ workspace }, { ...REFUSED, executables: ['/usr/bin/id'] });
    expect(await place().daemon.run({ argv: ['uname'] }, only)).toMatchObject({
      kind: 'refused',
      detail: 'sandbox.executable_not_allowed',
    });
    expect(await place().daemon.run({ argv: ['id'] }, only)).toMatchObject({ kind: 'completed' });
  });
});
